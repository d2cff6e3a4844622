"""Who did what, in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

import msgspec

from keepscore.storage.ledgers.audit import AuditLog
from keepscore.storage.ledgers.sqlite.role import SqliteRole

__all__ = ["SqliteAudit"]

_encode = msgspec.json.Encoder(order="sorted").encode


class SqliteAudit(SqliteRole, AuditLog):
    """One row for each thing that was done."""

    #: The writer number of this process.
    writer = 0

    async def note(self, action: str, board: str, detail: Mapping[str, object], now: int) -> None:
        await self._connections.write(lambda connection: self.write(connection, now, action, board, detail))

    def write(self, connection: sqlite3.Connection, now: int, action: str, board: str, detail: Mapping[str, object]) -> None:
        """Note something within the transaction that does it."""
        row = (now, f"writer {self.writer}", action, board, _encode(detail).decode())
        connection.execute(self._queries["audit"], row)
