"""Rankings for the time in which the engine is away: the ledger's checkpoint of a board.

They are as old as the checkpoint. A page costs O(offset + limit) with an index in the order of the scores, a rank O(players ahead).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from keepscore.answers import Around, Count, Lookup, PlayerHistory, PlayerPlace, Top, Windows
from keepscore.boards import MAX_SCORE, RankKind
from keepscore.catalog import LiveBoard
from keepscore.durations import time_of
from keepscore.engines.base import Page, Ranking, Rankings
from keepscore.errors import EngineUnavailable, LedgerUnavailable
from keepscore.ledgers.base import Ledger, Order, Slot
from keepscore.ordering import Place, Ranks, Row

__all__ = ["Standby", "stale_answer"]

A = TypeVar("A", Top, PlayerPlace, Around, Lookup, Count, Windows, PlayerHistory)


class Standby(Rankings):
    """The checkpoint of one board."""

    def __init__(self, ledger: Ledger, live: LiveBoard, taken: int) -> None:
        self._ledger = ledger
        self._board = live.id
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

    async def rankings(self) -> list[Ranking]:
        """The rankings that it holds."""
        return [Ranking(self._board, *slot) for slot in await self._ledger.checkpoint_slots(self._board)]

    async def count(self, ranking: Ranking, low: int | None, high: int | None) -> int:
        bounds = -MAX_SCORE if low is None else low, MAX_SCORE if high is None else high
        return await self._ledger.checkpoint_count(ranking.board, _slot(ranking), *bounds)


async def stale_answer(ledger: Ledger, live: LiveBoard, error: EngineUnavailable, read: Callable[[Standby], Awaitable[A]]) -> A:
    """An answer from the ledger's checkpoint, which says so; there is none for strong boards, and none without a checkpoint.

    A checkpoint counts only if it means what the board means.
    """
    if live.is_strong:
        raise error
    try:
        points = await ledger.checkpoints(live.id)
        if not points or points[0].meaning != live.meaning:
            raise error
        standby = Standby(ledger, live, points[0].taken)
        answer = await read(standby)
    except LedgerUnavailable:
        raise error from None
    answer.stale = True
    answer.as_of = time_of(standby.taken)
    return answer


def _slot(ranking: Ranking) -> Slot:
    return Slot(*ranking[1:])
