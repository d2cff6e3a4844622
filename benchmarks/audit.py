"""`make bench-audit`: the chain of an audit of a million entries is verified, in SQLite and in PostgreSQL."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import asyncpg
from rich.console import Console
from rich.progress import Progress
from tests.support.postgres_servers import shared_postgres

from benchmarks.report import Line, show
from keepscore.connect import ledger_from_url
from keepscore.domain.audit_chain import EMPTY_HEAD, AuditEntry, ChainHead, chained
from keepscore.fairplay.audit import Audit
from keepscore.storage.ledgers.base import Ledger
from keepscore.storage.ledgers.sqlite.ledger import SqliteLedger

#: Seconds that a million entries may take.
ALLOWED_S = 30.0
COLUMNS = ("id", "at", "who", "address", "action", "board", "reason", "detail", "hash")


def main() -> None:
    """Measure both ledgers."""
    parser = argparse.ArgumentParser(prog="make bench-audit", description=__doc__)
    parser.add_argument("--entries", type=int, default=1_000_000)
    options = parser.parse_args()
    lines: list[Line] = []
    with Progress(console=Console(stderr=True)) as progress, tempfile.TemporaryDirectory() as folder:
        for name, url in (("SQLite", f"sqlite:///{Path(folder) / 'audit.db'}"), ("PostgreSQL", shared_postgres().new_database())):
            progress.add_task(f"filling and verifying an audit in {name}", total=None)
            lines.append(asyncio.run(measured(name, url, options.entries)))
    show(lines, "audit.png")


async def measured(name: str, url: str, count: int) -> Line:
    """Return how long the check of a chain takes."""
    ledger = ledger_from_url(url)
    await ledger.open(0)
    try:
        await fill(ledger, url, count)
        began = time.perf_counter()
        found = await Audit(ledger.audit).verify()
        seconds = time.perf_counter() - began
        assert found.ok, found.broken
        assert found.entries == count
    finally:
        await ledger.close()
    allowed = ALLOWED_S * count / 1_000_000
    figure = f"{seconds:.1f} s, {count / seconds:,.0f} entries/s"
    return Line(f"verify {count:,} entries, {name}", figure, seconds / allowed, "≤ 1", seconds <= allowed)


async def fill(ledger: Ledger, url: str, count: int) -> None:
    """Write a chain as the ledger would, but in one transaction."""
    heads: list[ChainHead] = []
    entries = list(made(count, heads))
    head = heads[-1]
    if isinstance(ledger, SqliteLedger):
        sql = f"INSERT INTO audit ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"
        await ledger.identity.write(lambda connection: connection.executemany(sql, entries))
        sql = "UPDATE audit_head SET entries = ?, last_id = ?, hash = ?"
        await ledger.identity.write(lambda connection: connection.execute(sql, head))
        return
    connection = await asyncpg.connect(url)
    await connection.copy_records_to_table("audit", records=entries, columns=COLUMNS)
    await connection.execute("UPDATE audit_head SET entries = $1, last_id = $2, hash = $3", *head)
    await connection.close()


def made(count: int, heads: list[ChainHead]) -> Iterator[AuditEntry]:
    """Yield a chain of entries such as those of voids, and leave its head."""
    head = EMPTY_HEAD
    for number in range(1, count + 1):
        detail = f'{{"events":{number % 100},"void":"v_{number:016x}"}}'
        actor = "key 5hVqT0aWm3Kd operations"
        entry, head = chained(head, AuditEntry(number, number, actor, "192.0.2.7", "void", "global", "scores of a bot", detail))
        yield entry
    heads.append(head)


if __name__ == "__main__":
    main()
