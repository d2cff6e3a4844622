"""Writers that are gone: what they recorded and did not apply."""

from __future__ import annotations

import logging

from keepscore.jobs.base import SECOND, Job, Parts

__all__ = ["Gaps"]

#: Milliseconds after which a writer that gets no further with what it has recorded is taken for dead.
GAP_MS = 3000

log = logging.getLogger(__name__)


class Gaps(Job):
    """Applies what a writer that is no more has recorded and not applied. Whoever is alive gets there by itself."""

    name = "close gaps"
    is_slow = False
    patience = SECOND

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        #: Board, writer and position of those that have recorded more than is applied, and since when.
        self._gaps: dict[tuple[int, int, int], int] = {}

    async def run(self, now: int) -> str:
        catalog, ledger, engine = self.parts[:3]
        closed = []
        for live in list(catalog):
            applied = await engine.applied(live.id)
            recorded = await ledger.positions(live.id) if applied is not None else {}
            behind = [(live.id, writer, n) for writer, last in recorded.items() if (n := (applied or {}).get(writer, 0)) < last]
            # A clock that was put back must not make a gap of the future of it.
            since = {gap: min(self._gaps.get(gap, now), now) for gap in behind}
            self._gaps = {gap: when for gap, when in self._gaps.items() if gap[0] != live.id} | since
            if any(now - when >= GAP_MS for when in since.values()):
                log.warning("board %r: events of a writer that is gone are applied", live.name)
                await self.parts.applier.catch_up(live)
                closed.append(live.name)
        return f"applied events of writers that are gone: {', '.join(closed)}" if closed else ""
