"""Score events in SQLite, and the index that finds the events of a player."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import msgspec

from keepscore.domain.scoring import Event
from keepscore.errors import LedgerUnavailable
from keepscore.storage.ledgers.claims import Claim
from keepscore.storage.ledgers.events import NO_PROFILES, EventReader, EventStore
from keepscore.storage.ledgers.players import StaleProfiles
from keepscore.storage.ledgers.queue import Queued
from keepscore.storage.ledgers.sqlite.claims import SqliteClaims
from keepscore.storage.ledgers.sqlite.connections import SqliteConnections
from keepscore.storage.ledgers.sqlite.inserts import MAX_INSERT, insert
from keepscore.storage.ledgers.sqlite.player_index import PlayerIndex
from keepscore.storage.ledgers.sqlite.queue import queue_row
from keepscore.storage.ledgers.sqlite.role import SqliteRole

__all__ = ["SqliteEvents"]

#: Events that are read at a time, and made of rows while others wait.
CHUNK_EVENTS = 2000
#: Numbers for groups of events that a process which has the ledger for itself sets aside at a time.
SEQS_SET_ASIDE = 1 << 20

log = logging.getLogger(__name__)
_encode = msgspec.json.Encoder(order="sorted").encode


class SqliteEvents(SqliteRole, EventStore):
    """Events in the one table of an SQLite file."""

    def __init__(self, connections: SqliteConnections, claims: SqliteClaims) -> None:
        super().__init__(connections)
        self._claims = claims
        self._index = PlayerIndex(self._queries)
        self._indexing: asyncio.Task[None] | None = None
        self._closing = False
        self._reader = EventReader()
        #: The last number that this process has given to a group, and the last that it has set aside.
        self._seq = self._last_seq = 0

    @property
    def unreadable(self) -> Mapping[tuple[int, int, int], str]:
        return self._reader.unreadable

    async def load(self) -> None:
        """Take up what is kept in memory of a file that was just opened."""
        self._index = PlayerIndex(self._queries)
        self._reader = EventReader()
        self._seq = self._last_seq = 0
        await self._connections.on_writer(self._index.load)
        self._index_if_due()

    async def close(self) -> None:
        """Stop writing the index."""
        self._closing = True
        if self._indexing is not None:
            await self._indexing

    # -- recording ------------------------------------------------------------------------------------------------------

    async def append(
        self,
        events: Sequence[Event],
        claims: Sequence[Claim],
        answers: Mapping[Claim, bytes],
        queued: Sequence[Queued] = (),
        profiles: Mapping[str, int] = NO_PROFILES,
    ) -> int:
        sql = self._queries["append_event"]
        connections = self._connections
        own = None if connections.shared else await self._own_seq()

        def work(connection: sqlite3.Connection) -> int:
            if profiles and (stale := connection.execute(self._queries["stale_profiles"], (_encode(profiles).decode(),)).fetchall()):
                raise StaleProfiles([player for (player,) in stale])
            if claims:
                self._claims.claim_all(connection, claims, events[0].received if events else 0)
            seq = own or self.take_seqs(connection, 1)
            insert(connection, sql, [_row(event, seq) for event in events])
            self._claims.save(connection, answers)
            connection.executemany(self._queries["queue"], [queue_row(item) for item in queued])
            return seq

        if own is None or claims or answers or queued or profiles or len(events) > MAX_INSERT:
            seq = await connections.write_confirmed(work)
        else:
            await connections.look_confirmed()
            seq, rows = own, [_row(event, own) for event in events]
            if not connections.insert_quickly(sql, rows):
                # A statement alone is a transaction.
                await connections.on_writer(lambda connection: insert(connection, sql, rows))
        connections.check_recorded()
        self._index.add(events)
        self._index_if_due()
        return seq

    async def _own_seq(self) -> int:
        """Return a number for a group: this process has the ledger for itself, and need not look into it for each."""
        if self._seq == self._last_seq:
            last = await self._connections.write(lambda connection: self.take_seqs(connection, SEQS_SET_ASIDE))
            self._seq, self._last_seq = last - SEQS_SET_ASIDE, last
        self._seq += 1
        return self._seq

    def take_seqs(self, connection: sqlite3.Connection, count: int) -> int:
        """Take some numbers that nobody has; return the last."""
        return int(connection.execute(self._queries["next_seq"], (count,)).fetchone()[0])

    async def restore(self, events: Sequence[Event]) -> int:
        sql = self._queries["restore_event"]
        own = None if self._connections.shared else await self._own_seq()

        def work(connection: sqlite3.Connection) -> tuple[int, list[bool]]:
            seq = own or self.take_seqs(connection, 1)
            return seq, [bool(connection.execute(sql, _row(event, seq)).rowcount) for event in events]

        seq, new = await self._connections.write_confirmed(work)
        self._index.add(event for event, is_new in zip(events, new, strict=True) if is_new)
        self._index_if_due()
        return seq

    def _index_if_due(self) -> None:
        if self._index.due and self._indexing is None:
            self._indexing = asyncio.create_task(self._write_index())

    async def _write_index(self) -> None:
        index = self._index
        index.begin()
        written = False
        try:
            # The index of a file that was exchanged is not this one's. What is left when the process stops is read again at the next start.
            while not written and index is self._index and not self._closing:
                written = await self._connections.write(index.write)
        except LedgerUnavailable as exc:
            log.warning("the index of players was not written and is tried again: %s", exc)
        finally:
            index.finish(written)
            self._indexing = None

    # -- reading --------------------------------------------------------------------------------------------------------

    async def of_writer(self, board_id: int, writer: int, after: int, last: int) -> AsyncIterator[list[Event]]:
        n = after
        while n < last:
            rows = await self._connections.read("events_of_writer", board_id, writer, n, CHUNK_EVENTS)
            if not rows:
                # The last ones are gone: an older ledger took the place of this one.
                break
            yield [self._reader.event(row) for row in rows]
            n = rows[-1][2]

    async def of_players(self, board_id: int, players: Sequence[str]) -> dict[str, list[Event]]:
        # On the writing thread, where the index in memory and the one on disk are in step.
        return await self._connections.on_writer(lambda connection: self.found_in(connection, board_id, players))

    def found_in(self, connection: sqlite3.Connection, board_id: int, players: Sequence[str]) -> dict[str, list[Event]]:
        """Return the events of players on the writing thread, within a transaction of the caller's or without one."""
        sql = self._queries["event"]
        find = self._index.find_of_all if self._connections.shared else self._index.find
        found = {}
        for player, positions in find(connection, board_id, players).items():
            rows = [connection.execute(sql, (board_id, *position)).fetchone() for position in positions]
            # What was dropped, or is another's by now, may still be in the part of the index that is in memory.
            found[player] = [self._reader.event(row) for row in rows if row is not None and row[3] == player]
        return found

    def index_anew(self, connection: sqlite3.Connection) -> None:
        """Take up anew what is kept in memory, on the writing thread: events have become another player's."""
        self._index.retire()
        index = PlayerIndex(self._queries)
        index.load(connection)
        self._index = index

    async def positions(self, board_id: int) -> dict[int, int]:
        found: dict[int, int] = {}
        rows = await self._connections.read("next_writer", board_id, 0)
        while rows:
            found[rows[0][0]] = rows[0][1]
            rows = await self._connections.read("next_writer", board_id, rows[0][0])
        return found

    async def seqs(self, board_id: int, positions: Mapping[int, int]) -> dict[int, int]:
        sql = self._queries["seq_upto"]

        def work(connection: sqlite3.Connection) -> dict[int, int]:
            rows = {writer: connection.execute(sql, (board_id, writer, n)).fetchone() for writer, n in positions.items()}
            return {writer: row[0] for writer, row in rows.items() if row is not None}

        return await self._connections.on_reader(work)

    async def any_between(self, board_id: int, start: int, end: int) -> bool:
        ((found,),) = await self._connections.read("events_between", board_id, start, end)
        return bool(found)

    async def first_time(self, board_id: int) -> int | None:
        ((first,),) = await self._connections.read("first_event", board_id)
        return None if first is None else int(first)


def _row(event: Event, seq: int) -> tuple[Any, ...]:
    scope = None if event[12] is None else _encode(event[12])
    metadata = None if event[10] is None else _encode(event[10])
    return (*event[:8], event[8] and _encode(event[8]), event[9], metadata, seq, scope, event[13], event[14])
