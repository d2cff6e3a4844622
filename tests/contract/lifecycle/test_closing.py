"""Windows that are closed: archived once, whatever comes between, and closed for good."""

import asyncio
import hashlib
import sqlite3
from itertools import pairwise

import msgspec
import pytest

from keepscore import Board, Entry, Window
from keepscore.errors import LedgerUnavailable, WindowClosed
from keepscore.storage.ledgers.slots import Slot
from keepscore.storage.ledgers.sqlite.ledger import SqliteLedger
from tests.contract.lifecycle.closed_windows import MIDNIGHT, archives, close, expected, fill, plain
from tests.contract.opened import DAY, HOUR, NOON, SECOND, Clock, at, killed, live_of, opened
from tests.support.wrapping import wrap


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
        assert await close(lb) == "closed 1 window: b 2026-11-15"
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
        await lb.runtime.engine.expire(clock.now)
        live = await live_of(lb, "b")
        assert await lb.runtime.engine.rankings(live.id) == []
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
        assert await close(lb) == f"closed 1 window: b {day}"
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
        assert await close(lb) == "closed 1 window: cron 2026-11-15T1200"
        for now in (MIDNIGHT, MIDNIGHT + 9 * DAY):
            clock.now = now
            assert await close(lb) == ("closed 1 window: once 2026-11-01" if now == MIDNIGHT else None)


async def test_the_keeper_waits_while_the_past_is_filled_in(run, clock):
    async with run(Board("b", windows=["daily"], grace="0s")) as lb:
        closing = lb.runtime.keeper.job("close")
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
        assert await closing.look(clock.now) == "closed 1 window: b 2026-11-15"


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

        def __init__(self, path, shared=False):
            super().__init__(path, shared)
            wrap(self.archives, "write", self._write)

        async def _write(self, write, *args):
            await write(*args)
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

        lb.runtime.ledger.at_work = backfill
        await close(lb)
        found = plain(await archives(lb))
        assert found == wanted


# -- failures -----------------------------------------------------------------------------------------------------------

#: The roles of the ledger that the keeper uses, and the calls that it makes there.
CALLS = {
    "archives": ["begin", "write", "finish", "find"],
    "marks": ["read", "write"],
    "events": ["positions", "any_between", "first_time"],
}


class BrittleLedger(SqliteLedger):
    """Fails at the n-th call that the keeper makes, before or after it is done."""

    left = None
    after = False

    def __init__(self, path):
        super().__init__(path)
        for role, methods in CALLS.items():
            for method in methods:
                wrap(getattr(self, role), method, self._count)

    async def _count(self, method, *args, **kwargs):
        if self.left is None:
            return await method(*args, **kwargs)
        self.left -= 1
        if self.left < 0 and not self.after:
            raise LedgerUnavailable("cut short")
        found = await method(*args, **kwargs)
        if self.left < 0:
            raise LedgerUnavailable("cut short")
        return found


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
            job = lb.runtime.keeper.job(what)
            clock.now = MIDNIGHT if what == "close" else NOON + HOUR
            lb.runtime.ledger.left, lb.runtime.ledger.after = calls, after
            failed = (await asyncio.gather(job.run(clock.now), return_exceptions=True))[0]
            lb.runtime.ledger.left = None
            path = killed(lb, f"{what}{calls}.killed.db")
            await job.run(clock.now)
            kind = "closed" if what == "close" else "snapshot"
            results.append(plain(await archives(lb, kind=kind)))
        async with opened(path, clock) as lb:
            job = lb.runtime.keeper.job(what)
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
        await asyncio.gather(one.admin.run_keeper(), two.admin.run_keeper(), return_exceptions=True)
        await one.admin.run_keeper()
        found = plain(await archives(one))
        assert found == await expected(one, "b", "daily", "2026-11-15")
        with sqlite3.connect(shop.path) as database:
            assert database.execute("SELECT count(*) FROM snapshots WHERE archive NOT IN (SELECT id FROM archives)").fetchone() == (0,)
        database.close()


async def test_what_is_closed_takes_no_scores_though_the_clock_is_put_back(everywhere, clock):
    async with everywhere.open(Board("b", windows=["daily", "all_time"], grace="10m")) as lb:
        await lb.submit("b", "p", 5)
        clock.now = MIDNIGHT + HOUR
        assert await close(lb) == "closed 1 window: b 2026-11-15"
        clock.now = MIDNIGHT - HOUR
        for moment in (None, at(clock.now - HOUR)):
            with pytest.raises(WindowClosed, match="2026-11-15"):
                await lb.submit("b", "late", 9, at=moment)
        receipt = await lb.submit_many("b", [Entry(player_id="late", score=9)])
        assert (receipt.accepted, receipt.rejected[0].type) == (0, "urn:keepscore:window-closed")
        assert [found.state for found in (await lb.history.windows("b", window="daily")).windows] == ["closed"]
    # A process that starts with such a clock knows it, too.
    async with everywhere.open() as lb:
        with pytest.raises(WindowClosed):
            await lb.submit("b", "late", 9)
        clock.now = MIDNIGHT + 2 * HOUR
        assert (await lb.submit("b", "late", 9)).rank == 1
        assert [found.players for found in (await lb.history.windows("b", window="daily")).windows] == [1, 1]
