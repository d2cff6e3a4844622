"""Players whose score lies in a range: where they begin in a ranking, and which rows of a page are theirs."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

from keepscore.domain.ordering import Row
from keepscore.projection.live_boards import LiveBoard
from keepscore.reading.view import View
from keepscore.storage.engines.base import Page, Rankings

__all__ = ["ALL_SCORES", "ScoreRange", "ShownScores", "WantedPage", "range_of", "range_page"]

#: How often a page is read while others change the number of players ahead of the range.
MAX_READS = 5


class ShownScores(NamedTuple):
    """Scores from `min` to `max`, both included, as a reader names them; None: no bound."""

    min: int | Decimal | None = None
    max: int | Decimal | None = None


ALL_SCORES = ShownScores()


class WantedPage(NamedTuple):
    """Which page of a ranking: its place, and the scores of its players."""

    limit: int
    offset: int
    #: The row behind which it begins; None: it begins at the offset.
    after: Row | None
    scores: ShownScores


class ScoreRange(NamedTuple):
    """The same as a ranking has them: stored numbers, or levels where scores decay."""

    low: int | None
    high: int | None

    def holds(self, score: int) -> bool:
        """Return whether a score lies in the range."""
        return (self.low is None or score >= self.low) and (self.high is None or score <= self.high)


def range_of(live: LiveBoard, shown: ShownScores, now: int | None) -> ScoreRange:
    """Return the range that a reader names; `now` is the moment up to which scores decay, None if they are final."""
    low, high = (None if bound is None else live.board.stored(bound, name) for name, bound in zip(shown._fields, shown, strict=True))
    return ScoreRange(low, high) if live.aging is None or now is None else ScoreRange(*live.aging.levels(low, high, now))


async def range_page(source: Rankings, view: View, scores: ScoreRange, offset: int, limit: int) -> Page:
    """Return the page that begins with the range, or so many rows behind that. Rows at its end may lie outside. O(log N + limit)."""
    descending = view.live.board.order == "desc"
    best = scores.high if descending else scores.low
    if best is None:
        return await source.page(view.ranking, offset, limit, view.rank)
    ahead = (best + 1, None) if descending else (None, best - 1)
    count = await source.count(view.ranking, *ahead)
    for _ in range(MAX_READS):
        page = await source.page(view.ranking, count + offset, limit, view.rank)
        # Between the two reads, somebody may have got ahead of the range, or fallen behind its begin.
        now = await source.count(view.ranking, *ahead)
        if now == count:
            break
        count = now
    return page
