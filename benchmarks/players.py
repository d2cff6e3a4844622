"""Ledgers full of players, made quickly: events straight into the table, folded and checkpointed by one start of the library."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import time
from pathlib import Path

from keepscore import Board, Leaderboards

WINDOWS = ["all_time", "daily", "weekly", "monthly"]


def fill(path: Path, boards: list[tuple[Board, int]], seed: int = 1) -> None:
    """A ledger at `path` with boards of so many players, `p0`, `p1`, …, each with one random score."""
    asyncio.run(_define(path, [board for board, _ in boards]))
    chance = random.Random(seed)
    now = time.time_ns() // 1_000_000
    with sqlite3.connect(path) as connection:
        ids = dict(connection.execute("SELECT name, id FROM boards"))
        writer = connection.execute("INSERT INTO writers (started) VALUES (?) RETURNING id", (now,)).fetchone()[0]
        for board, players in boards:
            rows = ((ids[board.name], writer, n + 1, f"p{n}", chance.randrange(10**7), now, now) for n in range(players))
            connection.executemany(
                "INSERT INTO events (board, writer, n, player, kind, amount, at, received) VALUES (?, ?, ?, ?, 'score', ?, ?, ?)", rows
            )
    connection.close()
    asyncio.run(_define(path, []))


async def _define(path: Path, boards: list[Board]) -> None:
    # Leaving it writes a checkpoint.
    async with Leaderboards.open(f"sqlite:///{path}", boards=boards):
        pass
