"""A moment in which nothing is written."""

from __future__ import annotations

import asyncio
from types import TracebackType

__all__ = ["Quiet"]


class Quiet:
    """Held while groups are on their way; whoever else holds it finds ledger and engine at rest."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        #: How many wait for it, or hold it.
        self.wanted = 0

    async def __aenter__(self) -> None:
        self.wanted += 1
        try:
            await self.lock.acquire()
        except BaseException:
            self.wanted -= 1
            raise

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.wanted -= 1
        self.lock.release()
