"""The ledger in PostgreSQL, for one process or many, on one host or several. Events lie in partitions of a month each.

A group of submissions, with its idempotency keys and the answers of earlier ones, is one statement: one transaction, one round trip.
Where its outcome is not known, since the connection was lost on the way, the writer asks how far it is, and the table `positions`
tells: it is written with the events, and lets nothing in that does not follow what is there.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import asyncpg
import msgspec

from keepscore.boards import Board, board_from_dict
from keepscore.ledgers.base import Answered, BoardRecord, Claim, DuplicateKeys, Profile, check_version
from keepscore.ledgers.postgres_archives import PostgresArchives
from keepscore.ledgers.postgres_connections import OLDEST, PATIENCE, Connections
from keepscore.ledgers.postgres_openings import PostgresOpenings
from keepscore.ledgers.postgres_schema import make_partitions, migrate, months_ahead
from keepscore.ledgers.postgres_standings import CHUNK, PostgresStandings
from keepscore.ledgers.postgres_url import PostgresAddress
from keepscore.ledgers.queries import named_queries
from keepscore.scoring import Event, made_event

__all__ = ["PostgresLedger"]

#: How often an append is tried that found no partition, or a key that was claimed in that moment.
TRIES = 4

#: The columns of events that may be left out, or are JSON.
BOARD, WRITER, N, KIND, AT, RECEIVED, SEGMENTS, GAME, METADATA = (
    Event._fields.index(name) for name in ("board", "writer", "n", "kind", "at", "received", "segments", "game_id", "metadata")
)

_encode = msgspec.json.Encoder(order="sorted").encode
_decode = msgspec.json.decode


class PostgresLedger(PostgresStandings, PostgresArchives, PostgresOpenings):
    """A ledger in the PostgreSQL database at an address.

    `shared`: several processes may have it open, as long as all of them say so.
    """

    def __init__(self, address: PostgresAddress, shared: bool = False, oldest: int = OLDEST) -> None:
        self._shared = shared
        self._queries = named_queries("postgres")
        self._connections = Connections(address, shared, self._queries, oldest)
        self._writer = 0

    async def _write(self, query: str, *args: object) -> None:
        await self._connections.write(lambda connection: connection.execute(self._queries[query], *args))

    # -- life -----------------------------------------------------------------------------------------------------------

    async def open(self, now: int) -> int:
        try:
            await self._connect()
            await self._connections.open_readers()
            await self._connections.transaction(lambda connection: make_partitions(connection, self._queries, months_ahead(now)))
            if not self._shared:
                # Whoever had it before is no longer there.
                await self.announce("")
            self._writer = await self.enlist(now)
            return self._writer
        except BaseException:
            await self.close()
            raise

    async def enlist(self, now: int) -> int:
        sql = self._queries["new_writer"]
        number: int = await self._connections.write(lambda connection: connection.fetchval(sql, now))
        return number

    async def lead(self) -> bool:
        return await self._connections.lead()

    async def _connect(self) -> tuple[int, int]:
        await self._connections.open()
        shown = self._connections.address.shown
        return await self._connections.transaction(lambda connection: migrate(connection, self._queries, shown), PATIENCE)

    async def migrate(self) -> tuple[int, int]:
        try:
            return await self._connect()
        finally:
            await self.close()

    async def close(self) -> None:
        await self._connections.close()

    async def announce(self, url: str) -> None:
        await self.put_value("url", url.encode())

    async def probe(self, now: int) -> None:
        await self.put_value("probe", str(now).encode())

    async def value(self, name: str) -> bytes | None:
        rows = await self._connections.read("value", name)
        return bytes(rows[0][0]) if rows else None

    async def values(self, beginning: str) -> dict[str, bytes]:
        return {name: bytes(value) for name, value in await self._connections.read("values", beginning)}

    async def put_value(self, name: str, value: bytes) -> None:
        await self._write("put_value", name, value)

    async def secret(self) -> bytes:
        await self._write("put_once", "secret", secrets.token_bytes(32))
        return bytes((await self._connections.read("value", "secret"))[0][0])

    # -- events ---------------------------------------------------------------------------------------------------------

    async def append(self, events: Sequence[Event], claims: Sequence[Claim], answers: Mapping[Claim, bytes]) -> None:
        columns = _event_columns(events)
        claimed = [list(column) for column in zip(*claims, strict=True)] or [[], [], []]
        arguments = [*columns, *claimed, *_columns(answers)]

        async def work(connection: Any) -> None:
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
            if rows:
                known = {(board, key): Answered(*answered) for board, key, *answered in rows}
                raise DuplicateKeys({claim: known[claim[:2]] for claim in claims if claim[:2] in known})

        await self._connections.write(work)

    async def restore(self, events: Sequence[Event]) -> None:
        rows = await self._connections.read("recorded", sorted({event.writer for event in events}))
        known = {(board, writer): n for board, writer, n in rows}
        # Processes that do the same at once get into each other's way, and one of them has to try again.
        await self.append([event for event in events if event.n > known.get(event[:2], 0)], [], {})

    async def claimed(self, claim: Claim) -> Answered | None:
        rows = await self._connections.read("claimed_key", *claim[:2])
        return Answered(*rows[0]) if rows else None

    async def forget_keys(self, before: int, limit: int) -> int:
        return len(await self._connections.write(lambda connection: connection.fetch(self._queries["forget_keys"], before, limit)))

    async def prepare(self, now: int) -> list[str]:
        return await self._connections.transaction(lambda connection: make_partitions(connection, self._queries, months_ahead(now)))

    async def save_answers(self, answers: Mapping[Claim, bytes]) -> None:
        await self._write("save_answers", *_columns(answers))

    async def events(self, board_id: int, after: Mapping[int, int]) -> AsyncIterator[list[Event]]:
        for writer, last in sorted((await self.positions(board_id)).items()):
            n = after.get(writer, 0)
            while n < last:
                rows = await self._connections.read("events_of_writer", board_id, writer, n, CHUNK, patience=PATIENCE)
                if not rows:
                    # The last ones were dropped.
                    break
                yield [_event(row) for row in rows]
                n = rows[-1][2]

    async def player_events(self, board_id: int, player: str) -> list[Event]:
        return [_event(row) for row in await self._connections.read("events_of_player", board_id, player, patience=PATIENCE)]

    async def positions(self, board_id: int) -> dict[int, int]:
        await self._connections.settle()
        return dict(await self._connections.read("positions", board_id))

    # -- boards ---------------------------------------------------------------------------------------------------------

    async def boards(self) -> list[BoardRecord]:
        return [_record(row) for row in await self._connections.read("current_boards")]

    async def put_board(
        self, board: Board, same_meaning: bool, now: int, version: int | None = None, action: str = "put_board"
    ) -> BoardRecord:
        async def work(connection: Any) -> BoardRecord:
            await connection.execute(self._queries["lock_boards"])
            found = [_record(row) for row in await connection.fetch(self._queries["current_boards"])]
            old = next((record for record in found if record.board.name == board.name), None)
            check_version(old, board.name, version)
            if old is None:
                record = BoardRecord(await connection.fetchval(self._queries["next_board_id"]), 1, board, 1)
            else:
                number = old.version + 1
                record = BoardRecord(old.id, number, board, old.meaning if same_meaning else number)
            text = msgspec.json.encode(board.to_dict()).decode()
            await connection.execute(self._queries["put_board"], record.id, record.version, record.meaning, board.name, text, now)
            await self._audit(connection, now, action, board.name, {"id": record.id, "version": record.version})
            return record

        return await self._connections.transaction(work)

    async def delete_board(self, name: str, now: int) -> None:
        async def work(connection: Any) -> None:
            for row in await connection.fetch(self._queries["delete_board"], now, name):
                await self._audit(connection, now, "delete_board", name, {"id": row[0], "version": row[1]})

        await self._connections.transaction(work)

    async def audit(self, action: str, board: str, detail: Mapping[str, object], now: int) -> None:
        await self._connections.write(lambda connection: self._audit(connection, now, action, board, detail))

    async def _audit(self, connection: Any, now: int, action: str, board: str, detail: Mapping[str, object]) -> None:
        text = _encode(detail).decode()
        await connection.execute(self._queries["audit"], now, f"writer {self._writer}", action, board, text)

    # -- profiles -------------------------------------------------------------------------------------------------------

    async def profiles(self, since: int = 0) -> list[Profile]:
        return [Profile(*row) for row in await self._connections.read("profiles", since, patience=PATIENCE)]

    async def put_profile(self, profile: Profile, now: int) -> None:
        await self._write("put_profile", *profile, now)


def _event_columns(events: Sequence[Event]) -> list[list[Any]]:
    """Events as the query takes them: what it can tell from the first of them, or from another column, is left out."""
    columns = [list(column) for column in zip(*events, strict=True)] or [[] for _ in Event._fields]
    if columns[AT] == columns[RECEIVED]:
        columns[AT] = []
    for column in (columns[place] for place in (BOARD, WRITER, KIND, RECEIVED)):
        if column and column.count(column[0]) == len(column):
            del column[1:]
    numbers = columns[N]
    if len(columns[BOARD]) == len(columns[WRITER]) == 1 and numbers == list(range(numbers[0], numbers[0] + len(numbers))):
        del numbers[1:]
    for place in (SEGMENTS, GAME, METADATA):
        if all(value is None for value in columns[place]):
            columns[place] = []
        elif place != GAME:
            columns[place] = [None if value is None else _encode(value).decode() for value in columns[place]]
    return columns


def _columns(answers: Mapping[Claim, bytes]) -> tuple[list[int], list[str], list[bytes]]:
    return [claim.board for claim in answers], [claim.key for claim in answers], list(answers.values())


def _record(row: Any) -> BoardRecord:
    number, version, text, meaning = row
    return BoardRecord(number, version, board_from_dict(_decode(text)), meaning)


def _event(row: Any) -> Event:
    event = made_event(row)
    if event.segments is None and event.metadata is None:
        return event
    return event._replace(segments=row[8] and _decode(row[8]), metadata=None if row[10] is None else _decode(row[10]))
