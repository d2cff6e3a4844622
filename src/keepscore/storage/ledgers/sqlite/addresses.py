"""Players by address, in SQLite."""

from __future__ import annotations

from collections.abc import Sequence

from keepscore.storage.ledgers.addresses import AddressStore, SeenAddress
from keepscore.storage.ledgers.sqlite.role import SqliteRole

__all__ = ["SqliteAddresses"]


class SqliteAddresses(SqliteRole, AddressStore):
    """One row for each board, address and player."""

    async def add(self, seen: Sequence[SeenAddress]) -> None:
        sql = self._queries["add_address"]
        await self._connections.write(lambda connection: connection.executemany(sql, seen))

    async def players(self, board_id: int, address: str, limit: int) -> list[str]:
        return [player for (player,) in await self._connections.read("players_at_address", board_id, address, limit)]

    async def forget(self, before: int, limit: int) -> int:
        sql = self._queries["forget_addresses"]
        return await self._connections.write(lambda connection: connection.execute(sql, (before, limit)).rowcount)
