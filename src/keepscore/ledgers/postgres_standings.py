"""Checkpointed states in PostgreSQL: written by checkpoints, read by a start, and read in order where there is no engine."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import msgspec

from keepscore.ledgers.base import Ahead, Checkpoint, Ledger, Order, Slot
from keepscore.ledgers.postgres_connections import PATIENCE, Connections
from keepscore.ordering import Row
from keepscore.scoring import State

__all__ = ["CHUNK", "PostgresStandings"]

#: Rows that one read brings at a time.
CHUNK = 10_000


class PostgresStandings(Ledger):
    """The part of a ledger in PostgreSQL that is about checkpoints."""

    _queries: Mapping[str, str]
    _connections: Connections

    async def begin_checkpoint(self, board_id: int, meaning: int, positions: Mapping[int, int], base: int | None, now: int) -> Checkpoint:
        async def work(connection: Any) -> Checkpoint:
            last = await connection.fetchval(self._queries["last_checkpoint"], board_id)
            begun = Checkpoint(last + 1, base or last + 1, meaning, dict(positions), False, now)
            text = msgspec.json.encode(begun.positions).decode()
            await connection.execute(self._queries["begin_checkpoint"], board_id, begun.number, begun.base, meaning, text, now)
            return begun

        return await self._connections.transaction(work)

    async def write_checkpoint(self, board_id: int, checkpoint: int, slot: Slot, states: Sequence[tuple[str, State | None]]) -> None:
        kept = [(player, *state) for player, state in states if state is not None]
        gone = [player for player, state in states if state is None]

        async def work(connection: Any) -> None:
            if kept:
                columns = [list(column) for column in zip(*kept, strict=True)]
                await connection.execute(self._queries["put_standings"], board_id, *slot, checkpoint, *columns)
            if gone:
                await connection.execute(self._queries["remove_standings"], board_id, *slot, checkpoint, gone)

        await self._connections.aside(work, PATIENCE)

    async def trim_checkpoint(self, board_id: int, slot: Slot, below: int, limit: int) -> int:
        async def work(connection: Any) -> int:
            told = await connection.execute(self._queries["trim_standings"], board_id, *slot, below, limit)
            await connection.execute(self._queries["forget_ranking"], board_id, *slot)
            return int(told.split()[-1])

        return await self._connections.aside(work, PATIENCE)

    async def finish_checkpoint(self, board_id: int, checkpoint: int, expiries: Mapping[Slot, int]) -> None:
        async def work(connection: Any) -> None:
            await connection.execute(self._queries["finish_checkpoint"], board_id, checkpoint)
            await connection.execute(self._queries["prune_checkpoints"], board_id, checkpoint)
            await connection.executemany(self._queries["put_ranking"], [(board_id, *slot, expiry) for slot, expiry in expiries.items()])

        await self._connections.transaction(work, PATIENCE)

    async def checkpoints(self, board_id: int) -> list[Checkpoint]:
        found = [
            Checkpoint(number, base, meaning, {int(w): n for w, n in msgspec.json.decode(positions).items()}, complete, taken)
            for number, base, meaning, positions, complete, taken in await self._connections.read("checkpoints", board_id)
        ]
        while found and not found[0].complete:
            found.pop(0)
        return found

    async def checkpoint_slots(self, board_id: int) -> dict[Slot, int]:
        return {Slot(*slot): expiry for *slot, expiry in await self._connections.read("rankings", board_id)}

    async def checkpoint_rows(self, board_id: int, slot: Slot, first: int, last: int) -> AsyncIterator[list[tuple[str, int, int]]]:
        player = ""
        while rows := await self._connections.read("standings", board_id, *slot, first, last, player, CHUNK, patience=PATIENCE):
            yield [tuple(row) for row in rows]
            player = rows[-1][0]

    async def checkpoint_states(self, board_id: int, slot: Slot, players: Sequence[str]) -> list[tuple[str, int, int, int]]:
        rows = await self._connections.read("standings_of", board_id, *slot, list(players), patience=PATIENCE)
        return [tuple(row) for row in rows]

    # -- in order -------------------------------------------------------------------------------------------------------

    async def checkpoint_page(self, board_id: int, slot: Slot, order: Order, offset: int, limit: int) -> list[Row]:
        query = "page_desc" if order.desc else "page_asc"
        rows = await self._connections.read(query, board_id, *slot, order.ties, limit, offset, patience=PATIENCE)
        return [Row(*row) for row in rows]

    async def checkpoint_sample(self, board_id: int, slot: Slot, order: Order, step: int) -> list[tuple[int, Row]]:
        query = "sample_desc" if order.desc else "sample_asc"
        rows = await self._connections.read(query, board_id, *slot, order.ties, step, patience=PATIENCE)
        return [(rank, Row(*row)) for rank, *row in rows]

    async def checkpoint_ahead(self, board_id: int, slot: Slot, order: Order, row: Row) -> Ahead:
        query = "ahead_desc" if order.desc else "ahead_asc"
        (found,) = await self._connections.read(query, board_id, *slot, order.ties, *row, patience=PATIENCE)
        return Ahead(*found)

    async def checkpoint_count(self, board_id: int, slot: Slot, low: int, high: int) -> int:
        ((count,),) = await self._connections.read("count_standings", board_id, *slot, low, high, patience=PATIENCE)
        return int(count)
