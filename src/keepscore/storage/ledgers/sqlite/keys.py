"""API keys in SQLite."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Mapping

import msgspec

from keepscore.storage.ledgers.audit import AuditNote
from keepscore.storage.ledgers.keys import KeyRecord, KeyStore, key_of
from keepscore.storage.ledgers.marks import KEYS_VERSION
from keepscore.storage.ledgers.sqlite.audit import SqliteAudit
from keepscore.storage.ledgers.sqlite.connections import SqliteConnections
from keepscore.storage.ledgers.sqlite.role import SqliteRole

__all__ = ["SqliteKeys"]


class SqliteKeys(SqliteRole, KeyStore):
    """One row for each key."""

    def __init__(self, connections: SqliteConnections, audit: SqliteAudit) -> None:
        super().__init__(connections)
        self._audit = audit

    async def version(self) -> bytes:
        rows = await self._connections.read("value", KEYS_VERSION.name)
        return bytes(rows[0][0]) if rows else b""

    async def all(self) -> list[KeyRecord]:
        return [key_of(row) for row in await self._connections.read("api_keys")]

    async def add(self, key: KeyRecord, ends: int | None = None, note: AuditNote | None = None) -> None:
        row = key._replace(boards=msgspec.json.encode(key.boards).decode())  # type: ignore[arg-type]

        def work(connection: sqlite3.Connection) -> None:
            connection.execute(self._queries["add_api_key"], row)
            if ends is not None:
                connection.execute(self._queries["end_api_key"], (ends, key.replaces, ends))
            self._changed(connection)
            if note is not None:
                self._audit.write(connection, note)

        await self._connections.write(work)

    async def revoke(self, key_id: str, now: int, note: AuditNote | None = None) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            found = connection.execute(self._queries["revoke_api_key"], (now, key_id)).rowcount
            self._changed(connection)
            if found and note is not None:
                self._audit.write(connection, note)
            return bool(found)

        return await self._connections.write(work)

    def _changed(self, connection: sqlite3.Connection) -> None:
        connection.execute(self._queries["put_value"], (KEYS_VERSION.name, secrets.token_bytes(8)))

    async def note_uses(self, uses: Mapping[str, int]) -> None:
        rows = [(moment, key_id, moment) for key_id, moment in uses.items()]
        await self._connections.write(lambda connection: connection.executemany(self._queries["note_key_use"], rows))

    async def spend(self, key_id: str, request_id: str, until: int) -> bool:
        row = (key_id, request_id, until)
        return bool(await self._connections.write(lambda connection: connection.execute(self._queries["spend_request_id"], row).rowcount))

    async def forget_spent(self, now: int, limit: int) -> int:
        sql = self._queries["forget_request_ids"]
        return await self._connections.write(lambda connection: connection.execute(sql, (now, limit)).rowcount)
