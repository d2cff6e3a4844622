"""Ledgers full of players, made quickly: events straight into the table, folded and checkpointed by one start of the library."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import time
from pathlib import Path

from keepscore import Board, Leaderboards

#: Milliseconds.
MONTH = 30 * 86_400_000
#: Four windows that are kept for as long as people look at them.
WINDOWS = {"all_time": {}, "daily": {"ttl": "2d"}, "weekly": {"ttl": "14d"}, "monthly": {"ttl": "60d"}}


def fill(path: Path, boards: list[tuple[Board, int]], age: int = MONTH, seed: int = 1) -> None:
    """Write a ledger at `path` with boards of so many players, `p0`, `p1`, …, each with one random score, `age` ago on average."""
    asyncio.run(_define(path, [board for board, _ in boards]))
    chance = random.Random(seed)
    now = time.time_ns() // 1_000_000
    with sqlite3.connect(path) as connection:
        ids = dict(connection.execute("SELECT name, id FROM boards"))
        writer = connection.execute("INSERT INTO writers (started) VALUES (?) RETURNING id", (now,)).fetchone()[0]
        for board, players in boards:
            times = (now - round(chance.expovariate(1 / age)) if age else now for _ in range(players))
            rows = ((ids[board.name], writer, n + 1, f"p{n}", chance.randrange(10**7), at, at) for n, at in enumerate(times))
            connection.executemany(
                "INSERT INTO events (board, writer, n, player, kind, amount, at, received) VALUES (?, ?, ?, ?, 'score', ?, ?, ?)", rows
            )
    connection.close()
    asyncio.run(_define(path, []))


async def _define(path: Path, boards: list[Board]) -> None:
    # Leaving it writes a checkpoint.
    async with Leaderboards.open(f"sqlite:///{path}", boards=boards):
        pass
