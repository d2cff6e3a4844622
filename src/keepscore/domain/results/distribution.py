"""What callers get about the distribution of scores."""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET, UnsetType

from keepscore.domain.boards import Score
from keepscore.domain.results.plain import Result

__all__ = ["Distribution", "ScoreBin"]


class ScoreBin(Result, gc=False):
    """The players with a score from `min` to `max`, both included."""

    min: Score
    max: Score
    players: int


class Distribution(Result):
    """How many players have which scores: equal parts of the range, from the lowest score to the highest."""

    board: str
    window: str
    window_id: str
    segment: str | None
    total_players: int
    as_of: datetime
    bins: list[ScoreBin]
    #: True where the window is closed, and these are its final standings, archived at the moment `as_of`.
    archived: bool | UnsetType = UNSET
    #: Where the ranking was, or a position before: counts may be newer.
    position: str | UnsetType = UNSET
