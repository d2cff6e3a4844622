"""Who makes a request, and what they may do. Pure.

Scopes include the ones before them: read < submit < moderate < admin. A key, and a token that it signed, may be limited to boards by
patterns; a token is limited by its own and by those of its key.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import translate
from typing import Literal, get_args

from keepscore.caches import ByteCache
from keepscore.errors import Forbidden, InvalidField

__all__ = [
    "ALL_BOARDS",
    "ANONYMOUS",
    "LEVELS",
    "NEVER_MS",
    "OPEN",
    "SCOPES",
    "KeyScope",
    "Principal",
    "check_patterns",
    "check_scope",
    "matches",
]

KeyScope = Literal["read", "submit", "moderate", "admin"]
SCOPES: tuple[str, ...] = get_args(KeyScope)
#: How much each scope includes; `open` is for everybody.
LEVELS = {"open": 0, **{scope: level for level, scope in enumerate(SCOPES, 1)}}
#: The patterns of a key that is not limited.
ALL_BOARDS = ("*",)
#: Patterns of one key or token, and characters of one.
MAX_PATTERNS, MAX_PATTERN = 32, 128
#: Bytes for remembering which boards a principal may use.
BOARDS_BYTES = 64 << 10
#: Patterns whose expressions are remembered, and about what each takes, in bytes.
EXPRESSIONS_BYTES, EXPRESSION_BYTES = 1 << 20, 1000
_expressions: ByteCache[str, re.Pattern[str]] = ByteCache(EXPRESSIONS_BYTES)
#: After every moment.
NEVER_MS = 1 << 62

_PATTERN = re.compile(rf"[A-Za-z0-9_.*?\[\]!-]{{1,{MAX_PATTERN}}}")


def check_scope(scope: object) -> str:
    """Return a scope that a key can have."""
    if scope not in SCOPES:
        raise InvalidField(f"scope = {scope!r} is not a scope: allowed are {', '.join(SCOPES)}; each includes the ones before it")
    return str(scope)


def check_patterns(boards: Sequence[str] | None) -> tuple[str, ...]:
    """Return patterns of board names; None: all boards."""
    if boards is None:
        return ALL_BOARDS
    if isinstance(boards, str) or not 1 <= len(boards) <= MAX_PATTERNS:
        raise InvalidField(f"boards is a list of 1 to {MAX_PATTERNS} patterns such as 'season-*', or left out for all boards")
    for pattern in boards:
        if not isinstance(pattern, str) or not _PATTERN.fullmatch(pattern):
            raise InvalidField(
                f"boards: {str(pattern)[:40]!r} is not a pattern: write a board's name, with * for any text, ? for any character "
                f"and [ab] for one of these, at most {MAX_PATTERN} characters"
            )
    return tuple(boards)


def _compiled(pattern: str) -> re.Pattern[str]:
    return _expressions.get(pattern) or _expressions.put(pattern, re.compile(translate(pattern)), EXPRESSION_BYTES)


def matches(patterns: Sequence[str], board: str) -> bool:
    """Return whether a board's name fits one of some patterns. Upper and lower case differ.

    >>> matches(["season-*"], "season-7"), matches(["season-*"], "Season-7"), matches(["xp", "season-?"], "season-17")
    (True, False, False)
    """
    return any(_compiled(pattern).match(board) is not None for pattern in patterns)


class Principal:
    """Whoever makes a request: a key, a player with a token, or nobody in particular."""

    __slots__ = ("_boards", "expires_ms", "is_limited", "key_id", "key_name", "level", "patterns", "player", "scope")

    def __init__(
        self,
        scope: str,
        patterns: Sequence[tuple[str, ...]] = (),
        key_id: str | None = None,
        player: str | None = None,
        expires_ms: int = NEVER_MS,
        key_name: str = "",
    ) -> None:
        self.scope = scope
        self.level = LEVELS[scope]
        #: A board has to fit one pattern of each.
        self.patterns = [some for some in patterns if "*" not in some]
        #: Whether there are boards that are not its own.
        self.is_limited = bool(self.patterns)
        #: The key that it is, or that signed its token.
        self.key_id = key_id
        self.key_name = key_name
        #: The player that a token names; None: any.
        self.player = player
        self.expires_ms = expires_ms
        self._boards: ByteCache[str, bool] = ByteCache(BOARDS_BYTES)

    def __repr__(self) -> str:
        who = "player" if self.player is not None else "key" if self.key_id is not None else "open" if self.level else "anonymous"
        return f"Principal({who} {self.key_id or ''} {self.scope})"

    @property
    def actor(self) -> str:
        """Who it is, for the audit."""
        if self.player is not None:
            return f"player {self.player}"
        return "anonymous" if self.key_id is None else f"key {self.key_id} {self.key_name}".rstrip()

    def may_use(self, board: str) -> bool:
        """Return whether a board is its own."""
        if not self.is_limited:
            return True
        known = self._boards.get(board)
        if known is None:
            known = self._boards.put(board, all(matches(some, board) for some in self.patterns), 0)
        return known

    def check_board(self, board: str) -> None:
        """Refuse a board that is not its own, whether or not it exists."""
        if not self.may_use(board):
            allowed = " and ".join(", ".join(some) for some in self.patterns)
            raise Forbidden(f"board {board[:64]!r} is not one that this {self._name} may use: {allowed}")

    def check_scope(self, scope: str) -> None:
        """Refuse what needs more than its scope."""
        if self.level < LEVELS[scope]:
            raise Forbidden(f"this {self._name} has the scope {self.scope!r}, and this route needs {scope!r}")

    def check_player(self, player: object) -> None:
        """Refuse a player that a token does not name."""
        if self.player is not None and player != self.player:
            raise Forbidden(f"player_id = {str(player)[:40]!r} is not the player of this token: it is for {self.player!r} only")

    @property
    def _name(self) -> str:
        return "key" if self.player is None else "token"


#: Everybody, where no keys are asked for.
OPEN = Principal("admin")
#: Somebody without credentials, where keys are asked for.
ANONYMOUS = Principal("open")
