"""Who leads: whoever holds an advisory lock with the connection that writes."""

from __future__ import annotations

from keepscore.storage.ledgers.leadership import Leadership
from keepscore.storage.ledgers.postgres.role import PostgresRole

__all__ = ["PostgresLeadership"]


class PostgresLeadership(PostgresRole, Leadership):
    """The advisory lock of the leader. It is let go with the connection."""

    async def lead(self) -> bool:
        return await self._connections.lead()
