"""Appeals of players, in SQLite."""

from __future__ import annotations

import sqlite3

import msgspec

from keepscore.storage.ledgers.appeals import AppealFilter, AppealReply, AppealStore, KeptAppeal
from keepscore.storage.ledgers.audit import AuditNote
from keepscore.storage.ledgers.sqlite.audit import SqliteAudit
from keepscore.storage.ledgers.sqlite.connections import SqliteConnections
from keepscore.storage.ledgers.sqlite.role import SqliteRole

__all__ = ["SqliteAppeals"]


class SqliteAppeals(SqliteRole, AppealStore):
    """One row for each appeal."""

    def __init__(self, connections: SqliteConnections, audit: SqliteAudit) -> None:
        super().__init__(connections)
        self._audit = audit

    async def add(self, appeal: KeptAppeal) -> bool:
        sql = self._queries["add_appeal"]
        return bool(await self._connections.write(lambda connection: connection.execute(sql, appeal[:6]).rowcount))

    async def get(self, appeal_id: str) -> KeptAppeal | None:
        rows = await self._connections.read("appeal", appeal_id)
        return KeptAppeal._make(rows[0]) if rows else None

    async def page(self, wanted: AppealFilter, after: tuple[int, str], limit: int) -> list[KeptAppeal]:
        boards = msgspec.json.encode(list(wanted.boards)).decode()
        rows = await self._connections.read("appeals", wanted.state, *after, boards, wanted.player, limit)
        return [KeptAppeal._make(row) for row in rows]

    async def reply(self, appeal_id: str, reply: AppealReply, note: AuditNote) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            found = connection.execute(self._queries["reply_to_appeal"], (*reply, appeal_id)).rowcount
            if found:
                self._audit.write(connection, note)
            return bool(found)

        return await self._connections.write(work)
