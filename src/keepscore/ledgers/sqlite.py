"""The ledger in one SQLite file: WAL, `synchronous=FULL`, one thread that reads and one that writes, unless that is quick.

One process at a time has the ledger open; a lock file beside the database says which, and where its service is reached.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import msgspec

from keepscore.boards import Board, board_from_dict
from keepscore.errors import LedgerFull, LedgerInUse, LedgerUnavailable
from keepscore.ledgers.base import (
    Answered,
    BoardRecord,
    Claim,
    DuplicateKeys,
    Profile,
    check_version,
)
from keepscore.ledgers.lock_file import LockFile
from keepscore.ledgers.player_index import PlayerIndex
from keepscore.ledgers.queries import named_queries
from keepscore.ledgers.sqlite_archives import SqliteArchives
from keepscore.ledgers.sqlite_openings import SqliteOpenings
from keepscore.ledgers.sqlite_part import MAX_INSERT, insert
from keepscore.ledgers.sqlite_quick import QuickInserts
from keepscore.ledgers.sqlite_schema import migrate
from keepscore.ledgers.sqlite_standings import SqliteStandings
from keepscore.scoring import Event, made_event

__all__ = ["SqliteLedger"]

#: Events that are read at a time, and made of rows while others wait.
EVENTS = 2000
#: Seconds that a write waits for another process's.
BUSY = 20.0
#: Page cache of a connection, in KiB: checkpoints touch pages all over the standings.
CACHE_KIB = 65_536
#: Pages in the write-ahead log at which SQLite moves them into the database (16 MiB).
WAL_PAGES = 4096

T = TypeVar("T")
log = logging.getLogger(__name__)
_encode = msgspec.json.Encoder(order="sorted").encode
_decode = msgspec.json.decode


class SqliteLedger(SqliteStandings, SqliteArchives, SqliteOpenings):
    """A ledger in the SQLite database at `path` (`:memory:` for one that is gone with the process).

    `shared`: several processes of this machine may have it open, as long as all of them say so.
    """

    def __init__(self, path: str, shared: bool = False) -> None:
        self.path = path
        self._shared = shared
        self._queries = named_queries("sqlite")
        self._index = PlayerIndex(self._queries)
        self._lock: LockFile | None = None
        #: Held by the one of the processes that does the jobs of all.
        self._leading: LockFile | None = None
        self._indexing: asyncio.Task[None] | None = None
        self._connections: list[sqlite3.Connection] = []
        self._quick: QuickInserts | None = None
        self._writer = 0
        self._writing = ThreadPoolExecutor(1, "ledger-writer")
        self._reading = self._writing if path == ":memory:" else ThreadPoolExecutor(1, "ledger-reader")

    # -- running queries ------------------------------------------------------------------------------------------------

    async def _run(self, pool: ThreadPoolExecutor, work: Callable[[sqlite3.Connection], T]) -> T:
        connection = self._connections[0 if pool is self._writing else -1]
        return await asyncio.get_running_loop().run_in_executor(pool, self._translated, work, connection)

    def _translated(self, work: Callable[[Any], T], argument: Any) -> T:
        try:
            return work(argument)
        except sqlite3.Error as exc:
            if exc.sqlite_errorcode == sqlite3.SQLITE_FULL:
                raise LedgerFull(f"the disk of the ledger {self.path} is full: make room; nothing was recorded") from exc
            if exc.sqlite_errorcode == sqlite3.SQLITE_NOTADB:
                raise LedgerUnavailable(f"{self.path} is not an SQLite database: name another file as the ledger") from exc
            raise LedgerUnavailable(f"the ledger {self.path} cannot be used: {exc}") from exc

    async def _write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await self._run(self._writing, lambda connection: _transaction(connection, work))

    async def _read(self, query: str, *args: object) -> list[Any]:
        sql = self._queries[query]
        return await self._run(self._reading, lambda connection: connection.execute(sql, args).fetchall())

    # -- life -----------------------------------------------------------------------------------------------------------

    async def open(self, now: int) -> int:
        try:
            await self._open()
            await self._run(self._writing, self._index.load)
            self._index_if_due()
            self._writer = await self.enlist(now)
            return self._writer
        except BaseException:
            await self.close()
            raise

    async def enlist(self, now: int) -> int:
        sql = self._queries["new_writer"]
        return int(await self._write(lambda connection: connection.execute(sql, (now,)).fetchone()[0]))

    async def migrate(self) -> tuple[int, int]:
        try:
            return await self._open()
        finally:
            await self.close()

    async def _open(self) -> tuple[int, int]:
        if self.path != ":memory:":
            self._lock = LockFile(f"{self.path}.lock", self._shared)
        pools = [self._writing] if self._reading is self._writing else [self._writing, self._reading]
        loop = asyncio.get_running_loop()
        for pool in pools:
            self._connections.append(await loop.run_in_executor(pool, self._translated, self._connect, None))
        versions = await self._run(self._writing, lambda connection: migrate(connection, self.path))
        if self.path != ":memory:" and not self._shared:
            self._connections.insert(1, self._translated(self._connect, None))
            self._quick = QuickInserts(self._connections[1])
        return versions

    def _connect(self, _: None) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=BUSY, isolation_level=None, check_same_thread=False, cached_statements=MAX_INSERT + 50
        )
        # Before anything is changed: it may be somebody else's.
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version == 0 and connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
            connection.close()
            raise LedgerUnavailable(f"{self.path} is a database of another program: name another file as the ledger")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        connection.execute(f"PRAGMA wal_autocheckpoint = {WAL_PAGES}")
        return connection

    async def close(self) -> None:
        if self._indexing is not None:
            await self._indexing
        for pool in {self._writing, self._reading}:
            await asyncio.get_running_loop().run_in_executor(None, pool.shutdown)
        for connection in self._connections:
            connection.close()
        self._connections.clear()
        self._quick = None
        for lock in (self._leading, self._lock):
            if lock is not None:
                lock.release()
        self._leading = self._lock = None

    async def lead(self) -> bool:
        if not self._shared:
            return True
        if self._leading is None:
            try:
                self._leading = LockFile(f"{self.path}.keeper.lock", shared=False)
            except LedgerInUse:
                return False
        return True

    async def announce(self, url: str) -> None:
        if self._lock is not None:
            self._lock.write(url)

    async def probe(self, now: int) -> None:
        sql = self._queries["put_value"]
        await self._write(lambda connection: connection.execute(sql, ("probe", str(now).encode())))

    async def value(self, name: str) -> bytes | None:
        rows = await self._read("value", name)
        return bytes(rows[0][0]) if rows else None

    async def values(self, beginning: str) -> dict[str, bytes]:
        return {name: bytes(value) for name, value in await self._read("values", beginning)}

    async def put_value(self, name: str, value: bytes) -> None:
        await self._write(lambda connection: connection.execute(self._queries["put_value"], (name, value)))

    async def secret(self) -> bytes:
        def work(connection: sqlite3.Connection) -> bytes:
            connection.execute(self._queries["put_once"], ("secret", secrets.token_bytes(32)))
            return bytes(connection.execute(self._queries["value"], ("secret",)).fetchone()[0])

        return await self._write(work)

    # -- events ---------------------------------------------------------------------------------------------------------

    async def append(self, events: Sequence[Event], claims: Sequence[Claim], answers: Mapping[Claim, bytes]) -> None:
        sql = self._queries["append_event"]
        rows = [_row(event) for event in events]

        def work(connection: sqlite3.Connection) -> None:
            if claims:
                self._claim(connection, claims, events[0].received if events else 0)
            insert(connection, sql, rows)
            self._save(connection, answers)

        if claims or answers or len(rows) > MAX_INSERT:
            await self._write(work)
        elif self._quick is None or not self._translated(lambda quick: quick.insert(sql, rows), self._quick):
            # A statement alone is a transaction.
            await self._run(self._writing, lambda connection: insert(connection, sql, rows))
        self._index.add(events)
        self._index_if_due()

    async def restore(self, events: Sequence[Event]) -> None:
        sql = self._queries["restore_event"]
        rows = [_row(event) for event in events]
        new = await self._write(lambda connection: [bool(connection.execute(sql, row).rowcount) for row in rows])
        self._index.add(event for event, is_new in zip(events, new, strict=True) if is_new)
        self._index_if_due()

    def _index_if_due(self) -> None:
        if self._index.due and self._indexing is None:
            self._indexing = asyncio.create_task(self._write_index())

    async def _write_index(self) -> None:
        self._index.begin()
        written = False
        try:
            while not written:
                written = await self._write(self._index.write)
        except LedgerUnavailable as exc:
            log.warning("the index of players was not written and is tried again: %s", exc)
        finally:
            self._index.finish(written)
            self._indexing = None

    def _claim(self, connection: sqlite3.Connection, claims: Sequence[Claim], created: int) -> None:
        answered = {}
        for claim in claims:
            if not connection.execute(self._queries["claim_key"], (*claim, created)).rowcount:
                answered[claim] = Answered(*connection.execute(self._queries["claimed_key"], claim[:2]).fetchone())
        if answered:
            raise DuplicateKeys(answered)

    async def claimed(self, claim: Claim) -> Answered | None:
        sql = self._queries["claimed_key"]
        row = await self._run(self._writing, lambda connection: connection.execute(sql, claim[:2]).fetchone())
        return row and Answered(*row)

    async def forget_keys(self, before: int, limit: int) -> int:
        sql = self._queries["forget_keys"]
        return await self._write(lambda connection: connection.execute(sql, (before, limit)).rowcount)

    async def save_answers(self, answers: Mapping[Claim, bytes]) -> None:
        await self._write(lambda connection: self._save(connection, answers))

    def _save(self, connection: sqlite3.Connection, answers: Mapping[Claim, bytes]) -> None:
        rows = [(answer, claim.board, claim.key) for claim, answer in answers.items()]
        connection.executemany(self._queries["save_answer"], rows)

    async def events(self, board_id: int, after: Mapping[int, int]) -> AsyncIterator[list[Event]]:
        for writer, last in sorted((await self.positions(board_id)).items()):
            n = after.get(writer, 0)
            while n < last:
                rows = await self._read("events_of_writer", board_id, writer, n, EVENTS)
                yield [_event(row) for row in rows]
                n = rows[-1][2]

    async def player_events(self, board_id: int, player: str) -> list[Event]:
        def work(connection: sqlite3.Connection) -> list[Event]:
            sql = self._queries["event"]
            find = self._index.find_of_all if self._shared else self._index.find
            rows = [connection.execute(sql, (board_id, *position)).fetchone() for position in find(connection, board_id, player)]
            # What was dropped may still be in the part of the index that is in memory.
            return [_event(row) for row in rows if row is not None]

        # On the writing thread, where the index in memory and the one on disk are in step.
        return await self._run(self._writing, work)

    async def positions(self, board_id: int) -> dict[int, int]:
        found: dict[int, int] = {}
        rows = await self._read("next_writer", board_id, 0)
        while rows:
            found[rows[0][0]] = rows[0][1]
            rows = await self._read("next_writer", board_id, rows[0][0])
        return found

    # -- boards ---------------------------------------------------------------------------------------------------------

    async def boards(self) -> list[BoardRecord]:
        return await self._run(self._writing, self._boards)

    def _boards(self, connection: sqlite3.Connection) -> list[BoardRecord]:
        rows = connection.execute(self._queries["current_boards"]).fetchall()
        return [BoardRecord(number, version, board_from_dict(_decode(text)), meaning) for number, version, text, meaning in rows]

    async def put_board(
        self, board: Board, same_meaning: bool, now: int, version: int | None = None, action: str = "put_board"
    ) -> BoardRecord:
        def work(connection: sqlite3.Connection) -> BoardRecord:
            old = next((record for record in self._boards(connection) if record.board.name == board.name), None)
            check_version(old, board.name, version)
            if old is None:
                (board_id,) = connection.execute(self._queries["next_board_id"]).fetchone()
                record = BoardRecord(board_id, 1, board, 1)
            else:
                number = old.version + 1
                record = BoardRecord(old.id, number, board, old.meaning if same_meaning else number)
            row = (record.id, record.version, record.meaning, board.name, msgspec.json.encode(board.to_dict()).decode(), now)
            connection.execute(self._queries["put_board"], row)
            self._audit(connection, now, action, board.name, {"id": record.id, "version": record.version})
            return record

        return await self._write(work)

    async def delete_board(self, name: str, now: int) -> None:
        def work(connection: sqlite3.Connection) -> None:
            ended = connection.execute(self._queries["delete_board"], (now, name)).fetchall()
            if ended:
                self._audit(connection, now, "delete_board", name, dict(zip(("id", "version"), max(ended), strict=True)))

        await self._write(work)

    async def audit(self, action: str, board: str, detail: Mapping[str, object], now: int) -> None:
        await self._write(lambda connection: self._audit(connection, now, action, board, detail))

    def _audit(self, connection: sqlite3.Connection, now: int, action: str, board: str, detail: Mapping[str, object]) -> None:
        row = (now, f"writer {self._writer}", action, board, _encode(detail).decode())
        connection.execute(self._queries["audit"], row)

    # -- profiles -------------------------------------------------------------------------------------------------------

    async def profiles(self, since: int = 0) -> list[Profile]:
        return [Profile(*row) for row in await self._read("profiles", since)]

    async def put_profile(self, profile: Profile, now: int) -> None:
        sql = self._queries["put_profile"]
        await self._write(lambda connection: connection.execute(sql, (*profile, now)))


def _event(row: tuple[Any, ...]) -> Event:
    event = made_event(row)
    if event.segments is None and event.metadata is None:
        return event
    return event._replace(segments=row[8] and _decode(row[8]), metadata=row[10] and _decode(row[10]))


def _row(event: Event) -> tuple[Any, ...]:
    return (*event[:8], event[8] and _encode(event[8]), event[9], None if event[10] is None else _encode(event[10]))


def _transaction(connection: sqlite3.Connection, work: Callable[[sqlite3.Connection], T]) -> T:
    connection.execute("BEGIN IMMEDIATE")
    try:
        answer = work(connection)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return answer
