"""Openings in SQLite: what is left of events that were dropped, and how these are removed."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Mapping, Sequence

import msgspec

from keepscore.errors import LedgerUnavailable
from keepscore.ledgers.openings import Opened, OpenedRanking, Opening, opened_by, opening_of
from keepscore.ledgers.sqlite_part import SqlitePart, insert

__all__ = ["SqliteOpenings"]

#: States that one read brings, and events that one transaction removes, so that submissions get their turn between two.
CHUNK, REMOVED = 10_000, 1000


class SqliteOpenings(SqlitePart):
    """The part of a ledger in SQLite that is about openings."""

    async def opening(self, board_id: int) -> Opening | None:
        return next((opening_of(row) for row in await self._read("opening", board_id, True)), None)

    async def announced(self, board_id: int) -> Opening | None:
        return next((opening_of(row) for row in await self._read("opening", board_id, False)), None)

    async def taken_from(self) -> dict[int, int]:
        return dict(await self._read("taken_from"))

    async def announce_opening(self, board_id: int, at: int, received: int, now: int) -> Opening:
        def work(connection: sqlite3.Connection) -> Opening:
            made = opening_of(connection.execute(self._queries["announce_opening"], (board_id, at, received, now)).fetchone())
            connection.execute(self._queries["forget_announced"], (board_id, made.number))
            return made

        return await self._write(work)

    async def begin_opening(self, board_id: int) -> Opening | None:
        sql = self._queries["begin_opening"]
        row = await self._write(lambda connection: connection.execute(sql, (board_id,)).fetchone())
        return row and opening_of(row)

    async def write_opening(self, board_id: int, number: int, rankings: Sequence[OpenedRanking], states: Sequence[Opened]) -> None:
        def work(connection: sqlite3.Connection) -> None:
            if not connection.execute(self._queries["opening_is_open"], (board_id, number)).fetchone()[0]:
                raise LedgerUnavailable("another process has begun the same opening anew: it is finished there")
            insert(connection, self._queries["put_opened_ranking"], [(board_id, number, *ranking) for ranking in rankings])
            insert(connection, self._queries["put_opened_state"], [(board_id, number, *state) for state in states])

        await self._write(work)

    async def finish_opening(self, opening: Opening, meaning: int) -> bool:
        board, number, *_ = opening
        positions = msgspec.json.encode(opening.positions).decode()

        def work(connection: sqlite3.Connection) -> bool:
            row = (board, number, opening.first, opening.events, positions, meaning)
            if not connection.execute(self._queries["finish_opening"], row).rowcount:
                return False
            connection.execute(self._queries["forget_openings"], (board, number))
            return True

        return await self._write(work)

    async def trim_openings(self, board_id: int, limit: int) -> int:
        def work(connection: sqlite3.Connection) -> int:
            for (number,) in connection.execute(self._queries["stale_openings"], (board_id,)).fetchall():
                if gone := connection.execute(self._queries["trim_opening"], (board_id, number, limit)).rowcount:
                    return gone
                connection.execute(self._queries["trim_opening_rankings"], (board_id, number))
            return 0

        return await self._write(work)

    async def opened_rankings(self, board_id: int, number: int) -> list[OpenedRanking]:
        return [OpenedRanking(*row) for row in await self._read("opened_rankings", board_id, number)]

    async def opened_states(self, board_id: int, number: int) -> AsyncIterator[list[Opened]]:
        last: tuple[str, ...] = ("", "", "", "")
        while rows := [Opened(*row) for row in await self._read("opened_states", board_id, number, *last, CHUNK)]:
            yield rows
            last = rows[-1][:4]

    async def opened_states_of(self, board_id: int, player: str) -> tuple[Opening, list[tuple[OpenedRanking, Opened]]] | None:
        return opened_by(await self._read("opened_states_of", board_id, player))

    # -- events ---------------------------------------------------------------------------------------------------------

    async def earliest_since(self, board_id: int, received: int) -> int | None:
        ((found,),) = await self._read("earliest_since", board_id, received)
        return None if found is None else int(found)

    async def count_events(self, board_id: int, at: int, received: int, beyond: Opening | None) -> tuple[int, int]:
        known = (0, 0) if beyond is None else (beyond.at, beyond.received)
        ((came, earlier),) = await self._read("count_events", board_id, at, received, *known)
        return came, earlier

    async def remove_events(self, opening: Opening) -> AsyncIterator[int]:
        board, _, at, received, *_ = opening

        def remove(connection: sqlite3.Connection) -> None:
            connection.executemany(self._queries["unindex_event"], rows)
            connection.executemany(self._queries["remove_event"], [(board, writer, n) for _, _, writer, n in rows])

        for writer, last in sorted(opening.positions.items()):
            n = 0
            while rows := await self._read("covered_events", board, writer, n, last, at, received, REMOVED):
                await self._write(remove)
                yield len(rows)
                n = rows[-1][3]

    async def finish_removal(self, opening: Opening) -> None:
        await self._write(lambda connection: connection.execute(self._queries["finish_removal"], opening[:2]))

    async def deleted_boards(self) -> Mapping[int, int]:
        return dict(await self._read("deleted_boards"))
