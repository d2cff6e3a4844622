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

    def __init__(self, group: int) -> None:
        #: Submissions that one group takes up, unless a single request brings more.
        self._group = group
        self._tickets: deque[Ticket] = deque()
        #: Submissions in the line.
        self.size = 0
        #: Submissions that are expected to come along with those that are there.
        self._expected = 0
        #: Submissions with which whoever waits for the line is woken.
        self._wanted = 1
        self._wake = asyncio.Event()

    def __len__(self) -> int:
        return len(self._tickets)

    def join(self, ticket: Ticket) -> None:
        """Put a request in line."""
        if self.size >= MAX_WAITING:
            raise Overloaded(f"{self.size} submissions are waiting, the most that this service takes on: try again later")
        self._tickets.append(ticket)
        self.size += len(ticket.submissions)
        if self.size >= self._wanted or not ticket.submissions:
            self._wake.set()

    def wake(self) -> None:
        """Wake whoever waits for the line, though nobody may be in it."""
        self._wake.set()

    async def wait(self, wanted: int = 1) -> None:
        """Wait until there are so many submissions, or a request without any."""
        if self.size < wanted:
            self._wanted = wanted
            self._wake.clear()
            try:
                await self._wake.wait()
            finally:
                self._wanted = 1

    async def gather(self) -> None:
        """Let those come along who are on their way."""
        wanted = min(self._expected, self._group)
        if LINGER and self.size < wanted:
            patience = asyncio.get_running_loop().call_later(LINGER, self._wake.set)
            try:
                await self.wait(wanted)
            finally:
                patience.cancel()
        else:
            # Requests that are being read now.
            await asyncio.sleep(0)
        self._expected = self.size

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
        self.size -= size
        return group
