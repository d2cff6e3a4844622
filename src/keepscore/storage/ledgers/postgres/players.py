"""What is known of players beside their scores, in PostgreSQL."""

from __future__ import annotations

from typing import Any

from keepscore.storage.ledgers.claims import Effect
from keepscore.storage.ledgers.players import PlayerRecord, PlayerStore
from keepscore.storage.ledgers.postgres.claims import PostgresClaims
from keepscore.storage.ledgers.postgres.connections import LONG_CALL_DEADLINES, Connections
from keepscore.storage.ledgers.postgres.role import PostgresRole

__all__ = ["PostgresPlayers"]


class PostgresPlayers(PostgresRole, PlayerStore):
    """One row for each player with a name."""

    def __init__(self, connections: Connections, claims: PostgresClaims) -> None:
        super().__init__(connections)
        self._claims = claims

    async def recorded(self, since: int = 0) -> list[PlayerRecord]:
        return [PlayerRecord(*row) for row in await self._connections.read("players", since, patience=LONG_CALL_DEADLINES)]

    async def put(self, record: PlayerRecord, now: int, effect: Effect | None = None) -> None:
        async def work(connection: Any) -> None:
            await connection.execute(self._queries["put_player"], *record, now)
            await self._claims.take_effect(connection, effect)

        await self._connections.transaction(work)
