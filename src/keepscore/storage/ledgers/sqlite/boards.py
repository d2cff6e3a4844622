"""Definitions of boards in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

import msgspec

from keepscore.domain.actors import current_actor
from keepscore.domain.boards import Board
from keepscore.storage.ledgers.audit import AuditNote
from keepscore.storage.ledgers.boards import BoardRecord, BoardStore, check_version, next_version, record_of
from keepscore.storage.ledgers.claims import Effect
from keepscore.storage.ledgers.sqlite.audit import SqliteAudit
from keepscore.storage.ledgers.sqlite.claims import SqliteClaims
from keepscore.storage.ledgers.sqlite.connections import SqliteConnections
from keepscore.storage.ledgers.sqlite.role import SqliteRole

__all__ = ["SqliteBoards"]


class SqliteBoards(SqliteRole, BoardStore):
    """One row for each version of each board."""

    def __init__(self, connections: SqliteConnections, claims: SqliteClaims, audit: SqliteAudit) -> None:
        super().__init__(connections)
        self._claims = claims
        self._audit = audit

    async def current(self) -> list[BoardRecord]:
        return await self._connections.on_writer(self.records)

    def records(self, connection: sqlite3.Connection) -> list[BoardRecord]:
        """Return the current definitions, within the caller's transaction."""
        return [record_of(row) for row in connection.execute(self._queries["current_boards"])]

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

        def work(connection: sqlite3.Connection) -> BoardRecord:
            old = next((record for record in self.records(connection) if record.board.name == board.name), None)
            check_version(old, board.name, version)
            if old is None:
                (board_id,) = connection.execute(self._queries["next_board_id"]).fetchone()
                record = BoardRecord(board_id, 1, board, 1)
            else:
                record = next_version(old, board, same_meaning)
            row = (record.id, record.version, record.semantics_version, board.name, msgspec.json.encode(board.to_dict()).decode(), now)
            connection.execute(self._queries["put_board"], row)
            self._audit.write(connection, AuditNote(now, action, board.name, {"id": record.id, "version": record.version}, by=by))
            self._claims.take_effect(connection, effect)
            return record

        return await self._connections.write(work)

    async def delete(self, name: str, now: int, effect: Effect | None = None) -> None:
        by = current_actor()

        def work(connection: sqlite3.Connection) -> None:
            ended = connection.execute(self._queries["delete_board"], (now, name)).fetchall()
            if ended:
                detail = dict(zip(("id", "version"), max(ended), strict=True))
                self._audit.write(connection, AuditNote(now, "delete_board", name, detail, by=by))
            self._claims.take_effect(connection, effect)

        await self._connections.write(work)

    async def deleted(self) -> Mapping[int, int]:
        return dict(await self._connections.read("deleted_boards"))
