"""The pace of work in the background: a short turn, then a rest, the longer the more there is to do for those who wait."""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_right
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator
from heapq import merge
from itertools import islice
from typing import Any, TypeVar

__all__ = ["Pace", "in_order", "sorted_parts"]

#: How many times as long as it worked the background rests where there is nothing else to do; and where there is, for work that may wait.
QUIET, BUSY = 1.0, 30.0
#: The longest rest, in seconds.
LONGEST = 0.5
#: The share of a core that the rest of the process uses when it is busy.
MUCH = 0.15
#: Items that are sorted in one turn.
RUN = 5000
#: Items of each part by which it is guessed where parts are to be divided.
PER_PART = 20

T = TypeVar("T")


def _itself(item: Any) -> Any:
    return item


class Pace:
    """The pace of one piece of work, which rests `busy` times as long as it works while there is much else to do."""

    def __init__(self, busy: float = BUSY, quiet: float = QUIET) -> None:
        self._busy = busy
        self._quiet = quiet
        self._begun = self._wall = time.perf_counter()
        self._spent = time.process_time()

    @classmethod
    def without_pauses(cls) -> Pace:
        """The pace of work that somebody waits for: others get their turn, and no more."""
        return cls(0.0, 0.0)

    def begin(self) -> None:
        """A turn begins."""
        self._begun = time.perf_counter()

    async def rest(self) -> None:
        """A turn is over; the next may begin."""
        now, spent = time.perf_counter(), time.process_time()
        worked = now - self._begun
        others = (spent - self._spent - worked) / max(now - self._wall, 1e-9)
        self._wall, self._spent = now, spent
        await asyncio.sleep(min(worked * (self._busy if others > MUCH else self._quiet), LONGEST))
        self.begin()


async def in_order(
    items: Iterable[T], pace: Pace, key: Callable[[T], Any] = _itself, reverse: bool = False, keep: int | None = None
) -> Iterator[T]:
    """Items sorted, or the first of them: in runs, and put together as they are taken, so that nobody waits for long. O(N log N)."""
    rest, runs = iter(items), []
    pace.begin()
    while some := sorted(islice(rest, RUN), key=key, reverse=reverse):
        runs.append(some[:keep])
        await pace.rest()
    return islice(merge(*runs, key=key, reverse=reverse), keep)


async def sorted_parts(items: Collection[Any], pace: Pace) -> AsyncIterator[list[Any]]:
    """All items in order, in parts: they are dealt out between some of them, and then sorted. O(N log N), for those who take all."""
    parts = len(items) // RUN
    bounds = sorted(islice(items, 0, None, RUN // PER_PART))[PER_PART::PER_PART] if parts else []
    dealt: list[list[Any]] = [[] for _ in range(len(bounds) + 1)]
    rest = iter(items)
    pace.begin()
    while some := list(islice(rest, RUN)):
        for item in some:
            dealt[bisect_right(bounds, item)].append(item)
        await pace.rest()
    for part in dealt:
        part.sort()
        yield part
        await pace.rest()
