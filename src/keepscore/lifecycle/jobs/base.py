"""What a job of the keeper is."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod

from keepscore.lifecycle.parts import JobParts

__all__ = ["SECOND_MS", "Job"]

#: A second, in milliseconds.
SECOND_MS = 1000


class Job(ABC):
    """Something that is done again and again. It may be cut short at any point, and done twice at once."""

    name: str
    #: Milliseconds between two runs.
    every: int = SECOND_MS
    #: Whether one process of all does it. It works on one ledger from its beginning to its end.
    for_leader = True
    #: Whether it may take long, so that others do not wait for it.
    is_slow = True
    #: The longest pause after a failure, in milliseconds.
    patience: int = 60 * SECOND_MS

    def __init__(self, parts: JobParts) -> None:
        self.parts = parts
        #: Held while it is done.
        self.lock = asyncio.Lock()

    def forget(self) -> None:  # noqa: B027 (most remember nothing)
        """Forget what is known of the ledger: it may be another by now."""

    @abstractmethod
    async def run(self, now: int) -> str:
        """Do all that is due at a moment; return what was done, or nothing."""

    async def look(self, now: int) -> str:
        """Do the same as the keeper does it by itself, where less may do."""
        return await self.run(now)
