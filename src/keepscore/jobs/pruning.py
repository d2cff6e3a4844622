"""Removal of the players whom the engine does not have to keep, on boards with `keep_top`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from keepscore.jobs.base import SECOND, Job, Parts

__all__ = ["Pruning"]


class Pruning(Job):
    """Calls what removes them."""

    name = "prune"
    every = 60 * SECOND

    def __init__(self, parts: Parts, prune: Callable[[], Awaitable[None]]) -> None:
        super().__init__(parts)
        self._prune = prune

    async def run(self, now: int) -> str:
        await self._prune()
        return ""
