"""Who did what, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from keepscore.storage.ledgers.audit import AuditLog
from keepscore.storage.ledgers.postgres.role import PostgresRole

__all__ = ["PostgresAudit"]

_encode = msgspec.json.Encoder(order="sorted").encode


class PostgresAudit(PostgresRole, AuditLog):
    """One row for each thing that was done."""

    #: The writer number of this process.
    writer = 0

    async def note(self, action: str, board: str, detail: Mapping[str, object], now: int) -> None:
        await self._connections.write(lambda connection: self.write(connection, now, action, board, detail))

    async def write(self, connection: Any, now: int, action: str, board: str, detail: Mapping[str, object]) -> None:
        """Note something within the transaction that does it."""
        await connection.execute(self._queries["audit"], now, f"writer {self.writer}", action, board, _encode(detail).decode())
