"""Definitions of boards in PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from keepscore.domain.actors import current_actor
from keepscore.domain.boards import Board
from keepscore.storage.ledgers.audit import AuditNote
from keepscore.storage.ledgers.boards import BoardRecord, BoardStore, check_version, next_version, record_of
from keepscore.storage.ledgers.claims import Effect
from keepscore.storage.ledgers.postgres.audit import PostgresAudit
from keepscore.storage.ledgers.postgres.claims import PostgresClaims
from keepscore.storage.ledgers.postgres.connections import Connections
from keepscore.storage.ledgers.postgres.role import PostgresRole

__all__ = ["PostgresBoards"]


class PostgresBoards(PostgresRole, BoardStore):
    """One row for each version of each board."""

    def __init__(self, connections: Connections, claims: PostgresClaims, audit: PostgresAudit) -> None:
        super().__init__(connections)
        self._claims = claims
        self._audit = audit

    async def current(self) -> list[BoardRecord]:
        return [record_of(row) for row in await self._connections.read("current_boards")]

    async def put(
        self,
        board: Board,
        same_meaning: bool,
        now: int,
        version: int | None = None,
        action: str = "put_board",
        effect: Effect | None = None,
    ) -> BoardRecord:
        by = current_actor()

        async def work(connection: Any) -> BoardRecord:
            await connection.execute(self._queries["lock_boards"])
            found = [record_of(row) for row in await connection.fetch(self._queries["current_boards"])]
            old = next((record for record in found if record.board.name == board.name), None)
            check_version(old, board.name, version)
            if old is None:
                record = BoardRecord(await connection.fetchval(self._queries["next_board_id"]), 1, board, 1)
            else:
                record = next_version(old, board, same_meaning)
            text = msgspec.json.encode(board.to_dict()).decode()
            await connection.execute(self._queries["put_board"], record.id, record.version, record.semantics_version, board.name, text, now)
            await self._audit.write(connection, AuditNote(now, action, board.name, {"id": record.id, "version": record.version}, by=by))
            await self._claims.take_effect(connection, effect)
            return record

        return await self._connections.transaction(work)

    async def delete(self, name: str, now: int, effect: Effect | None = None) -> None:
        by = current_actor()

        async def work(connection: Any) -> None:
            for row in await connection.fetch(self._queries["delete_board"], now, name):
                await self._audit.write(connection, AuditNote(now, "delete_board", name, {"id": row[0], "version": row[1]}, by=by))
            await self._claims.take_effect(connection, effect)

        await self._connections.transaction(work)

    async def deleted(self) -> Mapping[int, int]:
        return dict(await self._connections.read("deleted_boards"))
