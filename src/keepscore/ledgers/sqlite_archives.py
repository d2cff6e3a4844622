"""Archived rankings in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from keepscore.errors import LedgerUnavailable
from keepscore.ledgers.base import TAKEN_OVER, Archive, Archived, Slot, archive_of
from keepscore.ledgers.sqlite_part import SqlitePart, insert

__all__ = ["SqliteArchives"]


class SqliteArchives(SqlitePart):
    """The part of a ledger in SQLite that is about archives."""

    async def begin_archive(self, board_id: int, slot: Slot, kind: str, number: int, taken: int) -> int:
        def work(connection: sqlite3.Connection) -> int:
            for (old,) in connection.execute(self._queries["unfinished"], (board_id, *slot, kind, number)).fetchall():
                self._drop(connection, old)
            begun = connection.execute(self._queries["begin_archive"], (board_id, *slot, kind, number, taken)).fetchone()
            return int(begun[0])

        return await self._write(work)

    def _drop(self, connection: sqlite3.Connection, archive: int) -> None:
        connection.execute(self._queries["drop_archive"], (archive,))
        connection.execute(self._queries["drop_archive_rows"], (archive,))

    async def write_archive(self, archive: int, rows: Sequence[Archived]) -> None:
        values = [(archive, *row) for row in rows]

        def work(connection: sqlite3.Connection) -> None:
            if connection.execute(self._queries["archive_is_open"], (archive,)).fetchone()[0]:
                insert(connection, self._queries["write_archive"], values)

        await self._write(work)

    async def finish_archive(self, archive: int, players: int, kept: int, digest: str) -> None:
        values = (players, kept, digest, archive)
        if not await self._write(lambda connection: connection.execute(self._queries["finish_archive"], values).rowcount):
            raise LedgerUnavailable(TAKEN_OVER)

    async def drop_archive(self, archive: int) -> None:
        await self._write(lambda connection: self._drop(connection, archive))

    async def archives(
        self, board_id: int, window: str | None = None, window_id: str | None = None, kind: str | None = None
    ) -> list[Archive]:
        return [archive_of(row) for row in await self._read("archives", board_id, window, window_id, kind)]

    async def archive_rows(self, archive: int, offset: int, limit: int) -> list[Archived]:
        return [Archived(*row) for row in await self._read("archive_rows", archive, offset, limit)]

    async def archive_places(self, archive: int, players: Sequence[str]) -> list[Archived]:
        return [Archived(*row) for row in await self._read("archive_places", archive, msgspec.json.encode(players).decode())]

    async def archive_count(self, archive: int, low: int, high: int) -> int:
        ((count,),) = await self._read("archive_count", archive, low, high)
        return int(count)

    async def player_archives(self, board_id: int, player: str) -> list[tuple[Archive, Archived]]:
        rows = await self._read("player_archives", board_id, player)
        return [(archive_of(row[:11]), Archived(*row[11:])) for row in rows]

    async def has_events(self, board_id: int, start: int, end: int) -> bool:
        ((found,),) = await self._read("events_between", board_id, start, end)
        return bool(found)

    async def first_event(self, board_id: int) -> int | None:
        ((first,),) = await self._read("first_event", board_id)
        return None if first is None else int(first)
