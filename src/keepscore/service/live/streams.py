"""Live subscriptions as server-sent events. The id of an event is the position, from which a browser resumes by itself."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from keepscore.reading.live.mailboxes import Mailbox, Number
from keepscore.reading.live.messages import LiveNotice
from keepscore.service.http.direct import DirectSender

__all__ = ["EventStream"]

#: Milliseconds after which a client that was cut off comes back, at least and at most: not all of them at once.
RETRY_MS = 1000, 3000


class EventStream:
    """The events of one subscription, until it ends or the client goes."""

    def __init__(self, mailbox: Mailbox, boards: int, closed: Callable[[], None]) -> None:
        self._mailbox = mailbox
        #: The last position of each board, where there are several: an event's id tells all of them.
        self._positions: dict[str, str] | None = {} if boards > 1 else None
        self._close = closed
        self._is_begun = self._is_ended = False
        self._direct: DirectSender | None = None

    def __aiter__(self) -> EventStream:
        return self

    async def __anext__(self) -> bytes:
        if self._is_ended:
            raise StopAsyncIteration
        if not self._is_begun:
            self._is_begun = True
            return b"retry: %d\n\n" % random.randint(*RETRY_MS)
        _, message = await self._mailbox.get()
        self._is_ended = message.name == "error"
        if message.name == "stopping":
            raise StopAsyncIteration
        return self._event(message)

    def _event(self, message: LiveNotice) -> bytes:
        if self._positions is None:
            return message.as_event_with_id
        if message.position is None:
            return message.as_event
        self._positions[message.told.board] = message.position  # type: ignore[union-attr]
        return b"id: %b\n%b" % (",".join(self._positions.values()).encode(), message.as_event)

    async def aclose(self) -> None:
        """End the subscription."""
        self._is_ended = True
        self._close()

    # -- without a task that wakes up for each message ------------------------------------------------------------------

    def attach(self, direct: DirectSender) -> None:
        """Send what comes at once from now on, as long as the client reads fast enough."""
        self._direct = direct
        self._mailbox.line = self

    @property
    def is_free(self) -> bool:
        """Whether the server has taken all that was sent."""
        return self._direct is not None and self._direct.is_free

    def send(self, number: Number, message: LiveNotice) -> None:
        """Send a message at once."""
        assert self._direct is not None, "a mailbox sends through a line that is attached"
        if self._positions is not None:
            self._direct.send(_body(self._event(message)))
            return
        if (ready := message.prepared.get("event")) is None:
            ready = message.prepared["event"] = _body(message.as_event_with_id)
        self._direct.send(ready)

    async def drain(self) -> None:
        """Wait until the server has taken all that was sent."""
        if self._direct is not None:
            await self._direct.drain()


def _body(event: bytes) -> dict[str, Any]:
    return {"type": "http.response.body", "body": event, "more_body": True}
