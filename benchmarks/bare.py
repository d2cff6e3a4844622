"""Bare `sqlite3`: the rows of the ledger in batches of 100, with the same durability and nothing else."""

from __future__ import annotations

import random
import sqlite3
import time
from pathlib import Path

TABLE = """
CREATE TABLE events (board INTEGER, writer INTEGER, n INTEGER, player TEXT, kind TEXT, amount INTEGER, at INTEGER, received INTEGER,
                     segments TEXT, game_id TEXT, metadata TEXT, PRIMARY KEY (board, writer, n)) WITHOUT ROWID;
"""
INDEX = "CREATE INDEX events_by_player ON events (board, player);"
INSERT = "INSERT INTO events VALUES (1, 1, ?, ?, 'score', ?, ?, ?, NULL, NULL, NULL)"


def rows_per_second(path: Path, existing: int, seconds: float, indexed: bool, batch: int = 100) -> float:
    """Count durable rows/s in batches into a table that has some rows already, with or without an index by player."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA cache_size = -65536")
    connection.executescript(TABLE + (INDEX if indexed else ""))
    chance = random.Random(1)
    now = time.time_ns() // 1_000_000
    n = 0

    def rows(count: int) -> list[tuple[int, str, int, int, int]]:
        return [(n + i, f"p{chance.randrange(max(existing, 1))}", chance.randrange(10**7), now, now) for i in range(count)]

    while n < existing:
        connection.execute("BEGIN")
        connection.executemany(INSERT, rows(50_000))
        connection.execute("COMMIT")
        n += 50_000
    begun, first = time.perf_counter(), n
    while time.perf_counter() - begun < seconds:
        connection.execute("BEGIN")
        connection.executemany(INSERT, rows(batch))
        connection.execute("COMMIT")
        n += batch
    rate = (n - first) / (time.perf_counter() - begun)
    connection.close()
    return rate
