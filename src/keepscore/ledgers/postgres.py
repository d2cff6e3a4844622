"""The ledger in PostgreSQL, for many processes and hosts. Events lie in partitions of a month each.

A group of submissions is one statement, and so one transaction and one round trip. Where its outcome is not known, a connection was
lost on the way, the writer asks how far it is: the table `positions` is written with the events.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, TypeVar
from urllib.parse import urlsplit

import asyncpg
import msgspec

from keepscore.boards import Board, board_from_dict
from keepscore.errors import ConfigError, LedgerFull, LedgerUnavailable
from keepscore.ledgers.base import Answered, BoardRecord, Checkpoint, Claim, DuplicateKeys, Ledger, Profile, Slot
from keepscore.ledgers.queries import migrations, named_queries
from keepscore.scoring import Event, State

__all__ = ["PostgresLedger"]

#: Rows that one read brings at a time.
CHUNK = 10_000
#: Connections of one process.
CONNECTIONS = 8
#: Seconds that a call may take, and that one of many rows may.
DEADLINE, PATIENCE = 10.0, 120.0
#: The oldest PostgreSQL that will do.
OLDEST = 13
#: Months for which partitions are made ahead.
AHEAD = 3
#: The advisory lock under which the schema is changed.
LOCK = 0x6B656570
#: Which migrations were applied.
HISTORY = "CREATE TABLE IF NOT EXISTS migrations (version integer PRIMARY KEY, applied timestamptz NOT NULL DEFAULT now())"

T = TypeVar("T")
_encode = msgspec.json.Encoder(order="sorted").encode
_decode = msgspec.json.decode


class PostgresLedger(Ledger):
    """A ledger in the PostgreSQL database at a URL."""

    def __init__(self, url: str) -> None:
        self._url = url
        parts = urlsplit(url)
        self.shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        self._queries = named_queries("postgres")
        self._pool: asyncpg.Pool[Any] | None = None

    # -- running queries ------------------------------------------------------------------------------------------------

    async def _run(self, work: Callable[[Any], Awaitable[T]], seconds: float = DEADLINE) -> T:
        """What `work` gives with a connection of the pool, within the deadline."""
        assert self._pool is not None, "the ledger is not open"
        try:
            async with asyncio.timeout(seconds), self._pool.acquire() as connection:
                return await work(connection)
        except asyncpg.DiskFullError as exc:
            raise LedgerFull(f"the disk of the ledger {self.shown} is full: make room; nothing was recorded") from exc
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as exc:
            reason = str(exc) or f"no answer within {seconds:g} s"
            raise LedgerUnavailable(f"the ledger {self.shown} cannot be used: {reason}") from exc

    async def _transaction(self, work: Callable[[Any], Awaitable[T]], seconds: float = DEADLINE) -> T:
        async def within(connection: Any) -> T:
            async with connection.transaction():
                return await work(connection)

        return await self._run(within, seconds)

    async def _read(self, query: str, *args: object) -> list[Any]:
        rows: list[Any] = await self._run(lambda connection: connection.fetch(self._queries[query], *args), PATIENCE)
        return rows

    async def _write(self, query: str, *args: object) -> None:
        await self._run(lambda connection: connection.execute(self._queries[query], *args))

    # -- life -----------------------------------------------------------------------------------------------------------

    async def open(self, now: int) -> int:
        try:
            async with asyncio.timeout(DEADLINE):
                self._pool = await asyncpg.create_pool(self._url, min_size=1, max_size=CONNECTIONS, command_timeout=PATIENCE)
        except Exception as exc:
            raise _refusal(self.shown, exc) from None
        try:
            await self._run(self._check)
            await self._run(self._migrate, PATIENCE)
            await self.make_partitions(now)
            number: int = await self._run(lambda connection: connection.fetchval(self._queries["new_writer"], now))
            return number
        except BaseException:
            await self.close()
            raise

    async def _check(self, connection: Any) -> None:
        version = connection.get_server_version()
        if version.major < OLDEST:
            raise ConfigError(f"the PostgreSQL at {self.shown} is version {version.major}: use {OLDEST} or newer")
        if await connection.fetchval("SELECT pg_is_in_recovery()"):
            raise ConfigError(f"the PostgreSQL at {self.shown} is a standby and cannot be written: name the primary")

    async def _migrate(self, connection: Any) -> None:
        """Bring the schema up to date, one transaction a step, while nobody else does."""
        steps = migrations("postgres")
        async with connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock($1)", LOCK)
            await connection.execute(HISTORY)
            version = await connection.fetchval("SELECT COALESCE(MAX(version), 0) FROM migrations")
            if version > len(steps):
                raise ConfigError(
                    f"the ledger {self.shown} has schema version {version}, and this Keepscore knows {len(steps)}: use a newer Keepscore"
                )
            for number, step in enumerate(steps[version:], version + 1):
                await connection.execute(step)
                await connection.execute("INSERT INTO migrations (version) VALUES ($1)", number)

    async def make_partitions(self, now: int) -> None:
        """Make the partitions of this month and of the next ones."""
        first = datetime.fromtimestamp(now / 1000, UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        months = [first]
        while len(months) <= AHEAD:
            months.append((months[-1] + timedelta(days=32)).replace(day=1))

        async def work(connection: Any) -> None:
            for start, end in pairwise(months):
                bounds = [round(moment.timestamp() * 1000) for moment in (start, end)]
                name = f"events_{start:%Y_%m}"
                if not await connection.fetchval("SELECT to_regclass($1)", name):
                    async with connection.transaction():
                        await connection.execute("SELECT pg_advisory_xact_lock($1)", LOCK)
                        await connection.execute(
                            f"CREATE TABLE IF NOT EXISTS {name} PARTITION OF events FOR VALUES FROM ({bounds[0]}) TO ({bounds[1]})"
                        )

        await self._run(work, PATIENCE)

    async def close(self) -> None:
        if self._pool is not None:
            pool, self._pool = self._pool, None
            try:
                await asyncio.wait_for(pool.close(), DEADLINE)
            except TimeoutError:
                pool.terminate()

    async def announce(self, url: str) -> None:
        await self.put_value("url", url.encode())

    async def probe(self, now: int) -> None:
        await self.put_value("probe", str(now).encode())

    async def value(self, name: str) -> bytes | None:
        rows = await self._read("value", name)
        return bytes(rows[0][0]) if rows else None

    async def put_value(self, name: str, value: bytes) -> None:
        await self._write("put_value", name, value)

    async def secret(self) -> bytes:
        await self._write("put_once", "secret", secrets.token_bytes(32))
        return bytes((await self._read("value", "secret"))[0][0])

    # -- events ---------------------------------------------------------------------------------------------------------

    async def append(self, events: Sequence[Event], claims: Sequence[Claim], answers: Mapping[Claim, bytes]) -> None:
        columns = [list(column) for column in zip(*events, strict=True)] or [[] for _ in Event._fields]
        for place in (8, 10):
            columns[place] = [None if value is None else _encode(value).decode() for value in columns[place]]
        if not claims and not answers:
            # A statement alone is a transaction.
            return await self._write("append", *columns)

        async def work(connection: Any) -> None:
            if claims:
                await self._claim(connection, claims)
            await connection.execute(self._queries["append"], *columns)
            await self._save(connection, answers)

        return await self._transaction(work)

    async def _claim(self, connection: Any, claims: Sequence[Claim]) -> None:
        columns = [list(column) for column in zip(*claims, strict=True)]
        claimed = {tuple(row) for row in await connection.fetch(self._queries["claim_keys"], *columns)}
        answered = {}
        for claim in claims:
            if claim[:2] not in claimed:
                answered[claim] = Answered(*await connection.fetchrow(self._queries["claimed_key"], *claim[:2]))
        if answered:
            raise DuplicateKeys(answered)

    async def claimed(self, claim: Claim) -> Answered | None:
        rows = await self._read("claimed_key", *claim[:2])
        return Answered(*rows[0]) if rows else None

    async def save_answers(self, answers: Mapping[Claim, bytes]) -> None:
        await self._run(lambda connection: self._save(connection, answers))

    async def _save(self, connection: Any, answers: Mapping[Claim, bytes]) -> None:
        if answers:
            boards, keys = [claim.board for claim in answers], [claim.key for claim in answers]
            await connection.execute(self._queries["save_answers"], boards, keys, list(answers.values()))

    async def events(self, board_id: int, after: Mapping[int, int]) -> AsyncIterator[list[Event]]:
        for writer, last in sorted((await self.positions(board_id)).items()):
            n = after.get(writer, 0)
            while n < last:
                rows = await self._read("events_of_writer", board_id, writer, n, CHUNK)
                yield [_event(row) for row in rows]
                n = rows[-1][2]

    async def player_events(self, board_id: int, player: str) -> list[Event]:
        return [_event(row) for row in await self._read("events_of_player", board_id, player)]

    async def positions(self, board_id: int) -> dict[int, int]:
        return dict(await self._read("positions", board_id))

    # -- boards ---------------------------------------------------------------------------------------------------------

    async def boards(self) -> list[BoardRecord]:
        return [_record(row) for row in await self._read("current_boards")]

    async def put_board(self, board: Board, same_meaning: bool, now: int) -> BoardRecord:
        async def work(connection: Any) -> BoardRecord:
            await connection.execute(self._queries["lock_boards"])
            found = [_record(row) for row in await connection.fetch(self._queries["current_boards"])]
            old = next((record for record in found if record.board.name == board.name), None)
            if old is None:
                record = BoardRecord(await connection.fetchval(self._queries["next_board_id"]), 1, board, 1)
            else:
                version = old.version + 1
                record = BoardRecord(old.id, version, board, old.meaning if same_meaning else version)
            text = msgspec.json.encode(board.to_dict()).decode()
            await connection.execute(self._queries["put_board"], record.id, record.version, record.meaning, board.name, text, now)
            return record

        return await self._transaction(work)

    async def delete_board(self, name: str, now: int) -> None:
        await self._write("delete_board", now, name)

    # -- checkpoints ----------------------------------------------------------------------------------------------------

    async def begin_checkpoint(self, board_id: int, meaning: int, positions: Mapping[int, int], base: int | None) -> Checkpoint:
        async def work(connection: Any) -> Checkpoint:
            last = await connection.fetchval(self._queries["last_checkpoint"], board_id)
            begun = Checkpoint(last + 1, base or last + 1, meaning, dict(positions), False)
            text = msgspec.json.encode(begun.positions).decode()
            await connection.execute(self._queries["begin_checkpoint"], board_id, begun.number, begun.base, meaning, text)
            return begun

        return await self._transaction(work)

    async def write_checkpoint(self, board_id: int, checkpoint: int, slot: Slot, states: Sequence[tuple[str, State | None]]) -> None:
        kept = [(player, *state) for player, state in states if state is not None]
        gone = [player for player, state in states if state is None]

        async def work(connection: Any) -> None:
            if kept:
                columns = [list(column) for column in zip(*kept, strict=True)]
                await connection.execute(self._queries["put_standings"], board_id, *slot, checkpoint, *columns)
            if gone:
                await connection.execute(self._queries["remove_standings"], board_id, *slot, gone)

        await self._transaction(work, PATIENCE)

    async def trim_checkpoint(self, board_id: int, slot: Slot, below: int, limit: int) -> int:
        async def work(connection: Any) -> int:
            told = await connection.execute(self._queries["trim_standings"], board_id, *slot, below, limit)
            await connection.execute(self._queries["forget_ranking"], board_id, *slot)
            return int(told.split()[-1])

        return await self._transaction(work, PATIENCE)

    async def finish_checkpoint(self, board_id: int, checkpoint: int, expiries: Mapping[Slot, int]) -> None:
        async def work(connection: Any) -> None:
            await connection.execute(self._queries["finish_checkpoint"], board_id, checkpoint)
            await connection.execute(self._queries["prune_checkpoints"], board_id, checkpoint)
            await connection.executemany(self._queries["put_ranking"], [(board_id, *slot, expiry) for slot, expiry in expiries.items()])

        await self._transaction(work, PATIENCE)

    async def checkpoints(self, board_id: int) -> list[Checkpoint]:
        found = [
            Checkpoint(number, base, meaning, {int(w): n for w, n in _decode(positions).items()}, complete)
            for number, base, meaning, positions, complete in await self._read("checkpoints", board_id)
        ]
        while found and not found[0].complete:
            found.pop(0)
        return found

    async def checkpoint_slots(self, board_id: int) -> dict[Slot, int]:
        return {Slot(*slot): expiry for *slot, expiry in await self._read("rankings", board_id)}

    async def checkpoint_rows(self, board_id: int, slot: Slot, first: int, last: int) -> AsyncIterator[list[tuple[str, int, int]]]:
        player = ""
        while rows := await self._read("standings", board_id, *slot, first, last, player, CHUNK):
            yield [tuple(row) for row in rows]
            player = rows[-1][0]

    # -- profiles -------------------------------------------------------------------------------------------------------

    async def profiles(self, since: int = 0) -> list[Profile]:
        return [Profile(*row) for row in await self._read("profiles", since)]

    async def put_profile(self, profile: Profile, now: int) -> None:
        await self._write("put_profile", *profile, now)


def _record(row: Any) -> BoardRecord:
    number, version, text, meaning = row
    return BoardRecord(number, version, board_from_dict(_decode(text)), meaning)


def _event(row: Any) -> Event:
    event = Event(*row)
    if event.segments is None and event.metadata is None:
        return event
    return event._replace(segments=row[8] and _decode(row[8]), metadata=None if row[10] is None else _decode(row[10]))


def _refusal(shown: str, exc: Exception) -> ConfigError:
    """What to tell somebody whose PostgreSQL cannot be used from the start."""
    text = str(exc) or type(exc).__name__
    if isinstance(exc, asyncpg.InvalidPasswordError | asyncpg.InvalidAuthorizationSpecificationError):
        return ConfigError(f"the PostgreSQL at {shown} refuses the user or password: {text}. Write them as postgresql://user:password@host")
    if isinstance(exc, asyncpg.InvalidCatalogNameError):
        return ConfigError(f"the PostgreSQL at {shown} has no such database: make it with 'createdb', or name another ({text})")
    if isinstance(exc, asyncpg.TooManyConnectionsError):
        return ConfigError(f"the PostgreSQL at {shown} takes no more connections: raise max_connections, or use fewer workers ({text})")
    return ConfigError(f"the PostgreSQL at {shown} cannot be reached: {text}. Is it running, and is the address right?")
