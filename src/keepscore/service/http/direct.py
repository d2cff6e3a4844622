"""Messages that are sent without a task that waits for each: as long as the server takes them at once."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

__all__ = ["AsgiSend", "DirectSender", "direct_sender"]

AsgiSend = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class DirectSender:
    """Hands messages to a server whose `send` begins at once, and says when it has not yet taken the last one."""

    __slots__ = ("_pending", "_send")

    def __init__(self, send: AsgiSend) -> None:
        self._send = send
        self._pending: Awaitable[None] | None = None

    @property
    def is_free(self) -> bool:
        """Whether all that was sent is taken: the client reads fast enough."""
        if self._pending is not None and _is_done(self._pending):
            self._pending = None
        return self._pending is None

    def send(self, message: dict[str, Any]) -> None:
        """Send a message, without waiting."""
        sent = self._send(message)
        self._pending = None if _is_done(sent) else sent

    async def drain(self) -> None:
        """Wait until all that was sent is taken."""
        if self._pending is not None:
            await self._pending
            self._pending = None


def direct_sender(send: AsgiSend) -> DirectSender | None:
    """Return what sends at once; None with a server that sends only what is awaited."""
    return None if inspect.iscoroutinefunction(send) else DirectSender(send)


def _is_done(sent: Any) -> bool:
    """Return whether there is nothing to wait for, and raise what has gone wrong."""
    if hasattr(sent, "done"):
        return bool(sent.done()) and sent.result() is None
    try:
        next(sent.__await__())
    except StopIteration:
        return True
    return False
