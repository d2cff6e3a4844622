"""Dropping old events in PostgreSQL: partitions are exchanged for what is left of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from keepscore.storage.ledgers.openings import Opening
from keepscore.storage.ledgers.postgres.role import PostgresRole
from keepscore.storage.ledgers.postgres.schema import lock_schema, month_before
from keepscore.storage.ledgers.retention import EventRemoval

__all__ = ["PostgresRetention"]

#: How many deadlines a look through a month of events may take. Nobody waits for it.
MONTH_DEADLINES = 360.0


class PostgresRetention(PostgresRole, EventRemoval):
    """Events go with the partition of their month."""

    async def earliest_since(self, board_id: int, received: int) -> int | None:
        ((found,),) = await self._connections.read("earliest_since", board_id, received, patience=MONTH_DEADLINES)
        return None if found is None else int(found)

    async def count(self, board_id: int, at: int, received: int, beyond: Opening | None) -> tuple[int, int]:
        known = (0, 0) if beyond is None else (beyond.at, beyond.received)
        ((came, earlier),) = await self._connections.read("count_events", board_id, at, received, *known, patience=MONTH_DEADLINES)
        return came, earlier

    async def remove(self, opening: Opening) -> AsyncIterator[int]:
        for name, last in await self._connections.read("partition_ends"):
            if last <= opening.received and (gone := await self._shrink(name, last, opening)):
                yield gone

    async def _shrink(self, name: str, last: int, opening: Opening) -> int:
        """Put what no opening covers in the place of a partition, if an opening covers something there; return how much that was.

        One transaction, beside the connection that writes. Readers and writers of other months wait while the tables are exchanged, and
        not while rows are copied.
        """

        async def work(connection: Any) -> int:
            self._connections.check_confirmed()
            await lock_schema(connection, self._queries)
            if not await connection.fetchval(self._queries["has_covered"].format(name=name), opening.board, opening.at, opening.received):
                return 0
            await connection.execute(self._queries["replace_partition"].format(name=name))
            before, rest = await connection.fetchrow(self._queries["count_partition"].format(name=name))
            query = "put_rest" if rest else "drop_partition"
            await connection.execute(self._queries[query].format(name=name, first=month_before(last), last=last))
            return int(before - rest)

        await self._connections.settle()
        return await self._connections.aside(work, MONTH_DEADLINES)

    async def finish(self, opening: Opening) -> None:
        await self._connections.write(lambda connection: connection.execute(self._queries["finish_removal"], *opening[:2]))
