"""Prints how many bytes a player takes in the embedded engine, on a board with one window."""

from __future__ import annotations

import asyncio
import gc
import resource
import sys
from collections.abc import AsyncIterator

from keepscore import Board
from keepscore.domain.ordering import Row
from keepscore.storage.engines.base import Loaded, Ranking
from keepscore.storage.engines.embedded.engine import EmbeddedEngine


async def bytes_a_player(players: int) -> float:
    """Load so many players; the growth of the process, divided."""
    ranking = Ranking(1, "all_time", "all_time", "")

    async def states() -> AsyncIterator[Loaded]:
        for first in range(0, players, 10_000):
            rows = [Row(f"player-{i:07d}", i * 7919 % 10_000_019, 1_700_000_000_000 + i) for i in range(first, first + 10_000)]
            yield Loaded(ranking, 0, rows, fresh=False)

    gc.collect()
    before = _resident()
    engine = EmbeddedEngine()
    await engine.load(1, Board("memory"), states(), {})
    await engine.promote(1)
    gc.collect()
    return (_resident() - before) / players


def _resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


if __name__ == "__main__":
    print(asyncio.run(bytes_a_player(int(sys.argv[1]))))
