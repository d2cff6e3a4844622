"""Writer numbers in SQLite."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from keepscore.storage.ledgers.sqlite.role import SqliteRole
from keepscore.storage.ledgers.writers import WriterNumbers, first_free_writer

__all__ = ["SqliteWriters"]


class SqliteWriters(SqliteRole, WriterNumbers):
    """One row for each number that was given."""

    async def enlist(self, now: int, above: int = 0) -> int:
        row = first_free_writer(now, above), now
        sql = self._queries["new_writer"]
        return int(await self._connections.write(lambda connection: connection.execute(sql, row).fetchone()[0]))

    async def knows(self, numbers: Sequence[int]) -> bool:
        ((found,),) = await self._connections.read("count_writers", msgspec.json.encode(numbers).decode())
        return bool(found == len(numbers))
