"""How the interpreter of a service shares its time, so that nobody waits long for work that is not theirs.

Two threads record and read in SQLite while the event loop works. Each statement ends with a wait for the interpreter's lock, by default of
up to 5 ms: a transaction of ten statements would take 50 ms, and the next one waits for it.

A full garbage collection of a process that holds some hundred thousand events takes a tenth of a second, in which nobody is answered.
Python begins one whenever many objects have come that stay for a while: in the middle of an import or a checkpoint. Nearly all memory is
given back without it. So it is begun here, when nobody waits. Young objects are looked through as ever.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import time

__all__ = ["Collector", "is_due", "share_time"]

#: Seconds after which the event loop gives the interpreter's lock to a thread that waits for it.
SWITCH_S = 0.0005

#: Seconds between two looks at whether a full collection is due.
LOOK_EVERY_S = 1.0
#: Seconds between two full collections, at least, and at most where many objects came.
EARLIEST_S, LATEST_S = 60.0, 600.0
#: Collections of young objects after which a full one is worth it: as many as Python waits for.
WORTHWHILE = 10
#: The share of a core that a process uses at most when nobody waits for it.
QUIET_SHARE = 0.05
#: So many collections of young objects as never come: Python begins no full one by itself.
NEVER = 1 << 30


def is_due(age_s: float, young: int, share: float) -> bool:
    """Whether to look through all objects: so many seconds and collections of young ones after the last time, at such a use of a core.

    >>> is_due(60, 10, 0.01), is_due(60, 10, 0.5), is_due(600, 10, 0.5), is_due(600, 9, 0.01)
    (True, False, True, False)
    """
    return young >= WORTHWHILE and age_s >= (EARLIEST_S if share <= QUIET_SHARE else LATEST_S)


def share_time() -> Collector:
    """Set this process up for serving, when all is loaded; return what begins its full collections."""
    sys.setswitchinterval(SWITCH_S)
    collector = Collector()
    collector.begin()
    return collector


class Collector:
    """Begins the full collections of one process."""

    def __init__(self) -> None:
        self._collected = self._looked = time.monotonic()
        self._spent = time.process_time()

    def begin(self) -> None:
        """Leave out what was loaded, which stays, and begin no full collection but by `look`."""
        gc.collect()
        gc.freeze()
        gc.set_threshold(*gc.get_threshold()[:2], NEVER)
        self._collected = time.monotonic()

    def look(self) -> None:
        """Look through all objects, if it is time."""
        now, spent = time.monotonic(), time.process_time()
        share = (spent - self._spent) / max(now - self._looked, 1e-9)
        self._looked, self._spent = now, spent
        if is_due(now - self._collected, gc.get_count()[2], share):
            gc.collect()
            self._collected = time.monotonic()

    async def watch(self) -> None:
        """Look again and again."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            self.look()
