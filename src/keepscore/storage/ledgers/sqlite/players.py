"""What is known of players beside their scores, in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from keepscore.storage.ledgers.players import LAST_LETTER, PlayerChange, PlayerRecord, PlayerStore
from keepscore.storage.ledgers.sqlite.claims import SqliteClaims
from keepscore.storage.ledgers.sqlite.connections import SqliteConnections
from keepscore.storage.ledgers.sqlite.role import SqliteRole

__all__ = ["SqlitePlayers"]


class SqlitePlayers(SqliteRole, PlayerStore):
    """One row for each player of whom something is, or was, known."""

    def __init__(self, connections: SqliteConnections, claims: SqliteClaims) -> None:
        super().__init__(connections)
        self._claims = claims

    async def find(self, players: Sequence[str]) -> list[PlayerRecord]:
        return [PlayerRecord(*row) for row in await self._connections.read("find_players", msgspec.json.encode(players).decode())]

    async def changed(self, since: int, limit: int) -> list[tuple[str, int]]:
        return [(player, updated) for player, updated in await self._connections.read("players_changed", since, limit)]

    async def named(self, prefix: str, after: tuple[str, str], limit: int) -> list[tuple[str, str]]:
        rows = await self._connections.read("players_named", prefix, prefix + LAST_LETTER, *after, limit)
        return [(player, sought) for player, sought in rows]

    async def unsettled(self, before: int, limit: int) -> list[tuple[str, int]]:
        return [(player, moment) for player, moment in await self._connections.read("unsettled_players", before, limit)]

    async def settle(self, players: Sequence[tuple[str, int]]) -> None:
        sql = self._queries["settle_player"]
        await self._connections.write(lambda connection: connection.executemany(sql, players))

    async def unsettle(self, players: Sequence[str], now: int) -> None:
        sql, wanted = self._queries["unsettle_players"], msgspec.json.encode(players).decode()
        await self._connections.write(lambda connection: connection.execute(sql, (now, wanted)))

    async def change(self, players: Sequence[str], change: PlayerChange, now: int) -> None:
        wanted = msgspec.json.encode(players).decode()

        def work(connection: sqlite3.Connection) -> None:
            found = [PlayerRecord(*row) for row in connection.execute(self._queries["find_players"], (wanted,))]
            records, effect = change({record.player: record for record in found})
            connection.executemany(self._queries["put_player"], [(*record[:3], record.sought, now, now) for record in records])
            self._claims.take_effect(connection, effect)

        await self._connections.write(work)
