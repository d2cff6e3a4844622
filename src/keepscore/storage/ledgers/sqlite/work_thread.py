"""A thread that does one piece of work after the other for an event loop.

An executor of the standard library takes nothing more once the main thread has ended. Other threads of a program may still submit scores
then, and a program that ends without closing its ledger has it closed at the very end.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, TypeVar

__all__ = ["WorkThread"]

T = TypeVar("T")


class WorkThread:
    """A daemon thread, started by the first work and ended by `stop`."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._queue: SimpleQueue[_Work | None] = SimpleQueue()
        self._started = False
        self._stopped = False

    async def run(self, work: Callable[..., T], *args: Any) -> T:
        """Return what `work` gives in the thread. Work that is cancelled before its turn is left out."""
        if self._stopped:
            raise RuntimeError(f"the thread {self._name} has ended")
        if not self._started:
            threading.Thread(target=_work_off, args=(self._queue,), name=self._name, daemon=True).start()
            self._started = True
        return await self._given(work, args)

    async def stop(self) -> None:
        """End the thread, after what was given to it."""
        if self._started and not self._stopped:
            self._stopped = True
            ended = self._given(int, ())
            self._queue.put(None)
            await ended
        self._stopped = True

    def _given(self, work: Callable[..., T], args: tuple[Any, ...]) -> asyncio.Future[T]:
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._queue.put(_Work(future, work, args))
        return future


class _Work:
    __slots__ = ("_args", "_future", "_loop", "_work")

    def __init__(self, future: asyncio.Future[Any], work: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self._future, self._loop, self._work, self._args = future, future.get_loop(), work, args

    def do(self) -> None:
        if self._future.cancelled():
            return
        answer, error = None, None
        try:
            answer = self._work(*self._args)
        except BaseException as exc:
            error = exc
        # The loop may have ended meanwhile: then nobody waits.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._settle, answer, error)

    def _settle(self, answer: Any, error: BaseException | None) -> None:
        if self._future.done():
            return
        if error is None:
            self._future.set_result(answer)
        else:
            self._future.set_exception(error)


def _work_off(queue: SimpleQueue[_Work | None]) -> None:
    while (work := queue.get()) is not None:
        work.do()
        # Not kept until the next work comes.
        del work
