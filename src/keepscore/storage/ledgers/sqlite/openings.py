"""Openings in SQLite: what is left of events that were dropped."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Sequence

import msgspec

from keepscore.errors import LedgerUnavailable
from keepscore.storage.ledgers.openings import Opened, OpenedRanking, Opening, OpeningStore, opened_by, opening_of
from keepscore.storage.ledgers.sqlite.inserts import insert
from keepscore.storage.ledgers.sqlite.role import SqliteRole

__all__ = ["SqliteOpenings"]

#: States that one read brings at a time.
CHUNK_STATES = 10_000


class SqliteOpenings(SqliteRole, OpeningStore):
    """One row for each opening, one for each ranking in it, and one for each state."""

    async def current(self, board_id: int) -> Opening | None:
        return next((opening_of(row) for row in await self._connections.read("opening", board_id, True)), None)

    async def announced(self, board_id: int) -> Opening | None:
        return next((opening_of(row) for row in await self._connections.read("opening", board_id, False)), None)

    async def accepts_from(self) -> dict[int, int]:
        return dict(await self._connections.read("accepts_from"))

    async def announce(self, board_id: int, at: int, received: int, now: int) -> Opening:
        def work(connection: sqlite3.Connection) -> Opening:
            made = opening_of(connection.execute(self._queries["announce_opening"], (board_id, at, received, now)).fetchone())
            connection.execute(self._queries["forget_announced"], (board_id, made.number))
            return made

        return await self._connections.write_confirmed(work)

    async def begin(self, board_id: int) -> Opening | None:
        sql = self._queries["begin_opening"]
        row = await self._connections.write_confirmed(lambda connection: connection.execute(sql, (board_id,)).fetchone())
        return row and opening_of(row)

    async def write(self, board_id: int, number: int, rankings: Sequence[OpenedRanking], states: Sequence[Opened]) -> None:
        def work(connection: sqlite3.Connection) -> None:
            if not connection.execute(self._queries["opening_is_open"], (board_id, number)).fetchone()[0]:
                raise LedgerUnavailable("another process has restarted the same opening: it is finished there")
            insert(connection, self._queries["put_opened_ranking"], [(board_id, number, *ranking) for ranking in rankings])
            insert(connection, self._queries["put_opened_state"], [(board_id, number, *state) for state in states])

        await self._connections.write_confirmed(work)

    async def finish(self, opening: Opening, semantics_version: int) -> bool:
        board, number, *_ = opening
        positions = msgspec.json.encode(opening.positions).decode()

        def work(connection: sqlite3.Connection) -> bool:
            row = (board, number, opening.first, opening.events, positions, semantics_version)
            if not connection.execute(self._queries["finish_opening"], row).rowcount:
                return False
            connection.execute(self._queries["forget_openings"], (board, number))
            return True

        return await self._connections.write_confirmed(work)

    async def trim(self, board_id: int, limit: int) -> int:
        def work(connection: sqlite3.Connection) -> int:
            for (number,) in connection.execute(self._queries["stale_openings"], (board_id,)).fetchall():
                if gone := connection.execute(self._queries["trim_opening"], (board_id, number, limit)).rowcount:
                    return gone
                connection.execute(self._queries["trim_opening_rankings"], (board_id, number))
            return 0

        return await self._connections.write_confirmed(work)

    async def rankings(self, board_id: int, number: int) -> list[OpenedRanking]:
        return [OpenedRanking(*row) for row in await self._connections.read("opened_rankings", board_id, number)]

    async def states(self, board_id: int, number: int) -> AsyncIterator[list[Opened]]:
        last: tuple[str, ...] = ("", "", "", "")
        while rows := [Opened(*row) for row in await self._connections.read("opened_states", board_id, number, *last, CHUNK_STATES)]:
            yield rows
            last = rows[-1][:4]

    async def states_of(self, board_id: int, players: Sequence[str]) -> tuple[Opening, list[tuple[OpenedRanking, Opened]]] | None:
        return opened_by(await self._connections.read("opened_states_of", board_id, msgspec.json.encode(players).decode()))
