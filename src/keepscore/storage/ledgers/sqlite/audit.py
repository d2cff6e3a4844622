"""Who did what, in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from typing import Any

from keepscore.domain.actors import current_actor
from keepscore.domain.audit_chain import AuditEntry, ChainHead
from keepscore.errors import LedgerUnavailable
from keepscore.storage.ledgers.audit import AuditFilter, AuditLog, AuditNote, ends_of, entry_of
from keepscore.storage.ledgers.sqlite.role import SqliteRole

__all__ = ["SqliteAudit"]


class SqliteAudit(SqliteRole, AuditLog):
    """One row for each thing that was done, and one for the head."""

    #: The writer number of this process.
    writer = 0

    async def note(self, action: str, board: str, detail: Mapping[str, object], now: int, reason: str | None = None) -> None:
        note = AuditNote(now, action, board, detail, reason, current_actor())
        await self._connections.write(lambda connection: self.write(connection, note))

    def write(self, connection: sqlite3.Connection, note: AuditNote) -> None:
        """Note something within the transaction that does it. No other process writes meanwhile: the chain cannot fork."""
        head, last_id = ends_of(connection.execute(self._queries["audit_ends"]).fetchone())
        entry, head = note.behind(head, last_id, self.writer)
        connection.execute(self._queries["add_audit"], entry)
        connection.execute(self._queries["put_audit_head"], head)

    async def page(self, wanted: AuditFilter, before: int, limit: int) -> list[AuditEntry]:
        prefix = f"key {wanted.actor} "
        rows = await self._rows(_shown, "audit_page", before, wanted.board, wanted.action, wanted.actor, prefix, limit)
        return [entry_of(row) for row in rows]

    async def head(self) -> tuple[ChainHead | None, int]:
        (row,) = await self._connections.read("audit_ends")
        return ends_of(row)

    async def chunk(self, first: int, last: int, limit: int) -> list[AuditEntry]:
        return [entry_of(row) for row in await self._rows(_as_kept, "audit_chunk", first, last, limit)]

    async def _rows(self, decode: Callable[[bytes], str | bytes], query: str, *args: object) -> list[Any]:
        """Return rows, also where somebody has written bytes over a text that are none: a check has to name that entry."""
        try:
            return await self._connections.read(query, *args)
        except LedgerUnavailable:
            sql = self._queries[query]
            return await self._connections.on_reader(lambda connection: _decoded_by(decode, connection, sql, args))


def _decoded_by(decode: Callable[[bytes], str | bytes], connection: sqlite3.Connection, sql: str, args: tuple[Any, ...]) -> list[Any]:
    before, connection.text_factory = connection.text_factory, decode
    try:
        return connection.execute(sql, args).fetchall()
    finally:
        connection.text_factory = before


def _as_kept(raw: bytes) -> str | bytes:
    """Return a text, or bytes that are none: the hash tells them apart."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def _shown(raw: bytes) -> str:
    """Return a text that can be shown."""
    return raw.decode(errors="replace")
