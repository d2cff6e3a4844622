"""Workers share what they count: each keeps its numbers in a file that the others read, and takes over those of its predecessor.

So whichever worker is asked tells of all of them, and a counter does not fall when a worker is replaced.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from keepscore.telemetry.counters import ALL, LOOP_LAG, Counter, Gauge, LatencyHistogram

__all__ = ["Shares", "WorkerPlace"]

#: Seconds between two looks at how late the event loop is.
LOOK_S = 0.5

log = logging.getLogger(__name__)


class WorkerPlace(NamedTuple):
    """Where a worker keeps its numbers: the folder of all workers, and which of them it is."""

    folder: str
    number: int


class Shares:
    """The numbers of this process and of its siblings. Alone, a process has no place."""

    def __init__(self, place: WorkerPlace | None = None) -> None:
        self._folder = Path(place.folder) if place else None
        self._own = self._folder / f"{place.number}.msgpack" if self._folder and place else None
        if self._own and self._own.exists():
            for one in _read(self._own):
                # What goes up and down has gone with the predecessor.
                if not isinstance(one, Gauge):
                    _named(ALL)[one.name].merge(one.dump())

    def write(self) -> None:
        """Keep this process's numbers for the others."""
        if self._own:
            part = self._own.with_suffix(".part")
            part.write_bytes(msgspec.msgpack.encode({one.name: one.dump() for one in ALL}))
            part.replace(self._own)

    def merged(self) -> Sequence[Counter | Gauge | LatencyHistogram]:
        """Return the numbers of all workers together: those of the others are at most a second old."""
        if self._folder is None:
            return ALL
        self.write()
        total = [type(one)(one.name, one.meaning, *one.labels) for one in ALL]
        for file in self._folder.glob("*.msgpack"):
            for one in _read(file):
                _named(total)[one.name].merge(one.dump())
        return total

    async def watch(self) -> None:
        """Measure how late the event loop is, and keep the numbers for the others, until cancelled."""
        loop = asyncio.get_running_loop()
        lag = LOOP_LAG.values[()]
        while True:
            due = loop.time() + LOOK_S
            await asyncio.sleep(LOOK_S)
            lag.observe(max(0.0, loop.time() - due))
            try:
                self.write()
            except OSError as exc:
                log.warning("metrics of this worker are not shared: %s", exc)


def _named(counted: Sequence[Counter | Gauge | LatencyHistogram]) -> dict[str, Any]:
    return {one.name: one for one in counted}


def _read(file: Path) -> list[Counter | Gauge | LatencyHistogram]:
    found = msgspec.msgpack.decode(file.read_bytes())
    read = [type(one)(one.name, one.meaning, *one.labels) for one in ALL]
    for one in read:
        one.merge(found.get(one.name, []))
    return read
