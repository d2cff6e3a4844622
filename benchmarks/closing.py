"""`make bench-close`: a window of a million players is closed, and the board reset, while a client submits and reads; archives of all."""

from __future__ import annotations

import argparse
import asyncio
import gc
import sqlite3
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import asyncpg
import uvloop
from rich.console import Console
from rich.progress import Progress
from tests.support.postgres_servers import shared_postgres

from benchmarks.players import fill
from benchmarks.report import Line, show
from keepscore import Board, Leaderboards, Window
from keepscore.connect import ledger_from_url
from keepscore.domain.scoring import State
from keepscore.lifecycle.archiving import Series, archive_folded
from keepscore.projection.live_boards import LiveBoard
from keepscore.storage.engines.base import Ranking
from keepscore.storage.ledgers.boards import BoardRecord

DAY = 86_400_000
CHUNK = 1000
#: Seconds for which the client is watched while nothing is closed.
CALM = 5.0
COLUMNS = ("archive", "rank", "standard", "dense", "player", "score", "since")

Row = tuple[int, int, int, int, str, int, int]


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser(prog="make bench-close", description=__doc__)
    parser.add_argument("--players", type=int, default=1_000_000)
    parser.add_argument("--rows", type=int, default=200_000, help="of the archives that hold everybody")
    options = parser.parse_args()
    with Progress(console=Console(stderr=True)) as progress, tempfile.TemporaryDirectory() as folder:
        task = progress.add_task("filling a ledger", total=None)
        path = Path(folder) / "closing.db"
        fill(path, [(Board("large", windows={"daily": Window(archive=1000)}, grace="0s"), options.players)], age=0)
        progress.update(task, description="closing a day under load")
        lines = uvloop.run(close_under_load(path, options.players))
        progress.update(task, description="archiving everybody")
        lines += uvloop.run(archive_everybody(Path(folder), options.rows))
    show(lines, "closing.png")


async def close_under_load(path: Path, players: int) -> list[Line]:
    """Return how long a client waits at most for a submission and a read: in calm, while a day is closed, and while the board is reset."""
    ahead = 0

    def clock() -> int:
        return time.time_ns() // 1_000_000 + ahead

    async with Leaderboards.open(f"sqlite:///{path}", clock=clock) as lb:
        closing = lb.runtime.keeper.job("close")
        # As the service does it: what is there stays, and is not looked through for garbage again and again.
        gc.collect()
        gc.freeze()
        calm = await watched(lb, asyncio.sleep(CALM))
        # The next day: what is submitted now counts there.
        ahead = DAY
        began = time.perf_counter()
        busy = await watched(lb, closing.run(clock()))
        took = time.perf_counter() - began
        began = time.perf_counter()
        reset = await watched(lb, lb.admin.reset("large"))
        reset_took = time.perf_counter() - began
    return [
        Line(f"longest wait of a client, {players:,} players, nothing closed", f"{calm * 1000:.1f} ms", 1.0),
        Line(f"the same while the day is closed, top 1,000 archived ({took:.2f} s)", f"{busy * 1000:.1f} ms", busy / calm),
        Line(f"the same while the board is reset ({reset_took:.2f} s)", f"{reset * 1000:.1f} ms", reset / calm),
    ]


async def watched(lb: Leaderboards, work: Awaitable[Any]) -> float:
    """Return how long a client waits at most while something is done."""
    doing = asyncio.ensure_future(work)
    longest, n = 0.0, 0
    while not doing.done():
        began = time.perf_counter()
        await lb.submit("large", f"p{n % 1000}", n)
        await lb.top("large", limit=10)
        longest, n = max(longest, time.perf_counter() - began), n + 1
    await doing
    return longest


async def archive_everybody(folder: Path, rows: int) -> list[Line]:
    """Measure rows a second into an archive, beside a bare bulk insert of the same rows in the same database."""
    live = LiveBoard(BoardRecord(1, 1, Board("b", windows={"daily": Window(archive="all")}), 1))
    ranking = Ranking(1, "daily", "2026-11-15", "")
    states = {f"p{n}": State(n * 7919 % 10**7, n) for n in range(rows)}
    plain = [(99, n, n, n, f"p{n}", n, n) for n in range(1, rows + 1)]
    postgres = shared_postgres().new_database()
    lines = []
    for name, url, bare in (
        ("SQLite", f"sqlite:///{folder}/archives.db", lambda: _bare_sqlite(folder / "archives.db", plain)),
        ("PostgreSQL", postgres, lambda: _bare_postgres(postgres, plain)),
    ):
        ledger = ledger_from_url(url, shared=False)
        await ledger.open(0)
        try:
            ours = await _rate(rows, lambda: archive_folded(ledger, live, ranking, Series("closed", 1, 0, 0), states))  # noqa: B023
            theirs = await _rate(rows, bare)
        finally:
            await ledger.close()
        how = "executemany, 1,000 a transaction" if name == "SQLite" else "COPY"
        lines += [
            Line(f"{name}: bare {how}", f"{theirs:,.0f} rows/s", 1.0),
            Line(f"{name}: an archive of {rows:,} rows, sorted, numbered and hashed", f"{ours:,.0f} rows/s", ours / theirs),
        ]
    return lines


async def _rate(rows: int, work: Callable[[], Awaitable[None]]) -> float:
    began = time.perf_counter()
    await work()
    return rows / (time.perf_counter() - began)


async def _bare_sqlite(path: Path, rows: list[Row]) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous = FULL")
    for chunk in (rows[start : start + CHUNK] for start in range(0, len(rows), CHUNK)):
        connection.execute("BEGIN")
        connection.executemany("INSERT INTO snapshots VALUES (?, ?, ?, ?, ?, ?, ?)", chunk)
        connection.execute("COMMIT")
    connection.close()


async def _bare_postgres(url: str, rows: list[Row]) -> None:
    connection = await asyncpg.connect(url)
    await connection.copy_records_to_table("snapshots", records=rows, columns=COLUMNS)
    await connection.close()


if __name__ == "__main__":
    main()
