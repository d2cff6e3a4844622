"""The pace of work in the background: a short turn, then a rest, the longer the more there is to do for those who wait."""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_right
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator
from heapq import merge
from itertools import islice
from typing import Any, TypeVar

__all__ = ["Pace", "Turns", "in_order", "sorted_parts"]

#: How many times as long as it worked the background rests where there is nothing else to do; and where there is, for work that may wait.
QUIET, BUSY = 1.0, 30.0
#: The longest rest, in seconds.
LONGEST_S = 0.5
#: The share of a core that the rest of the process uses when it is busy.
BUSY_SHARE = 0.15
#: Seconds of one turn of work that somebody waits for.
TURN_S = 0.003
#: Items that are sorted in one turn.
RUN_ITEMS = 2000
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
        """Return the pace of work that somebody waits for: others get their turn, and no more."""
        return cls(0.0, 0.0)

    def begin(self) -> None:
        """Begin a turn."""
        self._begun = time.perf_counter()

    async def rest(self) -> None:
        """End a turn, and rest before the next."""
        now, spent = time.perf_counter(), time.process_time()
        worked = now - self._begun
        others = (spent - self._spent - worked) / max(now - self._wall, 1e-9)
        self._wall, self._spent = now, spent
        await asyncio.sleep(min(worked * (self._busy if others > BUSY_SHARE else self._quiet), LONGEST_S))
        self.begin()


class Turns:
    """Cuts work that somebody waits for into turns of a few milliseconds, between which others get theirs."""

    def __init__(self) -> None:
        self._end = time.perf_counter() + TURN_S

    def is_over(self) -> bool:
        """Return whether it is somebody else's turn."""
        return time.perf_counter() >= self._end

    async def pass_on(self) -> None:
        """Let others go on first."""
        await asyncio.sleep(0)
        self._end = time.perf_counter() + TURN_S


async def in_order(
    items: Iterable[T], pace: Pace, key: Callable[[T], Any] = _itself, reverse: bool = False, keep: int | None = None
) -> Iterator[T]:
    """Sort items, or the first of them: in runs, merged as they are taken, so that nobody waits for long. O(N log N)."""
    rest, runs = iter(items), []
    pace.begin()
    while some := sorted(islice(rest, RUN_ITEMS), key=key, reverse=reverse):
        runs.append(some[:keep])
        await pace.rest()
    return islice(merge(*runs, key=key, reverse=reverse), keep)


async def sorted_parts(items: Collection[Any], pace: Pace) -> AsyncIterator[list[Any]]:
    """Yield all items in order, in parts: they are dealt out between some of them, and then sorted. O(N log N), for those who take all."""
    parts = len(items) // RUN_ITEMS
    bounds = sorted(islice(items, 0, None, RUN_ITEMS // PER_PART))[PER_PART::PER_PART] if parts else []
    dealt: list[list[Any]] = [[] for _ in range(len(bounds) + 1)]
    rest = iter(items)
    pace.begin()
    while some := list(islice(rest, RUN_ITEMS)):
        for item in some:
            dealt[bisect_right(bounds, item)].append(item)
        await pace.rest()
    for part in dealt:
        part.sort()
        yield part
        await pace.rest()
