"""Rankings as one player sees them: a shadowed player is ranked among the others, for nobody else.

`as_seen_by` is all that reads and receipts need: it takes what rankings are read from, and who looks. A page, a place, a count of what it
returns has one more row, where the viewer is shadowed on the board. It costs nothing where nobody is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import NamedTuple, TypeVar

from keepscore.domain.boards import RankKind
from keepscore.domain.ordering import KeyCodec, Numbering, Place, Ranks, Row
from keepscore.domain.scoring import State
from keepscore.errors import LedgerUnavailable
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.replay import restated_all
from keepscore.projection.rollups import parts_of, positions_of
from keepscore.storage.engines.base import Page, Ranking, Rankings
from keepscore.storage.ledgers.base import Ledger

__all__ = ["as_seen_by", "is_shadowed", "seen_by"]

A = TypeVar("A")


async def is_shadowed(ledger: Ledger, live: LiveBoard, player: str | None) -> bool:
    """Return whether a player is ranked on a board for themselves only."""
    catalog = live.catalog
    if player is None or catalog is None:
        return False
    now = catalog.clock()
    with suppress(LedgerUnavailable):
        await catalog.restrictions.refresh(ledger, now)
    if not catalog.restrictions:
        return False
    found = [catalog.restrictions.on_now(board.name, player, now) for board in [live, *parts_of(live)]]
    return any(one is not None and one.kind == "shadow" for one in found)


async def _unranked_state(ledger: Ledger, live: LiveBoard, ranking: Ranking, player: str) -> State | None:
    """Return the state that a player would have in a ranking, if they were ranked. O(events of the player)."""
    upto = await positions_of(ledger, live)
    return (await restated_all(ledger, live, {ranking: [player]}, upto, with_hidden=True))[ranking][player]


async def as_seen_by(source: Rankings, ledger: Ledger, live: LiveBoard, ranking: Ranking, viewer: str | None) -> Rankings:
    """Return what a ranking is read from, as a player sees it: with their own row among the others, where they are shadowed."""
    if viewer is None or not await is_shadowed(ledger, live, viewer):
        return source
    if (source.is_final and live.aging is not None) or await source.place(ranking, viewer) is not None:
        # An archive of before, or a roll-up of boards on which they are ranked. An archive of levels tells no scores of that time.
        return source
    state = await _unranked_state(ledger, live, ranking, viewer)
    return source if state is None else await OneMoreRow.among(source, live, ranking, Row(viewer, *state))


def seen_by(
    ledger: Ledger, live: LiveBoard, ranking: Ranking, viewer: str, read: Callable[[Rankings], Awaitable[A]]
) -> Callable[[Rankings], Awaitable[A]]:
    """Return a read of a ranking as a player sees it, whatever it is read from."""

    async def read_as_seen(source: Rankings) -> A:
        return await read(await as_seen_by(source, ledger, live, ranking, viewer))

    return read_as_seen


class _Spot(NamedTuple):
    """Where the row is: how many are ahead of it, its ranks, and whether nobody else has its score."""

    ahead: int
    ranks: Ranks
    is_alone: bool


class OneMoreRow(Rankings):
    """A ranking with one more row, which is not kept anywhere. Other rankings are as they are."""

    def __init__(self, source: Rankings, live: LiveBoard, row: Row, spot: _Spot) -> None:
        self.is_final = source.is_final
        self.last_rank = source.last_rank
        self._source = source
        self._codec = KeyCodec(live.board)
        self._is_descending = live.board.order == "desc"
        self._row = row
        self._spot = spot

    @classmethod
    async def among(cls, source: Rankings, live: LiveBoard, ranking: Ranking, row: Row) -> OneMoreRow:
        """Find the place of a row among the others. O(log N)."""
        ahead = (await source.page_after(ranking, row, 1)).first.unique - 1
        ranks = Ranks(1, 1, 1)
        if ahead:
            before = await source.page(ranking, ahead - 1, 1, "dense")
            numbering = Numbering(before.first)
            if before.rows:
                numbering.next(before.rows[0].score)
            ranks = numbering.next(row.score)
        return cls(source, live, row, _Spot(ahead, ranks, not await source.count(ranking, row.score, row.score)))

    async def place(self, ranking: Ranking, player: str, wanted: RankKind | None = None) -> Place | None:
        """Return where a player stands. O(log N)."""
        return (await self.places(ranking, [player], wanted))[0]

    async def places(self, ranking: Ranking, players: Sequence[str], wanted: RankKind | None = None) -> list[Place | None]:
        """Return where some players stand. O(log N) each."""
        found = await self._source.places(ranking, players, wanted)
        return [await self._moved(ranking, player, place) for player, place in zip(players, found, strict=True)]

    async def _moved(self, ranking: Ranking, player: str, place: Place | None) -> Place | None:
        row, spot = self._row, self._spot
        if player == row.player:
            page = await self._source.page(ranking, 0, 0)
            return Place(row.score, row.since, *spot.ranks, page.total + 1, position=page.position)
        if place is None:
            return None
        ranks = Ranks(place.unique, place.standard, place.dense)
        if place.unique > spot.ahead:
            ranks = self._behind(ranks, place.score)
        return Place(place.score, place.since, *ranks, place.total + 1, place.error, place.position)

    def _behind(self, ranks: Ranks, score: int) -> Ranks:
        """Return the ranks of somebody behind the row."""
        unique, standard, dense = ranks
        differs = score != self._row.score
        return Ranks(unique + 1, standard + 1 if differs else standard, dense + 1 if dense and differs and self._spot.is_alone else dense)

    async def page(self, ranking: Ranking, offset: int, limit: int, wanted: RankKind | None = None) -> Page:
        """Return the rows after the first `offset`. O(log N + limit)."""
        spot = self._spot
        if spot.ahead < offset:
            page = await self._source.page(ranking, offset - 1, limit, wanted)
            first = self._behind(page.first, page.rows[0].score) if page.rows else page.first._replace(unique=page.first.unique + 1)
            return page._replace(first=first, total=page.total + 1)
        page = await self._source.page(ranking, offset, limit, wanted)
        return self._with_row(page, spot.ahead - offset, limit)

    async def page_after(self, ranking: Ranking, row: Row, limit: int, wanted: RankKind | None = None) -> Page:
        """Return the rows behind `row`, whether or not it is still there. O(log N + limit)."""
        page = await self._source.page_after(ranking, row, limit, wanted)
        if not self._is_ahead(row, self._row):
            first = self._behind(page.first, page.rows[0].score) if page.rows else page.first._replace(unique=page.first.unique + 1)
            return page._replace(first=first, total=page.total + 1)
        return self._with_row(page, self._spot.ahead - (page.first.unique - 1), limit)

    def _with_row(self, page: Page, place: int, limit: int) -> Page:
        """Return a page with the row at a place of it, if that is within."""
        if place > len(page.rows) or place >= limit:
            return page._replace(total=page.total + 1)
        rows = [*page.rows[:place], self._row, *page.rows[place:]][:limit]
        return page._replace(rows=rows, first=self._spot.ranks if place == 0 else page.first, total=page.total + 1)

    def _is_ahead(self, one: Row, other: Row) -> bool:
        # Where the time does not decide, an engine may not know it.
        left, right = (self._codec.encode(row.player, row.score, max(row.since, 0)) for row in (one, other))
        return left > right if self._is_descending else left < right

    async def count(self, ranking: Ranking, low: int | None, high: int | None) -> int:
        """Return how many players have a score from `low` to `high`, both included. O(log N)."""
        score = self._row.score
        own = (low is None or low <= score) and (high is None or score <= high)
        return await self._source.count(ranking, low, high) + own
