"""A deadline for many waits, by one timer: one for each request would cost more than to read its body."""

from __future__ import annotations

import asyncio
from types import TracebackType

from keepscore.errors import BodyTooSlow

__all__ = ["Deadlines"]


class Deadlines:
    """Ends the wait of a task that takes longer than some seconds with an error. Use it as a context manager in the task that waits."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        #: When tasks began to wait, the earliest first.
        self._waiting: dict[asyncio.Task[object], float] = {}
        #: Tasks whose time is over.
        self._late: set[asyncio.Task[object]] = set()
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> None:
        task = asyncio.current_task()
        assert task is not None, "only a task can wait"
        loop = asyncio.get_running_loop()
        self._waiting[task] = loop.time()
        if self._timer is None:
            self._timer = loop.call_later(self._seconds, self._look)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        task = asyncio.current_task()
        assert task is not None, "only a task can wait"
        del self._waiting[task]
        if task in self._late:
            self._late.discard(task)
            # Somebody else may have cancelled it, too.
            if task.uncancel() == 0 and kind is asyncio.CancelledError:
                raise BodyTooSlow(
                    f"the body did not come within {self._seconds:g} s (server.body_timeout): send it faster, or in smaller parts. "
                    "Nothing was recorded"
                ) from None

    def _look(self) -> None:
        """End the waits that are too long, and look again when the next one may be."""
        loop = asyncio.get_running_loop()
        self._timer = None
        for task, began in self._waiting.items():
            if began + self._seconds > loop.time():
                self._timer = loop.call_at(began + self._seconds, self._look)
                return
            if task not in self._late:
                self._late.add(task)
                task.cancel()
