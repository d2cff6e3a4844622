"""How much of the processors others take while something is measured.

On a busy machine, whoever waits for answers most of the time loses little, and whoever computes loses a lot: a ratio of the two says
nothing then. So measurements in which others were busy are made again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

#: Cores that others may use while something is measured.
BUSY_CORES = 0.2

PROCESSES = Path("/proc")


class Quiet:
    """Measures while nobody else does much, and has the patience to measure again for so many seconds in all."""

    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s
        #: Cores that others used during each measurement that counts.
        self.busy: list[float] = []

    async def measure(self, job: Callable[[], Awaitable[float]]) -> float:
        """Run a job and give what it gives."""
        while True:
            begun, before = time.perf_counter(), _others_seconds()
            rate = await job()
            spent = time.perf_counter() - begun
            cores = max(0.0, _others_seconds() - before) / spent
            if cores < BUSY_CORES or self._patience_s <= 0:
                self.busy.append(cores)
                return rate
            self._patience_s -= spent


def _others_seconds() -> float:
    """Return the processor time used by all but this process and those that it has started; 0 where Linux does not tell."""
    try:
        user, nice, system, _, _, interrupts, soft, *_ = map(int, (PROCESSES / "stat").read_text().split("\n", 1)[0].split()[1:])
    except (OSError, ValueError):
        return 0.0
    used, parents = {}, {}
    for folder in PROCESSES.iterdir():
        if folder.name.isdecimal():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(folder.name)] = int(fields[1])
            used[int(folder.name)] = int(fields[11]) + int(fields[12])
    ours = {os.getpid()}
    while more := {process for process, parent in parents.items() if parent in ours} - ours:
        ours |= more
    mine = sum(ticks for process, ticks in used.items() if process in ours)
    return (user + nice + system + interrupts + soft - mine) / os.sysconf("SC_CLK_TCK")
