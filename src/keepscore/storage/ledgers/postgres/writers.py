"""Writer numbers in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keepscore.storage.ledgers.postgres.role import PostgresRole
from keepscore.storage.ledgers.writers import WriterNumbers, first_free_writer

__all__ = ["PostgresWriters"]


class PostgresWriters(PostgresRole, WriterNumbers):
    """One row for each number that was given."""

    async def enlist(self, now: int, above: int = 0) -> int:
        async def work(connection: Any) -> int:
            await connection.execute(self._queries["lock_writers"])
            number: int = await connection.fetchval(self._queries["new_writer"], first_free_writer(now, above), now)
            return number

        return await self._connections.transaction(work)

    async def knows(self, numbers: Sequence[int]) -> bool:
        rows = await self._connections.read("count_writers", list(numbers))
        return bool(rows[0][0] == len(numbers))
