"""What holds for the ledger in PostgreSQL alone: who may use it, what is refused, deadlines, and outcomes that were unknown."""

import asyncio
import signal
import time
from contextlib import suppress
from datetime import UTC, datetime

import asyncpg
import pytest

from keepscore.domain.scoring import Event
from keepscore.errors import LedgerFull, LedgerInUse, LedgerUnavailable
from keepscore.storage.ledgers.claims import Claim, DuplicateKeys
from keepscore.storage.ledgers.postgres.ledger import PostgresLedger
from keepscore.storage.ledgers.postgres.url import parse_postgres_url
from tests.support.postgres_servers import PostgresServer, shared_postgres

#: 2026-11-15T12:00:00Z.
NOON = 1_794_744_000_000


class SameLedger(PostgresLedger):
    """Takes everything after a reconnect, too: these tests know that the ledger is still the same."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.identity.check_confirmed = lambda: None


@pytest.fixture
def url():
    return shared_postgres().new_database()


@pytest.fixture
async def open_ledger(url):
    """Opens ledgers, shared unless they are told otherwise."""
    opened = []

    async def make(parameters="", shared=True, now=NOON, where=None, **options):
        ledger = SameLedger(parse_postgres_url((where or url) + parameters), shared, **options)
        await ledger.open(now)
        opened.append(ledger)
        return ledger

    yield make
    for ledger in opened:
        await ledger.close()


@pytest.fixture
def sql(url):
    return lambda statement: shared_postgres().sql(statement, url)


def event(n, writer=1, player="p"):
    return Event(1, writer, n, player, "score", n, NOON, NOON)


async def refused(make, *words, **options):
    with pytest.raises(LedgerUnavailable) as error:
        await make(**options)
    for word in words:
        assert word in str(error.value), str(error.value)
    assert shared_postgres().password not in str(error.value)
    return error.value


# -- who may use it -----------------------------------------------------------------------------------------------------


async def test_one_alone_or_several_that_share_it(open_ledger, url):
    alone = await open_ledger(shared=False)
    assert isinstance(error := await refused(open_ledger, "in use by another process", "Redis", shared=False), LedgerInUse)
    assert error.url is None
    await alone.announce("http://127.0.0.1:1")
    assert (await refused(open_ledger, "http://127.0.0.1:1", shared=False)).url == "http://127.0.0.1:1"
    await refused(open_ledger, "in use", shared=True)
    await alone.close()
    first = await open_ledger()
    await open_ledger()
    assert await first.marks.read("url") == b"http://127.0.0.1:1"
    await refused(open_ledger, "in use", shared=False)


async def test_who_has_lost_the_lock_writes_nothing(open_ledger, sql):
    first = await open_ledger(shared=False)
    await first.events.append([event(1)], [], {})
    sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
    second = await open_ledger(shared=False)
    for call in (first.events.append([event(2)], [], {}), first.marks.write({"name": b""}), first.events.positions(1)):
        with pytest.raises(LedgerUnavailable):
            await call
    with pytest.raises(LedgerInUse):
        await first.events.append([event(2)], [], {})
    assert await second.events.positions(1) == {1: 1}
    await second.close()
    await first.events.append([event(2)], [], {})
    assert await first.events.positions(1) == {1: 2}


async def test_a_commit_waits_for_the_disk_whatever_the_default(open_ledger, sql, url):
    sql(f"ALTER DATABASE {url.rpartition('/')[2]} SET synchronous_commit = off")
    ledger = await open_ledger()
    assert await ledger._connections.write(lambda connection: connection.fetchval("SHOW synchronous_commit")) == "on"


# -- partitions ---------------------------------------------------------------------------------------------------------


async def test_partitions_are_made_ahead_and_when_needed(open_ledger, sql):
    partitions = "SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'events'::regclass"
    names = f"SELECT string_agg(name, ' ' ORDER BY name) FROM ({partitions}) AS p"
    ledger = await open_ledger()
    assert sql(names) == "events_2026_11 events_2026_12 events_2027_01"
    first = int(datetime(2027, 2, 1, tzinfo=UTC).timestamp() * 1000)
    await ledger.events.append([event(1)._replace(received=first - 1), event(2)._replace(received=first)], [], {})
    assert sql(names) == "events_2026_11 events_2026_12 events_2027_01 events_2027_02"
    assert sql("SELECT tableoid::regclass, n FROM events ORDER BY n") == "events_2027_01|1\nevents_2027_02|2"


async def test_several_need_a_partition_at_once(open_ledger, sql):
    ledgers = [await open_ledger() for _ in range(4)]
    later = NOON + 400 * 86_400_000
    events = [[event(1, writer)._replace(received=later)] for writer in range(1, 5)]
    await asyncio.gather(*[ledger.events.append(events_, [], {}) for ledger, events_ in zip(ledgers, events, strict=True)])
    assert await ledgers[0].events.positions(1) == {1: 1, 2: 1, 3: 1, 4: 1}


# -- several writers ----------------------------------------------------------------------------------------------------


async def test_a_key_that_several_claim_at_once_is_one_ones(open_ledger):
    ledgers = [await open_ledger() for _ in range(3)]
    won = 0
    for n in range(1, 30):
        claims = [Claim("submission", "1", f"{key}-{n}", b"f") for key in "abc"]
        counts = {writer: (await ledgers[0].events.positions(1)).get(writer, 0) for writer in (1, 2, 3)}
        outcomes = await asyncio.gather(
            *[ledger.events.append([event(counts[w] + 1, w)], claims[:: 1 if w % 2 else -1], {}) for w, ledger in enumerate(ledgers, 1)],
            return_exceptions=True,
        )
        refused = [outcome for outcome in outcomes if isinstance(outcome, DuplicateKeys)]
        won += sum(isinstance(outcome, int) for outcome in outcomes)
        assert [len(outcome.answered) for outcome in refused] == [3, 3], outcomes
    assert won == 29
    assert sum((await ledgers[0].events.positions(1)).values()) == 29


# -- deadlines and unknown outcomes -------------------------------------------------------------------------------------


async def until_waiting(connection, least):
    """Wait until so many connections to the database, at least, wait for a lock; 0: until none does."""
    sql = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    for _ in range(4000):
        found = await connection.fetchval(sql)
        if found >= least and (least or not found):
            return
        await asyncio.sleep(0.005)
    pytest.fail(f"{found} connections wait")


async def test_what_came_too_late_is_never_recorded_once_it_was_asked_for(open_ledger, url):
    ledger = await open_ledger("?deadline=0.5")
    await ledger.events.append([event(1)], [], {})
    other = await asyncpg.connect(url)
    block = other.transaction()
    await block.start()
    await other.execute("LOCK TABLE events IN ACCESS EXCLUSIVE MODE")
    start = time.monotonic()
    with pytest.raises(LedgerUnavailable, match="in time"):
        await ledger.events.append([event(2, player="late")], [], {})
    assert 0.4 < time.monotonic() - start < 3
    # The statement waits for the lock still, and is ended before the answer.
    assert await ledger.events.positions(1) == {1: 1}
    await block.rollback()
    await ledger.events.append([event(2, player="another")], [], {})
    await until_waiting(other, 0)
    assert [e.player for e in await ledger.events.of_player(1, "late")] == []
    assert await other.fetchval("SELECT count(*) FROM events") == 2
    await other.close()


async def test_a_cancelled_call_leaves_the_connections_usable(open_ledger, url):
    ledger = await open_ledger()
    other = await asyncpg.connect(url)
    block = other.transaction()
    await block.start()
    await other.execute("LOCK TABLE events IN ACCESS EXCLUSIVE MODE")
    calls = [
        asyncio.ensure_future(call)
        for call in (ledger.events.append([event(1)], [], {}), *(ledger.events.of_player(1, "p") for _ in range(9)))
    ]
    await until_waiting(other, 1)
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    assert await ledger.events.positions(1) == {}
    await block.rollback()
    await ledger.events.append([event(1)], [], {})
    assert [event.n for event in await ledger.events.of_player(1, "p")] == [1]
    await other.close()


async def test_a_server_that_stands_still_a_crash_and_a_restart(open_ledger):
    with PostgresServer() as server:
        ledger = await open_ledger("?deadline=0.6", where=server.url)
        await ledger.events.append([event(1)], [], {})
        server.send(signal.SIGSTOP)
        try:
            for call in (ledger.events.append([event(2)], [], {}), ledger.events.positions(1), ledger.boards.current(), ledger.probe(1)):
                start = time.monotonic()
                with pytest.raises(LedgerUnavailable):
                    await call
                assert time.monotonic() - start < 4
        finally:
            server.send(signal.SIGCONT)
        n = (await ledger.events.positions(1))[1]
        assert n in (1, 2)
        await ledger.events.append([event(n + 1)], [], {})
        for how in (signal.SIGKILL, signal.SIGINT):
            server.stop(how)
            for call in (ledger.events.append([event(n + 2)], [], {}), ledger.boards.current()):
                with pytest.raises(LedgerUnavailable):
                    await call
            server.start()
            assert await ledger.boards.current() == []
            n = (await ledger.events.positions(1))[1]
            await ledger.events.append([event(n + 1)], [], {})
        assert [e.n for e in await ledger.events.of_player(1, "p")] == list(range(1, n + 2))
        await ledger.close()


# -- what is refused ----------------------------------------------------------------------------------------------------


async def test_a_full_disk(open_ledger, sql):
    ledger = await open_ledger()
    sql(
        "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$;"
        "CREATE TRIGGER full_disk BEFORE INSERT ON positions FOR EACH ROW EXECUTE FUNCTION full_disk()"
    )
    with pytest.raises(LedgerFull, match="make room"):
        await ledger.events.append([event(1)], [], {})
    sql("DROP TRIGGER full_disk ON positions")
    assert await ledger.events.positions(1) == {}
    await ledger.events.append([event(1)], [], {})


async def test_a_server_that_becomes_read_only(open_ledger, sql, url):
    ledger = await open_ledger()
    name = url.rpartition("/")[2]
    sql(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    await refused(open_ledger, "read-only", "name the primary")
    sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}' AND pid <> pg_backend_pid()")
    with suppress(LedgerUnavailable):
        # Only now the lost connection may be noticed.
        await ledger.probe(1)
    with pytest.raises(LedgerUnavailable, match="name the primary"):
        await ledger.events.append([event(1)], [], {})


async def test_a_server_that_is_too_old(open_ledger):
    await refused(open_ledger, "is version", "use 99 or newer", oldest=99)


async def test_a_database_of_another_program(open_ledger, sql):
    sql("CREATE TABLE players (id integer)")
    await refused(open_ledger, "another program", "players", "database of its own")
    assert sql("SELECT count(*) FROM pg_class WHERE relname IN ('boards', 'migrations')") == "0"


async def test_a_migrations_table_of_another_program(open_ledger, sql):
    sql("CREATE TABLE migrations (id integer, migration text)")
    await refused(open_ledger, "another program", "database of its own")


async def test_a_user_who_may_not_make_tables(open_ledger, sql, url):
    server = shared_postgres()
    role = "guest_" + url.rpartition("_")[2]
    sql(f"CREATE ROLE {role} LOGIN PASSWORD '{server.password}'")
    await refused(open_ledger, "owner of the database", where=server.url_of(url.rpartition("/")[2], role))
