"""Score events in PostgreSQL, in partitions of a month each.

A group of submissions, with its idempotency keys and the answers of earlier ones, is one statement: one transaction, one round trip.
Where its outcome is not known, since the connection was lost on the way, the writer asks how far it is, and the table `positions`
tells: it is written with the events, and lets nothing in that does not follow what is there.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import asyncpg
import msgspec

from keepscore.domain.scoring import Event
from keepscore.storage.ledgers.claims import Answered, Claim, DuplicateKeys
from keepscore.storage.ledgers.events import NO_PROFILES, EventReader, EventStore
from keepscore.storage.ledgers.players import StaleProfiles
from keepscore.storage.ledgers.postgres.claims import answer_columns
from keepscore.storage.ledgers.postgres.connections import LONG_CALL_DEADLINES, Connections
from keepscore.storage.ledgers.postgres.queue import queue_argument
from keepscore.storage.ledgers.postgres.role import PostgresRole
from keepscore.storage.ledgers.postgres.schema import make_partitions, months_ahead
from keepscore.storage.ledgers.queue import Queued

__all__ = ["PostgresEvents"]

#: Events that one read brings at a time.
CHUNK_EVENTS = 10_000
#: How often an append is tried that found no partition, or a key that was claimed in that moment.
TRIES = 4

#: The columns of events that may be left out, are JSON, or are the ledger's own.
BOARD, WRITER, N, KIND, AT, RECEIVED, SEGMENTS, GAME, METADATA, SEQ, SCOPE, BUILD, ADDRESS = (
    Event._fields.index(name)
    for name in ("board", "writer", "n", "kind", "at", "received", "segments", "game_id", "metadata", "seq", "scope", "build", "address")
)

_encode = msgspec.json.Encoder(order="sorted").encode


class PostgresEvents(PostgresRole, EventStore):
    """Events, and how far each writer is on each board."""

    def __init__(self, connections: Connections) -> None:
        super().__init__(connections)
        self._reader = EventReader()

    @property
    def unreadable(self) -> Mapping[tuple[int, int, int], str]:
        return self._reader.unreadable

    async def append(
        self,
        events: Sequence[Event],
        claims: Sequence[Claim],
        answers: Mapping[Claim, bytes],
        queued: Sequence[Queued] = (),
        profiles: Mapping[str, int] = NO_PROFILES,
    ) -> int:
        *columns, builds, addresses = _event_columns(events)
        claimed = [list(column) for column in zip(*claims, strict=True)] or [[] for _ in Claim._fields]
        own = set(claims)
        earlier = {claim: answer for claim, answer in answers.items() if claim not in own}
        more = *answer_columns(earlier), queue_argument(queued), builds, addresses, list(profiles), list(profiles.values())
        arguments = [*columns, *claimed, [answers.get(claim) for claim in claims], *more]

        async def work(connection: Any) -> int:
            self._connections.check_confirmed()
            for left in reversed(range(TRIES)):
                try:
                    rows = await connection.fetch(self._queries["append"], *arguments)
                    break
                except asyncpg.CheckViolationError:
                    # There is no partition for the month, and so nothing was recorded.
                    if not left:
                        raise
                    async with connection.transaction():
                        await make_partitions(connection, self._queries, {event.received for event in events})
                except asyncpg.UniqueViolationError as exc:
                    # Another process has just claimed one of the keys, and nothing was recorded: now the key is known.
                    if not left or exc.table_name != "idempotency":
                        raise
            if stale := [row["stale"] for row in rows if row["stale"] is not None]:
                raise StaleProfiles(stale)
            known = {tuple(row)[1:4]: Answered(*tuple(row)[4:8]) for row in rows if row["key"] is not None}
            if known:
                raise DuplicateKeys({claim: known[claim[:3]] for claim in claims if claim[:3] in known})
            return int(rows[0][0])

        return await self._connections.write(work)

    async def restore(self, events: Sequence[Event]) -> int:
        rows = await self._connections.read("recorded", sorted({event.writer for event in events}))
        known = {(board, writer): n for board, writer, n in rows}
        new = [event for event in events if event.n > known.get(event[:2], 0)]
        first: dict[tuple[int, int], int] = {}
        for event in new:
            first.setdefault(event[:2], event.n)
        lost = [(*key, n - 1) for key, n in first.items() if n - 1 > known.get(key, 0)]
        if lost:
            columns = [list(column) for column in zip(*lost, strict=True)]
            await self._connections.write(lambda connection: self._skip_lost(connection, columns))
        # Processes that do the same at once get into each other's way, and one of them has to try again.
        await self.append(new, [], {})
        sql = self._queries["next_seq"]
        return int(await self._connections.write(lambda connection: connection.fetchval(sql)))

    async def _skip_lost(self, connection: Any, columns: list[list[int]]) -> None:
        self._connections.check_confirmed()
        await connection.execute(self._queries["skip_lost"], *columns)

    async def prepare(self, now: int) -> list[str]:
        return await self._connections.transaction(lambda connection: make_partitions(connection, self._queries, months_ahead(now)))

    async def of_writer(self, board_id: int, writer: int, after: int, last: int) -> AsyncIterator[list[Event]]:
        n = after
        while n < last:
            rows = await self._connections.read("events_of_writer", board_id, writer, n, CHUNK_EVENTS, patience=LONG_CALL_DEADLINES)
            if not rows:
                # The last ones were dropped.
                break
            yield [self._reader.event(row) for row in rows]
            n = rows[-1][2]

    async def of_players(self, board_id: int, players: Sequence[str]) -> dict[str, list[Event]]:
        found: dict[str, list[Event]] = {player: [] for player in players}
        for row in await self._connections.read("events_of_players", board_id, list(found), patience=LONG_CALL_DEADLINES):
            event = self._reader.event(row)
            found[event.player].append(event)
        return found

    async def positions(self, board_id: int) -> dict[int, int]:
        await self._connections.settle()
        return dict(await self._connections.read("positions", board_id))

    async def seqs(self, board_id: int, positions: Mapping[int, int]) -> dict[int, int]:
        return dict(await self._connections.read("seqs", board_id, list(positions), list(positions.values()), patience=LONG_CALL_DEADLINES))

    async def any_between(self, board_id: int, start: int, end: int) -> bool:
        ((found,),) = await self._connections.read("events_between", board_id, start, end, patience=LONG_CALL_DEADLINES)
        return bool(found)

    async def first_time(self, board_id: int) -> int | None:
        ((first,),) = await self._connections.read("first_event", board_id, patience=LONG_CALL_DEADLINES)
        return None if first is None else int(first)


def _event_columns(events: Sequence[Event]) -> list[list[Any]]:
    """Return events as the query takes them, without what it can get from the first of them, or from another column."""
    columns = [list(column) for column in zip(*events, strict=True)] or [[] for _ in Event._fields]
    if columns[AT] == columns[RECEIVED]:
        columns[AT] = []
    for column in (columns[place] for place in (BOARD, WRITER, KIND, RECEIVED)):
        if column and column.count(column[0]) == len(column):
            del column[1:]
    numbers = columns[N]
    if len(columns[BOARD]) == len(columns[WRITER]) == 1 and numbers == list(range(numbers[0], numbers[0] + len(numbers))):
        del numbers[1:]
    for place in (SEGMENTS, GAME, METADATA, SCOPE, BUILD, ADDRESS):
        if all(value is None for value in columns[place]):
            columns[place] = []
        elif place not in (GAME, BUILD, ADDRESS):
            columns[place] = [None if value is None else _encode(value).decode() for value in columns[place]]
    # The ledger numbers them.
    del columns[SEQ]
    return columns
