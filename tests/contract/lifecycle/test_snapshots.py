"""Snapshots by schedule, and archives that are revised: the old ones stay."""

import sqlite3

import pytest

from keepscore import Board, Entry, Window
from keepscore.errors import UnknownWindow, WindowOpen
from tests.contract.lifecycle.closed_windows import MIDNIGHT, archives, close, expected, fill, plain
from tests.contract.opened import DAY, HOUR, NOON, SECOND, at


async def test_a_revision_is_audited_and_leaves_the_old_one(shop, clock):
    async with shop.open(Board("b", windows=["daily"], segments=["region"], grace="0s")) as lb:
        await fill(lb, spread=HOUR)
        with pytest.raises(WindowOpen, match="2026-11-15"):
            await lb.admin.revise("b", "daily", "2026-11-15", "why not")
        clock.now = MIDNIGHT + 10 * SECOND
        await close(lb)
        before = await archives(lb)
        await lb.submit_many("b", [Entry(player_id="p001", score=99, at=at(NOON), segments={"region": "asia"})], backfill=True)
        made = await lb.admin.revise("b", "daily", "2026-11-15", "the score of p001 was lost")
        assert (made.number, made.total_players) == (2, 30)
        after = await archives(lb)
        assert {name: found for name, found in after.items() if name[1] == 1} == before
        wanted = await expected(lb, "b", "daily", "2026-11-15")
        assert plain({(slot, 1): found for (slot, number), found in after.items() if number == 2}) == wanted
        with sqlite3.connect(shop.path) as database:
            action, board, reason = database.execute("SELECT action, board, reason FROM audit ORDER BY id DESC LIMIT 1").fetchone()
        database.close()
        assert (action, board, reason) == ("revise", "b", "the score of p001 was lost")
        assert (await lb.admin.revise("b", "daily", "2026-11-15", "again")).number == 3


async def test_nothing_is_to_be_revised_where_nobody_scored(shop, clock):
    async with shop.open(Board("b", windows=["daily"], grace="0s")) as lb:
        await lb.submit("b", "p", 1)
        clock.now = MIDNIGHT
        with pytest.raises(UnknownWindow, match="nobody scored in the daily window 2026-11-10"):
            await lb.admin.revise("b", "daily", "2026-11-10", "to be sure")
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
        job = lb.runtime.keeper.job("snapshot")
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
