"""What a subscription follows: a ranking, and which rows of it. Pure."""

from __future__ import annotations

from typing import NamedTuple, get_args

from keepscore.domain.results.live import LiveMode
from keepscore.domain.values import check_player
from keepscore.errors import InvalidField
from keepscore.reading.view import check_within

__all__ = ["DEFAULT_TOP", "MAX_AROUND", "MAX_BOARDS", "MAX_TOP", "MODES", "LiveRequest", "LiveSpec", "specs_of"]

#: How a subscriber may get changes.
MODES: tuple[str, ...] = get_args(LiveMode)

#: Rows of a top, unless a subscription names another number, and at most; players above and below at most.
DEFAULT_TOP, MAX_TOP, MAX_AROUND = 10, 1000, 500
#: Boards of one subscription.
MAX_BOARDS = 20


class LiveSpec(NamedTuple):
    """Some rows of one ranking, in the present window."""

    board: str
    window: str | None = None
    segment: str | None = None
    rank: str | None = None
    #: The first rows; 0: those around a player, a player and friends, or a group.
    top: int = DEFAULT_TOP
    player: str = ""
    around: int = 0
    friends_of: str = ""
    group: str = ""
    #: The player who looks, where it matters: some players are shown to some others only.
    viewer: str | None = None

    @property
    def has_circle(self) -> bool:
        """Whether players are followed who belong together: friends, or a group."""
        return bool(self.friends_of or self.group)


class LiveRequest(NamedTuple):
    """What a subscriber asks for: boards, comma-separated, and of each some rows."""

    board: str
    window: str | None = None
    segment: str | None = None
    rank: str | None = None
    top: int | None = None
    player_id: str | None = None
    around: int | None = None
    friends_of: str | None = None
    group: str | None = None


def specs_of(given: LiveRequest) -> list[LiveSpec]:
    """Return what a request follows, board by board.

    >>> [(spec.board, spec.top) for spec in specs_of(LiveRequest("global,xp", top=3))]
    [('global', 3), ('xp', 3)]
    """
    names = list(dict.fromkeys(name.strip() for name in given.board.split(",") if name.strip()))
    if not 1 <= len(names) <= MAX_BOARDS:
        raise InvalidField(f"board = {given.board[:60]!r} names {len(names)} boards: give 1 to {MAX_BOARDS}, comma-separated")
    wanted = [name for name in ("top", "player_id", "friends_of", "group") if getattr(given, name) is not None]
    if len(wanted) > 1:
        raise InvalidField(f"{' and '.join(wanted)} exclude each other: give one of them")
    if given.around is not None and given.player_id is None:
        raise InvalidField(f"around = {given.around} needs a player: add player_id, or leave it out")
    for player in (given.player_id, given.friends_of):
        if player is not None:
            check_player(player)
    top, around = DEFAULT_TOP if given.top is None else given.top, given.around or 0
    check_within("top", top, 1, MAX_TOP)
    check_within("around", around, 0, MAX_AROUND)
    is_top = given.player_id is None and given.friends_of is None and given.group is None
    rows = top if is_top else 0
    view = given.window, given.segment or None, given.rank
    return [LiveSpec(name, *view, rows, given.player_id or "", around, given.friends_of or "", given.group or "") for name in names]
