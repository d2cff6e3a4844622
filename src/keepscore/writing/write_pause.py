"""A moment in which nothing is written."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from types import TracebackType
from typing import Any

__all__ = ["WritePause"]


class WritePause:
    """Held while groups are on their way; whoever else holds it finds ledger and engine at rest."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        #: How many wait for it, or hold it.
        self.wanted = 0
        self._beside: set[asyncio.Task[None]] = set()

    def beside(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something while groups go on, for which whoever else holds it waits."""
        task = asyncio.create_task(work)
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)

    async def settled(self) -> None:
        """Wait until nothing is done beside the groups."""
        while self._beside:
            await asyncio.wait(self._beside)

    async def __aenter__(self) -> None:
        self.wanted += 1
        try:
            await self.lock.acquire()
            try:
                await self.settled()
            except BaseException:
                self.lock.release()
                raise
        except BaseException:
            self.wanted -= 1
            raise

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.wanted -= 1
        self.lock.release()
