"""Requests that wait to be written, and how many of them make a group."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Set

from keepscore.errors import Overloaded
from keepscore.tickets import Ticket

__all__ = ["Line"]

#: Submissions that may wait; more are refused.
MAX_WAITING = 100_000
#: Seconds that a group waits for those who came along the last time.
LINGER = 0.003


class Line:
    """Requests in the order in which they came.

    A group costs a commit, however large it is. Clients who wait for an answer before they send more come back together a moment
    after they got theirs: the next group waits for as many as there were, but not for long.
    """

    def __init__(self, group: int, lingers: bool) -> None:
        #: Submissions that one group takes up, unless a single request brings more.
        self._group = group
        self._lingers = lingers
        self._tickets: deque[Ticket] = deque()
        #: Submissions in the line.
        self._size = 0
        #: Requests that are expected to come along with those that are there.
        self._expected = 0
        #: Requests with which whoever waits for the line is woken.
        self._wanted = 1
        self._wake = asyncio.Event()

    def __len__(self) -> int:
        return len(self._tickets)

    def join(self, ticket: Ticket) -> None:
        """Put a request in line."""
        if self._size >= MAX_WAITING:
            raise Overloaded(f"{self._size} submissions are waiting, the most that this service takes on: try again later")
        self._tickets.append(ticket)
        self._size += len(ticket.submissions)
        if len(self._tickets) >= self._wanted:
            self._wake.set()

    def wake(self) -> None:
        """Wake whoever waits for the line, though nobody may be in it."""
        self._wake.set()

    async def wait(self) -> None:
        """Wait until there is a request."""
        if not self._tickets:
            self._wake.clear()
            await self._wake.wait()

    async def gather(self) -> None:
        """Let those come along who are on their way."""
        if self._lingers and LINGER and len(self._tickets) < min(self._expected, self._group):
            self._wanted = self._expected
            self._wake.clear()
            patience = asyncio.get_running_loop().call_later(LINGER, self._wake.set)
            try:
                await self._wake.wait()
            finally:
                patience.cancel()
                self._wanted = 1
        else:
            # Requests that are being read now.
            await asyncio.sleep(0)
        self._expected = len(self._tickets)

    def take(self, busy: Set[tuple[int, str]] = frozenset()) -> list[Ticket]:
        """The next group. Of several requests with one key, the later ones wait until the first has its answer, as do `busy` ones."""
        group: list[Ticket] = []
        later: list[Ticket] = []
        keys = set(busy)
        size = 0
        while self._tickets and (not group or size + len(self._tickets[0].submissions) <= self._group):
            ticket = self._tickets.popleft()
            if ticket.claim is not None:
                if ticket.claim[:2] in keys:
                    later.append(ticket)
                    continue
                keys.add(ticket.claim[:2])
            size += len(ticket.submissions)
            group.append(ticket)
        self._tickets.extendleft(reversed(later))
        self._size -= size
        return group
