"""Checkpointed states in SQLite: written by checkpoints, read by a start, and read in order where there is no engine."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Mapping, Sequence

import msgspec

from keepscore.ledgers.base import Ahead, Checkpoint, Order, Slot
from keepscore.ledgers.sqlite_part import SqlitePart, insert
from keepscore.ordering import Row
from keepscore.scoring import State

__all__ = ["SqliteStandings"]

#: Rows that one read brings at a time.
CHUNK = 10_000


class SqliteStandings(SqlitePart):
    """The part of a ledger in SQLite that is about checkpoints."""

    async def begin_checkpoint(self, board_id: int, meaning: int, positions: Mapping[int, int], base: int | None, now: int) -> Checkpoint:
        def work(connection: sqlite3.Connection) -> Checkpoint:
            (last,) = connection.execute(self._queries["last_checkpoint"], (board_id,)).fetchone()
            begun = Checkpoint(last + 1, base or last + 1, meaning, dict(positions), False, now)
            row = (board_id, begun.number, begun.base, meaning, msgspec.json.encode(begun.positions).decode(), now)
            connection.execute(self._queries["begin_checkpoint"], row)
            return begun

        return await self._write(work)

    async def write_checkpoint(self, board_id: int, checkpoint: int, slot: Slot, states: Sequence[tuple[str, State | None]]) -> None:
        kept = [(board_id, *slot, player, *state, checkpoint) for player, state in states if state is not None]
        gone = [(board_id, *slot, player) for player, state in states if state is None]

        def work(connection: sqlite3.Connection) -> None:
            insert(connection, self._queries["put_standing"], kept)
            connection.executemany(self._queries["remove_standing"], gone)

        await self._write(work)

    async def trim_checkpoint(self, board_id: int, slot: Slot, below: int, limit: int) -> int:
        def work(connection: sqlite3.Connection) -> int:
            trimmed = connection.execute(self._queries["trim_standings"], (board_id, *slot, below, limit)).rowcount
            connection.execute(self._queries["forget_ranking"], (board_id, *slot))
            return trimmed

        return await self._write(work)

    async def finish_checkpoint(self, board_id: int, checkpoint: int, expiries: Mapping[Slot, int]) -> None:
        def work(connection: sqlite3.Connection) -> None:
            connection.execute(self._queries["finish_checkpoint"], (board_id, checkpoint))
            connection.execute(self._queries["prune_checkpoints"], (board_id, checkpoint))
            connection.executemany(self._queries["put_ranking"], [(board_id, *slot, expiry) for slot, expiry in expiries.items()])

        await self._write(work)

    async def checkpoints(self, board_id: int) -> list[Checkpoint]:
        rows = await self._read("checkpoints", board_id)
        found = [
            Checkpoint(number, base, meaning, {int(w): n for w, n in msgspec.json.decode(positions).items()}, bool(complete), taken)
            for number, base, meaning, positions, complete, taken in rows
        ]
        while found and not found[0].complete:
            found.pop(0)
        return found

    async def checkpoint_slots(self, board_id: int) -> dict[Slot, int]:
        return {Slot(*slot): expiry for *slot, expiry in await self._read("rankings", board_id)}

    async def checkpoint_rows(self, board_id: int, slot: Slot, first: int, last: int) -> AsyncIterator[list[tuple[str, int, int]]]:
        player = ""
        while rows := await self._read("standings", board_id, *slot, first, last, player, CHUNK):
            yield rows
            player = rows[-1][0]

    async def checkpoint_states(self, board_id: int, slot: Slot, players: Sequence[str]) -> list[tuple[str, int, int, int]]:
        return await self._read("standings_of", board_id, *slot, msgspec.json.encode(players).decode())

    # -- in order -------------------------------------------------------------------------------------------------------

    async def checkpoint_page(self, board_id: int, slot: Slot, order: Order, offset: int, limit: int) -> list[Row]:
        rows = await self._read("page_desc" if order.desc else "page_asc", board_id, *slot, order.ties, limit, offset)
        return [Row(*row) for row in rows]

    async def checkpoint_sample(self, board_id: int, slot: Slot, order: Order, step: int) -> list[tuple[int, Row]]:
        rows = await self._read("sample_desc" if order.desc else "sample_asc", board_id, *slot, order.ties, step)
        return [(rank, Row(*row)) for rank, *row in rows]

    async def checkpoint_ahead(self, board_id: int, slot: Slot, order: Order, row: Row) -> Ahead:
        query = "ahead_desc" if order.desc else "ahead_asc"
        (found,) = await self._read(query, board_id, *slot, order.ties, row.player, row.score, row.since)
        return Ahead(*found)

    async def checkpoint_count(self, board_id: int, slot: Slot, low: int, high: int) -> int:
        ((count,),) = await self._read("count_standings", board_id, *slot, low, high)
        return int(count)
