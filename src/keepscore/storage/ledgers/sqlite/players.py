"""What is known of players beside their scores, in SQLite."""

from __future__ import annotations

import sqlite3

from keepscore.storage.ledgers.claims import Effect
from keepscore.storage.ledgers.players import PlayerRecord, PlayerStore
from keepscore.storage.ledgers.sqlite.claims import SqliteClaims
from keepscore.storage.ledgers.sqlite.connections import SqliteConnections
from keepscore.storage.ledgers.sqlite.role import SqliteRole

__all__ = ["SqlitePlayers"]


class SqlitePlayers(SqliteRole, PlayerStore):
    """One row for each player with a name."""

    def __init__(self, connections: SqliteConnections, claims: SqliteClaims) -> None:
        super().__init__(connections)
        self._claims = claims

    async def recorded(self, since: int = 0) -> list[PlayerRecord]:
        return [PlayerRecord(*row) for row in await self._connections.read("players", since)]

    async def put(self, record: PlayerRecord, now: int, effect: Effect | None = None) -> None:
        def work(connection: sqlite3.Connection) -> None:
            connection.execute(self._queries["put_player"], (*record, now))
            self._claims.take_effect(connection, effect)

        await self._connections.write(work)
