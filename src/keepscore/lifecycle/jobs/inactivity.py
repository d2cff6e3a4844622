"""Losses of players who do not play any more, on boards with `inactivity`."""

from __future__ import annotations

from keepscore.lifecycle.inactivity import lose_for_inactivity
from keepscore.lifecycle.jobs.base import SECOND_MS, Job
from keepscore.projection.live_boards import LiveBoard

__all__ = ["InactivityLosses"]


class InactivityLosses(Job):
    """Records the losses that are due."""

    name = "inactivity"
    every = 60 * SECOND_MS

    async def run(self, now: int) -> str:
        lost = {live.name: await self._lose(live, now) for live in list(self.parts.catalog)}
        told = [f"{count} on {board}" for board, count in lost.items() if count]
        return f"losses: {', '.join(told)}" if told else ""

    async def _lose(self, live: LiveBoard, now: int) -> int:
        self.parts.watch.check(live)
        return await lose_for_inactivity(self.parts.writer, self.parts.ledger, self.parts.engine, live, now)
