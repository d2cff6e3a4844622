"""Openings in PostgreSQL: what is left of events that were dropped, and how their partitions are."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import msgspec

from keepscore.errors import LedgerUnavailable
from keepscore.ledgers.base import Ledger
from keepscore.ledgers.openings import Opened, OpenedRanking, Opening, opened_by, opening_of
from keepscore.ledgers.postgres_connections import PATIENCE, Connections
from keepscore.ledgers.postgres_schema import lock_schema, month_before

__all__ = ["PostgresOpenings"]

#: States that one read brings at a time.
CHUNK = 10_000
#: How many deadlines a look through a month of events may take. Nobody waits for it.
MONTH = 360.0


class PostgresOpenings(Ledger):
    """The part of a ledger in PostgreSQL that is about openings."""

    _queries: Mapping[str, str]
    _connections: Connections

    async def opening(self, board_id: int) -> Opening | None:
        return next((opening_of(row) for row in await self._connections.read("opening", board_id, True)), None)

    async def announced(self, board_id: int) -> Opening | None:
        return next((opening_of(row) for row in await self._connections.read("opening", board_id, False)), None)

    async def taken_from(self) -> dict[int, int]:
        return dict(await self._connections.read("taken_from"))

    async def announce_opening(self, board_id: int, at: int, received: int, now: int) -> Opening:
        async def work(connection: Any) -> Opening:
            await connection.execute(self._queries["lock_openings"])
            made = opening_of(await connection.fetchrow(self._queries["announce_opening"], board_id, at, received, now))
            await connection.execute(self._queries["forget_announced"], board_id, made.number)
            return made

        return await self._connections.transaction(work)

    async def begin_opening(self, board_id: int) -> Opening | None:
        sql = self._queries["begin_opening"]
        row = await self._connections.write(lambda connection: connection.fetchrow(sql, board_id))
        return row and opening_of(row)

    async def write_opening(self, board_id: int, number: int, rankings: Sequence[OpenedRanking], states: Sequence[Opened]) -> None:
        async def work(connection: Any) -> None:
            if await connection.fetchval(self._queries["opening_is_open"], board_id, number) is None:
                raise LedgerUnavailable("another process has begun the same opening anew: it is finished there")
            for query, rows in (("put_opened_rankings", rankings), ("put_opened_states", states)):
                if rows:
                    columns = [list(column) for column in zip(*rows, strict=True)]
                    await connection.execute(self._queries[query], board_id, number, *columns)

        await self._connections.transaction(work, PATIENCE)

    async def finish_opening(self, opening: Opening, meaning: int) -> bool:
        board, number, *_ = opening
        positions = msgspec.json.encode(opening.positions).decode()

        async def work(connection: Any) -> bool:
            row = (board, number, opening.first, opening.events, positions, meaning)
            if await connection.fetchval(self._queries["finish_opening"], *row) is None:
                return False
            await connection.execute(self._queries["forget_openings"], board, number)
            return True

        return await self._connections.transaction(work)

    async def trim_openings(self, board_id: int, limit: int) -> int:
        async def work(connection: Any) -> int:
            for row in await connection.fetch(self._queries["stale_openings"], board_id):
                told = await connection.execute(self._queries["trim_opening"], board_id, row[0], limit)
                if gone := int(told.split()[-1]):
                    return gone
                await connection.execute(self._queries["trim_opening_rankings"], board_id, row[0])
            return 0

        return await self._connections.transaction(work, PATIENCE)

    async def opened_rankings(self, board_id: int, number: int) -> list[OpenedRanking]:
        return [OpenedRanking(*row) for row in await self._connections.read("opened_rankings", board_id, number, patience=PATIENCE)]

    async def opened_states(self, board_id: int, number: int) -> AsyncIterator[list[Opened]]:
        last: tuple[str, ...] = ("", "", "", "")
        while rows := await self._connections.read("opened_states", board_id, number, *last, CHUNK, patience=PATIENCE):
            found = [Opened(*row) for row in rows]
            yield found
            last = found[-1][:4]

    async def opened_states_of(self, board_id: int, player: str) -> tuple[Opening, list[tuple[OpenedRanking, Opened]]] | None:
        return opened_by(await self._connections.read("opened_states_of", board_id, player))

    # -- events ---------------------------------------------------------------------------------------------------------

    async def earliest_since(self, board_id: int, received: int) -> int | None:
        ((found,),) = await self._connections.read("earliest_since", board_id, received, patience=MONTH)
        return None if found is None else int(found)

    async def count_events(self, board_id: int, at: int, received: int, beyond: Opening | None) -> tuple[int, int]:
        known = (0, 0) if beyond is None else (beyond.at, beyond.received)
        ((came, earlier),) = await self._connections.read("count_events", board_id, at, received, *known, patience=MONTH)
        return came, earlier

    async def remove_events(self, opening: Opening) -> AsyncIterator[int]:
        for name, last in await self._connections.read("partition_ends"):
            if last <= opening.received and (gone := await self._shrink(name, last, opening)):
                yield gone

    async def _shrink(self, name: str, last: int, opening: Opening) -> int:
        """Put what no opening covers in the place of a partition, if an opening covers something there; answer how much that was.

        One transaction, beside the connection that writes. Readers and writers of other months wait while the tables are exchanged, and
        not while rows are copied.
        """

        async def work(connection: Any) -> int:
            await lock_schema(connection, self._queries)
            if not await connection.fetchval(self._queries["has_covered"].format(name=name), opening.board, opening.at, opening.received):
                return 0
            await connection.execute(self._queries["replace_partition"].format(name=name))
            before, rest = await connection.fetchrow(self._queries["count_partition"].format(name=name))
            query = "put_rest" if rest else "drop_partition"
            await connection.execute(self._queries[query].format(name=name, first=month_before(last), last=last))
            return int(before - rest)

        return await self._connections.aside(work, MONTH)

    async def finish_removal(self, opening: Opening) -> None:
        await self._connections.write(lambda connection: connection.execute(self._queries["finish_removal"], *opening[:2]))

    async def deleted_boards(self) -> Mapping[int, int]:
        return dict(await self._connections.read("deleted_boards"))
