"""Refused attempts in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence

from keepscore.storage.ledgers.attempts import Attempt, AttemptStore
from keepscore.storage.ledgers.postgres.role import PostgresRole

__all__ = ["PostgresAttempts"]


class PostgresAttempts(PostgresRole, AttemptStore):
    """One row for each player and moment."""

    async def add(self, attempts: Sequence[Attempt]) -> None:
        if attempts:
            sql, columns = self._queries["add_attempts"], [list(column) for column in zip(*attempts, strict=True)]
            await self._connections.write(lambda connection: connection.execute(sql, *columns))

    async def of_players(self, board_id: int, players: Sequence[str], since: int) -> list[Attempt]:
        return [Attempt(*row) for row in await self._connections.read("attempts_of_players", board_id, list(players), since)]

    async def forget(self, before: int, limit: int) -> int:
        sql = self._queries["forget_attempts"]
        return len(await self._connections.write(lambda connection: connection.fetch(sql, before, limit)))
