"""Players by address, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence

from keepscore.storage.ledgers.addresses import AddressStore, SeenAddress
from keepscore.storage.ledgers.postgres.role import PostgresRole

__all__ = ["PostgresAddresses"]


class PostgresAddresses(PostgresRole, AddressStore):
    """One row for each board, address and player."""

    async def add(self, seen: Sequence[SeenAddress]) -> None:
        if seen:
            # In one order, so that two processes do not wait for each other.
            sql, columns = self._queries["add_addresses"], [list(column) for column in zip(*sorted(seen), strict=True)]
            await self._connections.write(lambda connection: connection.execute(sql, *columns))

    async def players(self, board_id: int, address: str, limit: int) -> list[str]:
        return [row[0] for row in await self._connections.read("players_at_address", board_id, address, limit)]

    async def forget(self, before: int, limit: int) -> int:
        sql = self._queries["forget_addresses"]
        return len(await self._connections.write(lambda connection: connection.fetch(sql, before, limit)))
