"""What holds for the ledger in a file alone: who has it open, and whose file it is."""

import asyncio
import multiprocessing
import os
import signal
import sqlite3
from unittest.mock import patch

import pytest

from keepscore.domain.boards import Board
from keepscore.domain.scoring import Event
from keepscore.errors import LedgerInUse, LedgerReplaced, LedgerUnavailable
from keepscore.storage.ledgers.sqlite.ledger import SqliteLedger
from keepscore.storage.ledgers.sqlite.quick import AFTER_SLOW_GROUPS, QuickInserts
from keepscore.storage.ledgers.sqlite.schema import migrate
from tests.support.wrapping import wrap


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.db"


async def refused(path):
    with pytest.raises(LedgerUnavailable) as error:
        await SqliteLedger(str(path)).open(0)
    return error.value


async def test_one_at_a_time(path):
    first = SqliteLedger(str(path))
    await first.open(0)
    assert isinstance(error := await refused(path), LedgerInUse)
    assert error.url is None
    assert str(path) in str(error)
    await first.announce("http://127.0.0.1:8080")
    error = await refused(path)
    assert error.url == "http://127.0.0.1:8080"
    assert "http://127.0.0.1:8080" in str(error)
    await first.boards.put(Board("b"), True, 0)
    await first.close()
    second = SqliteLedger(str(path))
    await second.open(0)
    assert [record.board.name for record in await second.boards.current()] == ["b"]
    # What the first one announced is no longer true.
    assert (await refused(path)).url is None
    await second.close()


def hold(path, ready):
    import asyncio

    async def main():
        ledger = SqliteLedger(path)
        await ledger.open(0)
        await ledger.announce("http://127.0.0.1:1")
        ready.set()
        await asyncio.Event().wait()

    asyncio.run(main())


async def test_a_killed_process_lets_go(path):
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    holder = context.Process(target=hold, args=(str(path), ready))
    holder.start()
    try:
        assert ready.wait(30)
        assert (await refused(path)).url == "http://127.0.0.1:1"
    finally:
        os.kill(holder.pid, signal.SIGKILL)
        holder.join(30)
    ledger = SqliteLedger(str(path))
    assert await ledger.open(0) == 2
    await ledger.close()


async def test_a_file_that_is_no_database_is_refused_and_left_alone(path):
    path.write_bytes(b"This is a letter, and not a database. " * 100)
    before = path.read_bytes()
    assert "not an SQLite database" in str(await refused(path))
    assert path.read_bytes() == before


async def test_a_database_of_another_program_is_refused_and_left_alone(path):
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE recipes (name TEXT)")
        other.execute("INSERT INTO recipes VALUES ('soup')")
    other.close()
    before = path.read_bytes()
    assert "another program" in str(await refused(path))
    assert path.read_bytes() == before


async def test_a_fresh_ledger_that_another_process_fills_while_it_is_looked_at_is_not_refused(path, monkeypatch):
    database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    database.execute("PRAGMA journal_mode = WAL")
    connect, made = sqlite3.connect, []

    def interrupted(*args, **options):
        """A connection on which the other process makes its tables after the version is read, and before the tables are looked for."""
        connection = connect(*args, **options)

        def meanwhile(statement):
            if "sqlite_master" in statement and not made:
                made.append(migrate(database, str(path)))

        connection.set_trace_callback(meanwhile)
        return connection

    monkeypatch.setattr(sqlite3, "connect", interrupted)
    ledger = SqliteLedger(str(path))
    assert await ledger.open(0) == 1
    assert made
    await ledger.close()
    database.close()


async def test_a_newer_schema_is_refused_and_left_alone(path):
    ledger = SqliteLedger(str(path))
    await ledger.open(0)
    await ledger.boards.put(Board("b"), True, 0)
    await ledger.close()
    with sqlite3.connect(path) as database:
        (version,) = database.execute("PRAGMA user_version").fetchone()
        database.execute(f"PRAGMA user_version = {version + 1}")
    database.close()
    error = str(await refused(path))
    assert str(version + 1) in error
    assert "newer" in error
    with sqlite3.connect(path) as database:
        assert database.execute("SELECT count(*) FROM boards").fetchone() == (1,)
        assert database.execute("SELECT count(*) FROM writers").fetchone() == (1,)
        database.execute(f"PRAGMA user_version = {version}")
    database.close()
    again = SqliteLedger(str(path))
    await again.open(0)
    assert [record.board.name for record in await again.boards.current()] == ["b"]
    await again.close()


async def test_an_empty_file_becomes_a_ledger(path):
    path.touch()
    ledger = SqliteLedger(str(path))
    await ledger.open(0)
    assert await ledger.boards.current() == []
    await ledger.close()


@pytest.mark.parametrize("where", ["a-folder", "a-file/ledger.db"])
async def test_a_place_that_cannot_be_used(tmp_path, where):
    (tmp_path / "a-folder").mkdir()
    (tmp_path / "a-file").write_text("")
    await refused(tmp_path / where)


async def test_folders_are_made(tmp_path):
    ledger = SqliteLedger(str(tmp_path / "a" / "b" / "ledger.db"))
    await ledger.open(0)
    await ledger.close()
    assert (tmp_path / "a" / "b" / "ledger.db").exists()


async def test_in_memory_ledgers_share_nothing():
    ledgers = [SqliteLedger(":memory:"), SqliteLedger(":memory:")]
    for ledger in ledgers:
        assert await ledger.open(0) == 1
    await ledgers[0].boards.put(Board("b"), True, 0)
    assert [len(await ledger.boards.current()) for ledger in ledgers] == [1, 0]
    for ledger in ledgers:
        await ledger.close()


# -- appending without the thread ---------------------------------------------------------------------------------------


def event(n):
    return Event(1, 1, n, f"p{n}", "score", n, n, n)


def size(path):
    return os.path.getsize(path)


async def numbers(ledger):
    return [found.n async for events in ledger.events.read(1, {}) for found in events]


async def test_nothing_stands_still_while_somebody_else_writes(path):
    ledger = SqliteLedger(str(path))
    await ledger.open(0)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    append = asyncio.create_task(ledger.events.append([event(1)], [], {}))
    async with asyncio.timeout(5):
        for _ in range(10):
            await asyncio.sleep(0.01)
    assert not append.done()
    other.execute("COMMIT")
    other.close()
    await append
    await ledger.events.append([event(2)], [], {})
    assert await numbers(ledger) == [1, 2]
    await ledger.close()


async def test_the_log_is_moved_into_the_database_again_and_again(path):
    with (
        patch("keepscore.storage.ledgers.sqlite.connections.WAL_PAGES", 40),
        patch("keepscore.storage.ledgers.sqlite.quick.IN_A_ROW_GROUPS", 10),
    ):
        ledger = SqliteLedger(str(path))
        await ledger.open(0)
        for n in range(1, 601):
            await ledger.events.append([event(n)], [], {})
        # A commit writes at least a page, so that all of them would be 600.
        assert size(f"{path}-wal") < 200 * 4096
        assert await numbers(ledger) == list(range(1, 601))
        await ledger.close()


def test_a_slow_disk_is_left_to_the_thread(path):
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("CREATE TABLE t (n)")
    quick = QuickInserts(connection)
    with patch("keepscore.storage.ledgers.sqlite.quick.QUICK_S", 60.0):
        assert quick.insert("INSERT INTO t VALUES (?)", [(1,)])
    with patch("keepscore.storage.ledgers.sqlite.quick.QUICK_S", 0.0):
        assert quick.insert("INSERT INTO t VALUES (?)", [(2,), (3,)])
    assert [quick.insert("INSERT INTO t VALUES (?)", [(4,)]) for _ in range(AFTER_SLOW_GROUPS)] == [False] * AFTER_SLOW_GROUPS
    assert quick.insert("INSERT INTO t VALUES (?)", [(4,)])
    assert connection.execute("SELECT n FROM t").fetchall() == [(1,), (2,), (3,), (4,)]


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("write", ["append", "restore"])
async def test_nothing_is_recorded_in_a_file_that_takes_the_place_after_the_look(tmp_path, path, shared, write):
    ledger = SqliteLedger(str(path), shared=shared)
    await ledger.open(0)
    await ledger.identity.on_writer(lambda connection: connection.execute("VACUUM INTO ?", (str(tmp_path / "older.db"),)))
    first, second = (Event(1, 1, n, "p", "score", 1, 5, 5) for n in (1, 2))
    await ledger.events.append([first], [], {})

    async def exchange(look):
        await look()
        if (tmp_path / "older.db").exists():
            (tmp_path / "older.db").rename(path)

    wrap(ledger.identity, "look", exchange)
    with pytest.raises(LedgerReplaced):
        await (ledger.events.append([second], [], {}) if write == "append" else ledger.events.restore([second]))
    await ledger.identity.look()
    assert await ledger.events.positions(1) == {}
    await ledger.close()
