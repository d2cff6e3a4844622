import asyncio
import hashlib
import sqlite3
from functools import cached_property
from itertools import pairwise
from unittest.mock import patch

import msgspec
import pytest

from keepscore import Board, Entry, Leaderboards, Window
from keepscore.errors import EngineUnavailable, InvalidTime, LedgerUnavailable, UnknownWindow, WindowClosed, WindowOpen
from keepscore.ledgers.base import Ledger, Slot
from keepscore.ledgers.sqlite import SqliteLedger
from tests.contract import oracle
from tests.contract.backends import redis_url
from tests.contract.opened import DAY, HOUR, NOON, SECOND, Clock, KeeperByHand, at, killed, live_of, opened, recorded
from tests.postgres_servers import shared_postgres

MIDNIGHT = NOON + 12 * HOUR


class Shop:
    """Leaderboards on an engine of each kind, with a keeper that works when it is told to."""

    def __init__(self, folder, engine, clock):
        self.path, self.engine, self.clock = folder / "scores.db", engine, clock

    @cached_property
    def ledger(self):
        return shared_postgres().new_database() if self.engine == "postgres" else f"sqlite:///{self.path}"

    def open(self, *boards, ledger=None):
        url = redis_url() if self.engine == "redis" else "embedded://"
        lb = Leaderboards.open(self.ledger, url, boards, self.clock)
        if ledger is not None:
            lb.ledger = ledger(str(self.path), shared=self.engine == "redis")
        lb.path = self.path
        return lb


@pytest.fixture(params=["embedded", "redis"])
def shop(request, tmp_path, clock):
    with patch("keepscore.leaderboards.Keeper", KeeperByHand):
        yield Shop(tmp_path, request.param, clock)


@pytest.fixture(params=["embedded", "redis", "postgres"])
def everywhere(request, tmp_path, clock):
    """The same, with a ledger in PostgreSQL, too."""
    with patch("keepscore.leaderboards.Keeper", KeeperByHand):
        yield Shop(tmp_path, request.param, clock)


async def close(lb, now=None):
    """Let the keeper close what is due; what it did."""
    run = await lb.run_keeper(None if now is None else at(now))
    (job,) = [job for job in run.jobs if job.name == "close"]
    assert job.error is None, job.error
    return job.result


async def archives(lb, board="b", kind="closed", **wanted):
    live = await live_of(lb, board)
    return {
        (a.slot, a.number): (a, await lb.ledger.archive_rows(a.id, 0, 10_000))
        for a in await lb.ledger.archives(live.id, kind=kind, **wanted)
    }


async def expected(lb, board, window, window_id, keep=10_000):
    """The archive that a window should have, from the plain fold of all of its events."""
    live = await live_of(lb, board)
    found = {}
    events = await recorded(lb, board)
    for ranking, states in oracle.fold(live, events).items():
        if ranking[1:3] == (window, window_id):
            rows = oracle.ranked(live.board, states)
            found[Slot(*ranking[1:]), 1] = (
                len(rows),
                [(*oracle.ranks(live.board, rows, i), row.player, row.score, row.since) for i, row in enumerate(rows[:keep])],
            )
    return found


def plain(archived):
    return {name: (archive.players, rows) for name, (archive, rows) in archived.items()}


async def fill(lb, board="b", players=30, spread=DAY, **fields):
    """Scores of the day before now, with equal ones among them."""
    sliced = (await lb.board(board)).board.segments

    def entry(n):
        moment = at(lb.clock() - n * spread // (players + 1))
        return Entry(player_id=f"p{n:03}", score=n % 7, at=moment, segments={"region": "eu" if n % 3 else "us"} if sliced else None)

    entries = [entry(n) for n in range(players)]
    assert (await lb.submit_many(board, entries, **fields)).rejected == []


@pytest.mark.parametrize("ties", ["first", "player"])
async def test_a_day_is_closed_once_with_the_grace_over(everywhere, clock, ties):
    async with everywhere.open(Board("b", ties=ties, windows=["daily", "all_time"], segments=["region"], grace="1h")) as lb:
        clock.now = MIDNIGHT - SECOND
        await fill(lb, spread=DAY - HOUR)
        for now in (MIDNIGHT - SECOND, MIDNIGHT, MIDNIGHT + HOUR - 1):
            clock.now = now
            assert await close(lb) is None
        # Late, and within the grace.
        await lb.submit("b", "late", 5, at=at(MIDNIGHT - 1))
        clock.now = MIDNIGHT + HOUR + 10 * SECOND
        with pytest.raises(WindowClosed, match="2026-11-15"):
            await lb.submit("b", "later", 5, at=at(MIDNIGHT - 1))
        assert await close(lb) == "closed 1 windows: b 2026-11-15"
        wanted = await expected(lb, "b", "daily", "2026-11-15")
        assert len(wanted) == 3
        first = await archives(lb)
        assert plain(first) == wanted
        (archive, rows) = first[Slot("daily", "2026-11-15", ""), 1]
        assert archive.taken == MIDNIGHT + HOUR
        assert archive.digest == hashlib.sha256(msgspec.json.encode(rows)).hexdigest()
        # A clock that jumps, and another day without scores.
        for now in (clock.now - HOUR, clock.now + HOUR, clock.now + DAY):
            clock.now = now
            assert await close(lb) is None
        # What is backfilled later does not change it.
        await lb.submit_many("b", [Entry(player_id="past", score=9, at=at(MIDNIGHT - 1))], backfill=True)
        assert await close(lb) is None
        assert await archives(lb) == first


async def test_several_windows_are_overdue_after_a_long_pause(shop, clock):
    board = Board("b", windows={"daily": Window(archive=3), "weekly": Window(archive=0), "monthly": Window(archive="all")}, grace="0s")
    async with shop.open(board) as lb:
        for day in range(5):
            clock.now = NOON + day * DAY
            await fill(lb, players=5 + day, spread=HOUR)
    clock.now = NOON + 40 * DAY
    async with shop.open() as lb:
        assert (await close(lb)).startswith("closed 8 windows")
        found = plain(await archives(lb))
        wanted = {}
        for day in range(15, 20):
            wanted |= await expected(lb, "b", "daily", f"2026-11-{day}", 3)
        for week in (46, 47):
            wanted |= await expected(lb, "b", "weekly", f"2026-W{week}", 0)
        wanted |= await expected(lb, "b", "monthly", "2026-11")
        assert found == wanted


async def test_a_ranking_that_has_expired_is_taken_from_the_ledger(everywhere, clock):
    board = Board("b", ties="player", windows={"daily": Window(ttl="1h", archive="all")}, segments=["region"])
    async with everywhere.open(board) as lb:
        await fill(lb, spread=6 * HOUR)
        await lb.submit_many("b", [Entry(player_id="x", score=1, at=at(NOON - 3 * DAY))], backfill=True)
        clock.now = NOON + 4 * DAY
        await lb._engine.expire(clock.now)
        live = await live_of(lb, "b")
        assert await lb._engine.rankings(live.id) == []
        assert (await close(lb)).startswith("closed 2 windows")
        wanted = await expected(lb, "b", "daily", "2026-11-15") | await expected(lb, "b", "daily", "2026-11-12")
        assert plain(await archives(lb)) == wanted


@pytest.mark.parametrize(
    ("zone", "day", "ends"),
    [("Europe/Berlin", "2026-10-25", "2026-10-26T00:00:00+01:00"), ("America/New_York", "2026-03-08", "2026-03-09T00:00:00-04:00")],
)
async def test_days_on_which_clocks_change(run, clock, zone, day, ends):
    from datetime import datetime

    end = round(datetime.fromisoformat(ends).timestamp() * 1000)
    async with run(Board("b", windows=["daily"], timezone=zone, grace="1m")) as lb:
        clock.now = end - 1
        await lb.submit("b", "in", 1)
        clock.now = end
        await lb.submit("b", "next", 1)
        clock.now = end + 60 * SECOND - 1
        assert await close(lb) is None
        clock.now += 1
        assert await close(lb) == f"closed 1 windows: b {day}"
        ((_, rows),) = (await archives(lb)).values()
        assert [row.player for row in rows] == ["in"]


async def test_seasons_with_gaps_and_by_cron(run, clock):
    once = Board("once", windows={"season": Window(start="2026-11-01", end="2026-11-16")}, grace="0s")
    cron = Board("cron", windows={"season": Window(cron="*/10 * * * *")}, grace="5m")
    async with run(once, cron) as lb:
        for name in ("once", "cron"):
            await lb.submit(name, "p", 1)
        clock.now = NOON + 14 * 60 * SECOND
        assert await close(lb) is None
        clock.now = NOON + 15 * 60 * SECOND
        assert await close(lb) == "closed 1 windows: cron 2026-11-15T1200"
        for now in (MIDNIGHT, MIDNIGHT + 9 * DAY):
            clock.now = now
            assert await close(lb) == ("closed 1 windows: once 2026-11-01" if now == MIDNIGHT else None)


async def test_the_keeper_waits_while_the_past_is_filled_in(run, clock):
    async with run(Board("b", windows=["daily"], grace="0s")) as lb:
        closing = next(task.job for task in lb._keeper._tasks if task.job.name == "close")
        await lb.submit_many("b", [Entry(player_id="a", score=1, at=at(NOON - 9 * DAY))], backfill=True)
        assert await closing.look(clock.now) == ""
        clock.now += 50 * SECOND
        await lb.submit_many("b", [Entry(player_id="b", score=1, at=at(NOON - 9 * DAY))], backfill=True)
        done = ""
        while not done:
            clock.now += 15 * SECOND
            done = await closing.look(clock.now)
            # It looks about once a minute, and wants to see no change for a minute.
            assert clock.now <= NOON + 210 * SECOND
        assert clock.now >= NOON + 110 * SECOND
        assert [len(rows) for _, rows in (await archives(lb)).values()] == [2]
        # In time, it does not wait.
        await lb.submit("b", "c", 1)
        clock.now = MIDNIGHT
        assert await closing.look(clock.now) == "closed 1 windows: b 2026-11-15"


async def test_scores_of_a_board_with_decay_as_they_were_shown_at_the_end(run, clock):
    async with run(Board("b", windows=["daily"], decay={"half_life": "12h"}, grace="0s")) as lb:
        await lb.submit("b", "p", 1000)
        clock.now = MIDNIGHT + DAY
        await close(lb)
        ((_, rows),) = (await archives(lb)).values()
        assert [(row.player, row.score) for row in rows] == [("p", 500)]


async def test_backfill_while_a_window_is_copied(shop, clock):
    """Standings are those of one moment, whatever comes in while they are copied in many parts."""

    class Busy(SqliteLedger):
        at_work = None

        async def write_archive(self, *args):
            await super().write_archive(*args)
            if self.at_work:
                work, self.at_work = self.at_work, None
                await work()

    async with shop.open(Board("b", windows={"daily": Window(archive="all")}, segments=["region"], grace="0s"), ledger=Busy) as lb:
        await fill(lb, players=2500, spread=HOUR)
        clock.now = MIDNIGHT + 10 * SECOND
        wanted = await expected(lb, "b", "daily", "2026-11-15")

        async def backfill():
            past = [Entry(player_id=f"p{n:03}", score=9, at=at(NOON), segments={"region": "eu"}) for n in (2, 2400)]
            await lb.submit_many("b", past, backfill=True)

        lb.ledger.at_work = backfill
        await close(lb)
        found = plain(await archives(lb))
        assert found == wanted


# -- failures -----------------------------------------------------------------------------------------------------------

CALLS = ["begin_archive", "write_archive", "finish_archive", "put_value", "archives", "positions", "value", "has_events", "first_event"]


class BrittleLedger(SqliteLedger):
    """Fails at the n-th call that the keeper makes, before or after it is done."""

    left = None
    after = False


def _brittle(name):
    async def method(self, *args, **kwargs):
        if self.left is None or name not in CALLS:
            return await getattr(SqliteLedger, name)(self, *args, **kwargs)
        self.left -= 1
        if self.left < 0 and not self.after:
            raise LedgerUnavailable("cut short")
        found = await getattr(SqliteLedger, name)(self, *args, **kwargs)
        if self.left < 0:
            raise LedgerUnavailable("cut short")
        return found

    return method


for _name in CALLS:
    setattr(BrittleLedger, _name, _brittle(_name))


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("what", ["close", "snapshot"])
async def test_cut_short_anywhere_and_done_again(tmp_path, what, after):
    window = Window(archive="all", snapshot="hourly", ttl="30h")
    calls = 0
    results = []
    while True:
        clock = Clock(NOON)
        async with opened(
            tmp_path / f"{what}{calls}.db",
            clock,
            Board("b", windows={"daily": window}, segments=["region"], grace="0s"),
            ledger=BrittleLedger,
        ) as lb:
            await fill(lb, spread=HOUR)
            job = next(task.job for task in lb._keeper._tasks if task.job.name == what)
            clock.now = MIDNIGHT if what == "close" else NOON + HOUR
            lb.ledger.left, lb.ledger.after = calls, after
            failed = (await asyncio.gather(job.run(clock.now), return_exceptions=True))[0]
            lb.ledger.left = None
            path = killed(lb, f"{what}{calls}.killed.db")
            await job.run(clock.now)
            kind = "closed" if what == "close" else "snapshot"
            results.append(plain(await archives(lb, kind=kind)))
        async with opened(path, clock) as lb:
            job = next(task.job for task in lb._keeper._tasks if task.job.name == what)
            await job.run(clock.now)
            await job.run(clock.now)
            results.append(plain(await archives(lb, kind=kind)))
        with sqlite3.connect(path) as database:
            assert database.execute("SELECT count(*) FROM snapshots WHERE archive NOT IN (SELECT id FROM archives)").fetchone() == (0,)
        database.close()
        if not isinstance(failed, LedgerUnavailable):
            break
        calls += 1
    assert calls > 6
    assert len(results[0]) == 3
    assert all(one == other for one, other in pairwise(results))


@pytest.mark.parametrize("shop", ["redis"], indirect=True)
async def test_two_keepers_at_once(shop, clock):
    """Rankings in the process have one keeper only."""
    board = Board("b", windows={"daily": Window(archive="all", snapshot="daily")}, segments=["region"], grace="0s")
    async with shop.open(board) as one, shop.open() as two:
        await fill(one, players=3000, spread=HOUR)
        clock.now = MIDNIGHT + 10 * SECOND
        await asyncio.gather(one.run_keeper(), two.run_keeper(), return_exceptions=True)
        await one.run_keeper()
        found = plain(await archives(one))
        assert found == await expected(one, "b", "daily", "2026-11-15")
        with sqlite3.connect(shop.path) as database:
            assert database.execute("SELECT count(*) FROM snapshots WHERE archive NOT IN (SELECT id FROM archives)").fetchone() == (0,)
        database.close()


async def test_a_snapshot_table_that_is_down_is_tried_again_with_growing_pauses(run, clock, caplog):
    class Down(SqliteLedger):
        down = False

        async def begin_archive(self, *args):
            if self.down:
                raise LedgerUnavailable("the snapshots are down")
            return await super().begin_archive(*args)

    async with run(Board("b", windows=["daily"], grace="0s"), ledger=Down) as lb:
        await lb.submit("b", "p", 1)
        clock.now = MIDNIGHT
        task = next(task for task in lb._keeper._tasks if task.job.name == "close")
        lb.ledger.down = True
        pauses = []
        for _ in range(9):
            await task.run(task.job.look, clock.now)
            pauses.append(round(task.due - asyncio.get_running_loop().time()))
        assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]
        assert (task.status.failures, task.status.error) == (9, "the snapshots are down")
        await lb._keeper._keep(task, True)
        found = {job.name: job for job in (await lb.keeper_status()).jobs}
        assert found["close"].error == "the snapshots are down"
        lb.ledger.down = False
        await task.run(task.job.look, clock.now)
        assert (task.status.failures, task.status.error) == (0, None)
        assert len(await archives(lb)) == 1
        told = [(record.levelname, record.message) for record in caplog.records if record.name == "keepscore.keeper"]
        assert told == [
            ("ERROR", "the keeper's job 'close' failed: the snapshots are down"),
            ("WARNING", "the keeper's job 'close' works again, after 9 failures"),
        ]


async def test_causes_that_take_turns_are_told_once_each(run, clock, caplog):
    async with run(Board("b", windows=["daily"], grace="0s")) as lb:
        task = next(task for task in lb._keeper._tasks if task.job.name == "close")
        errors = [LedgerUnavailable("it is away"), EngineUnavailable("it does not answer"), LedgerUnavailable("it is still away")]

        async def failing(now):
            raise errors[task.status.failures % 3]

        async def working(now):
            return ""

        for call in (*[failing] * 6, working, failing):
            await task.run(call, clock.now)
        told = [record.message.partition(": ")[2] for record in caplog.records if record.name == "keepscore.keeper"]
        assert told == ["it is away", "it does not answer", "", "it is away"]


async def test_what_jobs_do_is_told_while_the_ledger_is_away(run, clock):
    class Away(SqliteLedger):
        away = False

        async def value(self, name):
            if self.away:
                raise LedgerUnavailable("it is away")
            return await super().value(name)

    async with run(Board("b", windows=["daily"]), ledger=Away) as lb:
        before = await lb.keeper_status()
        lb.ledger.away = True
        assert [job.name for job in (await lb.keeper_status()).jobs] == [job.name for job in before.jobs]


# -- revisions, snapshots -----------------------------------------------------------------------------------------------


async def test_a_revision_is_audited_and_leaves_the_old_one(shop, clock):
    async with shop.open(Board("b", windows=["daily"], segments=["region"], grace="0s")) as lb:
        await fill(lb, spread=HOUR)
        with pytest.raises(WindowOpen, match="2026-11-15"):
            await lb.revise("b", "daily", "2026-11-15", "why not")
        clock.now = MIDNIGHT + 10 * SECOND
        await close(lb)
        before = await archives(lb)
        await lb.submit_many("b", [Entry(player_id="p001", score=99, at=at(NOON), segments={"region": "asia"})], backfill=True)
        made = await lb.revise("b", "daily", "2026-11-15", "the score of p001 was lost")
        assert (made.number, made.total_players) == (2, 30)
        after = await archives(lb)
        assert {name: found for name, found in after.items() if name[1] == 1} == before
        wanted = await expected(lb, "b", "daily", "2026-11-15")
        assert plain({(slot, 1): found for (slot, number), found in after.items() if number == 2}) == wanted
        with sqlite3.connect(shop.path) as database:
            action, board, detail = database.execute("SELECT action, board, detail FROM audit ORDER BY id DESC LIMIT 1").fetchone()
        database.close()
        assert (action, board) == ("revise", "b")
        assert msgspec.json.decode(detail)["reason"] == "the score of p001 was lost"
        assert (await lb.revise("b", "daily", "2026-11-15", "again")).number == 3


async def test_nothing_is_to_be_revised_where_nobody_scored(shop, clock):
    async with shop.open(Board("b", windows=["daily"], grace="0s")) as lb:
        await lb.submit("b", "p", 1)
        clock.now = MIDNIGHT
        with pytest.raises(UnknownWindow, match="nobody scored in the daily window 2026-11-10"):
            await lb.revise("b", "daily", "2026-11-10", "to be sure")
        assert await archives(lb) == {}


@pytest.mark.parametrize("ties", ["first", "player"])
async def test_snapshots_by_schedule(everywhere, clock, ties):
    board = Board(
        "b",
        ties=ties,
        windows={"all_time": Window(snapshot="daily", archive=10), "daily": Window()},
        segments=["region"],
        timezone="Asia/Tokyo",
    )
    async with everywhere.open(board) as lb:
        job = next(task.job for task in lb._keeper._tasks if task.job.name == "snapshot")
        await fill(lb, spread=HOUR)
        # Before the board was there.
        assert await job.look(clock.now) == ""
        # The day begins at 15:00 UTC.
        clock.now = NOON + 3 * HOUR - 1
        assert await job.look(clock.now) == ""
        clock.now += 2 * SECOND
        assert await job.look(clock.now) == "snapshots of b all_time"
        assert await job.look(clock.now) == ""
        wanted = {
            (slot, (NOON + 3 * HOUR) // 1000): found for (slot, _), found in (await expected(lb, "b", "all_time", "all_time", 10)).items()
        }
        found = await archives(lb, kind="snapshot")
        assert plain(found) == wanted
        assert {archive.taken for archive, _ in found.values()} == {NOON + 3 * HOUR}
        # Some days later, the last one is taken, late, and says so.
        clock.now += 3 * DAY + HOUR
        await lb.submit("b", "new", 50)
        assert await job.look(clock.now) == "snapshots of b all_time"
        last = {archive.number: archive.taken for archive, _ in (await archives(lb, kind="snapshot")).values()}
        assert last == {(NOON + 3 * HOUR) // 1000: NOON + 3 * HOUR, (NOON + 3 * HOUR + 3 * DAY) // 1000: clock.now}
        clock.now -= HOUR
        assert await job.look(clock.now) == ""


async def test_what_is_closed_takes_no_scores_though_the_clock_is_put_back(everywhere, clock):
    async with everywhere.open(Board("b", windows=["daily", "all_time"], grace="10m")) as lb:
        await lb.submit("b", "p", 5)
        clock.now = MIDNIGHT + HOUR
        assert await close(lb) == "closed 1 windows: b 2026-11-15"
        clock.now = MIDNIGHT - HOUR
        for moment in (None, at(clock.now - HOUR)):
            with pytest.raises(WindowClosed, match="2026-11-15"):
                await lb.submit("b", "late", 9, at=moment)
        receipt = await lb.submit_many("b", [Entry(player_id="late", score=9)])
        assert (receipt.accepted, receipt.rejected[0].type) == (0, "urn:keepscore:window-closed")
        assert [found.state for found in (await lb.windows("b", window="daily")).windows] == ["closed"]
    # A process that starts with such a clock knows it, too.
    async with everywhere.open() as lb:
        with pytest.raises(WindowClosed):
            await lb.submit("b", "late", 9)
        clock.now = MIDNIGHT + 2 * HOUR
        assert (await lb.submit("b", "late", 9)).rank == 1
        assert [found.players for found in (await lb.windows("b", window="daily")).windows] == [1, 1]


async def test_now_may_not_lie_in_the_future(run, clock):
    async with run(Board("b")) as lb:
        with pytest.raises(InvalidTime, match="future"):
            await lb.run_keeper(at(clock.now + 1000))
        with pytest.raises(InvalidTime, match="offset"):
            await lb.run_keeper("2026-11-15")
        assert [job.name for job in (await lb.run_keeper(at(clock.now - DAY))).jobs if job.error] == []


async def test_old_keys_are_forgotten(everywhere, clock):
    async with everywhere.open(Board("b", operator="sum")) as lb:
        await lb.increment("b", "p", 1, idempotency_key="old")
        clock.now += 7 * DAY
        await lb.increment("b", "p", 1, idempotency_key="new")
        await lb.run_keeper()
        assert (await lb.increment("b", "p", 1, idempotency_key="old")).replayed
        clock.now += 1
        await lb.run_keeper()
        assert (await lb.increment("b", "p", 1, idempotency_key="new")).replayed
        assert (await lb.increment("b", "p", 1, idempotency_key="old")).score == 3


async def test_a_sample_is_verified_and_repaired(shop, clock, caplog):
    async with shop.open(Board("b", operator="sum")) as lb:
        await lb.increment("b", "p", 5)
        live = await live_of(lb, "b")
        (ranking,) = await lb._engine.rankings(live.id)
        from keepscore.scoring import State

        await lb._engine.restate(ranking, "p", State(77, NOON))
        (job,) = [job for job in (await lb.run_keeper()).jobs if job.name == "verify"]
        assert job.result == "repaired 1 of 1 players: b all_time p"
        assert "is repaired" in caplog.text
        assert (await lb.rank("b", "p")).score == 5
        assert (await lb.verify("b")).ok


def test_every_method_that_fails_in_the_tests_is_one_of_the_ledger():
    assert all(hasattr(Ledger, name) for name in CALLS)
