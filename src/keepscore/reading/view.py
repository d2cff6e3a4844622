"""What a reader looks at, and what may be asked of it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple, cast, get_args

from keepscore.domain.boards import Board, RankKind
from keepscore.domain.scoring import NO_TIME
from keepscore.errors import InvalidField, InvalidPage
from keepscore.projection.live_boards import LiveBoard
from keepscore.storage.engines.base import Ranking

__all__ = [
    "MAX_LIMIT",
    "MAX_OFFSET",
    "MAX_RANK",
    "View",
    "check_estimated",
    "check_limit",
    "check_within",
    "not_ranked",
    "rank_kind",
    "since_of",
]

#: Standings of one page.
MAX_LIMIT = 1000
#: The highest offset and rank that can be asked for.
MAX_OFFSET = MAX_RANK = 10**15


class View(NamedTuple):
    """What a reader looks at: a ranking, how ranks are numbered in it, and what answers begin with."""

    live: LiveBoard
    ranking: Ranking
    rank: RankKind
    #: Board, window, window id and segment.
    labels: tuple[str, str, str, str | None]
    #: Whether answers must not be kept by anybody.
    strong: bool
    #: Whether the window has ended: what the engine does not have any more may be archived.
    ended: bool
    #: The player who looks, if that is known: one who is shadowed sees themselves.
    viewer: str | None = None


def rank_kind(board: Board, rank: str | None) -> RankKind:
    """Return how ranks are numbered: as a reader wants it, or by the board's default."""
    if rank is not None and rank not in get_args(RankKind):
        raise InvalidField(f"rank = {rank!r} is not a way to number ranks: allowed are {', '.join(get_args(RankKind))}")
    return cast("RankKind", rank or board.rank)


def check_estimated(rank: RankKind) -> None:
    """Refuse a rank that cannot be estimated."""
    if rank == "dense":
        raise InvalidField("rank = 'dense' is known only for players whom the engine keeps (keep_top): ask for 'unique' or 'standard'")


def check_limit(limit: int) -> None:
    """Refuse a page that has no standings, or too many."""
    check_within("limit", limit, 1, MAX_LIMIT)


def check_within(name: str, value: int, low: int, high: int) -> None:
    """Refuse a number that is out of its range."""
    if not low <= value <= high:
        raise InvalidPage(f"{name} = {value} is out of range: {low} to {high}")


def since_of(ms: int) -> datetime | None:
    """Return the time of a state, if the engine keeps it."""
    return None if ms == NO_TIME else datetime.fromtimestamp(ms / 1000, UTC)


def not_ranked(view: View, player: str) -> str:
    """Return what is said about a player who is not in a ranking."""
    _, window, window_id, segment = view.labels
    where = (window if window == window_id else f"{window} {window_id}") + (f", {segment}" if segment else "")
    return f"player {player!r} is not ranked on board {view.live.name!r} ({where})"
