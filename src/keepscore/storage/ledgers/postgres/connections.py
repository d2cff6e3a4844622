"""The connections that all roles of the ledger in PostgreSQL share: one that writes and holds the lock of the ledger, and some that read.

Every call has a deadline. When it has passed, the connection is ended: nothing less stops waiting for a server that does not answer.
What became of the last statement is then unknown. Before anybody looks, the server is made to end what is left of that connection:
after that, a statement is recorded or will never be.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

import asyncpg

from keepscore.errors import KeepscoreError, LedgerAway, LedgerInUse, LedgerUnavailable
from keepscore.storage.ledgers.claims import AppendRefused
from keepscore.storage.ledgers.identity import Identity
from keepscore.storage.ledgers.marks import SERVICE_URL
from keepscore.storage.ledgers.postgres.errors import translated
from keepscore.storage.ledgers.postgres.url import PostgresAddress
from keepscore.storage.ledgers.queries import named_queries

__all__ = ["LONG_CALL_DEADLINES", "OLDEST_VERSION", "Connections"]

#: How many deadlines a call of many rows, or a migration, may take.
LONG_CALL_DEADLINES = 6.0
#: Connections of one process that read.
READERS = 4
#: Seconds to connect.
CONNECT_S = 5.0
#: Milliseconds in which the server has to end a connection that is no longer used.
ENDING_MS = 3000
#: The oldest PostgreSQL that will do: `pg_terminate_backend` waits.
OLDEST_VERSION = 14
#: The advisory lock of those who use the ledger: one alone, or several that share it.
IN_USE = 0x6B656570
#: The advisory lock of the one that does the jobs of all; the one between is that under which tables are made.
LEADS = 0x6B656572
#: How often it is tried to get the lock of the ledger, and the seconds between.
LOCK_TRIES, LOCK_PAUSE = 5, 0.1

T = TypeVar("T")


class Connections(Identity):
    """The connections of one process. `shared`: several processes may use the ledger, as long as all of them say so.

    The incarnation counts how often the connection that writes was made: another server, or an older one, may answer each time.
    """

    def __init__(self, address: PostgresAddress, shared: bool, oldest: int = OLDEST_VERSION) -> None:
        self.address = address
        self.shared = shared
        self.queries = named_queries("postgres")
        self._oldest = oldest
        #: The server shows it beside each connection, by which they can be told from all others.
        self._name = f"keepscore {secrets.token_hex(6)}"
        self._pool: Any = None
        self._writing: Any = None
        #: The server's process behind the connection that writes, or wrote last.
        self._process: int | None = None
        #: The connection that holds the lock of the one that does the jobs of all, if this process does.
        self._leading: Any = None
        self._turn = asyncio.Lock()

    async def open(self) -> None:
        """Connect, and take the lock."""
        await self.write(lambda connection: self._check(connection))

    async def open_readers(self) -> None:
        """Connect for reading."""
        # None is kept open for the pool's sake: it would log every failure to do so.
        options = {"min_size": 0, "max_size": READERS, "reset": _keep}
        with translated(self.address.shown):
            self._pool = await asyncpg.create_pool(self.address.dsn, **options, **self._options())

    def _options(self) -> dict[str, Any]:
        return {"timeout": min(CONNECT_S, self.address.deadline), "server_settings": {"application_name": self._name}}

    async def close(self) -> None:
        """Let go of everything."""
        async with self._turn:
            if self._writing is not None:
                connection, self._writing = self._writing, None
                try:
                    async with _deadline(connection, CONNECT_S):
                        # By name, since the server may notice the end of a connection only a little later.
                        await connection.execute(self.queries["let_go"])
                        await connection.close()
                except Exception:
                    connection.terminate()
        if self._pool is not None:
            try:
                await asyncio.wait_for(self._pool.close(), CONNECT_S)
            except Exception:
                self._pool.terminate()
            self._pool = None

    # -- calls ----------------------------------------------------------------------------------------------------------

    async def read(self, query: str, *args: object, patience: float = 1.0) -> list[Any]:
        """Return the rows of a named query, within `patience` times the deadline."""
        seconds = self.address.deadline * patience
        with translated(self.address.shown):
            connection = await self._pool.acquire(timeout=seconds)
            try:
                async with _deadline(connection, seconds):
                    rows: list[Any] = await connection.fetch(self.queries[query], *args)
                    return rows
            finally:
                await self._pool.release(connection, timeout=CONNECT_S)

    async def aside(self, work: Callable[[Any], Awaitable[T]], patience: float) -> T:
        """Return what `work` gives in one transaction on a connection that reads: it takes long, and submissions do not wait for it."""
        seconds = self.address.deadline * patience
        with translated(self.address.shown):
            connection = await self._pool.acquire(timeout=seconds)
            try:
                async with _deadline(connection, seconds), connection.transaction():
                    return await work(connection)
            finally:
                await self._pool.release(connection, timeout=CONNECT_S)

    async def write(self, work: Callable[[Any], Awaitable[T]], patience: float = 1.0) -> T:
        """Return what `work` gives with the connection that holds the lock. One after the other."""
        with translated(self.address.shown):
            async with self._turn:
                connection = await self._reached()
                try:
                    async with _deadline(connection, self.address.deadline * patience):
                        return await work(connection)
                except (KeepscoreError, AppendRefused, asyncpg.PostgresError):
                    raise
                except Exception:
                    # Nobody knows in what state the driver has left it: the next write reconnects.
                    connection.terminate()
                    raise

    async def transaction(self, work: Callable[[Any], Awaitable[T]], patience: float = 1.0) -> T:
        """Do the same in one transaction."""

        async def within(connection: Any) -> T:
            async with connection.transaction():
                return await work(connection)

        return await self.write(within, patience)

    async def look(self) -> None:
        await self.settle()

    async def settle(self) -> None:
        """See that nothing is under way any more on a connection that was lost."""
        if self._writing is None or self._writing.is_closed():
            await self.write(_keep)

    # -- the connection that writes -------------------------------------------------------------------------------------

    async def _reached(self) -> Any:
        """Return the connection that writes, or raise LedgerAway: nothing was sent to the server yet."""
        try:
            with translated(self.address.shown):
                return await self._writer()
        except LedgerUnavailable as exc:
            if exc.__cause__ is None:
                raise
            raise LedgerAway(str(exc)) from exc.__cause__

    async def lead(self) -> bool:
        """Return whether the connection that writes holds the lock of the leader, or has got it now."""

        async def work(connection: Any) -> bool:
            if self._leading is not connection and await connection.fetchval(self.queries["use_alone"], LEADS):
                self._leading = connection
            return self._leading is connection

        return await self.write(work)

    async def _writer(self) -> Any:
        if self._writing is None or self._writing.is_closed():
            connection = await asyncpg.connect(self.address.dsn, **self._options())
            try:
                async with _deadline(connection, self.address.deadline):
                    await self._take_over(connection)
            except BaseException:
                connection.terminate()
                raise
            self._writing, self._process = connection, connection.get_server_pid()
            self.incarnation += 1
        return self._writing

    async def _take_over(self, connection: Any) -> None:
        if self._process is not None:
            ended = await connection.fetchval(self.queries["end_connection"], self._process, self._name, ENDING_MS)
            if ended is False:
                raise LedgerUnavailable(f"the PostgreSQL at {self.address.shown} has not ended what was running: try again")
        await connection.execute(self.queries["be_durable"])
        await connection.execute(self.queries["end_when_gone"])
        lock = "use_with_others" if self.shared else "use_alone"
        for _ in range(LOCK_TRIES):
            if await connection.fetchval(self.queries[lock], IN_USE):
                return
            # That of a process that was killed is let go in a moment.
            await asyncio.sleep(LOCK_PAUSE)
        raise await self._refusal(connection)

    async def _refusal(self, connection: Any) -> LedgerInUse:
        url = None
        if await connection.fetchval(self.queries["table_exists"], "ledger"):
            url = (await connection.fetchval(self.queries["value"], SERVICE_URL.name) or b"").decode() or None
        user = f"the service at {url}: name it with --url" if url else "another process: stop it first, or wait a moment if it was killed"
        why = "" if self.shared else ". Rankings in the process (embedded://) are for one; with an engine on Redis, many may share it"
        return LedgerInUse(f"the ledger {self.address.shown} is in use by {user}{why}", url)

    async def _check(self, connection: Any) -> None:
        """Refuse a server that will not do."""
        version = connection.get_server_version().major
        if version < self._oldest:
            raise LedgerUnavailable(f"the PostgreSQL at {self.address.shown} is version {version}: use {self._oldest} or newer")
        if await connection.fetchval(self.queries["is_read_only"]):
            raise LedgerUnavailable(f"the PostgreSQL at {self.address.shown} is read-only, as a standby is: name the primary")


@asynccontextmanager
async def _deadline(connection: Any, seconds: float) -> AsyncIterator[None]:
    """End the connection when the time has passed, and after an error."""
    needs_restate = False

    def end() -> None:
        nonlocal needs_restate
        needs_restate = True
        connection.terminate()

    watch = asyncio.get_running_loop().call_later(seconds, end)
    try:
        yield
    except BaseException as exc:
        if needs_restate and isinstance(exc, Exception):
            raise TimeoutError from exc
        if not isinstance(exc, KeepscoreError | AppendRefused):
            # Which errors leave a connection usable is hard to tell, and errors are rare. One that was lost has gone back to its pool.
            with suppress(asyncpg.InterfaceError):
                connection.terminate()
        raise
    finally:
        watch.cancel()


async def _keep(connection: Any) -> None:
    """Do nothing: no query leaves anything behind on a connection that would have to be reset."""
