"""The tables of the ledger in PostgreSQL: numbered migrations, and a partition of the events for each month."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from keepscore.domain.audit_chain import EMPTY_HEAD, chained
from keepscore.errors import LedgerUnavailable
from keepscore.storage.ledgers.audit import CHAINS_AUDIT, entry_of
from keepscore.storage.ledgers.queries import migrations

__all__ = ["lock_schema", "make_partitions", "migrate", "month_before", "months_ahead"]

#: The advisory lock under which tables are made.
CHANGING = 0x6B656571
#: Months after the present one for which partitions are made ahead.
AHEAD = 2


async def migrate(connection: Any, queries: Mapping[str, str], shown: str) -> tuple[int, int]:
    """Bring the schema up to date within the caller's transaction, while nobody else does: the versions before and after."""
    steps = migrations("postgres")
    await lock_schema(connection, queries)
    await connection.execute(queries["make_history"])
    version: int = await connection.fetchval(queries["schema_version"])
    if version > len(steps):
        raise LedgerUnavailable(
            f"the ledger {shown} has schema version {version}, and this Keepscore knows {len(steps)}: use a newer Keepscore"
        )
    for number, step in enumerate(steps[version:], version + 1):
        await connection.execute(step)
        if CHAINS_AUDIT in step:
            await _chain_audit(connection, queries)
        await connection.execute(queries["migrated"], number)
    return version, len(steps)


async def _chain_audit(connection: Any, queries: Mapping[str, str]) -> None:
    """Chain all entries that there are, within the migration that gives them hashes."""
    head, hashes = EMPTY_HEAD, []
    for row in await connection.fetch(queries["all_audit"]):
        entry, head = chained(head, entry_of(row))
        hashes.append((entry.hash, entry.id))
    await connection.executemany(queries["put_audit_hash"], hashes)
    await connection.execute(queries["put_audit_head"], *head)


async def lock_schema(connection: Any, queries: Mapping[str, str]) -> None:
    """Wait until nobody else makes or drops tables, and keep others from it until the end of the transaction."""
    await connection.execute(queries["lock_schema"], CHANGING)


def month_before(moment: int) -> int:
    """Return the start of the month that ends at a moment."""
    return _ms(_month(moment - 1))


def months_ahead(now: int) -> list[int]:
    """Return a moment in the month of `now`, and in each of the next ones."""
    found = [_month(now)]
    while len(found) <= AHEAD:
        found.append(_next(found[-1]))
    return [_ms(month) for month in found]


async def make_partitions(connection: Any, queries: Mapping[str, str], moments: Iterable[int]) -> list[str]:
    """See that there are partitions for some moments, within the caller's transaction; answer those that are new. Appends go on."""
    months = sorted({_month(moment) for moment in moments})
    known = {row[0] for row in await connection.fetch(queries["partitions"])}
    if all(_name(month) in known for month in months):
        return []
    await lock_schema(connection, queries)
    known = {row[0] for row in await connection.fetch(queries["partitions"])}
    new = [month for month in months if _name(month) not in known]
    for month in new:
        sql = queries["make_partition"].format(name=_name(month), first=_ms(month), last=_ms(_next(month)))
        await connection.execute(sql)
    return [_name(month) for month in new]


def _month(moment: int) -> datetime:
    return datetime.fromtimestamp(moment // 1000, UTC).replace(day=1, hour=0, minute=0, second=0)


def _next(month: datetime) -> datetime:
    return (month + timedelta(days=31)).replace(day=1)


def _ms(month: datetime) -> int:
    return round(month.timestamp()) * 1000


def _name(month: datetime) -> str:
    return f"events_{month:%Y_%m}"
