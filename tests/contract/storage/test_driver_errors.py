"""Whatever a driver raises, before or after the server did what was asked: it is an error of ours, and what was recorded counts once."""

import asyncio
import inspect
import logging
import sqlite3
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import asyncpg
import pytest
import redis
from redis.asyncio.connection import AbstractConnection

from keepscore import Board
from keepscore.errors import EngineUnavailable, LedgerUnavailable
from keepscore.storage.engines.redis.client import SCRIPTS
from keepscore.storage.ledgers.queries import named_queries
from keepscore.storage.ledgers.sqlite import events as sqlite_events
from keepscore.storage.ledgers.sqlite import quick as sqlite_quick
from keepscore.storage.ledgers.sqlite.ledger import SqliteLedger
from tests.contract.backends import cluster_url, redis_url
from tests.support.opening import leaderboards

#: Errors that no driver is known to raise on purpose, and that some have raised.
STRANGE = [
    AttributeError("'NoneType' object has no attribute 'x'"),
    KeyError(1234),
    IndexError("pop from an empty deque"),
    TypeError("no"),
    ValueError("no"),
    RuntimeError("no"),
    AssertionError(),
    RecursionError("too deep"),
    MemoryError(),
    EOFError("gone"),
    asyncio.IncompleteReadError(b"", 5),
    asyncio.InvalidStateError("no"),
    ConnectionResetError("gone"),
    BrokenPipeError("gone"),
    OSError(113, "No route to host"),
    TimeoutError(),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no"),
]
#: Errors after which the same is asked once more: the server says that it has done nothing.
ABSORBED = redis.exceptions.NoScriptError, redis.exceptions.TryAgainError


def of_redis():
    """One of each kind of error that redis-py has."""
    for kind in vars(redis.exceptions).values():
        if inspect.isclass(kind) and issubclass(kind, Exception):
            # These tell of a slot and where it is.
            yield kind("1 127.0.0.1:1") if issubclass(kind, redis.exceptions.AskError) else kind("no")


@contextmanager
def failing(owner, name, error, when, meant):
    """Have one call of a driver's function fail, among those that are meant, before or after it has done its work."""
    original = getattr(owner, name)
    raised = []

    def fail_if(now, args):
        if now == when and not raised and meant(*args):
            raised.append(args)
            raise error

    async def wrapped(*args, **options):
        fail_if("before", args)
        answer = await original(*args, **options)
        fail_if("after", args)
        return answer

    def wrapped_sync(*args, **options):
        fail_if("before", args)
        answer = original(*args, **options)
        fail_if("after", args)
        return answer

    with patch.object(owner, name, wrapped if inspect.iscoroutinefunction(original) else wrapped_sync):
        yield raised


@contextmanager
def failing_redis(error, when, marker):
    """Have one call of Redis fail whose bytes hold a marker: before they are sent, or after the answer was read."""
    send, read = AbstractConnection.send_packed_command, AbstractConnection.read_response
    raised, waiting = [], []

    async def sending(self, command, *args, **options):
        if not raised and not waiting and marker in b"".join(command):
            if when == "before":
                raised.append(command)
                raise error
            waiting.append(self)
        await send(self, command, *args, **options)

    async def reading(self, *args, **options):
        answer = await read(self, *args, **options)
        if self in waiting and not raised:
            raised.append(answer)
            raise error
        return answer

    with patch.object(AbstractConnection, "send_packed_command", sending), patch.object(AbstractConnection, "read_response", reading):
        yield raised


async def caught_up(lb):
    async with asyncio.timeout(20):
        while True:
            try:
                return await lb.runtime.catch_up.run()
            except EngineUnavailable:
                await asyncio.sleep(0.001)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("url", [redis_url, cluster_url], ids=["redis", "cluster"])
async def test_errors_of_the_driver_of_redis(tmp_path, caplog, url, when):
    boards = Board("points", operator="sum"), Board("cup", operator="sum", consistency="strong")
    caplog.set_level(logging.WARNING)
    with (
        patch("keepscore.storage.engines.redis.nodes.PAUSE_SECONDS", 0.001),
        patch("keepscore.telemetry.failures._logged", set()),
    ):
        async with leaderboards(f"sqlite:///{tmp_path / 'scores.db'}", url(), boards) as lb:
            for board in boards:
                # From now on, the servers know the script.
                await lb.increment(board.name, "ann", 1)
            for expected, error in enumerate([*of_redis(), *STRANGE], 2):
                for board in ("points", "cup"):
                    with failing_redis(error, when, SCRIPTS["apply"].sha.encode()) as raised:
                        receipt = (await asyncio.gather(lb.increment(board, "ann", 1), return_exceptions=True))[0]
                    assert raised, "the error was met"
                    await caught_up(lb)
                    if board == "cup" and isinstance(receipt, EngineUnavailable):
                        # It is met before anything is recorded: a strong board tries the engine out.
                        receipt = await lb.increment(board, "ann", 1)
                        assert receipt.score == expected, repr(error)
                    else:
                        assert (receipt.rank, receipt.pending) == (None, True) or isinstance(error, ABSORBED), repr(error)
                with failing_redis(error, when, b"EVALSHA"):
                    answer = (await asyncio.gather(lb.rank("cup", "ann"), return_exceptions=True))[0]
                assert isinstance(answer, EngineUnavailable) or answer.score == expected, repr(error)
                await caught_up(lb)
                assert [(await lb.rank(board, "ann")).score for board in ("points", "cup")] == [expected, expected], repr(error)
            for board in boards:
                await lb.admin.delete_board(board.name)
    logged = [record.exc_info[0] for record in caplog.records if record.name == "keepscore.telemetry.failures"]
    assert logged.count(AttributeError) == 1, "it is found in the log, once"
    others = [record for record in caplog.records if record.levelno > logging.WARNING and record.name != "keepscore.telemetry.failures"]
    assert not others


@pytest.mark.parametrize("when", ["before", "after"])
async def test_errors_of_the_driver_of_a_ledger(place, when):
    kinds = [kind for kind in vars(asyncpg.exceptions).values() if inspect.isclass(kind) and issubclass(kind, Exception)]
    own = [sqlite3.Error("no"), sqlite3.ProgrammingError("no"), sqlite3.OperationalError("no"), sqlite3.Warning("no")]
    ledger = place()
    is_sqlite = isinstance(ledger, SqliteLedger)

    def appends(connection, sql, *rest):
        return sql == named_queries("postgres")["append"]

    # A sample: there are hundreds.
    errors = [*STRANGE, *(own if is_sqlite else [kind("no") for kind in kinds[::12]])]
    async with leaderboards(ledger, boards=[Board("points", operator="sum")]) as lb:
        for error in errors:
            before = len(await events_of(lb))
            with ExitStack() as stack:
                if is_sqlite:
                    for owner in (sqlite_events, sqlite_quick):
                        stack.enter_context(failing(owner, "insert", error, when, lambda *_: True))
                else:
                    stack.enter_context(failing(asyncpg.Connection, "fetch", error, when, appends))
                with pytest.raises(LedgerUnavailable) as told:
                    await lb.increment("points", "ann", 1)
            assert not told.value.nothing_recorded or len(await events_of(lb)) == before, repr(error)
            await lb.increment("points", "ann", 1)
            assert (await lb.rank("points", "ann")).score == len(await events_of(lb)), repr(error)
            assert len(await events_of(lb)) - before in (1, 2)


async def events_of(lb):
    (board,) = await lb.runtime.ledger.boards.current()
    return [event async for events in lb.runtime.ledger.events.read(board.id, {}) for event in events]
