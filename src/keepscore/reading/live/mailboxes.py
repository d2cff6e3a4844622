"""Who follows something: a mailbox with at most a few messages. Whoever reads too slowly gets the newest state instead of them."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Protocol

from keepscore.reading.live.messages import PING, LiveNotice

__all__ = ["Line", "Mailbox", "Number", "StateSource"]

#: What a subscriber calls a subscription.
Number = int | str
#: Messages that wait for a reader, at most.
MAX_WAITING = 16


class StateSource(Protocol):
    """Whatever knows the newest state of what is followed."""

    def state(self, recovered: bool = False) -> LiveNotice:
        """Return the newest state."""


class Line(Protocol):
    """A connection that takes messages at once, without a task that wakes up for each."""

    @property
    def is_free(self) -> bool:
        """Whether it has taken all that was sent."""

    def send(self, number: Number, message: LiveNotice) -> None:
        """Send a message, without waiting."""

    async def drain(self) -> None:
        """Wait until it has taken all that was sent."""


class Mailbox:
    """The messages of one subscriber, about all that it follows, each under the number of a subscription."""

    __slots__ = ("_behind", "_cached", "_end", "_messages", "_sources", "_waiter", "got_s", "line")

    def __init__(self) -> None:
        #: What is followed, by number. A number may stand for several.
        self._sources: dict[tuple[Number, StateSource], None] = {}
        #: Numbers under which only the newest state counts.
        self._cached: set[Number] = set()
        self._messages: deque[tuple[Number, LiveNotice]] = deque()
        #: What the subscriber gets the state of, as it has missed something.
        self._behind: dict[tuple[Number, StateSource], None] = {}
        self._waiter: asyncio.Future[None] | None = None
        self._end: LiveNotice | None = None
        #: Where messages go directly while nothing waits; None: all are taken by `get`.
        self.line: Line | None = None
        #: When the last message was taken, by the loop's clock.
        self.got_s = 0.0

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits."""
        return not (self._messages or self._behind or self._end)

    def join(self, number: Number, source: StateSource, state: LiveNotice, is_cached: bool) -> None:
        """Follow something, beginning with a state; `is_cached`: only the newest state counts."""
        self._sources[number, source] = None
        if is_cached:
            self._cached.add(number)
        self._messages.append((number, state))
        self._wake()

    def leave(self, number: Number) -> None:
        """Forget what waits of something that is not followed any more."""
        self._sources = {one: None for one in self._sources if one[0] != number}
        self._cached.discard(number)
        self._messages = deque(one for one in self._messages if one[0] != number)
        self._behind = {one: None for one in self._behind if one[0] != number}

    def put(self, number: Number, source: StateSource, message: LiveNotice) -> None:
        """Let the subscriber know of a message about something that it follows."""
        if self.line is not None and message.name != "error" and self._sent(self.line, number, source, message):
            return
        if message.name in ("state", "change") and (number in self._cached or (number, source) in self._behind):
            self._behind[number, source] = None
        elif len(self._messages) < MAX_WAITING:
            self._messages.append((number, message))
        else:
            self._fall_behind()
        self._wake()

    def _sent(self, line: Line, number: Number, source: StateSource, message: LiveNotice) -> bool:
        """Send a message at once, if the subscriber waits for one, and has got all that were before it. Return whether it did."""
        waiter = self._waiter
        if waiter is None or waiter.done():
            return False
        try:
            if not line.is_free:
                return False
            line.send(number, source.state() if number in self._cached and message.name == "change" else message)
        except Exception as exc:
            # Whoever waits ends the connection.
            waiter.set_exception(exc)
        self.got_s = waiter.get_loop().time()
        return True

    def _fall_behind(self) -> None:
        """Drop what waits: the newest state of all that is followed is right in any case."""
        self._messages = deque()
        self._behind = dict.fromkeys(self._sources)

    def ping(self) -> None:
        """Let a subscriber to whom nothing was sent for a while know that the connection is alive."""
        if self.is_empty:
            self._messages.append((0, PING))
            self._wake()

    def end(self, message: LiveNotice) -> None:
        """Let this be the last message."""
        self._end = message
        self._wake()

    async def get(self) -> tuple[Number, LiveNotice]:
        """Return the next message, under the number of the subscription that it is about. After the last one, return that again."""
        loop = asyncio.get_running_loop()
        while self.is_empty or not (self.line is None or self.line.is_free):
            if self.is_empty:
                self._waiter = loop.create_future()
                await self._waiter
            elif self.line is not None:
                await self.line.drain()
        self.got_s = loop.time()
        if self._end is not None:
            return 0, self._end
        if self._messages:
            return self._messages.popleft()
        number, source = next(iter(self._behind))
        del self._behind[number, source]
        return number, source.state()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
