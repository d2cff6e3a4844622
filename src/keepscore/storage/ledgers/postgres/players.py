"""What is known of players beside their scores, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keepscore.storage.ledgers.players import LAST_LETTER, PlayerChange, PlayerRecord, PlayerStore
from keepscore.storage.ledgers.postgres.claims import PostgresClaims
from keepscore.storage.ledgers.postgres.connections import Connections
from keepscore.storage.ledgers.postgres.role import PostgresRole

__all__ = ["PostgresPlayers"]


class PostgresPlayers(PostgresRole, PlayerStore):
    """One row for each player of whom something is, or was, known."""

    def __init__(self, connections: Connections, claims: PostgresClaims) -> None:
        super().__init__(connections)
        self._claims = claims

    async def find(self, players: Sequence[str]) -> list[PlayerRecord]:
        return [PlayerRecord(*row) for row in await self._connections.read("find_players", list(players))]

    async def changed(self, since: int, limit: int) -> list[tuple[str, int]]:
        return [(player, updated) for player, updated in await self._connections.read("players_changed", since, limit)]

    async def named(self, prefix: str, after: tuple[str, str], limit: int) -> list[tuple[str, str]]:
        rows = await self._connections.read("players_named", prefix, prefix + LAST_LETTER, *after, limit)
        return [(player, sought) for player, sought in rows]

    async def unsettled(self, before: int, limit: int) -> list[tuple[str, int]]:
        return [(player, moment) for player, moment in await self._connections.read("unsettled_players", before, limit)]

    async def settle(self, players: Sequence[tuple[str, int]]) -> None:
        sql, columns = self._queries["settle_players"], [list(column) for column in zip(*players, strict=True)]
        await self._connections.write(lambda connection: connection.execute(sql, *columns))

    async def unsettle(self, players: Sequence[str], now: int) -> None:
        sql = self._queries["unsettle_players"]
        await self._connections.write(lambda connection: connection.execute(sql, now, list(players)))

    async def change(self, players: Sequence[str], change: PlayerChange, now: int) -> None:
        # Everybody locks in the same order, so that nobody waits for one who waits for them.
        wanted = sorted(set(players))

        async def work(connection: Any) -> None:
            await connection.execute(self._queries["add_players"], wanted, now)
            found = [PlayerRecord(*row) for row in await connection.fetch(self._queries["lock_players"], wanted)]
            records, effect = change({record.player: record for record in found})
            columns = [list(column) for column in zip(*((*record[:3], record.sought) for record in records), strict=True)]
            if columns:
                await connection.execute(self._queries["put_players"], *columns, now)
            await self._claims.take_effect(connection, effect)

        await self._connections.transaction(work)
