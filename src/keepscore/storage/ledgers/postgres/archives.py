"""Archived rankings in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keepscore.errors import LedgerUnavailable
from keepscore.storage.ledgers.archives import TAKEN_OVER, Archive, Archived, ArchiveStore, archive_of
from keepscore.storage.ledgers.claims import Effect
from keepscore.storage.ledgers.postgres.claims import PostgresClaims
from keepscore.storage.ledgers.postgres.connections import LONG_CALL_DEADLINES, Connections
from keepscore.storage.ledgers.postgres.role import PostgresRole
from keepscore.storage.ledgers.slots import Slot

__all__ = ["PostgresArchives"]


class PostgresArchives(PostgresRole, ArchiveStore):
    """One row for each archive, and one for each player in it."""

    def __init__(self, connections: Connections, claims: PostgresClaims) -> None:
        super().__init__(connections)
        self._claims = claims

    async def begin(self, board_id: int, slot: Slot, kind: str, number: int, taken: int) -> int:
        async def work(connection: Any) -> int:
            self._connections.check_confirmed()
            for row in await connection.fetch(self._queries["unfinished"], board_id, *slot, kind, number):
                await self._drop(connection, row[0])
            begun: int = await connection.fetchval(self._queries["begin_archive"], board_id, *slot, kind, number, taken)
            return begun

        return await self._connections.transaction(work, LONG_CALL_DEADLINES)

    async def _drop(self, connection: Any, archive: int) -> None:
        # The rows last: whoever is writing some has the archive locked.
        await connection.execute(self._queries["drop_archive"], archive)
        await connection.execute(self._queries["drop_archive_rows"], archive)

    async def write(self, archive: int, rows: Sequence[Archived]) -> None:
        columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in Archived._fields]
        sql = self._queries["write_archive"]

        async def work(connection: Any) -> None:
            self._connections.check_confirmed()
            await connection.execute(sql, archive, *columns)

        await self._connections.write(work, LONG_CALL_DEADLINES)

    async def finish(self, archive: int, players: int, kept: int, digest: str, effect: Effect | None = None) -> None:
        async def work(connection: Any) -> None:
            self._connections.check_confirmed()
            board: int | None = await connection.fetchval(self._queries["archive_board"], archive)
            await connection.execute(self._queries["lock_window"], board or 0)
            if await connection.fetchval(self._queries["finish_archive"], players, kept, digest, archive) is None:
                raise LedgerUnavailable(TAKEN_OVER)
            await self._claims.take_effect(connection, effect)

        await self._connections.transaction(work)

    async def drop(self, archive: int) -> None:
        await self._connections.transaction(lambda connection: self._drop(connection, archive), LONG_CALL_DEADLINES)

    async def find(self, board_id: int, window: str | None = None, window_id: str | None = None, kind: str | None = None) -> list[Archive]:
        return [archive_of(row) for row in await self._connections.read("archives", board_id, window, window_id, kind)]

    async def rows(self, archive: int, offset: int, limit: int) -> list[Archived]:
        rows = await self._connections.read("archive_rows", archive, offset, limit, patience=LONG_CALL_DEADLINES)
        return [Archived(*row) for row in rows]

    async def places(self, archive: int, players: Sequence[str]) -> list[Archived]:
        return [Archived(*row) for row in await self._connections.read("archive_places", archive, list(players))]

    async def count(self, archive: int, low: int, high: int) -> int:
        ((count,),) = await self._connections.read("archive_count", archive, low, high, patience=LONG_CALL_DEADLINES)
        return int(count)

    async def of_player(self, board_id: int, player: str) -> list[tuple[Archive, Archived]]:
        rows = await self._connections.read("player_archives", board_id, player, patience=LONG_CALL_DEADLINES)
        return [(archive_of(tuple(row)[:11]), Archived(*tuple(row)[11:])) for row in rows]
