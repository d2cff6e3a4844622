"""API keys in PostgreSQL."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

import msgspec

from keepscore.storage.ledgers.audit import AuditNote
from keepscore.storage.ledgers.keys import KeyRecord, KeyStore, key_of
from keepscore.storage.ledgers.marks import KEYS_VERSION
from keepscore.storage.ledgers.postgres.audit import PostgresAudit
from keepscore.storage.ledgers.postgres.connections import Connections
from keepscore.storage.ledgers.postgres.role import PostgresRole

__all__ = ["PostgresKeys"]


class PostgresKeys(PostgresRole, KeyStore):
    """One row for each key."""

    def __init__(self, connections: Connections, audit: PostgresAudit) -> None:
        super().__init__(connections)
        self._audit = audit

    async def version(self) -> bytes:
        rows = await self._connections.read("value", KEYS_VERSION.name)
        return bytes(rows[0][0]) if rows else b""

    async def all(self) -> list[KeyRecord]:
        return [key_of(row) for row in await self._connections.read("api_keys")]

    async def add(self, key: KeyRecord, ends: int | None = None, note: AuditNote | None = None) -> None:
        row = (*key[:3], msgspec.json.encode(key.boards).decode(), *key[4:])

        async def work(connection: Any) -> None:
            await connection.execute(self._queries["add_api_key"], *row)
            if ends is not None:
                await connection.execute(self._queries["end_api_key"], ends, key.replaces)
            await self._changed(connection)
            if note is not None:
                await self._audit.write(connection, note)

        await self._connections.transaction(work)

    async def revoke(self, key_id: str, now: int, note: AuditNote | None = None) -> bool:
        async def work(connection: Any) -> bool:
            found = await connection.fetchval(self._queries["revoke_api_key"], now, key_id)
            await self._changed(connection)
            if found and note is not None:
                await self._audit.write(connection, note)
            return found is not None

        return await self._connections.transaction(work)

    async def _changed(self, connection: Any) -> None:
        await connection.execute(self._queries["put_value"], KEYS_VERSION.name, secrets.token_bytes(8))

    async def note_uses(self, uses: Mapping[str, int]) -> None:
        sql = self._queries["note_key_uses"]
        await self._connections.write(lambda connection: connection.execute(sql, list(uses), list(uses.values())))

    async def spend(self, key_id: str, request_id: str, until: int) -> bool:
        sql = self._queries["spend_request_id"]
        return await self._connections.write(lambda connection: connection.fetchval(sql, key_id, request_id, until)) is not None

    async def forget_spent(self, now: int, limit: int) -> int:
        sql = self._queries["forget_request_ids"]
        return len(await self._connections.write(lambda connection: connection.fetch(sql, now, limit)))
