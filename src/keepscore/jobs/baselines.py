"""Baselines: the ranks of all players at some moment, against which movement is told."""

from __future__ import annotations

from keepscore.jobs.base import SECOND, Job
from keepscore.movement import take_baselines

__all__ = ["Baselines"]


class Baselines(Job):
    """Takes the baselines of boards with `movement` that are due, and drops those that nobody needs any more."""

    name = "baselines"
    every = 15 * SECOND

    async def run(self, now: int) -> str:
        _, ledger, engine, *_ = self.parts
        for live in list(self.parts.catalog):
            await take_baselines(ledger, engine, live, now)
        return ""
