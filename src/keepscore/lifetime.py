"""When leaderboards are opened and closed: once, by the first call, in its event loop."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import Any

from keepscore.connect import feed_for
from keepscore.errors import NotUsable
from keepscore.forks import keep_forever, tell_when_forked
from keepscore.runtime import Runtime, RuntimeSettings, build_runtime
from keepscore.storage.engines.base import RankingEngine
from keepscore.storage.ledgers.base import Ledger

__all__ = ["CLOSED", "Connect", "Lifetime", "OpenedByCall"]

#: Makes a ledger and an engine that are not open yet.
Connect = Callable[[], tuple[Ledger, RankingEngine]]

CLOSED = "these leaderboards are closed: open new ones with Leaderboards.open(…)"
OTHER_LOOP = (
    "these leaderboards were opened in another event loop: open new ones in this one, as in `async with Leaderboards.open(…) as lb`, or "
    "use keepscore.sync, which works in every thread"
)


class Lifetime:
    """The runtime of leaderboards: built by the first call that needs it, stopped once. A forked child builds its own."""

    def __init__(self, connect: Connect, clock: Callable[[], int], settings: RuntimeSettings) -> None:
        self._connect = connect
        self._clock = clock
        self._settings = settings
        #: The most seconds that closing may take, at the cost of a longer next start; None: as long as the last checkpoint takes.
        self.stop_seconds: float | None = None
        self.runtime: Runtime | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._opening: asyncio.Task[Runtime] | None = None
        self._closing: asyncio.Task[None] | None = None
        self._closed = False
        # Two threads, each with a loop, may come at once.
        self._deciding = threading.Lock()
        tell_when_forked(self)

    def runtime_here(self) -> Runtime | None:
        """Return the runtime, if it is open in the running loop."""
        return self.runtime if self._loop is asyncio.get_running_loop() else None

    async def opened(self, context: Context | None = None) -> Runtime:
        """Return the runtime; open it first, in a task of its own with that context, where nobody has."""
        loop = asyncio.get_running_loop()
        with self._deciding:
            if self._closed:
                raise NotUsable(CLOSED)
            if self._loop not in (None, loop):
                raise NotUsable(OTHER_LOOP)
            if self._opening is None:
                self._loop = loop
                self._opening = loop.create_task(self._open(), name="keepscore-open", context=context)
        return await asyncio.shield(self._opening)

    async def _open(self) -> Runtime:
        try:
            ledger, engine = self._connect()
            runtime = await build_runtime(ledger=ledger, engine=engine, feed=feed_for(engine), clock=self._clock, settings=self._settings)
            try:
                await runtime.start()
            except BaseException:
                await runtime.close()
                raise
        except BaseException:
            # The next call tries again.
            self._opening = self._loop = None
            raise
        if not self._closed:
            self.runtime = runtime
        return runtime

    async def close(self) -> None:
        """Finish running calls, and close everything. A second call waits until that is done."""
        with self._deciding:
            if not self._closed:
                loop = asyncio.get_running_loop()
                if self._loop not in (None, loop):
                    raise NotUsable(OTHER_LOOP)
                self._closed, self.runtime = True, None
                if self._opening is not None:
                    self._closing = loop.create_task(self._close(self._opening), name="keepscore-close")
        if self._closing is not None:
            await asyncio.shield(self._closing)

    async def _close(self, opening: asyncio.Task[Runtime]) -> None:
        await asyncio.wait((opening,))
        if opening.cancelled() or opening.exception() is not None:
            return
        deadline = None if self.stop_seconds is None else asyncio.get_running_loop().time() + self.stop_seconds
        await opening.result().stop(deadline)

    def forked(self) -> None:
        """Leave what the parent has opened to the parent."""
        if self._loop is not None:
            keep_forever([self._loop, self._opening, self._closing])
        self.runtime = self._loop = self._opening = self._closing = None
        self._deciding = threading.Lock()


class OpenedByCall:
    """A namespace of leaderboards with the methods of a class; each opens the leaderboards first."""

    def __init__(self, opened: Callable[[], Awaitable[Runtime]], name: str, methods: type) -> None:
        self._opened = opened
        self._name = name
        self._methods = methods

    def __getattr__(self, method: str) -> Any:
        function = getattr(self._methods, method)

        @functools.wraps(function)
        async def call(*args: Any, **named: Any) -> Any:
            namespace = getattr(await self._opened(), self._name)
            return await getattr(namespace, method)(*args, **named)

        # Found here from now on.
        setattr(self, method, call)
        return call
