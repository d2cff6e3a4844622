"""Refused attempts in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from keepscore.storage.ledgers.attempts import Attempt, AttemptStore
from keepscore.storage.ledgers.sqlite.role import SqliteRole

__all__ = ["SqliteAttempts"]


class SqliteAttempts(SqliteRole, AttemptStore):
    """One row for each player and moment."""

    async def add(self, attempts: Sequence[Attempt]) -> None:
        sql = self._queries["add_attempt"]
        await self._connections.write(lambda connection: connection.executemany(sql, attempts))

    async def of_players(self, board_id: int, players: Sequence[str], since: int) -> list[Attempt]:
        sql = self._queries["attempts_of_player"]

        def work(connection: sqlite3.Connection) -> list[Attempt]:
            return [Attempt(*row) for player in players for row in connection.execute(sql, (board_id, player, since))]

        return await self._connections.on_reader(work)

    async def forget(self, before: int, limit: int) -> int:
        sql = self._queries["forget_attempts"]
        return await self._connections.write(lambda connection: connection.execute(sql, (before, limit)).rowcount)
