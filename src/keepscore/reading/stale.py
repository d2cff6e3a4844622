"""What readers get while the engine is away, the ledger's checkpoint of a board, and how answers say that they may lack something.

Answers from it are as old as it is. A page costs O(offset + limit) with an index in the order of the scores, a rank O(players ahead).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from keepscore.domain.boards import MAX_SCORE, RankKind
from keepscore.domain.durations import time_of
from keepscore.domain.ordering import Place, Ranks, Row, directions
from keepscore.domain.results.friends import BoardView, FriendsBoard
from keepscore.domain.results.leagues import PlayerLeague
from keepscore.domain.results.standings import Around, Count, Lookup, PlayerHistory, PlayerPlace, Top, Windows
from keepscore.errors import EngineUnavailable, LedgerUnavailable, UnknownPlayer
from keepscore.projection.live_boards import LiveBoard
from keepscore.storage.engines.base import Page, Ranking, Rankings
from keepscore.storage.ledgers.base import Ledger
from keepscore.storage.ledgers.checkpoints import Order
from keepscore.storage.ledgers.slots import Slot

__all__ = ["Standby", "mark_stale", "stale_answer"]

A = TypeVar("A", Top, PlayerPlace, Around, Lookup, Count, Windows, PlayerHistory, FriendsBoard, BoardView, PlayerLeague)


class Standby(Rankings):
    """The checkpoint of one board."""

    def __init__(self, ledger: Ledger, live: LiveBoard, taken: int) -> None:
        self._ledger = ledger
        self._board = live.id
        self._order = Order(*directions(live.board))
        #: The moment whose events it includes.
        self.taken = taken

    async def place(self, ranking: Ranking, player: str, wanted: RankKind | None = None) -> Place | None:
        return (await self.places(ranking, [player]))[0]

    async def places(self, ranking: Ranking, players: Sequence[str], wanted: RankKind | None = None) -> list[Place | None]:
        rows = await self._ledger.checkpoints.states(ranking.board, _slot(ranking), players)
        found = {row[0]: await self._place(ranking, Row(*row[:3])) for row in rows}
        return [found.get(player) for player in players]

    async def _place(self, ranking: Ranking, row: Row) -> Place:
        ahead = await self._ledger.checkpoints.ahead(ranking.board, _slot(ranking), self._order, row)
        return Place(row.score, row.since, ahead.rows + 1, ahead.better + 1, ahead.scores + 1, ahead.total)

    async def page(self, ranking: Ranking, offset: int, limit: int, wanted: RankKind | None = None) -> Page:
        rows = await self._ledger.checkpoints.page(ranking.board, _slot(ranking), self._order, offset, limit)
        if not rows:
            total = await self.count(ranking, None, None)
            return Page([], Ranks(total + 1, total + 1, total + 1), total)
        first = await self._place(ranking, rows[0])
        return Page(rows, Ranks(first.unique, first.standard, first.dense), first.total)

    async def page_after(self, ranking: Ranking, row: Row, limit: int, wanted: RankKind | None = None) -> Page:
        place = await self._place(ranking, row)
        rows = await self._ledger.checkpoints.page(ranking.board, _slot(ranking), self._order, place.unique - 1, 1)
        return await self.page(ranking, place.unique - (rows != [row]), limit)

    async def rankings(self) -> list[Ranking]:
        """Return the rankings that it holds."""
        return [Ranking(self._board, *slot) for slot in await self._ledger.checkpoints.slots(self._board)]

    async def count(self, ranking: Ranking, low: int | None, high: int | None) -> int:
        bounds = -MAX_SCORE if low is None else low, MAX_SCORE if high is None else high
        return await self._ledger.checkpoints.count(ranking.board, _slot(ranking), *bounds)


async def stale_answer(ledger: Ledger, live: LiveBoard, error: EngineUnavailable, read: Callable[[Standby], Awaitable[A]]) -> A:
    """Return an answer from the ledger's checkpoint, which says so; there is none for strong boards, and none without a checkpoint.

    A checkpoint counts only if it means what the board means.
    """
    if live.is_strong:
        raise error
    try:
        points = await ledger.checkpoints.latest(live.id)
        if not points or points[0].semantics_version != live.semantics_version:
            raise error
        standby = Standby(ledger, live, points[0].taken)
        return mark_stale(await read(standby), standby.taken)
    except UnknownPlayer as exc:
        exc.as_of = time_of(standby.taken)
        raise
    except LedgerUnavailable:
        raise error from None


def mark_stale(answer: A, taken: int) -> A:
    """Return the same answer, which says that what came after a moment may be missing."""
    answer.stale = True
    answer.as_of = time_of(taken)
    return answer


def _slot(ranking: Ranking) -> Slot:
    return Slot(*ranking[1:])
