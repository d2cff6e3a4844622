"""The keeper's job that finishes decisions which were cut short."""

from __future__ import annotations

from keepscore.fairplay.voids import Voids
from keepscore.lifecycle.jobs.base import SECOND_MS, Job
from keepscore.lifecycle.parts import JobParts

__all__ = ["FinishVoids"]


class FinishVoids(Job):
    """Records the verdicts of voids whose process died, and takes back what it was undoing."""

    name = "finish voids"
    every = 10 * SECOND_MS

    def __init__(self, parts: JobParts, voids: Voids) -> None:
        super().__init__(parts)
        self._voids = voids

    async def run(self, now: int) -> str:
        finished = await self._voids.finish_all()
        return f"finished: {', '.join(finished)}" if finished else ""
