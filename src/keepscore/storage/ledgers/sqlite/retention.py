"""Dropping old events in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator

from keepscore.storage.ledgers.openings import Opening
from keepscore.storage.ledgers.retention import EventRemoval
from keepscore.storage.ledgers.sqlite.role import SqliteRole

__all__ = ["SqliteRetention"]

#: Events that one transaction removes, so that submissions get their turn between two.
REMOVED_EVENTS = 1000


class SqliteRetention(SqliteRole, EventRemoval):
    """Events are removed row by row, and from the index of players with it."""

    async def earliest_since(self, board_id: int, received: int) -> int | None:
        ((found,),) = await self._connections.read("earliest_since", board_id, received)
        return None if found is None else int(found)

    async def count(self, board_id: int, at: int, received: int, beyond: Opening | None) -> tuple[int, int]:
        known = (0, 0) if beyond is None else (beyond.at, beyond.received)
        ((came, earlier),) = await self._connections.read("count_events", board_id, at, received, *known)
        return came, earlier

    async def remove(self, opening: Opening) -> AsyncIterator[int]:
        board, _, at, received, *_ = opening

        def work(connection: sqlite3.Connection) -> None:
            connection.executemany(self._queries["unindex_event"], rows)
            connection.executemany(self._queries["remove_event"], [(board, writer, n) for _, _, writer, n in rows])

        for writer, last in sorted(opening.positions.items()):
            n = 0
            while rows := await self._connections.read("covered_events", board, writer, n, last, at, received, REMOVED_EVENTS):
                await self._connections.write_confirmed(work)
                yield len(rows)
                n = rows[-1][3]

    async def finish(self, opening: Opening) -> None:
        await self._connections.write_confirmed(lambda connection: connection.execute(self._queries["finish_removal"], opening[:2]))
