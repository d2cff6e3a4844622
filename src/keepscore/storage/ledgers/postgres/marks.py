"""Values under names, in PostgreSQL."""

from __future__ import annotations

import secrets

from keepscore.storage.ledgers.marks import SECRET, MarkStore
from keepscore.storage.ledgers.postgres.role import PostgresRole

__all__ = ["PostgresMarks"]


class PostgresMarks(PostgresRole, MarkStore):
    """One row for each name."""

    async def secret(self) -> bytes:
        await self._put("put_once", SECRET.name, secrets.token_bytes(32))
        return bytes((await self._connections.read("value", SECRET.name))[0][0])

    async def read(self, name: str) -> bytes | None:
        rows = await self._connections.read("value", name)
        return bytes(rows[0][0]) if rows else None

    async def read_all(self, beginning: str) -> dict[str, bytes]:
        return {name: bytes(value) for name, value in await self._connections.read("values", beginning)}

    async def write(self, name: str, value: bytes) -> None:
        await self._put("put_value", name, value)

    async def _put(self, query: str, name: str, value: bytes) -> None:
        await self._connections.write(lambda connection: connection.execute(self._queries[query], name, value))
