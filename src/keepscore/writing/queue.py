"""Requests that wait to be written, and how many of them make a group."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Set

from keepscore.errors import Overloaded
from keepscore.writing.groups import PendingRequest

__all__ = ["RequestQueue"]

#: Submissions that one group takes up, unless a single request brings more; and where groups overlap.
GROUP_SUBMISSIONS, OVERLAPPING_GROUP_SUBMISSIONS = 1000, 400
#: Submissions that may wait; more are refused.
MAX_WAITING_SUBMISSIONS = 100_000
#: Seconds that a group waits for those who came along the last time.
LINGER_S = 0.003


class RequestQueue:
    """Requests in the order in which they came.

    A group costs a commit, however large it is. Clients who wait for an answer before they send more come back together a moment
    after they got theirs: the next group waits for as many as there were, but not for long.

    `overlaps`: the engine works on one group while the ledger records the next, for which there have to be two.
    """

    def __init__(self, overlaps: bool) -> None:
        #: Submissions that one group takes up, unless a single request brings more.
        self._group = OVERLAPPING_GROUP_SUBMISSIONS if overlaps else GROUP_SUBMISSIONS
        self._requests: deque[PendingRequest] = deque()
        #: Submissions in the line.
        self.size = 0
        #: Submissions that are expected to come along with those that are there.
        self._expected = 0
        #: Submissions with which whoever waits for the line is woken.
        self._wanted = 1
        self._wake = asyncio.Event()

    def __len__(self) -> int:
        return len(self._requests)

    def join(self, request: PendingRequest) -> None:
        """Put a request in line."""
        if self.size >= MAX_WAITING_SUBMISSIONS:
            raise Overloaded(f"{self.size} submissions are waiting, the most that this service queues: try again later")
        self._requests.append(request)
        self.size += len(request.submissions)
        if self.size >= self._wanted or not request.submissions:
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
        if LINGER_S and self.size < wanted:
            patience = asyncio.get_running_loop().call_later(LINGER_S, self._wake.set)
            try:
                await self.wait(wanted)
            finally:
                patience.cancel()
        else:
            # Requests that are being read now.
            await asyncio.sleep(0)
        self._expected = self.size

    def take(self, busy: Set[tuple[str, str, str]] = frozenset(), apart: Set[int] = frozenset()) -> list[PendingRequest]:
        """Return the next group. Of several requests with one key, the later ones wait until the first has its answer, as do `busy` ones.

        Requests to boards that are to be `apart`, by their numbers, make no group with others.
        """
        group: list[PendingRequest] = []
        later: list[PendingRequest] = []
        keys = set(busy)
        size = 0
        while self._requests and (not group or size + len(self._requests[0].submissions) <= self._group):
            request = self._requests.popleft()
            if apart and group and _touches(group[0], apart) != _touches(request, apart):
                later.append(request)
                continue
            if request.claim is not None:
                if request.claim[:3] in keys:
                    later.append(request)
                    continue
                keys.add(request.claim[:3])
            size += len(request.submissions)
            group.append(request)
        self._requests.extendleft(reversed(later))
        self.size -= size
        return group

    def put_back(self, group: list[PendingRequest]) -> None:
        """Let a group that was taken be the next once more."""
        self._requests.extendleft(reversed(group))
        self.size += sum(len(request.submissions) for request in group)


def _touches(request: PendingRequest, boards: Set[int]) -> bool:
    return any(live.id in boards for live in request.boards)
