"""How a ranking lies in Redis: in which layout, under which keys. Pure.

    plain      member = player id, score = score: what other programs expect. Times are kept beside it only where a fold needs them,
               on `first` and `last` boards; elsewhere a standing has no `since`.
    composite  score = score × 2^bits + the time since the window's start in steps of the board's resolution, reversed where the
               earlier is ahead: one number breaks ties by itself.
    timed      member = time (6 bytes) + player id, and a hash from player id to that time: the member breaks ties.

On boards with decay the scores are levels (`decay.py`). Each window has its layout, chosen from the definition. A ranking's key has
companions: `keepscore:times:KEY`, the hash of times, and `keepscore:dense:KEY`, the distinct scores, where the board's
`rank` is dense or somebody has asked for dense ranks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Literal, NamedTuple

import msgspec

from keepscore.domain.boards import MAX_SCORE, Board
from keepscore.domain.keys import key_of, live_key_of, moves_tag, sample_keys, tag_of
from keepscore.domain.ordering import reverses_time
from keepscore.domain.scoring import cut
from keepscore.domain.windows import span_of
from keepscore.errors import InvalidBoard
from keepscore.storage.engines.base import Ranking

__all__ = [
    "LONG_CALL_S",
    "BoardKeys",
    "Layout",
    "RankingKeys",
    "board_keys",
    "check_tag",
    "companions",
    "fingerprint",
    "hash_tag",
    "keys_of",
    "layout_of",
    "layouts_of",
]

#: Seconds that a call may take that concerns a whole board.
LONG_CALL_S = 60.0

LayoutKind = Literal["plain", "composite", "timed"]

#: The moment up to which `all_time` rankings tell times apart in a composite: 2100-01-01.
HORIZON_MS = 4_102_444_800_000
#: The longest that a window of each kind lasts, in milliseconds, clocks that are put back included.
_DAY_MS = 86_400_000
_LENGTHS = {"daily": 2 * _DAY_MS, "weekly": 8 * _DAY_MS, "monthly": 32 * _DAY_MS, "yearly": 367 * _DAY_MS, "all_time": HORIZON_MS}


class Layout(NamedTuple):
    """The layout of a window's rankings, and why it is that one."""

    kind: LayoutKind
    #: Bits of the time in a composite.
    bits: int
    #: Whether players' times are kept in a hash of their own.
    times: bool
    why: str


def layouts_of(board: Board) -> dict[str, Layout]:
    """Return the layout of each window."""
    return {window: layout_of(board, window) for window in board.periods}


def layout_of(board: Board, window: str) -> Layout:
    """Return the layout of one window's rankings."""
    if board.ties == "player":
        times = board.is_ordered
        levels = "; with decay, scores are kept as levels" if board.decay is not None else ""
        return Layout("plain", 0, times, f"ties = 'player': equal scores are in the order in which Redis has them{levels}")
    if board.decay is not None:
        return Layout("timed", 0, True, f"ties = {board.ties!r} and decay: the level of a score needs all of the 53 bits that are exact")
    steps = _length(board, window) // board.resolution_ms + 1
    bits = steps.bit_length()
    largest = max(abs(bound) for bound in board.bounds)
    if board.adds_up:
        # Several processes that add to one score at once may go beyond the bounds that each of them sees.
        largest *= 2
    if board.max_score is None:
        return Layout("timed", 0, True, f"ties = {board.ties!r} and no max_score: score and time may need more than 53 bits together")
    if (largest + 1) << bits > MAX_SCORE:
        needed = largest.bit_length() + bits
        why = f"scores up to {board.shown(largest)} and {steps} steps of {board.resolution} need {needed} bits together, and 53 are exact"
        return Layout("timed", 0, True, why)
    return Layout("composite", bits, False, f"score and time ({bits} bits) fit 53 bits together, so that one number breaks ties")


def _length(board: Board, window: str) -> int:
    if window != "season":
        return _LENGTHS[window]
    if board.season is None:
        # Nobody knows how long the longest season of a cron expression is.
        return HORIZON_MS
    start, end = (round(moment.timestamp() * 1000) for moment in board.season)
    return end - start


_NONE: Mapping[str, str] = {}


class RankingKeys(NamedTuple):
    """Where a ranking lies: its keys, its name among the board's rankings, and what scripts have to know of its layout."""

    key: str
    times: str
    dense: str
    field: str
    #: The same key, also for a shadow, whose own key begins differently.
    name: str
    #: Kind, 2^bits, window's start, resolution (both in milliseconds), whether time is reversed, whether times are kept.
    form: tuple[LayoutKind, int, int, int, bool, bool]


def keys_of(board: Board, ranking: Ranking, live: Mapping[str, str] = _NONE) -> RankingKeys:
    """Return where a ranking of a board lies; `live` are the ids of windows whose rankings lie under live keys, by name."""
    span = span_of(board, ranking.window, ranking.window_id)
    is_live = live.get(ranking.window) == ranking.window_id
    key = (live_key_of(board, ranking.window, ranking.segment) if is_live else None) or key_of(board, span, ranking.segment)
    layout = layout_of(board, ranking.window)
    field = "\0".join(ranking[1:])
    # Times are whole steps since 1970, and a window may begin within one.
    form = layout.kind, 1 << layout.bits, cut(board, span.start), board.resolution_ms, reverses_time(board), layout.times
    times, dense = companions(key)[1:]
    return RankingKeys(key, times, dense, field, key, form)


def companions(key: str) -> list[str]:
    """Return a ranking's key, and those that lie beside it."""
    return [key, f"keepscore:times:{key}", f"keepscore:dense:{key}"]


class BoardKeys(NamedTuple):
    """The keys of a board beside its rankings, all in the slot of the board's own."""

    watermarks: str
    #: The list of its rankings.
    listed: str
    spool: str
    #: Players who have to be restated, each with its ranking.
    needs_restate: str
    lock: str
    #: How often each ranking has changed.
    positions: str


def board_keys(board: Board) -> BoardKeys:
    """Return the keys of what a board has beside its rankings."""
    tag = hash_tag(board) or board.name
    return BoardKeys(
        *(f"keepscore:{{{tag}}}:{board.name}:{part}" for part in ("applied", "rankings", "spool", "late", "lock", "positions"))
    )


def hash_tag(board: Board) -> str | None:
    """Return the part in braces that all keys of a board share, by which a Cluster puts them into one slot; None: there is none."""
    tags = {tag_of(key) for key in sample_keys(board)}
    (tag,) = tags if len(tags) == 1 else ("",)
    return tag or None


def check_tag(board: Board) -> None:
    """Refuse a board whose keys a Cluster would spread over its nodes."""
    if hash_tag(board) is None:
        raise InvalidBoard(
            f"board {board.name!r}: on a Redis Cluster all keys of a board must have the same hash tag, a part in braces: write key and "
            'segment_key with one, such as "lb:{{{board}}}:{start:%Y-%m-%d}" (doubled braces stand for themselves), or leave them out'
        )


def fingerprint(board: Board) -> str:
    """Return what rankings in Redis depend on: where it differs, they need other keys, or other numbers in them."""
    windows = [(name, w.key, w.segment_key, w.start, w.end, w.cron, layout_of(board, name)[:3]) for name, w in board.periods.items()]
    semantics_version: list[object] = [
        board.name,
        board.operator,
        board.order,
        board.ties,
        board.resolution,
        board.timezone,
        board.week_start,
        board.segments,
    ]
    if board.decay is not None:
        semantics_version.append(board.decay.half_life)
    if board.rollup is not None:
        semantics_version.append(msgspec.to_builtins(board.rollup))
    if board.resets:
        semantics_version.append(board.resets)
    if any(window.is_renamed for window in board.periods.values()):
        semantics_version.append([[window.live_key, window.live_segment_key] for window in board.periods.values()])
    if board.following:
        semantics_version.append("following")
    if moves_tag(board):
        # Keys of values with braces are others than they were before braces were replaced.
        semantics_version.append("braces")
    return hashlib.blake2b(msgspec.json.encode([semantics_version, windows]), digest_size=8).hexdigest()
