"""Jobs on a PostgreSQL and a Redis: rows through bare asyncpg and through the library, ledgers full of players, rebuilds."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any
from unittest.mock import patch

import asyncpg

from benchmarks.players import MONTH
from keepscore import Board, Entry, Leaderboards
from keepscore.domain.results.standings import Rebuild
from keepscore.lifecycle.keeper import Keeper
from keepscore.storage.ledgers.postgres.schema import make_partitions
from keepscore.storage.ledgers.queries import named_queries

BATCH = 100
#: Batches that are under way at a time.
IN_FLIGHT = 8
DAY = 86_400_000

TABLE = """
CREATE TABLE bare (board integer, writer integer, n bigint, player text COLLATE "C", kind text, amount bigint, at bigint, received bigint,
                   segments jsonb, game_id text, metadata json, PRIMARY KEY (board, writer, n, received));
CREATE INDEX ON bare (board, player);
"""
INSERT = """
INSERT INTO bare SELECT board, writer, n, player, kind, amount, at, received, segments::jsonb, game_id, metadata::json
FROM unnest($1::int[], $2::int[], $3::bigint[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[], $9::text[],
            $10::text[], $11::text[]) AS e (board, writer, n, player, kind, amount, at, received, segments, game_id, metadata)
"""
COLUMNS = ["board", "writer", "n", "player", "kind", "amount", "at", "received"]


def _now() -> int:
    return time.time_ns() // 1_000_000


async def _batches(send: Callable[[int], Awaitable[None]], seconds: float, senders: int) -> float:
    """Count rows a second, in batches several of which may be under way."""
    begun, done = time.perf_counter(), 0

    async def sender(number: int) -> None:
        nonlocal done
        while time.perf_counter() - begun < seconds:
            await send(number)
            done += BATCH

    await asyncio.gather(*(sender(number) for number in range(senders)))
    return done / (time.perf_counter() - begun)


class BareRows:
    """A table with the columns, the key and the index of the ledger's, and nothing else."""

    def __init__(self, connections: list[Any], players: int) -> None:
        self._connections = connections
        self._players = players
        self._chance = random.Random(1)
        self._n = 0

    @classmethod
    async def open(cls, url: str, players: int) -> BareRows:
        """Connect, and make the table."""
        connections = [await asyncpg.connect(url, server_settings={"synchronous_commit": "on"}) for _ in range(IN_FLIGHT)]
        await connections[0].execute(TABLE)
        return cls(connections, players)

    async def close(self) -> None:
        """Let go of the connections."""
        for connection in self._connections:
            await connection.close()

    async def rows(self, seconds: float, connections: int) -> float:
        """Count durable rows a second, a transaction for each batch."""
        return await _batches(self._insert, seconds, connections)

    async def _insert(self, number: int) -> None:
        numbers = list(range(self._n + 1, self._n + BATCH + 1))
        self._n += BATCH
        players = [f"p{self._chance.randrange(self._players)}" for _ in numbers]
        amounts = [self._chance.randrange(10**7) for _ in numbers]
        now, nothing = [_now()] * BATCH, [None] * BATCH
        same = [1] * BATCH
        columns = (same, same, numbers, players, ["score"] * BATCH, amounts, now, now, nothing, nothing, nothing)
        await self._connections[number].execute(INSERT, *columns)


class LibraryRows:
    """The same through the library: durable, and in the rankings."""

    def __init__(self, leaderboards: Leaderboards, board: str, players: int) -> None:
        self._leaderboards = leaderboards
        self._board = board
        self._players = players
        self._chance = random.Random(2)

    async def rows(self, seconds: float) -> float:
        """Count rows a second."""
        return await _batches(self._submit, seconds, IN_FLIGHT)

    async def _submit(self, number: int) -> None:
        chance = self._chance
        entries = [Entry(player_id=f"p{chance.randrange(self._players)}", score=chance.randrange(10**7)) for _ in range(BATCH)]
        receipt = await self._leaderboards.submit_many(self._board, entries)
        assert receipt.accepted == BATCH, receipt
        assert not receipt.pending


async def fill_postgres(url: str, board: Board, players: int, age: int = MONTH) -> None:
    """Write a ledger with a board of so many players, each with one random score, `age` ago on average, in the order in which they came."""
    async with Leaderboards.open(url, boards=[board]):
        pass
    connection = await asyncpg.connect(url)
    chance, now = random.Random(1), _now()
    async with connection.transaction():
        await make_partitions(connection, named_queries("postgres"), set(range(now - 400 * DAY, now, DAY)))
    number = await connection.fetchval("SELECT id FROM boards")
    writer = await connection.fetchval("INSERT INTO writers (started) VALUES ($1) RETURNING id", now)
    times = sorted(now - min(390 * DAY, round(chance.expovariate(1 / age))) if age else now for _ in range(players))
    rows = ((number, writer, n, f"p{n}", "score", chance.randrange(10**7), at, at) for n, at in enumerate(times, 1))
    await connection.copy_records_to_table("events", records=rows, columns=COLUMNS)
    await connection.execute("INSERT INTO positions VALUES ($1, $2, 0, $3)", number, writer, players)
    await connection.execute("ANALYZE events")
    await connection.close()


async def rebuild(ledger: str, engine: str, board: str) -> Rebuild:
    """Rebuild a board on Redis. The checkpoint that a ledger filled by hand lacks is not made meanwhile."""
    with patch.object(Keeper, "start", lambda self: None):
        async with Leaderboards.open(ledger, engine) as leaderboards:
            return await leaderboards.admin.rebuild(board)
