"""Appeals of players, in PostgreSQL."""

from __future__ import annotations

from typing import Any

from keepscore.storage.ledgers.appeals import AppealFilter, AppealReply, AppealStore, KeptAppeal
from keepscore.storage.ledgers.audit import AuditNote
from keepscore.storage.ledgers.postgres.audit import PostgresAudit
from keepscore.storage.ledgers.postgres.connections import Connections
from keepscore.storage.ledgers.postgres.role import PostgresRole

__all__ = ["PostgresAppeals"]


class PostgresAppeals(PostgresRole, AppealStore):
    """One row for each appeal."""

    def __init__(self, connections: Connections, audit: PostgresAudit) -> None:
        super().__init__(connections)
        self._audit = audit

    async def add(self, appeal: KeptAppeal) -> bool:
        sql = self._queries["add_appeal"]
        return await self._connections.write(lambda connection: connection.fetchval(sql, *appeal[:6])) is not None

    async def get(self, appeal_id: str) -> KeptAppeal | None:
        rows = await self._connections.read("appeal", appeal_id)
        return KeptAppeal._make(rows[0]) if rows else None

    async def page(self, wanted: AppealFilter, after: tuple[int, str], limit: int) -> list[KeptAppeal]:
        rows = await self._connections.read("appeals", wanted.state, *after, list(wanted.boards), wanted.player, limit)
        return [KeptAppeal._make(row) for row in rows]

    async def reply(self, appeal_id: str, reply: AppealReply, note: AuditNote) -> bool:
        async def work(connection: Any) -> bool:
            found = await connection.fetchval(self._queries["reply_to_appeal"], *reply, appeal_id)
            if found is not None:
                await self._audit.write(connection, note)
            return found is not None

        return await self._connections.transaction(work)
