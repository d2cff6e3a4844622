"""An event loop with a time of its own, in which processes take turns by the dice."""

from __future__ import annotations

import asyncio
import contextvars
import heapq
from asyncio import events
from collections import deque
from itertools import count
from random import Random
from typing import Any, Protocol

__all__ = ["OWNER", "SimulatedLoop", "Stuck"]

#: Seconds after which whoever still waits will wait for ever.
END = 1000


class Stuck(Exception):
    """Somebody waits for what will not happen any more."""


class Owner(Protocol):
    """A process whose callbacks run as long as it lives."""

    dead: bool


#: The process that a callback belongs to; None for the world around: clients, servers, the network.
OWNER: contextvars.ContextVar[Owner | None] = contextvars.ContextVar("OWNER", default=None)


class Handle:
    """A callback, and the process that it belongs to. Simpler than asyncio's, for there are very many."""

    __slots__ = ("args", "callback", "context", "owner", "stopped")

    def __init__(self, callback: Any, args: tuple[Any, ...], context: contextvars.Context | None) -> None:
        self.callback = callback
        self.args = args
        self.context = contextvars.copy_context() if context is None else context
        self.owner = self.context.get(OWNER)
        self.stopped = False

    def cancel(self) -> None:
        self.stopped = True

    def cancelled(self) -> bool:
        return self.stopped


class SimulatedLoop(asyncio.AbstractEventLoop):
    """Runs the callbacks of each process in their order, as its own loop would; whose turn it is, the dice decide.

    Time stands still while anything can run, and jumps to the next timer then. Callbacks of the dead are dropped.
    """

    def __init__(self, dice: Random) -> None:
        self._dice = dice
        self._now = 0.0
        self._number = count()
        self._timers: list[tuple[float, int, Handle]] = []
        #: What each process has to do, and those that have something to do.
        self._queues: dict[Owner | None, deque[Handle]] = {}
        self._ready: list[Owner | None] = []
        # Those that will never go on are kept, too: to be collected would make them run once more.
        self._tasks: list[asyncio.Task[Any]] = []
        #: What went wrong outside of any task that somebody waits for.
        self.troubles: list[str] = []

    # -- what asyncio asks of a loop ------------------------------------------------------------------------------------

    def time(self) -> float:
        return self._now

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(self, coro: Any, *, name: str | None = None, context: contextvars.Context | None = None) -> asyncio.Task[Any]:
        task = asyncio.Task(coro, loop=self, name=name, context=context)
        self._tasks.append(task)
        return task

    def call_soon(self, callback: Any, *args: Any, context: contextvars.Context | None = None) -> Handle:
        handle = Handle(callback, args, context)
        self._enqueue(handle)
        return handle

    def call_later(self, delay: float, callback: Any, *args: Any, context: contextvars.Context | None = None) -> Handle:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(self, when: float, callback: Any, *args: Any, context: contextvars.Context | None = None) -> Handle:
        handle = Handle(callback, args, context)
        heapq.heappush(self._timers, (when, next(self._number), handle))
        return handle

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if "was destroyed" not in context["message"]:
            self.troubles.append(f"{context['message']}: {context.get('exception')!r}")

    # -- running --------------------------------------------------------------------------------------------------------

    def _enqueue(self, handle: Handle) -> None:
        owner = handle.owner
        if owner is not None and owner.dead:
            return
        queue = self._queues.get(owner)
        if queue is None:
            queue = self._queues[owner] = deque()
        if not queue:
            self._ready.append(owner)
        queue.append(handle)

    def run(self, main: Any) -> Any:
        """Run until a coroutine of the world around is done."""
        before = events._get_running_loop()
        events._set_running_loop(None)
        events._set_running_loop(self)
        try:
            task = self.create_task(main)
            while not task.done():
                self._step()
            return task.result()
        finally:
            events._set_running_loop(None)
            events._set_running_loop(before)

    def _step(self) -> None:
        ready = self._ready
        if not ready:
            self._advance()
        turn = 0 if len(ready) == 1 else int(self._dice.random() * len(ready))
        owner = ready[turn]
        queue = self._queues[owner]
        handle = queue.popleft()
        if not queue:
            del ready[turn]
        if not handle.stopped and (owner is None or not owner.dead):
            handle.context.run(handle.callback, *handle.args)

    def _advance(self) -> None:
        while self._timers:
            when, _, handle = heapq.heappop(self._timers)
            if when > END:
                break
            if not handle.stopped:
                self._now = when
                self._enqueue(handle)
                if self._ready:
                    return
        raise Stuck("somebody waits for what will not happen any more")
