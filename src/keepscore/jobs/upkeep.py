"""What each process does for itself: learn what others have changed, bring ledger and engine together, drop what has expired."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from keepscore.jobs.base import SECOND, Job, Parts

__all__ = ["CatchingUp", "Expiry", "Refreshing"]


class Refreshing(Job):
    """Takes up what other processes have changed."""

    name = "refresh"
    for_leader = is_slow = False
    patience = SECOND

    def __init__(self, parts: Parts, refresh: Callable[[], Awaitable[None]]) -> None:
        super().__init__(parts)
        self._refresh = refresh

    async def run(self, now: int) -> str:
        await self._refresh()
        return ""


class CatchingUp(Job):
    """Brings to the ledger what the engine kept for it, and to the engine what it could not take."""

    name = "catch up"
    for_leader = is_slow = False
    patience = SECOND
    #: Whether ledger and engine were together when it was looked last.
    together = True

    async def run(self, now: int) -> str:
        self.together = False
        await self.parts.writer.catch_up()
        self.together = True
        return ""


class Expiry(Job):
    """Drops rankings whose time has come. An engine elsewhere does that by itself, and is only tidied up."""

    name = "expire"
    for_leader = is_slow = False
    patience = SECOND

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self.every = 60 * SECOND if parts.is_shared else SECOND

    async def run(self, now: int) -> str:
        await self.parts.engine.expire(now)
        return ""
