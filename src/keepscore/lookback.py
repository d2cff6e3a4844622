"""The part of `Leaderboards` that looks back: windows, histories, standings of past moments, events."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TypeVar

from keepscore.answers import BoardEvents, PlayerEvents, PlayerHistory, Top, Windows
from keepscore.as_of import AsOf
from keepscore.catalog import Catalog, LiveBoard
from keepscore.engines.base import RankingEngine
from keepscore.errors import EngineUnavailable
from keepscore.history import Sources, board_events, board_windows, player_events, player_history
from keepscore.ledgers.base import Ledger
from keepscore.pruning import rankings_of
from keepscore.reader import Reader
from keepscore.standby import Standby, stale_answer

__all__ = ["Lookback"]

A = TypeVar("A", Windows, PlayerHistory)


class Lookback:
    """What has been."""

    ledger: Ledger
    clock: Callable[[], int]
    reader: Reader
    _catalog: Catalog
    _engine: RankingEngine
    _as_of: AsOf

    async def windows(self, board: str, *, window: str | None = None, limit: int = 100, offset: int = 0) -> Windows:
        """The windows of a board that have players, the latest first."""
        live = self._catalog[board]
        return await self._look(live, lambda sources: board_windows(sources, live, window, limit, offset))

    async def history(self, board: str, player_id: str, *, window: str | None = None, limit: int = 100) -> PlayerHistory:
        """Where a player stood, window by window, and the best place ever."""
        live = self._catalog[board]
        return await self._look(live, lambda sources: player_history(sources, live, player_id, window, limit))

    async def _look(self, live: LiveBoard, read: Callable[[Sources], Awaitable[A]]) -> A:
        """An answer from archives and the engine or, while that is away, the ledger's checkpoint."""
        now = self.clock()

        async def read_stale(standby: Standby) -> A:
            return await read(Sources(self.ledger, standby, await standby.rankings(), now))

        try:
            rankings = rankings_of(self._engine, self.ledger, live)
            return await read(Sources(self.ledger, rankings, await self._engine.rankings(live.id), now))
        except EngineUnavailable as exc:
            return await stale_answer(self.ledger, live, exc, read_stale)

    async def as_of(
        self,
        board: str,
        at: datetime | str,
        *,
        limit: int = 100,
        window: str | None = None,
        segment: str | None = None,
        rank: str | None = None,
    ) -> Top:
        """The top of a ranking as it stood at a moment, by the events that had come by then. It reads all events of the board."""
        return await self._as_of.top(self._catalog[board], at, limit, window, segment, rank)

    async def events(self, board: str, player_id: str, limit: int = 100) -> PlayerEvents:
        """What is recorded of a player on a board, the newest first."""
        return await player_events(self.ledger, self._catalog[board], player_id, limit)

    async def all_events(self, board: str, *, cursor: str | None = None, limit: int = 1000) -> BoardEvents:
        """What is recorded on a board, up to 10,000 events at a time: those behind a `cursor`."""
        return await board_events(self.ledger, self._catalog[board], cursor, limit)
