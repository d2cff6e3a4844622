"""Values under names, in SQLite."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Mapping

from keepscore.storage.ledgers.marks import SECRET, MarkStore
from keepscore.storage.ledgers.sqlite.role import SqliteRole

__all__ = ["SqliteMarks"]


class SqliteMarks(SqliteRole, MarkStore):
    """One row for each name."""

    async def secret(self) -> bytes:
        def work(connection: sqlite3.Connection) -> bytes:
            connection.execute(self._queries["put_once"], (SECRET.name, secrets.token_bytes(32)))
            return bytes(connection.execute(self._queries["value"], (SECRET.name,)).fetchone()[0])

        return await self._connections.write(work)

    async def read(self, name: str) -> bytes | None:
        rows = await self._connections.read("value", name)
        return bytes(rows[0][0]) if rows else None

    async def read_all(self, beginning: str) -> dict[str, bytes]:
        return {name: bytes(value) for name, value in await self._connections.read("values", beginning)}

    async def write(self, values: Mapping[str, bytes]) -> None:
        await self._connections.write(lambda connection: connection.executemany(self._queries["put_value"], list(values.items())))
