"""Openings in PostgreSQL: what is left of events that were dropped."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import msgspec

from keepscore.errors import LedgerUnavailable
from keepscore.storage.ledgers.openings import Opened, OpenedRanking, Opening, OpeningStore, opened_by, opening_of
from keepscore.storage.ledgers.postgres.connections import LONG_CALL_DEADLINES
from keepscore.storage.ledgers.postgres.role import PostgresRole

__all__ = ["PostgresOpenings"]

#: States that one read brings at a time.
CHUNK_STATES = 10_000


class PostgresOpenings(PostgresRole, OpeningStore):
    """One row for each opening, one for each ranking in it, and one for each state."""

    async def current(self, board_id: int) -> Opening | None:
        return next((opening_of(row) for row in await self._connections.read("opening", board_id, True)), None)

    async def announced(self, board_id: int) -> Opening | None:
        return next((opening_of(row) for row in await self._connections.read("opening", board_id, False)), None)

    async def accepts_from(self) -> dict[int, int]:
        return dict(await self._connections.read("accepts_from"))

    async def announce(self, board_id: int, at: int, received: int, now: int) -> Opening:
        async def work(connection: Any) -> Opening:
            self._connections.check_confirmed()
            await connection.execute(self._queries["lock_openings"])
            made = opening_of(await connection.fetchrow(self._queries["announce_opening"], board_id, at, received, now))
            await connection.execute(self._queries["forget_announced"], board_id, made.number)
            return made

        return await self._connections.transaction(work)

    async def begin(self, board_id: int) -> Opening | None:
        sql = self._queries["begin_opening"]
        row = await self._connections.write(lambda connection: connection.fetchrow(sql, board_id))
        return row and opening_of(row)

    async def write(self, board_id: int, number: int, rankings: Sequence[OpenedRanking], states: Sequence[Opened]) -> None:
        async def work(connection: Any) -> None:
            self._connections.check_confirmed()
            if await connection.fetchval(self._queries["opening_is_open"], board_id, number) is None:
                raise LedgerUnavailable("another process has restarted the same opening: it is finished there")
            for query, rows in (("put_opened_rankings", rankings), ("put_opened_states", states)):
                if rows:
                    columns = [list(column) for column in zip(*rows, strict=True)]
                    await connection.execute(self._queries[query], board_id, number, *columns)

        await self._connections.transaction(work, LONG_CALL_DEADLINES)

    async def finish(self, opening: Opening, semantics_version: int) -> bool:
        board, number, *_ = opening
        positions = msgspec.json.encode(opening.positions).decode()

        async def work(connection: Any) -> bool:
            self._connections.check_confirmed()
            row = (board, number, opening.first, opening.events, positions, semantics_version)
            if await connection.fetchval(self._queries["finish_opening"], *row) is None:
                return False
            await connection.execute(self._queries["forget_openings"], board, number)
            return True

        return await self._connections.transaction(work)

    async def trim(self, board_id: int, limit: int) -> int:
        async def work(connection: Any) -> int:
            for row in await connection.fetch(self._queries["stale_openings"], board_id):
                told = await connection.execute(self._queries["trim_opening"], board_id, row[0], limit)
                if gone := int(told.split()[-1]):
                    return gone
                await connection.execute(self._queries["trim_opening_rankings"], board_id, row[0])
            return 0

        return await self._connections.transaction(work, LONG_CALL_DEADLINES)

    async def rankings(self, board_id: int, number: int) -> list[OpenedRanking]:
        return [
            OpenedRanking(*row) for row in await self._connections.read("opened_rankings", board_id, number, patience=LONG_CALL_DEADLINES)
        ]

    async def states(self, board_id: int, number: int) -> AsyncIterator[list[Opened]]:
        last: tuple[str, ...] = ("", "", "", "")
        while rows := await self._connections.read("opened_states", board_id, number, *last, CHUNK_STATES, patience=LONG_CALL_DEADLINES):
            found = [Opened(*row) for row in rows]
            yield found
            last = found[-1][:4]

    async def states_of(self, board_id: int, players: Sequence[str]) -> tuple[Opening, list[tuple[OpenedRanking, Opened]]] | None:
        return opened_by(await self._connections.read("opened_states_of", board_id, list(players)))
