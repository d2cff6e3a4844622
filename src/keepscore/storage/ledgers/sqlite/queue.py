"""The queue of scores that moderators decide about, in SQLite."""

from __future__ import annotations

import sqlite3

import msgspec

from keepscore.domain.results.plain import encode
from keepscore.storage.ledgers.audit import AuditNote
from keepscore.storage.ledgers.queue import Decision, ItemState, Queued, QueueFilter, QueueStore, queued_of
from keepscore.storage.ledgers.sqlite.audit import SqliteAudit
from keepscore.storage.ledgers.sqlite.connections import SqliteConnections
from keepscore.storage.ledgers.sqlite.role import SqliteRole

__all__ = ["SqliteQueue", "queue_row"]


class SqliteQueue(SqliteRole, QueueStore):
    """One row for each item."""

    def __init__(self, connections: SqliteConnections, audit: SqliteAudit) -> None:
        super().__init__(connections)
        self._audit = audit

    async def get(self, item_id: str) -> Queued | None:
        rows = await self._connections.read("queued", item_id)
        return queued_of(rows[0]) if rows else None

    async def page(self, wanted: QueueFilter, after: tuple[int, str], limit: int) -> list[Queued]:
        boards, states = (msgspec.json.encode(list(some)).decode() for some in (wanted.boards, wanted.states))
        rows = await self._connections.read("queue_page", states, *after, boards, wanted.player, limit)
        return [queued_of(row) for row in rows]

    async def open_of(self, board_id: int, player: str) -> int:
        ((found,),) = await self._connections.read("queue_of_player", board_id, player)
        return int(found)

    async def decide(self, item_id: str, before: ItemState, decision: Decision, note: AuditNote) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            found = connection.execute(self._queries["decide_queued"], (*decision, item_id, before)).rowcount
            if found:
                self._audit.write(connection, note)
            return bool(found)

        return await self._connections.write(work)

    async def settle(self, item_id: str, before: ItemState, after: ItemState) -> None:
        sql = self._queries["settle_queued"]
        await self._connections.write(lambda connection: connection.execute(sql, (after, item_id, before)))

    async def unsettled(self, limit: int) -> list[Queued]:
        return [queued_of(row) for row in await self._connections.read("queue_unsettled", limit)]


def queue_row(item: Queued) -> tuple[object, ...]:
    """Return a new item as its table takes it."""
    return (*item[:8], encode(item.reasons).decode(), msgspec.json.encode(item.events).decode())
