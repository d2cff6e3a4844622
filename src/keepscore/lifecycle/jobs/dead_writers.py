"""Writers that are gone: what they recorded and did not apply."""

from __future__ import annotations

import logging

from keepscore.lifecycle.jobs.base import SECOND_MS, Job
from keepscore.lifecycle.parts import JobParts
from keepscore.projection.live_boards import LiveBoard
from keepscore.storage.engines.settling import try_each
from keepscore.telemetry.counters import HEALS

__all__ = ["DeadWriters"]

#: Milliseconds after which a writer that gets no further with what it has recorded is taken for dead.
GAP_MS = 3000

log = logging.getLogger(__name__)


class DeadWriters(Job):
    """Applies what a writer that is no more has recorded and not applied. Whoever is alive gets there by itself."""

    name = "close gaps"
    is_slow = False
    patience = SECOND_MS

    def __init__(self, parts: JobParts) -> None:
        super().__init__(parts)
        #: Board, writer and position of those that have recorded more than is applied, and since when.
        self._gaps: dict[tuple[int, int, int], int] = {}

    async def run(self, now: int) -> str:
        closed: list[str] = []
        await try_each(self._close(live, now, closed) for live in list(self.parts.catalog))
        return f"applied events of dead writers: {', '.join(closed)}" if closed else ""

    async def _close(self, live: LiveBoard, now: int, closed: list[str]) -> None:
        ledger, engine = self.parts.ledger, self.parts.engine
        applied = await engine.applied(live.id)
        recorded = await ledger.events.positions(live.id) if applied is not None else {}
        if not live.board.is_rollup and any(n > recorded.get(writer, 0) for writer, n in (applied or {}).items()):
            # A ledger that was put back in its place, without anybody being cut off, is not noticed otherwise.
            await self.parts.watch.compare(live)
        behind = [(live.id, writer, n) for writer, last in recorded.items() if (n := (applied or {}).get(writer, 0)) < last]
        # A clock that was put back must not make a gap of the future of it.
        since = {gap: min(self._gaps.get(gap, now), now) for gap in behind}
        self._gaps = {gap: when for gap, when in self._gaps.items() if gap[0] != live.id} | since
        if any(now - when >= GAP_MS for when in since.values()):
            log.warning("board %r: applied events of a dead writer", live.name)
            HEALS.add("dead_writer")
            await self.parts.healing.catch_up(live)
            closed.append(live.name)
