"""Archived rankings in PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from keepscore.errors import LedgerUnavailable
from keepscore.ledgers.base import TAKEN_OVER, Archive, Archived, Ledger, Slot, archive_of
from keepscore.ledgers.postgres_connections import PATIENCE, Connections

__all__ = ["PostgresArchives"]


class PostgresArchives(Ledger):
    """The part of a ledger in PostgreSQL that is about archives."""

    _queries: Mapping[str, str]
    _connections: Connections

    async def begin_archive(self, board_id: int, slot: Slot, kind: str, number: int, taken: int) -> int:
        async def work(connection: Any) -> int:
            for row in await connection.fetch(self._queries["unfinished"], board_id, *slot, kind, number):
                await self._drop(connection, row[0])
            begun: int = await connection.fetchval(self._queries["begin_archive"], board_id, *slot, kind, number, taken)
            return begun

        return await self._connections.transaction(work, PATIENCE)

    async def _drop(self, connection: Any, archive: int) -> None:
        # The rows last: whoever is writing some has the archive locked.
        await connection.execute(self._queries["drop_archive"], archive)
        await connection.execute(self._queries["drop_archive_rows"], archive)

    async def write_archive(self, archive: int, rows: Sequence[Archived]) -> None:
        columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in Archived._fields]
        sql = self._queries["write_archive"]
        await self._connections.write(lambda connection: connection.execute(sql, archive, *columns), PATIENCE)

    async def finish_archive(self, archive: int, players: int, kept: int, digest: str) -> None:
        sql = self._queries["finish_archive"]
        if await self._connections.write(lambda connection: connection.fetchval(sql, players, kept, digest, archive)) is None:
            raise LedgerUnavailable(TAKEN_OVER)

    async def drop_archive(self, archive: int) -> None:
        await self._connections.transaction(lambda connection: self._drop(connection, archive), PATIENCE)

    async def archives(
        self, board_id: int, window: str | None = None, window_id: str | None = None, kind: str | None = None
    ) -> list[Archive]:
        return [archive_of(row) for row in await self._connections.read("archives", board_id, window, window_id, kind)]

    async def archive_rows(self, archive: int, offset: int, limit: int) -> list[Archived]:
        rows = await self._connections.read("archive_rows", archive, offset, limit, patience=PATIENCE)
        return [Archived(*row) for row in rows]

    async def archive_places(self, archive: int, players: Sequence[str]) -> list[Archived]:
        return [Archived(*row) for row in await self._connections.read("archive_places", archive, list(players))]

    async def archive_count(self, archive: int, low: int, high: int) -> int:
        ((count,),) = await self._connections.read("archive_count", archive, low, high, patience=PATIENCE)
        return int(count)

    async def player_archives(self, board_id: int, player: str) -> list[tuple[Archive, Archived]]:
        rows = await self._connections.read("player_archives", board_id, player, patience=PATIENCE)
        return [(archive_of(tuple(row)[:11]), Archived(*tuple(row)[11:])) for row in rows]

    async def has_events(self, board_id: int, start: int, end: int) -> bool:
        ((found,),) = await self._connections.read("events_between", board_id, start, end, patience=PATIENCE)
        return bool(found)

    async def first_event(self, board_id: int) -> int | None:
        ((first,),) = await self._connections.read("first_event", board_id, patience=PATIENCE)
        return None if first is None else int(first)
