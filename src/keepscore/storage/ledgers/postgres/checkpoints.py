"""Checkpointed states in PostgreSQL: written by checkpoints, read by a start, and read in order where there is no engine."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import msgspec

from keepscore.domain.ordering import Row
from keepscore.domain.scoring import State
from keepscore.storage.ledgers.checkpoints import Ahead, Checkpoint, CheckpointStore, Order, checkpoints_of
from keepscore.storage.ledgers.postgres.connections import LONG_CALL_DEADLINES
from keepscore.storage.ledgers.postgres.role import PostgresRole
from keepscore.storage.ledgers.slots import Slot

__all__ = ["PostgresCheckpoints"]

#: Rows that one read brings at a time.
CHUNK_ROWS = 10_000


class PostgresCheckpoints(PostgresRole, CheckpointStore):
    """One row for each state; it belongs to the checkpoint that wrote it last."""

    async def begin(self, board_id: int, semantics_version: int, positions: Mapping[int, int], base: int | None, now: int) -> Checkpoint:
        async def work(connection: Any) -> Checkpoint:
            self._connections.check_confirmed()
            last = await connection.fetchval(self._queries["last_checkpoint"], board_id)
            begun = Checkpoint(last + 1, base or last + 1, semantics_version, dict(positions), False, now)
            text = msgspec.json.encode(begun.positions).decode()
            await connection.execute(self._queries["begin_checkpoint"], board_id, begun.number, begun.base, semantics_version, text, now)
            return begun

        return await self._connections.transaction(work)

    async def write(self, board_id: int, checkpoint: int, slot: Slot, states: Sequence[tuple[str, State | None]]) -> None:
        kept = [(player, *state) for player, state in states if state is not None]
        gone = [player for player, state in states if state is None]

        async def work(connection: Any) -> None:
            if kept:
                columns = [list(column) for column in zip(*kept, strict=True)]
                await connection.execute(self._queries["put_standings"], board_id, *slot, checkpoint, *columns)
            if gone:
                await connection.execute(self._queries["remove_standings"], board_id, *slot, checkpoint, gone)

        await self._connections.settle()
        self._connections.check_confirmed()
        await self._connections.aside(work, LONG_CALL_DEADLINES)

    async def trim(self, board_id: int, slot: Slot, below: int, limit: int) -> int:
        async def work(connection: Any) -> int:
            told = await connection.execute(self._queries["trim_standings"], board_id, *slot, below, limit)
            await connection.execute(self._queries["forget_ranking"], board_id, *slot)
            return int(told.split()[-1])

        await self._connections.settle()
        self._connections.check_confirmed()
        return await self._connections.aside(work, LONG_CALL_DEADLINES)

    async def finish(self, board_id: int, checkpoint: int, expiries: Mapping[Slot, int]) -> None:
        async def work(connection: Any) -> None:
            self._connections.check_confirmed()
            await connection.execute(self._queries["finish_checkpoint"], board_id, checkpoint)
            await connection.execute(self._queries["prune_checkpoints"], board_id, checkpoint)
            await connection.executemany(self._queries["put_ranking"], [(board_id, *slot, expiry) for slot, expiry in expiries.items()])

        await self._connections.transaction(work, LONG_CALL_DEADLINES)

    async def latest(self, board_id: int) -> list[Checkpoint]:
        return checkpoints_of(await self._connections.read("checkpoints", board_id))

    async def slots(self, board_id: int) -> dict[Slot, int]:
        return {Slot(*slot): expiry for *slot, expiry in await self._connections.read("rankings", board_id)}

    async def rows(self, board_id: int, slot: Slot, first: int, last: int) -> AsyncIterator[list[tuple[str, int, int]]]:
        player = ""
        while rows := await self._connections.read(
            "standings", board_id, *slot, first, last, player, CHUNK_ROWS, patience=LONG_CALL_DEADLINES
        ):
            yield [tuple(row) for row in rows]
            player = rows[-1][0]

    async def states(self, board_id: int, slot: Slot, players: Sequence[str]) -> list[tuple[str, int, int, int]]:
        rows = await self._connections.read("standings_of", board_id, *slot, list(players), patience=LONG_CALL_DEADLINES)
        return [tuple(row) for row in rows]

    # -- in order -------------------------------------------------------------------------------------------------------

    async def page(self, board_id: int, slot: Slot, order: Order, offset: int, limit: int) -> list[Row]:
        query = "page_desc" if order.desc else "page_asc"
        rows = await self._connections.read(query, board_id, *slot, order.ties, limit, offset, patience=LONG_CALL_DEADLINES)
        return [Row(*row) for row in rows]

    async def sample(self, board_id: int, slot: Slot, order: Order, step: int) -> list[tuple[int, Row]]:
        query = "sample_desc" if order.desc else "sample_asc"
        rows = await self._connections.read(query, board_id, *slot, order.ties, step, patience=LONG_CALL_DEADLINES)
        return [(rank, Row(*row)) for rank, *row in rows]

    async def ahead(self, board_id: int, slot: Slot, order: Order, row: Row) -> Ahead:
        query = "ahead_desc" if order.desc else "ahead_asc"
        (found,) = await self._connections.read(query, board_id, *slot, order.ties, *row, patience=LONG_CALL_DEADLINES)
        return Ahead(*found)

    async def count(self, board_id: int, slot: Slot, low: int, high: int) -> int:
        ((count,),) = await self._connections.read("count_standings", board_id, *slot, low, high, patience=LONG_CALL_DEADLINES)
        return int(count)
