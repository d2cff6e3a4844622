"""Losses of players who do not play any more, on boards with `inactivity`."""

from __future__ import annotations

from keepscore.inactivity import lose_for_inactivity
from keepscore.jobs.base import SECOND, Job

__all__ = ["Losses"]


class Losses(Job):
    """Records the losses that are due."""

    name = "inactivity"
    every = 60 * SECOND

    async def run(self, now: int) -> str:
        _, ledger, engine, _, writer, *_ = self.parts
        lost = {live.name: await lose_for_inactivity(writer, ledger, engine, live, now) for live in list(self.parts.catalog)}
        told = [f"{count} on {board}" for board, count in lost.items() if count]
        return f"losses: {', '.join(told)}" if told else ""
