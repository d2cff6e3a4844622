"""Rankings for the time in which the engine is away: the ledger's checkpoint of a board.

They are as old as the checkpoint. A page costs O(offset + limit) with an index in the order of the scores, a rank O(players ahead).
"""

from __future__ import annotations

from collections.abc import Sequence

from keepscore.boards import MAX_SCORE, RankKind
from keepscore.catalog import LiveBoard
from keepscore.engines.base import Page, Ranking, Rankings
from keepscore.ledgers.base import Ledger, Order, Slot
from keepscore.ordering import Place, Ranks, Row

__all__ = ["Standby", "standby_for"]


class Standby(Rankings):
    """The checkpoint of one board."""

    def __init__(self, ledger: Ledger, live: LiveBoard, taken: int) -> None:
        self._ledger = ledger
        self._order = Order(live.board.order == "desc", {"first": 1, "last": -1, "player": 0}[live.board.ties])
        #: The moment whose events it includes.
        self.taken = taken

    async def place(self, ranking: Ranking, player: str) -> Place | None:
        return (await self.places(ranking, [player]))[0]

    async def places(self, ranking: Ranking, players: Sequence[str], wanted: RankKind | None = None) -> list[Place | None]:
        rows = await self._ledger.checkpoint_states(ranking.board, _slot(ranking), players)
        found = {row[0]: await self._place(ranking, Row(*row[:3])) for row in rows}
        return [found.get(player) for player in players]

    async def _place(self, ranking: Ranking, row: Row) -> Place:
        ahead = await self._ledger.checkpoint_ahead(ranking.board, _slot(ranking), self._order, row)
        return Place(row.score, row.since, ahead.rows + 1, ahead.better + 1, ahead.scores + 1, ahead.total)

    async def page(self, ranking: Ranking, offset: int, limit: int) -> Page:
        rows = await self._ledger.checkpoint_page(ranking.board, _slot(ranking), self._order, offset, limit)
        if not rows:
            total = await self.count(ranking, None, None)
            return Page([], Ranks(total + 1, total + 1, total + 1), total)
        first = await self._place(ranking, rows[0])
        return Page(rows, Ranks(first.unique, first.standard, first.dense), first.total)

    async def page_after(self, ranking: Ranking, row: Row, limit: int) -> Page:
        place = await self._place(ranking, row)
        rows = await self._ledger.checkpoint_page(ranking.board, _slot(ranking), self._order, place.unique - 1, 1)
        return await self.page(ranking, place.unique - (rows != [row]), limit)

    async def count(self, ranking: Ranking, low: int | None, high: int | None) -> int:
        bounds = -MAX_SCORE if low is None else low, MAX_SCORE if high is None else high
        return await self._ledger.checkpoint_count(ranking.board, _slot(ranking), *bounds)


async def standby_for(ledger: Ledger, live: LiveBoard) -> Standby | None:
    """The checkpoint of a board, if there is one that means what the board means."""
    points = await ledger.checkpoints(live.id)
    return Standby(ledger, live, points[0].taken) if points and points[0].meaning == live.meaning else None


def _slot(ranking: Ranking) -> Slot:
    return Slot(*ranking[1:])
