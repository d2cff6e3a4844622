"""Checkpointed states in SQLite: written by checkpoints, read by a start, and read in order where there is no engine."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Mapping, Sequence

import msgspec

from keepscore.domain.ordering import Row
from keepscore.domain.scoring import State
from keepscore.storage.ledgers.checkpoints import Ahead, Checkpoint, CheckpointStore, Order, checkpoints_of
from keepscore.storage.ledgers.slots import Slot
from keepscore.storage.ledgers.sqlite.inserts import insert
from keepscore.storage.ledgers.sqlite.role import SqliteRole

__all__ = ["SqliteCheckpoints"]

#: Rows that one read brings at a time.
CHUNK_ROWS = 10_000


class SqliteCheckpoints(SqliteRole, CheckpointStore):
    """One row for each state; it belongs to the checkpoint that wrote it last."""

    async def begin(self, board_id: int, semantics_version: int, positions: Mapping[int, int], base: int | None, now: int) -> Checkpoint:
        def work(connection: sqlite3.Connection) -> Checkpoint:
            (last,) = connection.execute(self._queries["last_checkpoint"], (board_id,)).fetchone()
            begun = Checkpoint(last + 1, base or last + 1, semantics_version, dict(positions), False, now)
            row = (board_id, begun.number, begun.base, semantics_version, msgspec.json.encode(begun.positions).decode(), now)
            connection.execute(self._queries["begin_checkpoint"], row)
            return begun

        return await self._connections.write_confirmed(work)

    async def write(self, board_id: int, checkpoint: int, slot: Slot, states: Sequence[tuple[str, State | None]]) -> None:
        kept = [(board_id, *slot, player, *state, checkpoint) for player, state in states if state is not None]
        gone = [(board_id, *slot, player) for player, state in states if state is None]

        def work(connection: sqlite3.Connection) -> None:
            insert(connection, self._queries["put_standing"], kept)
            connection.executemany(self._queries["remove_standing"], gone)

        await self._connections.write_confirmed(work)

    async def trim(self, board_id: int, slot: Slot, below: int, limit: int) -> int:
        def work(connection: sqlite3.Connection) -> int:
            trimmed = connection.execute(self._queries["trim_standings"], (board_id, *slot, below, limit)).rowcount
            connection.execute(self._queries["forget_ranking"], (board_id, *slot))
            return trimmed

        return await self._connections.write_confirmed(work)

    async def finish(self, board_id: int, checkpoint: int, expiries: Mapping[Slot, int]) -> None:
        def work(connection: sqlite3.Connection) -> None:
            connection.execute(self._queries["finish_checkpoint"], (board_id, checkpoint))
            connection.execute(self._queries["prune_checkpoints"], (board_id, checkpoint))
            connection.executemany(self._queries["put_ranking"], [(board_id, *slot, expiry) for slot, expiry in expiries.items()])

        await self._connections.write_confirmed(work)

    async def latest(self, board_id: int) -> list[Checkpoint]:
        return checkpoints_of(await self._connections.read("checkpoints", board_id))

    async def slots(self, board_id: int) -> dict[Slot, int]:
        return {Slot(*slot): expiry for *slot, expiry in await self._connections.read("rankings", board_id)}

    async def rows(self, board_id: int, slot: Slot, first: int, last: int) -> AsyncIterator[list[tuple[str, int, int]]]:
        player = ""
        while rows := await self._connections.read("standings", board_id, *slot, first, last, player, CHUNK_ROWS):
            yield rows
            player = rows[-1][0]

    async def states(self, board_id: int, slot: Slot, players: Sequence[str]) -> list[tuple[str, int, int, int]]:
        return await self._connections.read("standings_of", board_id, *slot, msgspec.json.encode(players).decode())

    # -- in order -------------------------------------------------------------------------------------------------------

    async def page(self, board_id: int, slot: Slot, order: Order, offset: int, limit: int) -> list[Row]:
        rows = await self._connections.read("page_desc" if order.desc else "page_asc", board_id, *slot, order.ties, limit, offset)
        return [Row(*row) for row in rows]

    async def sample(self, board_id: int, slot: Slot, order: Order, step: int) -> list[tuple[int, Row]]:
        rows = await self._connections.read("sample_desc" if order.desc else "sample_asc", board_id, *slot, order.ties, step)
        return [(rank, Row(*row)) for rank, *row in rows]

    async def ahead(self, board_id: int, slot: Slot, order: Order, row: Row) -> Ahead:
        query = "ahead_desc" if order.desc else "ahead_asc"
        (found,) = await self._connections.read(query, board_id, *slot, order.ties, row.player, row.score, row.since)
        return Ahead(*found)

    async def count(self, board_id: int, slot: Slot, low: int, high: int) -> int:
        ((count,),) = await self._connections.read("count_standings", board_id, *slot, low, high)
        return int(count)
