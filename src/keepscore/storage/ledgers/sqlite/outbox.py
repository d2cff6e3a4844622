"""The outbox in SQLite."""

from __future__ import annotations

import sqlite3

from keepscore.storage.ledgers.outbox import Message, OutboxCount, OutboxStore, message_of
from keepscore.storage.ledgers.sqlite.role import SqliteRole

__all__ = ["SqliteOutbox"]


class SqliteOutbox(SqliteRole, OutboxStore):
    """One row for each message."""

    async def due(self, now: int, limit: int) -> list[Message]:
        return [message_of(row) for row in await self._connections.read("due_messages", now, limit)]

    async def begin(self, message_id: str, attempts: int, next_at: int) -> bool:
        row = next_at, message_id, attempts
        return await self._connections.write_confirmed(
            lambda connection: connection.execute(self._queries["begin_message"], row).rowcount > 0
        )

    async def acknowledge(self, message_id: str, now: int) -> None:
        def work(connection: sqlite3.Connection) -> None:
            connection.execute(self._queries["acknowledge_message"], (now, message_id))
            connection.execute(self._queries["pay_reward"], (now, message_id))

        await self._connections.write_confirmed(work)

    async def fail(self, message_id: str, attempts: int, error: str) -> None:
        row = error, message_id, attempts
        await self._connections.write_confirmed(lambda connection: connection.execute(self._queries["fail_message"], row))

    async def retry(self, message_id: str | None, now: int) -> int:
        row = now, message_id
        return await self._connections.write_confirmed(lambda connection: connection.execute(self._queries["retry_messages"], row).rowcount)

    async def page(self, before: tuple[int, str], limit: int, is_pending: bool | None) -> list[Message]:
        return [message_of(row) for row in await self._connections.read("messages", *before, is_pending, limit)]

    async def count(self) -> OutboxCount:
        (row,) = await self._connections.read("outbox_count")
        return OutboxCount(*row)
