"""What can be seen of a service's state only by looking: how large rankings are, what the engine lacks, what waits in the spool."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import msgspec

from keepscore.errors import EngineUnavailable, LedgerUnavailable, UnknownWindow
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.rollups import positions_of
from keepscore.storage.engines.base import Memory
from keepscore.storage.ledgers.outbox import OutboxCount
from keepscore.writing.parts import WriteParts

__all__ = ["MAX_BOARDS", "VitalSigns", "Vitals"]

#: Boards with a label of their own; the others are summed up. The oldest have one, so that none loses it later.
MAX_BOARDS = 200
#: Boards that are looked at at a time.
TOGETHER = 20


class Vitals(msgspec.Struct):
    """One look. What could not be read is missing."""

    #: Whether recorded events wait for the engine, and whether the engine keeps events for the ledger.
    is_behind: bool
    is_spooling: bool
    #: Names of the boards with a label of their own.
    boards: frozenset[str]
    #: Players of the present ranking of each board and window.
    players: dict[tuple[str, ...], int] = {}
    #: Events of each board that the ledger has and the engine lacks.
    lacking: dict[str, int] = {}
    #: Batches of events that the engine keeps for the ledger.
    spooled: int | None = None
    memory: Memory | None = None
    #: Webhooks that wait to be acknowledged, and those of them that were refused.
    webhooks: OutboxCount | None = None


class VitalSigns:
    """Looks at the parts of one process."""

    def __init__(self, parts: WriteParts) -> None:
        self._catalog, self._ledger, self._engine, self._clock = parts.stores
        self._behind = parts.behind
        self._spool = parts.spool

    def is_board(self, name: str) -> bool:
        """Return whether there is such a board."""
        return self._catalog.get(name) is not None

    async def look(self) -> Vitals:
        """Read everything: some calls for each board."""
        lives = sorted(self._catalog, key=lambda live: live.id)
        named = frozenset(live.name for live in lives[:MAX_BOARDS])
        found = Vitals(bool(self._behind.since), self._spool.reason is not None, named)
        with suppress(LedgerUnavailable):
            found.webhooks = await self._ledger.outbox.count()
        try:
            found.memory = await self._engine.memory()
            for start in range(0, len(lives), TOGETHER):
                await asyncio.gather(*(self._look_at(live, found) for live in lives[start : start + TOGETHER]))
        except EngineUnavailable:
            # The counters say so.
            pass
        return found

    async def _look_at(self, live: LiveBoard, found: Vitals) -> None:
        if self._engine.spool is not None:
            # Others add to the sum while this one waits.
            size = await self._engine.spool.size(live.id)
            found.spooled = (found.spooled or 0) + size
        for window in live.board.periods:
            try:
                ranking = live.ranking(window, None, None, self._clock())
            except UnknownWindow:
                # There is no season now.
                continue
            found.players[live.name, window] = await self._engine.count(ranking, None, None)
        try:
            # In this order: what comes in between is not taken for something that is lacking.
            recorded = await positions_of(self._ledger, live)
        except LedgerUnavailable:
            return
        applied = await self._engine.applied(live.id) or {}
        found.lacking[live.name] = sum(max(0, n - applied.get(writer, 0)) for writer, n in recorded.items())
