"""Baselines: the ranks of all players at some moment, which movement is measured against."""

from __future__ import annotations

from keepscore.lifecycle.jobs.base import SECOND_MS, Job
from keepscore.projection.live_boards import LiveBoard
from keepscore.reading.movement import take_baselines
from keepscore.storage.engines.settling import try_each

__all__ = ["Baselines"]


class Baselines(Job):
    """Takes the baselines of boards with `movement` that are due, and drops those that nobody needs any more."""

    name = "baselines"
    every = 15 * SECOND_MS

    async def run(self, now: int) -> str:
        await try_each(self._take(live, now) for live in list(self.parts.catalog))
        return ""

    async def _take(self, live: LiveBoard, now: int) -> None:
        self.parts.watch.check(live)
        await take_baselines(self.parts.ledger, self.parts.engine, live, now)
