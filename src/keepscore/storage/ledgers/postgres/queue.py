"""The queue of scores that moderators decide about, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from keepscore.domain.results.plain import encode
from keepscore.storage.ledgers.audit import AuditNote
from keepscore.storage.ledgers.postgres.audit import PostgresAudit
from keepscore.storage.ledgers.postgres.connections import Connections
from keepscore.storage.ledgers.postgres.role import PostgresRole
from keepscore.storage.ledgers.queue import Decision, ItemState, Queued, QueueFilter, QueueStore, queued_of

__all__ = ["PostgresQueue", "queue_argument"]


class PostgresQueue(PostgresRole, QueueStore):
    """One row for each item."""

    def __init__(self, connections: Connections, audit: PostgresAudit) -> None:
        super().__init__(connections)
        self._audit = audit

    async def get(self, item_id: str) -> Queued | None:
        rows = await self._connections.read("queued", item_id)
        return queued_of(rows[0]) if rows else None

    async def page(self, wanted: QueueFilter, after: tuple[int, str], limit: int) -> list[Queued]:
        boards, states = list(wanted.boards), list(wanted.states)
        return [queued_of(row) for row in await self._connections.read("queue_page", states, *after, boards, wanted.player, limit)]

    async def open_of(self, board_id: int, player: str) -> int:
        ((found,),) = await self._connections.read("queue_of_player", board_id, player)
        return int(found)

    async def decide(self, item_id: str, before: ItemState, decision: Decision, note: AuditNote) -> bool:
        async def work(connection: Any) -> bool:
            found = await connection.fetchval(self._queries["decide_queued"], *decision, item_id, before)
            if found is not None:
                await self._audit.write(connection, note)
            return found is not None

        return await self._connections.transaction(work)

    async def settle(self, item_id: str, before: ItemState, after: ItemState) -> None:
        sql = self._queries["settle_queued"]
        await self._connections.write(lambda connection: connection.execute(sql, after, item_id, before))

    async def unsettled(self, limit: int) -> list[Queued]:
        return [queued_of(row) for row in await self._connections.read("queue_unsettled", limit)]


def queue_argument(items: Sequence[Queued]) -> str | None:
    """Return new items as the query takes them that records events."""
    if not items:
        return None
    rows = [
        dict(zip(Queued._fields, item[:8], strict=False))
        | {"reasons": encode(item.reasons).decode(), "events": msgspec.json.encode(item.events).decode()}
        for item in items
    ]
    return msgspec.json.encode(rows).decode()
