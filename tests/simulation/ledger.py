"""The real SQLite ledger in memory, one database for all processes, with the network where its threads are."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from keepscore.boards import Board, board_from_dict
from keepscore.ledgers.base import BoardRecord
from keepscore.ledgers.sqlite import SqliteLedger, _transaction
from keepscore.ledgers.sqlite_schema import migrate

if TYPE_CHECKING:
    from tests.simulation.world import Process

__all__ = ["SimulatedLedger", "empty_database"]

T = TypeVar("T")


@cache
def _template() -> bytes:
    database = sqlite3.connect(":memory:", isolation_level=None)
    migrate(database, ":memory:")
    return database.serialize()


@cache
def _board(text: str) -> Board:
    # Every process looks every second, at few different ones.
    return board_from_dict(msgspec.json.decode(text))


def empty_database() -> sqlite3.Connection:
    """A database in memory with the ledger's schema."""
    database = sqlite3.connect(":memory:", isolation_level=None)
    database.deserialize(_template())
    return database


class SimulatedLedger(SqliteLedger):
    """The ledger of one process. Whatever it does is one call to the server; only the way there is simulated."""

    def __init__(self, process: Process, database: sqlite3.Connection) -> None:
        super().__init__(":memory:", shared=True)
        self._process = process
        self._connections = [database]

    async def _call(self, what: str, work: Callable[[sqlite3.Connection], T]) -> T:
        return await self._process.world.network.call(self._process, "ledger", what, lambda: self._translated(work, self._connections[0]))

    async def _run(self, pool: Any, work: Callable[[sqlite3.Connection], T]) -> T:
        return await self._call(_name(work), work)

    async def _write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await self._call(_name(work), lambda database: _transaction(database, work))

    async def _read(self, query: str, *args: object) -> list[Any]:
        sql = self._queries[query]
        return await self._call(f"{query} {args}", lambda database: database.execute(sql, args).fetchall())

    async def positions(self, board_id: int) -> dict[int, int]:
        # One call, as to a ledger elsewhere: half of all calls would be for this, otherwise.
        sql = "SELECT writer, max(n) FROM events WHERE board = ? GROUP BY writer"
        return dict(await self._call(f"positions {board_id}", lambda database: database.execute(sql, (board_id,)).fetchall()))

    def _boards(self, connection: sqlite3.Connection) -> list[BoardRecord]:
        rows = connection.execute(self._queries["current_boards"]).fetchall()
        return [BoardRecord(number, version, _board(text), meaning) for number, version, text, meaning in rows]

    async def open(self, now: int) -> int:
        return await self.enlist(now)

    async def lead(self) -> bool:
        world = self._process.world
        return await self._call("lead", lambda _: world.living()[:1] == [self._process])

    async def close(self) -> None:
        """The database is everybody's."""


def _name(work: Callable[..., Any]) -> str:
    """The method that a piece of work belongs to."""
    return work.__qualname__.split(".<locals>")[0].rpartition(".")[2]
