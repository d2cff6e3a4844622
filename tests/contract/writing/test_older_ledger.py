"""A ledger that comes back older than the engine: a restored backup, or a failover to a replica that lagged."""

import asyncio
import logging
import shutil
from contextlib import asynccontextmanager, suppress
from functools import partial

import asyncpg
import pytest

from keepscore import Board
from keepscore.errors import EngineUnavailable, LedgerUnavailable, UnknownBoard, UnknownPlayer
from keepscore.telemetry.counters import HEALS
from keepscore.writing.ledger_watch import lost_events
from tests.contract.both import over_redis, own_redis
from tests.contract.driving import event
from tests.contract.opened import differences, recorded, standings
from tests.contract.writing.test_writer_postgres import CUT
from tests.support.opening import leaderboards
from tests.support.postgres_servers import shared_postgres
from tests.support.redis_servers import single

BOARDS = (Board("game", operator="sum", also=["prize"]), Board("prize", operator="sum", consistency="strong"))
WEEK = Board("week", windows=["weekly"], rollup={"of": ["daily"], "window": "daily", "into": "weekly"})


def put_back(backup, path, leftovers=False):
    """Put an older file into the ledger's place, and remove what lay beside the last one, unless it is forgotten."""
    for suffix in ("-wal", "-shm"):
        if not leftovers:
            path.with_name(path.name + suffix).unlink(missing_ok=True)
    shutil.copy(backup, path.with_name("restored"))
    path.with_name("restored").rename(path)


async def back_up(lb, path):
    """A copy of a ledger that is in use."""
    await lb.runtime.ledger.identity.on_writer(lambda connection: connection.execute("VACUUM INTO ?", (str(path),)))


async def fill(lb, count, game="game"):
    for n in range(count):
        await lb.increment(game, f"p{n % 3}", 1)


async def totals(lb):
    return [sum(score for _, _, score in await standings(lb, board.name)) for board in BOARDS]


async def job(lb, name):
    """Do a job of the keeper's."""
    found = lb.runtime.keeper.job(name)
    return await found.run(lb.runtime.clock())


@pytest.fixture
def path(tmp_path):
    return tmp_path / "scores.db"


async def test_older_at_a_start(lbs, path, tmp_path, caplog):
    counted = HEALS.values["older_ledger",]
    async with lbs(*BOARDS) as lb:
        await fill(lb, 20)
    shutil.copy(path, tmp_path / "backup.db")
    async with lbs(*BOARDS) as lb:
        await fill(lb, 50)
    put_back(tmp_path / "backup.db", path)
    async with lbs(*BOARDS) as lb:
        assert await totals(lb) == [20, 20]
        if over_redis is lbs.func:
            told = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
            assert len(told) == 2
            assert "50 events of board 'game' that were counted are lost" in told[0]
            status = await lb.admin.keeper_status()
            assert (status.older_ledger_boards, status.older_ledger_events) == (2, 100)
            assert HEALS.values["older_ledger",] == counted + 2
        await fill(lb, 60)
        assert await totals(lb) == [80, 80]
        assert await differences(lb) == []


@pytest.mark.parametrize("leftovers", [False, True])
async def test_older_under_a_running_process(lbs, path, tmp_path, leftovers):
    async with lbs(*BOARDS) as lb:
        await fill(lb, 20)
        await back_up(lb, tmp_path / "backup.db")
        await fill(lb, 50)
        before = lb.runtime.identity.number
        put_back(tmp_path / "backup.db", path, leftovers)
        # Noticed with the first submission, which goes to a strong board, too.
        for call in (lb.increment("game", "p0", 1), lb.top("prize")):
            with pytest.raises(EngineUnavailable):
                await call
        assert any("'prize'" in reason for reason in await lb.ready())
        assert "game, prize" in await job(lb, "compare")
        assert await lb.ready() == []
        assert await totals(lb) == [20, 20]
        await fill(lb, 60)
        assert await totals(lb) == [80, 80]
        assert await differences(lb) == []
        assert lb.runtime.identity.number > before
        assert len(await recorded(lb, "game")) == 80
        await lb.runtime.checkpoints.checkpoint()
    async with lbs(*BOARDS) as lb:
        assert await totals(lb) == [80, 80]
        assert await differences(lb) == []


async def test_nothing_acknowledged_is_in_a_file_that_nobody_finds(lbs, path, tmp_path):
    async with lbs(Board("coins", operator="sum")) as lb:
        await fill(lb, 5, "coins")
        await back_up(lb, tmp_path / "backup.db")
        sending = asyncio.gather(*[lb.increment("coins", "meanwhile", 1) for _ in range(30)])
        await asyncio.sleep(0)
        put_back(tmp_path / "backup.db", path)
        for _ in range(20):
            await lb.increment("coins", "later", 1)
        await sending
        await job(lb, "compare")
        assert [event.player for event in await recorded(lb, "coins")].count("later") == 20
        assert await differences(lb) == []


async def test_no_name_and_no_board_goes_into_a_file_that_nobody_finds(lbs, path, tmp_path):
    async with lbs(Board("coins", operator="sum")) as lb:
        await back_up(lb, tmp_path / "backup.db")
        put_back(tmp_path / "backup.db", path)
        await lb.players.name("p", "Name")
        await lb.admin.put_board(Board("new"), confirm=True)
    async with lbs() as lb:
        assert [info.board.name for info in await lb.admin.boards()] == ["coins", "new"]
        await lb.submit("new", "p", 1)
        assert (await lb.top("new")).standings[0].name == "Name"


async def test_a_ledger_that_is_gone_takes_nothing(run, path):
    async with run(*BOARDS) as lb:
        await fill(lb, 3)
        path.rename(path.with_name("away"))
        for call in (lb.increment("game", "p0", 1), lb.ready()):
            with pytest.raises(LedgerUnavailable, match="deleted or moved away"):
                await call
        path.with_name("away").rename(path)
        await lb.ready()
        await fill(lb, 3)
        assert await totals(lb) == [6, 6]
        assert await differences(lb) == []


async def test_boards_and_names_are_those_of_the_older_ledger(lbs, path, tmp_path):
    async with lbs(Board("best"), Board("kept", operator="sum")) as lb:
        await lb.submit("best", "p", 5)
        await lb.players.name("p", "Before")
        await back_up(lb, tmp_path / "backup.db")
        await lb.admin.put_board(Board("best", order="asc"), confirm=True)
        await lb.admin.put_board(Board("new"), confirm=True)
        await lb.submit("best", "p", 3)
        await lb.submit("new", "q", 1)
        await lb.players.name("p", "After")
        put_back(tmp_path / "backup.db", path)
        await job(lb, "compare")
        assert [info.board.name for info in await lb.admin.boards()] == ["best", "kept"]
        assert (await lb.admin.board("best")).board.order == "desc"
        assert (await lb.top("best")).standings[0].name == "Before"
        with pytest.raises(UnknownBoard):
            await lb.submit("new", "q", 1)
        await lb.submit("best", "p", 7)
        assert await standings(lb, "best") == [(1, "p", 7)]
        await lb.admin.put_board(Board("new"), confirm=True)
        with pytest.raises(UnknownPlayer):
            await lb.rank("new", "q")
        await lb.submit("new", "r", 2)
        assert await standings(lb, "new") == [(1, "r", 2)]
        assert await differences(lb) == []


async def test_roll_ups_are_rebuilt(lbs, path, tmp_path):
    async with lbs(Board("daily", windows=["daily"], operator="sum"), WEEK) as lb:
        await fill(lb, 6, "daily")
        await back_up(lb, tmp_path / "backup.db")
        await fill(lb, 6, "daily")
        put_back(tmp_path / "backup.db", path)
        await job(lb, "compare")
        await fill(lb, 3, "daily")
        assert {player: score for _, player, score in await standings(lb, "week")} == {"p0": 3, "p1": 3, "p2": 3}
        assert await differences(lb) == []


async def test_numbers_of_writers_are_never_used_again(path, clock, tmp_path):
    url = own_redis()
    numbers = []
    for _ in range(4):
        async with over_redis(path, url, clock, *BOARDS) as lb:
            if not numbers:
                await back_up(lb, tmp_path / "backup.db")
            numbers.append(lb.runtime.identity.number)
            await fill(lb, 3)
        # The clock stands still, and the ledger has forgotten all but the first.
        put_back(tmp_path / "backup.db", path)
    assert sorted(set(numbers)) == numbers
    assert all(number < 2**31 for number in numbers)


@pytest.mark.parametrize("while_away", [0, 40])
async def test_a_number_that_was_given_while_the_engine_was_away(path, clock, tmp_path, while_away):
    coins = Board("coins", operator="sum")
    with single() as server:
        opened = partial(over_redis, path, f"{server.url}?deadline=1", clock, coins)
        async with opened() as lb:
            await fill(lb, 6, "coins")
            await back_up(lb, tmp_path / "backup.db")
        async with opened() as lb:
            await fill(lb, 30, "coins")
            lost = lb.runtime.identity.number
        put_back(tmp_path / "backup.db", path)
        server.pause()
        async with opened() as lb:
            assert lb.runtime.identity.number == lost
            await fill(lb, while_away, "coins")
            server.resume()
            while lb.runtime.definitions.unloaded:
                # Until the engine is tried again.
                await asyncio.sleep(0.05)
                with suppress(EngineUnavailable):
                    await lb.runtime.keeper.job("refresh").run(lb.runtime.clock())
            await fill(lb, 3, "coins")
            for name in ("catch up", "compare"):
                await job(lb, name)
            assert sum(score for _, _, score in await standings(lb, "coins")) == 9 + while_away
            assert await differences(lb) == []
            assert lb.runtime.identity.number > lost


async def test_two_processes_find_it_at_once(path, tmp_path):
    url = own_redis()
    async with (
        leaderboards(f"sqlite:///{path}", url, BOARDS) as one,
        leaderboards(f"sqlite:///{path}", url) as other,
    ):
        await fill(one, 10)
        await back_up(one, tmp_path / "backup.db")
        await asyncio.gather(fill(one, 20), fill(other, 20))
        put_back(tmp_path / "backup.db", path)
        await asyncio.gather(job(one, "compare"), job(other, "compare"))
        await asyncio.gather(fill(one, 20), fill(other, 20))
        for lb in (one, other):
            assert await totals(lb) == [50, 50]
            assert await differences(lb) == []


def test_what_is_kept_for_the_ledger_is_not_lost():
    assert lost_events({1: 10}, {}, {1: 10}) == lost_events({}, {}, {1: 3}) == lost_events({1: 10}, {1: 5}, {1: 4}) == {}
    assert lost_events({1: 10}, {1: 5}, {1: 2}) == {1: 2}
    assert lost_events({1: 10}, {}, {}) == {1: 10}


# -- PostgreSQL ---------------------------------------------------------------------------------------------------------

TABLES = ["boards", "writers", "events", "positions", "idempotency", "checkpoints", "rankings", "standings", "players", "ledger"]
TABLES += ["audit", "audit_head"]


@asynccontextmanager
async def postgres(engine):
    url = shared_postgres().new_database()
    async with leaderboards(url, engine or "embedded://", BOARDS) as lb:
        connection = await asyncpg.connect(url)
        try:
            yield lb, connection
        finally:
            await connection.close()


async def save(connection):
    await connection.execute("CREATE SCHEMA backup")
    for table in TABLES:
        await connection.execute(f"CREATE TABLE backup.{table} AS TABLE {table}")


async def restore(connection):
    """Bring back what was saved, as `pg_restore` does, and cut everybody off."""
    async with connection.transaction():
        await connection.execute(f"TRUNCATE {', '.join(TABLES)}")
        for table in TABLES:
            overriding = "OVERRIDING SYSTEM VALUE" if table == "writers" else ""
            await connection.execute(f"INSERT INTO {table} {overriding} SELECT * FROM backup.{table}")
        await connection.execute(CUT)


@pytest.mark.parametrize("shared", [False, True])
async def test_an_older_postgres(shared):
    async with postgres(own_redis() if shared else None) as (lb, connection):
        await fill(lb, 20)
        await save(connection)
        await fill(lb, 50)
        before = lb.runtime.identity.number
        await restore(connection)
        with pytest.raises((EngineUnavailable, LedgerUnavailable)):
            await lb.increment("game", "p0", 1)
        await job(lb, "compare")
        async with asyncio.timeout(20):
            # Whoever was cut off may rebuild them at the same time, and readers see the old rankings until that is done.
            while await totals(lb) != [20, 20]:
                await job(lb, "compare")
        await fill(lb, 60)
        assert await totals(lb) == [80, 80]
        assert await differences(lb) == []
        assert lb.runtime.identity.number > before
        assert await connection.fetchval("SELECT count(*) FROM events WHERE board = 1") == 80


async def test_a_reconnect_is_not_an_older_ledger():
    async with postgres(own_redis()) as (lb, connection):
        await fill(lb, 20)
        before = lb.runtime.identity.number
        await connection.execute(CUT)
        with suppress(LedgerUnavailable):
            # Who is cut off may notice it only now.
            await lb.runtime.ledger.probe(lb.runtime.clock())
        await job(lb, "compare")
        await fill(lb, 20)
        assert await totals(lb) == [40, 40]
        assert lb.runtime.identity.number == before
        assert (await lb.admin.keeper_status()).older_ledger_boards == 0


async def test_what_is_kept_follows_though_the_first_of_it_is_lost(ledger):
    await ledger.events.restore([event(4, "a", 1), event(5, "a", 1)])
    await ledger.events.restore([event(5, "a", 1), event(6, "a", 1)])
    assert await ledger.events.positions(1) == {1: 6}
