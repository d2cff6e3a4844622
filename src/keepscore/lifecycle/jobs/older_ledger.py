"""A ledger that comes back older: noticed at once, and the rankings rebuilt from it."""

from __future__ import annotations

from keepscore.lifecycle.definitions import Definitions
from keepscore.lifecycle.jobs.base import SECOND_MS, Job
from keepscore.lifecycle.parts import JobParts

__all__ = ["Comparing"]


class Comparing(Job):
    """Looks whether the ledger is still the one that it was, and rebuilds boards that have events which it has lost."""

    name = "compare"
    for_leader = is_slow = False
    patience = SECOND_MS

    def __init__(self, parts: JobParts, definitions: Definitions) -> None:
        super().__init__(parts)
        self._definitions = definitions

    async def run(self, now: int) -> str:
        watch = self.parts.watch
        await self.parts.ledger.identity.look()
        if not self.parts.ledger.identity.is_confirmed:
            async with self.parts.write_pause:
                await self.parts.numbers.reconcile()
        await watch.compare_doubted()
        rebuilt = []
        incarnation = self.parts.ledger.identity.incarnation
        for live in watch.wrong():
            # Where the rankings are shared, another process, or a submission on its way, may have been quicker.
            if not self.parts.is_shared or await self.parts.engine.applied(live.id) is None:
                await self._definitions.refill(live.name)
            if self.parts.ledger.identity.incarnation != incarnation:
                # Exchanged once more: what was rebuilt may be wrong again.
                break
            watch.trust(live)
            rebuilt.append(live.name)
        return f"rebuilt from an older ledger: {', '.join(rebuilt)}" if rebuilt else ""
