"""Removal of the players whom the engine does not have to keep, on boards with `keep_top`."""

from __future__ import annotations

from keepscore.lifecycle.jobs.base import SECOND_MS, Job
from keepscore.lifecycle.parts import JobParts
from keepscore.lifecycle.rebuild import Rebuilds

__all__ = ["Pruning"]


class Pruning(Job):
    """Calls what removes them."""

    name = "prune"
    every = 60 * SECOND_MS

    def __init__(self, parts: JobParts, rebuilds: Rebuilds) -> None:
        super().__init__(parts)
        self._rebuilds = rebuilds

    async def run(self, now: int) -> str:
        await self._rebuilds.prune()
        return ""
