"""Archived rankings in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from keepscore.errors import LedgerUnavailable
from keepscore.storage.ledgers.archives import TAKEN_OVER, Archive, Archived, ArchiveStore, archive_of
from keepscore.storage.ledgers.claims import Effect
from keepscore.storage.ledgers.slots import Slot
from keepscore.storage.ledgers.sqlite.claims import SqliteClaims
from keepscore.storage.ledgers.sqlite.connections import SqliteConnections
from keepscore.storage.ledgers.sqlite.inserts import insert
from keepscore.storage.ledgers.sqlite.role import SqliteRole

__all__ = ["SqliteArchives"]


class SqliteArchives(SqliteRole, ArchiveStore):
    """One row for each archive, and one for each player in it."""

    def __init__(self, connections: SqliteConnections, claims: SqliteClaims) -> None:
        super().__init__(connections)
        self._claims = claims

    async def begin(self, board_id: int, slot: Slot, kind: str, number: int, taken: int) -> int:
        def work(connection: sqlite3.Connection) -> int:
            for (old,) in connection.execute(self._queries["unfinished"], (board_id, *slot, kind, number)).fetchall():
                self._drop(connection, old)
            begun = connection.execute(self._queries["begin_archive"], (board_id, *slot, kind, number, taken)).fetchone()
            return int(begun[0])

        return await self._connections.write_confirmed(work)

    def _drop(self, connection: sqlite3.Connection, archive: int) -> None:
        connection.execute(self._queries["drop_archive"], (archive,))
        connection.execute(self._queries["drop_archive_rows"], (archive,))

    async def write(self, archive: int, rows: Sequence[Archived]) -> None:
        values = [(archive, *row) for row in rows]

        def work(connection: sqlite3.Connection) -> None:
            if connection.execute(self._queries["archive_is_open"], (archive,)).fetchone()[0]:
                insert(connection, self._queries["write_archive"], values)

        await self._connections.write_confirmed(work)

    async def finish(self, archive: int, players: int, kept: int, digest: str, effect: Effect | None = None) -> None:
        def work(connection: sqlite3.Connection) -> None:
            if not connection.execute(self._queries["finish_archive"], (players, kept, digest, archive)).rowcount:
                raise LedgerUnavailable(TAKEN_OVER)
            self._claims.take_effect(connection, effect)

        await self._connections.write_confirmed(work)

    async def drop(self, archive: int) -> None:
        await self._connections.write(lambda connection: self._drop(connection, archive))

    async def find(self, board_id: int, window: str | None = None, window_id: str | None = None, kind: str | None = None) -> list[Archive]:
        return [archive_of(row) for row in await self._connections.read("archives", board_id, window, window_id, kind)]

    async def rows(self, archive: int, offset: int, limit: int) -> list[Archived]:
        return [Archived(*row) for row in await self._connections.read("archive_rows", archive, offset, limit)]

    async def places(self, archive: int, players: Sequence[str]) -> list[Archived]:
        return [Archived(*row) for row in await self._connections.read("archive_places", archive, msgspec.json.encode(players).decode())]

    async def count(self, archive: int, low: int, high: int) -> int:
        ((count,),) = await self._connections.read("archive_count", archive, low, high)
        return int(count)

    async def of_player(self, board_id: int, player: str) -> list[tuple[Archive, Archived]]:
        rows = await self._connections.read("player_archives", board_id, player)
        return [(archive_of(row[:11]), Archived(*row[11:])) for row in rows]
