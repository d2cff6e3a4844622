"""The outbox in PostgreSQL."""

from __future__ import annotations

from typing import Any

from keepscore.storage.ledgers.outbox import Message, OutboxCount, OutboxStore, message_of
from keepscore.storage.ledgers.postgres.role import PostgresRole

__all__ = ["PostgresOutbox"]


class PostgresOutbox(PostgresRole, OutboxStore):
    """One row for each message."""

    async def due(self, now: int, limit: int) -> list[Message]:
        return [message_of(row) for row in await self._connections.read("due_messages", now, limit)]

    async def begin(self, message_id: str, attempts: int, next_at: int) -> bool:
        return bool(await self._written("begin_message", next_at, message_id, attempts))

    async def _written(self, query: str, *args: object) -> list[Any]:
        async def work(connection: Any) -> list[Any]:
            self._connections.check_confirmed()
            rows: list[Any] = await connection.fetch(self._queries[query], *args)
            return rows

        return await self._connections.write(work)

    async def acknowledge(self, message_id: str, now: int) -> None:
        async def work(connection: Any) -> None:
            self._connections.check_confirmed()
            # The reward first, as whoever claims it does.
            await connection.execute(self._queries["pay_reward"], now, message_id)
            await connection.execute(self._queries["acknowledge_message"], now, message_id)

        await self._connections.transaction(work)

    async def fail(self, message_id: str, attempts: int, error: str) -> None:
        await self._written("fail_message", error, message_id, attempts)

    async def retry(self, message_id: str | None, now: int) -> int:
        return len(await self._written("retry_messages", now, message_id))

    async def page(self, before: tuple[int, str], limit: int, is_pending: bool | None) -> list[Message]:
        return [message_of(row) for row in await self._connections.read("messages", *before, is_pending, limit)]

    async def count(self) -> OutboxCount:
        (row,) = await self._connections.read("outbox_count")
        return OutboxCount(*row)
