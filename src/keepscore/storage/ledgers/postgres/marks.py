"""Values under names, in PostgreSQL."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from keepscore.storage.ledgers.marks import SECRET, MarkStore
from keepscore.storage.ledgers.postgres.role import PostgresRole

__all__ = ["PostgresMarks"]


class PostgresMarks(PostgresRole, MarkStore):
    """One row for each name."""

    async def secret(self) -> bytes:
        secret = secrets.token_bytes(32)
        await self._connections.write(lambda connection: connection.execute(self._queries["put_once"], SECRET.name, secret))
        return bytes((await self._connections.read("value", SECRET.name))[0][0])

    async def read(self, name: str) -> bytes | None:
        rows = await self._connections.read("value", name)
        return bytes(rows[0][0]) if rows else None

    async def read_all(self, beginning: str) -> dict[str, bytes]:
        return {name: bytes(value) for name, value in await self._connections.read("values", beginning)}

    async def write(self, values: Mapping[str, bytes]) -> None:
        # In the order of their names, so that two writers never wait for each other.
        await self._connections.write(lambda connection: connection.executemany(self._queries["put_value"], sorted(values.items())))
