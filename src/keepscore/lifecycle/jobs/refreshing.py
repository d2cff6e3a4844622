"""What each process does for itself: learn what others have changed, bring ledger and engine together, drop what has expired."""

from __future__ import annotations

from keepscore.lifecycle.definitions import Definitions
from keepscore.lifecycle.jobs.base import SECOND_MS, Job
from keepscore.lifecycle.parts import JobParts
from keepscore.reading.cards import Cards

__all__ = ["CatchingUp", "Expiry", "Refreshing", "Rotating"]


class Refreshing(Job):
    """Takes up what other processes have changed."""

    name = "refresh"
    for_leader = is_slow = False
    patience = SECOND_MS

    def __init__(self, parts: JobParts, definitions: Definitions, cards: Cards) -> None:
        super().__init__(parts)
        self._definitions = definitions
        self._cards = cards

    async def run(self, now: int) -> str:
        # What could not be done at the start comes first.
        await self.parts.catch_up.meet_engine()
        await self._definitions.load_rest()
        await self._definitions.refresh()
        await self._definitions.learn_times()
        await self._cards.learn()
        return ""


class CatchingUp(Job):
    """Brings to the ledger what the engine kept for it, and to the engine what it could not take."""

    name = "catch up"
    for_leader = is_slow = False
    patience = SECOND_MS
    #: Whether ledger and engine were together when it was looked last.
    together = True

    async def run(self, now: int) -> str:
        self.together = False
        await self.parts.catch_up.run()
        self.together = True
        return ""


class Expiry(Job):
    """Drops rankings whose time has come. An engine elsewhere does that by itself, and is only tidied up."""

    name = "expire"
    for_leader = is_slow = False
    patience = SECOND_MS

    def __init__(self, parts: JobParts) -> None:
        super().__init__(parts)
        self.every = 60 * SECOND_MS if parts.is_shared else SECOND_MS

    async def run(self, now: int) -> str:
        await self.parts.engine.expire(now)
        return ""


class Rotating(Job):
    """Renames the rankings of windows that have ended, where they had live keys."""

    name = "rotate"
    is_slow = False
    patience = SECOND_MS

    async def run(self, now: int) -> str:
        await self.parts.engine.rotate()
        return ""
