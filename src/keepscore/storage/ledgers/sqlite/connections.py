"""The connections that all roles of the ledger in SQLite share: a thread that reads, one that writes, and who else has the file open.

The file may be exchanged for another while it is open. That is noticed before anything is written, and counts as another incarnation.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, TypeVar

from keepscore.errors import LedgerAway, LedgerReplaced, LedgerUnavailable
from keepscore.forks import keep_forever, tell_when_forked
from keepscore.storage.ledgers.identity import Identity
from keepscore.storage.ledgers.queries import named_queries
from keepscore.storage.ledgers.sqlite.errors import translated
from keepscore.storage.ledgers.sqlite.file import DatabaseFile
from keepscore.storage.ledgers.sqlite.inserts import MAX_INSERT
from keepscore.storage.ledgers.sqlite.lock_file import LockFile
from keepscore.storage.ledgers.sqlite.quick import QuickInserts
from keepscore.storage.ledgers.sqlite.schema import check_own, migrate
from keepscore.storage.ledgers.sqlite.work_thread import WorkThread

__all__ = ["SqliteConnections", "transaction"]

#: Seconds that a write waits for another process's.
BUSY_S = 20.0
#: Page cache of the connection that writes, in KiB: checkpoints touch pages all over the standings. It fills up with keyed writes.
WRITING_CACHE_KIB = 32_768
#: The same of each other connection.
CACHE_KIB = 8192
#: Pages in the write-ahead log at which SQLite moves them into the database (16 MiB).
WAL_PAGES = 4096

T = TypeVar("T")
log = logging.getLogger(__name__)


class SqliteConnections(Identity):
    """The connections to a ledger at `path`. `shared`: several processes of this machine may have it open."""

    def __init__(self, path: str, shared: bool) -> None:
        self.path = path
        self.shared = shared
        self.queries = named_queries("sqlite")
        #: What to do when another file has taken the place of the one that was open.
        self.when_exchanged: list[Callable[[], Awaitable[None]]] = []
        self._lock: LockFile | None = None
        self._connections: list[sqlite3.Connection] = []
        self._file = DatabaseFile(path)
        self._exchanging = asyncio.Lock()
        self._quick: QuickInserts | None = None
        self._writing = WorkThread("ledger-writer")
        self._reading = self._writing if path == ":memory:" else WorkThread("ledger-reader")
        tell_when_forked(self)

    # -- running queries ------------------------------------------------------------------------------------------------

    async def _run(self, thread: WorkThread, work: Callable[[sqlite3.Connection], T]) -> T:
        with translated(self.path):
            return await thread.run(work, self._connections[0 if thread is self._writing else -1])

    async def on_writer(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Return what `work` gives on the thread that writes, without a transaction."""
        return await self._run(self._writing, work)

    async def on_reader(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Return what `work` gives on the thread that reads."""
        return await self._run(self._reading, work)

    async def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Return what `work` gives within a transaction, in the file that lies at the path before and after it."""
        await self.look()
        answer = await self._run(self._writing, lambda connection: transaction(connection, work))
        self.check_recorded()
        return answer

    async def write_confirmed(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do the same in a ledger that is confirmed, or raise LedgerReplaced."""
        await self.look_confirmed()
        incarnation = self.incarnation

        @wraps(work)
        def confirmed(connection: sqlite3.Connection) -> T:
            if self.incarnation != incarnation:
                # It was exchanged between the look and the transaction.
                raise LedgerReplaced(f"another file is now at {self.path}: try again")
            return work(connection)

        return await self.write(confirmed)

    async def read(self, query: str, *args: object) -> list[Any]:
        """Return the rows of a named query."""
        sql = self.queries[query]
        return await self._run(self._reading, lambda connection: connection.execute(sql, args).fetchall())

    def insert_quickly(self, sql: str, rows: list[tuple[Any, ...]]) -> bool:
        """Insert rows without a thread, where that is quick; return whether it was done."""
        with translated(self.path):
            return self._quick is not None and self._quick.insert(sql, rows)

    # -- life -----------------------------------------------------------------------------------------------------------

    async def open(self) -> tuple[int, int]:
        """Take the lock, connect, and migrate; return the versions of the schema before and after."""
        if self.path != ":memory:":
            self._file.check_not_inherited()
            self._lock = LockFile(f"{self.path}.lock", self.shared)
        return await self._connect_all()

    async def _connect_all(self) -> tuple[int, int]:
        """Connect to the file that is there, in the place of the one before; return the versions of its schema before and after."""
        threads = [self._writing] if self._reading is self._writing else [self._writing, self._reading]
        new: list[sqlite3.Connection] = []
        try:
            with translated(self.path):
                for thread in threads:
                    cache_kib = WRITING_CACHE_KIB if thread is self._writing else CACHE_KIB
                    new += [await thread.run(self._connect, cache_kib)]
                versions = await self._writing.run(migrate, new[0], self.path)
                if self.path != ":memory:" and not self.shared:
                    new.insert(1, self._connect(CACHE_KIB))
            self._file.opened()
        except BaseException:
            for connection in new:
                connection.close()
            raise
        old, self._connections = self._connections, new
        self._quick = QuickInserts(new[1]) if len(new) == 3 else None
        for connection, thread in zip((*old[:1], *old[-1:]), threads, strict=False):
            # After what was begun with it.
            await thread.run(connection.close)
        for connection in old[1:-1]:
            connection.close()
        return versions

    async def look(self) -> None:
        if self._file.is_same():
            return
        async with self._exchanging:
            if self._file.is_same():
                return
            log.warning("another file is at %s now: the ledger is reopened", self.path)
            self._file.drop_leftovers()
            # Nothing is written meanwhile.
            self.incarnation += 1
            await self._connect_all()
            for act in self.when_exchanged:
                await act()

    def check_recorded(self) -> None:
        """Raise an error where a commit went into a file that nobody finds any more."""
        try:
            same = self._file.is_same()
        except LedgerAway as exc:
            # It may be put back with all that it has.
            raise LedgerUnavailable(f"{exc}. Whether the last submissions are in it is not known") from exc
        if not same:
            raise LedgerReplaced(f"another file is now at {self.path}: try again")

    def _connect(self, cache_kib: int) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=BUSY_S, isolation_level=None, check_same_thread=False, cached_statements=MAX_INSERT + 50
        )
        try:
            # Before anything is changed: it may be somebody else's.
            check_own(connection, self.path)
        except BaseException:
            connection.close()
            raise
        _use_write_ahead_log(connection)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA cache_size = -{cache_kib}")
        connection.execute(f"PRAGMA wal_autocheckpoint = {WAL_PAGES}")
        return connection

    async def close(self) -> None:
        """Let go of everything."""
        for thread in {self._writing, self._reading}:
            await thread.stop()
        for connection in self._connections:
            connection.close()
        self._connections.clear()
        self._quick = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def forked(self) -> None:
        """Leave the parent's connections alone: SQLite allows nothing with them here, not even to close them."""
        if self._lock is not None:
            keep_forever(self)
            self._file.inherited()
            self._lock.leave()

    def announce(self, url: str) -> None:
        """Leave an address for those who find the file in use."""
        if self._lock is not None:
            self._lock.write(url)


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Switch a file to the write-ahead log. SQLite does not wait by itself where others have just begun with a new file."""
    deadline = time.monotonic() + BUSY_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as exc:
            if "locked" not in str(exc) or time.monotonic() > deadline:
                raise
            time.sleep(0.005)


def transaction(connection: sqlite3.Connection, work: Callable[[sqlite3.Connection], T]) -> T:
    """Return what `work` gives within a transaction."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        answer = work(connection)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return answer
