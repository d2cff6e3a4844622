"""Groups that are being applied while others are recorded: one after the other on each board, and beside those on others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from keepscore.writing.groups import Group

__all__ = ["BoardTurns", "UnderWay"]


class BoardTurns:
    """Turns on boards, by their numbers, in the order in which they are asked for."""

    def __init__(self) -> None:
        #: What ends with the last turn that was asked for on each board.
        self._last: dict[int, asyncio.Future[None]] = {}

    @asynccontextmanager
    async def turn(self, boards: Collection[int]) -> AsyncIterator[None]:
        """Wait for all who asked for one of these boards before, and have them until the end of the block."""
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        before = {last for board in boards if (last := self._last.get(board)) is not None}
        self._last.update(dict.fromkeys(boards, mine))
        try:
            if before:
                await asyncio.wait(before)
            yield
        finally:
            mine.set_result(None)
            for board in boards:
                if self._last[board] is mine:
                    del self._last[board]


class UnderWay:
    """The groups of one writer that are being applied."""

    def __init__(self) -> None:
        #: The boards of each, by their numbers, if it is a large one.
        self._groups: dict[asyncio.Task[None], set[int]] = {}
        #: Their idempotency keys, each with its scope.
        self.keys: set[tuple[str, str, str]] = set()

    @property
    def large(self) -> set[int]:
        """The boards of large ones: nobody on another board is to wait for these."""
        return set().union(*self._groups.values())

    async def begin(self, work: Coroutine[Any, Any, None], group: Group) -> None:
        """Begin to apply a group, and wait for those before it, unless there is a large one among them."""
        before = [] if self.large else list(self._groups)
        task = asyncio.create_task(work)
        self._groups[task] = group.boards if group.is_large else set()
        self.keys |= group.keys
        task.add_done_callback(lambda _: self._end(task, group))
        if before:
            await asyncio.wait(before)

    def _end(self, task: asyncio.Task[None], group: Group) -> None:
        del self._groups[task]
        self.keys -= group.keys

    async def applied(self) -> None:
        """Wait until all that are under way now are applied."""
        if self._groups:
            await asyncio.wait(list(self._groups))
