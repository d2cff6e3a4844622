"""The real SQLite ledger in memory, one database for all processes, with the network where its threads are."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from keepscore.domain.boards import Board, board_from_dict
from keepscore.domain.scoring import Event
from keepscore.errors import LedgerUnavailable
from keepscore.storage.ledgers.boards import BoardRecord
from keepscore.storage.ledgers.sqlite.connections import SqliteConnections, transaction
from keepscore.storage.ledgers.sqlite.errors import translated
from keepscore.storage.ledgers.sqlite.ledger import SqliteLedger
from keepscore.storage.ledgers.sqlite.schema import migrate
from tests.support.wrapping import wrap

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


class SimulatedConnections(SqliteConnections):
    """The way of one process to the database. Whatever goes over it is one call to the server; only the way there is simulated."""

    def __init__(self, process: Process, database: sqlite3.Connection) -> None:
        super().__init__(":memory:", shared=True)
        self._process = process
        self._database = database

    async def call(self, what: str, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do some work at the server."""
        world = self._process.world
        # Whoever was cut off reconnects.
        connected = self.incarnation = world.restores

        def execute() -> T:
            if world.restores != connected:
                raise LedgerUnavailable("the connection was lost: another ledger has taken the place of the last")
            with translated(self.path):
                return work(self._database)

        return await world.network.call(self._process, "ledger", what, execute)

    async def look(self) -> None:
        await self.call("look", lambda _: None)

    async def on_writer(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await self.call(_name(work), work)

    async def on_reader(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await self.call(_name(work), work)

    async def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await self.call(_name(work), lambda database: transaction(database, work))

    async def read(self, query: str, *args: object) -> list[Any]:
        sql = self.queries[query]
        return await self.call(f"{query} {args}", lambda database: database.execute(sql, args).fetchall())


class SimulatedLedger(SqliteLedger):
    """The ledger of one process."""

    def __init__(self, process: Process, database: sqlite3.Connection) -> None:
        self._process = process
        self._way = SimulatedConnections(process, database)
        super().__init__(":memory:", shared=True, connections=self._way)
        wrap(self.events, "append", self._append)
        wrap(self.events, "positions", self._positions)
        wrap(self.boards, "records", self._records)
        wrap(self.leadership, "lead", self._lead)

    async def _append(self, append: Callable[..., Awaitable[int]], events: Sequence[Event], *rest: Any) -> int:
        seq = await append(events, *rest)
        for event in events:
            self._process.world.identities.setdefault(event[:3], set()).add(event.game_id)
        return seq

    async def _positions(self, _: object, board_id: int) -> dict[int, int]:
        # One call, as to a ledger elsewhere: half of all calls would be for this, otherwise.
        sql = "SELECT writer, max(n) FROM events WHERE board = ? GROUP BY writer"
        return dict(await self._way.call(f"positions {board_id}", lambda database: database.execute(sql, (board_id,)).fetchall()))

    def _records(self, _: object, connection: sqlite3.Connection) -> list[BoardRecord]:
        rows = connection.execute(self._way.queries["current_boards"]).fetchall()
        return [BoardRecord(number, version, _board(text), semantics_version) for number, version, text, semantics_version in rows]

    async def _lead(self, _: object) -> bool:
        world = self._process.world
        return await self._way.call("lead", lambda _: world.living()[:1] == [self._process])

    async def open(self, now: int) -> int:
        number = await self.writers.enlist(now)
        self.identity.confirmed = self.identity.incarnation
        return number

    async def close(self) -> None:
        """The database is everybody's."""


def _name(work: Callable[..., Any]) -> str:
    """The role and the method that a piece of work belongs to."""
    method = work.func.__qualname__ if isinstance(work, partial) else work.__qualname__
    return method.split(".<locals>")[0]
