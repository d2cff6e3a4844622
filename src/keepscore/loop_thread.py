"""The event loop behind methods that block: in a thread of its own, which the first call starts.

The thread is a daemon, so that a program ends when its own threads do. What is still open then is closed by `atexit`. A forked child has no
such thread: it starts its own, and lets go of the sockets that it shares with its parent. While the process forks, the thread rests between
two steps of the loop, where it holds no lock that the child would find locked.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import logging
import os
import selectors
import threading
from collections.abc import Coroutine
from concurrent.futures import CancelledError
from typing import Any, TypeVar

from keepscore.errors import NotUsable
from keepscore.forks import keep_forever, rest_during_forks, tell_when_forked
from keepscore.leaderboards import Leaderboards
from keepscore.lifetime import CLOSED

__all__ = ["LoopThread"]

#: Seconds that closing may take when the program ends.
EXIT_SECONDS = 5.0
#: Seconds that a fork waits at most until the thread rests, and that the thread rests at most.
REST_SECONDS = 2.0

WITHIN = (
    "a method that blocks was called from within the leaderboards' own thread, by a clock or a progress function: it would wait forever"
)
CUT_SHORT = "these leaderboards were closed while the call was running: it is not known whether it was recorded"

T = TypeVar("T")
log = logging.getLogger(__name__)


class LoopThread:
    """Runs the coroutines of leaderboards for threads that wait."""

    def __init__(self, leaderboards: Leaderboards) -> None:
        self._leaderboards = leaderboards
        self._running: _Running | None = None
        self._closed = False
        self._exiting = False
        # Held for a moment only: to start, to close, and to hand something over.
        self._lock = threading.Lock()
        tell_when_forked(self)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Return what a coroutine gives in the loop, which is started where it does not run."""
        try:
            with self._lock:
                if self._closed:
                    raise NotUsable(CLOSED)
                if self._running is None:
                    self._running = _Running()
                    _open.add(self)
                self._running.check_outside()
                future = asyncio.run_coroutine_threadsafe(coroutine, self._running.loop)
        except BaseException:
            coroutine.close()
            self._end_with_the_program()
            raise
        try:
            return future.result()
        except CancelledError:
            if not self._closed:
                raise
            self._end_with_the_program()
            raise NotUsable(CUT_SHORT) from None

    def close(self, seconds: float | None = None) -> None:
        """Close the leaderboards and end the thread, within some seconds if that is asked for. Closing again does nothing."""
        with self._lock:
            running = self._running
            if running is not None:
                running.check_outside()
            self._closed = True
        if running is None:
            return
        # A thread that comes second waits for the first.
        with running.closing:
            if not running.is_alive:
                return
            try:
                asyncio.run_coroutine_threadsafe(self._leaderboards.close(), running.loop).result(seconds)
            finally:
                running.stop(seconds)
                _open.discard(self)

    def close_at_exit(self) -> None:
        """Close what the program has left open. Failures are only logged."""
        self._exiting = True
        self._leaderboards.stop_seconds = EXIT_SECONDS / 2
        try:
            self.close(EXIT_SECONDS)
        except Exception as exc:
            reason = str(exc) or type(exc).__name__
            log.warning("leaderboards that were open at exit could not be closed: %s. What was acknowledged is in the ledger", reason)

    def _end_with_the_program(self) -> None:
        """Let a daemon thread, the only kind that is left at exit, wait for its end there: an error would only be printed."""
        if self._exiting and threading.current_thread() is not threading.main_thread():
            threading.Event().wait()

    def forked(self) -> None:
        """Leave loop, thread and sockets to the parent."""
        if self._running is not None:
            self._running.leave()
        _open.discard(self)
        self._running = None
        self._lock = threading.Lock()


class _Running:
    """A thread and its loop."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self.loop = asyncio.SelectorEventLoop(self._selector)
        self.closing = threading.Lock()
        self._stopped = asyncio.Event()
        self._go_on = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="keepscore", daemon=True)
        self._thread.start()
        rest_during_forks(self)

    def _serve(self) -> None:
        # Cancels what is left at the end, so that nobody waits for it.
        with asyncio.Runner(loop_factory=lambda: self.loop) as runner:
            runner.run(self._stopped.wait())

    @property
    def is_alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    def check_outside(self) -> None:
        """Raise an error in the thread itself: it would wait for itself."""
        if threading.current_thread() is self._thread:
            raise NotUsable(WITHIN)

    def stop(self, seconds: float | None) -> None:
        """End the thread."""
        self.loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join(seconds)

    def rest(self) -> None:
        """Bring the thread to rest before a fork, unless it is the one that forks. A thread that is busy for too long is not waited for."""
        resting, self._go_on = threading.Event(), threading.Event()
        if threading.current_thread() is not self._thread:
            # A loop that has just been closed runs nothing any more.
            with contextlib.suppress(RuntimeError):
                self.loop.call_soon_threadsafe(_rest, resting, self._go_on)
                resting.wait(REST_SECONDS)

    def resume(self) -> None:
        """Let the thread go on."""
        self._go_on.set()

    def leave(self) -> None:
        """Let go of everything, in a forked child, in a way that the parent does not notice.

        To close sockets by their objects would take them out of the loop's epoll, which parent and child share.
        """
        if self.loop.is_closed():
            return
        keep_forever(self)
        for key in list(self._selector.get_map().values()):
            os.close(key.fd)
        if isinstance(self._selector, getattr(selectors, "EpollSelector", ())):
            os.close(self._selector.fileno())


def _rest(resting: threading.Event, go_on: threading.Event) -> None:
    resting.set()
    go_on.wait(REST_SECONDS)


#: Those that have a thread.
_open: set[LoopThread] = set()


@atexit.register
def _close_all() -> None:
    for one in list(_open):
        one.close_at_exit()
