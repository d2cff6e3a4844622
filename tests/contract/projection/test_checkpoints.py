import asyncio
import random

import pytest

from keepscore import Board, Entry, Window
from keepscore.errors import LedgerUnavailable
from keepscore.storage.ledgers.sqlite.ledger import SqliteLedger
from tests.contract.opened import DAY, HOUR, NOON, Clock, at, differences, killed, live_of, opened, recorded, standings
from tests.support import oracle
from tests.support.wrapping import wrap

SEED = 20261115


class BrittleLedger(SqliteLedger):
    """Fails at the n-th call that has to do with a checkpoint, counted from when `left` is set."""

    left = None

    def __init__(self, path):
        super().__init__(path)
        for method in ("begin", "write", "finish", "trim", "slots"):
            wrap(self.checkpoints, method, self._count)

    async def _count(self, method, *args):
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise LedgerUnavailable("cut short")
        return await method(*args)


async def play(lb, name, count, dice):
    """Some random submissions, many of them late."""
    board = (await lb.admin.board(name)).board
    entries = []
    for _ in range(count):
        what = "amount" if board.operator == "sum" or (board.operator == "last" and dice.random() < 0.5) else "score"
        moment = at(lb.runtime.clock() - dice.randrange(0, 10 * HOUR, 1000))
        segments = {"region": dice.choice(["eu", "us"])} if board.segments else None
        entries.append(Entry(player_id=f"p{dice.randrange(9)}", at=moment, segments=segments, **{what: dice.randrange(-9, 10)}))
    assert (await lb.submit_many(name, entries)).accepted == count


async def check(lb, name):
    """All that the board shows is the sorted fold of what the ledger has."""
    assert (await lb.admin.verify(name)).differences == []
    live = await live_of(lb, name)
    expected = oracle.fold(live, await recorded(lb, name))
    assert set(await lb.runtime.engine.rankings(live.id)) == set(expected)
    for ranking, players in expected.items():
        assert (await lb.runtime.engine.page(ranking, 0, 1000)).rows == oracle.ranked(live.board, players)


@pytest.mark.parametrize("operator", ["best", "sum", "last", "first"])
async def test_a_checkpoint_and_the_tail_give_what_all_events_give(run, clock, operator):
    dice = random.Random(SEED)
    async with run(Board("b", operator=operator, windows=["daily", "all_time"], segments=["region"])) as lb:
        for step in range(4):
            await play(lb, "b", 20, dice)
            if step:
                await lb.runtime.checkpoints.checkpoint()
            async with opened(killed(lb, f"killed{step}.db"), clock) as after:
                await check(after, "b")
                await play(after, "b", 10, dice)
                await after.runtime.checkpoints.checkpoint()
            async with opened(lb.path.with_name(f"killed{step}.db"), clock) as after:
                await check(after, "b")
    async with run() as lb:
        await check(lb, "b")


@pytest.mark.parametrize("operator", ["sum", "last"])
@pytest.mark.parametrize("then", ["killed", "goes on"])
@pytest.mark.parametrize("change", [None, "timezone", "segments", "season"])
async def test_a_checkpoint_that_is_cut_short_anywhere(tmp_path, operator, then, change):
    """The board may have been redefined since the last complete checkpoint; scores keep coming."""
    season = Window(start="2026-11-01", end="2026-12-01")
    first = Board("b", operator=operator, windows={"daily": Window(), "season": season}, segments=["region"])
    second = {
        None: first,
        "timezone": Board(
            "b", operator=operator, windows={"daily": Window(), "season": season}, segments=["region"], timezone="Asia/Tokyo"
        ),
        "segments": Board("b", operator=operator, windows={"daily": Window(), "season": season}),
        "season": Board("b", operator=operator, windows=["daily"], segments=["region"]),
    }[change]
    calls = 0
    while True:
        dice = random.Random(SEED)
        async with opened(tmp_path / f"{calls}.db", Clock(NOON), first, ledger=BrittleLedger) as lb:
            await play(lb, "b", 25, dice)
            await lb.runtime.checkpoints.checkpoint()
            await lb.admin.put_board(second, confirm=True)
            await play(lb, "b", 25, dice)
            lb.runtime.ledger.left = calls
            failed = await asyncio.gather(lb.runtime.checkpoints.checkpoint(), return_exceptions=True) != [None]
            lb.runtime.ledger.left = None
            await lb.submit_many("b", [Entry(player_id="tail", **{"amount" if operator == "sum" else "score": 3})])
            if then == "goes on":
                await lb.runtime.checkpoints.checkpoint()
            path = killed(lb, f"{calls}.killed.db")
        for _ in range(2):
            async with opened(path, Clock(NOON)) as lb:
                await check(lb, "b")
                await lb.runtime.checkpoints.checkpoint()
                await check(lb, "b")
        if not failed:
            break
        calls += 1
    assert calls > 3


async def test_closing_leaves_a_checkpoint_for_the_next_start(run):
    """With the keeper at work, nothing has to be folded in again: no events are read behind the checkpoint."""
    async with run(Board("b", operator="sum"), keeper="automatic") as lb:
        await play(lb, "b", 30, random.Random(SEED))
        live = await live_of(lb, "b")
    async with run() as lb:
        (point,) = await lb.runtime.ledger.checkpoints.latest(live.id)
        assert point.complete
        assert point.positions == await lb.runtime.ledger.events.positions(live.id)
        await check(lb, "b")


async def test_an_engine_that_lost_a_board_after_a_checkpoint_failed(run, clock):
    async with run(Board("b", operator="sum"), ledger=BrittleLedger) as lb:
        await play(lb, "b", 20, random.Random(SEED))
        await lb.runtime.checkpoints.checkpoint()
        await lb.increment("b", "p1", 1)
        lb.runtime.ledger.left = 1
        with pytest.raises(LedgerUnavailable):
            await lb.runtime.checkpoints.checkpoint()
        lb.runtime.ledger.left = None
        await lb.runtime.engine.forget((await live_of(lb, "b")).id)
        await lb.increment("b", "p1", 1)
        await check(lb, "b")
        await lb.runtime.checkpoints.checkpoint()
        path = killed(lb)
    async with opened(path, clock) as lb:
        await check(lb, "b")


async def test_boards_do_not_wait_for_each_other(run, clock):
    """One that is deleted while another one is checkpointed does not keep the rest from theirs."""
    async with run(*[Board(name) for name in "abc"]) as lb:
        for name in "abc":
            await lb.submit(name, "p", 1)
        checkpoint = asyncio.create_task(lb.runtime.checkpoints.checkpoint())
        await asyncio.sleep(0)
        await lb.admin.delete_board("b")
        await checkpoint
        assert (await lb.runtime.ledger.checkpoints.latest((await live_of(lb, "c")).id))[0].complete
        assert await differences(lb) == []


# -- rankings whose time has come ---------------------------------------------------------------------------------------


async def test_ttl(run, clock):
    board = Board("b", windows={"daily": Window(ttl="2d"), "all_time": Window()}, segments=["region"])
    async with run(board) as lb:
        await lb.submit("b", "p", 1, segments={"region": "eu"})
        await lb.runtime.checkpoints.checkpoint()
        clock.now = NOON + 2 * DAY - 1
        await lb.runtime.engine.expire(clock.now)
        assert await standings(lb, "b", window_id="2026-11-15") == [(1, "p", 1)]
        clock.now += 1
        await lb.runtime.engine.expire(clock.now)
        for segment in (None, "region:eu"):
            assert await standings(lb, "b", window="daily", window_id="2026-11-15", segment=segment) == []
        assert await standings(lb, "b", window="all_time", segment="region:eu") == [(1, "p", 1)]
        assert await differences(lb) == []
        path = killed(lb)
        await lb.runtime.checkpoints.checkpoint()
    for left in (path, lb.path):
        async with opened(left, clock) as lb:
            assert await standings(lb, "b", window="daily", window_id="2026-11-15") == []
            assert await standings(lb, "b", window="all_time") == [(1, "p", 1)]
            assert await differences(lb) == []


async def test_a_short_ttl_does_not_end_a_window_before_its_grace(run, clock):
    async with run(Board("b", windows={"daily": Window(ttl="1h")}, grace="2h")) as lb:
        await lb.submit("b", "p", 1)
        clock.now = NOON + 14 * HOUR - 1
        await lb.runtime.engine.expire(clock.now)
        assert await standings(lb, "b", window_id="2026-11-15") == [(1, "p", 1)]
        await lb.runtime.engine.expire(clock.now + 1)
        assert await standings(lb, "b", window_id="2026-11-15") == []


REVIVED = Board("b", windows={"all_time": Window(ttl="1h")})


async def revive(lb, clock):
    """One score, two hours without any, which is more than the ranking is kept, and another one."""
    await lb.submit("b", "old", 1)
    await lb.runtime.checkpoints.checkpoint()
    clock.now += 2 * HOUR
    await lb.runtime.engine.expire(clock.now)
    assert await standings(lb, "b") == []
    await lb.submit("b", "new", 2)
    shown = await standings(lb, "b")
    assert (1, "new", 2) in shown
    return shown


async def test_a_ranking_that_was_dropped_and_came_again_verifies(run, clock):
    async with run(REVIVED) as lb:
        await revive(lb, clock)
        assert await differences(lb) == []


@pytest.mark.parametrize("how", ["killed", "checkpointed"])
async def test_a_ranking_that_was_dropped_and_came_again_is_the_same_after_a_restart(run, clock, how):
    async with run(REVIVED) as lb:
        shown = await revive(lb, clock)
        if how == "checkpointed":
            await lb.runtime.checkpoints.checkpoint()
        path = killed(lb)
    async with opened(path, clock) as lb:
        assert await standings(lb, "b") == shown


async def test_a_restart_does_not_make_a_ranking_expire_earlier(run, clock):
    async with run(Board("b", windows={"all_time": Window(ttl="1h")})) as lb:
        await lb.submit("b", "p", 5)
        clock.now += 50 * 60_000
        await lb.submit("b", "p", 3)
        await lb.runtime.checkpoints.checkpoint()
    clock.now += 30 * 60_000
    async with run() as lb:
        assert await standings(lb, "b") == [(1, "p", 5)]
        assert await differences(lb) == []


async def test_what_is_filled_in_for_a_window_that_was_dropped(run, clock):
    async with run(Board("b", operator="sum", windows={"daily": Window(ttl="1d"), "all_time": Window()})) as lb:
        await lb.increment("b", "p", 5)
        clock.now += 5 * DAY
        await lb.runtime.engine.expire(clock.now)
        await lb.submit_many("b", [Entry(player_id="q", amount=1, at=at(NOON))], backfill=True)
        assert await standings(lb, "b", window="all_time") == [(1, "p", 5), (2, "q", 1)]
        assert await differences(lb) == []


# -- windows that roll over ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("zone", "midnight", "days"),
    [
        ("UTC", NOON + 12 * HOUR, ["2026-11-15", "2026-11-16"]),
        ("Asia/Kolkata", NOON + 6 * HOUR + HOUR // 2, ["2026-11-15", "2026-11-16"]),
        # Clocks go back on 2026-11-01: 25 hours.
        ("America/New_York", 1_793_595_600_000, ["2026-11-01", "2026-11-02"]),
    ],
)
async def test_each_event_is_in_exactly_one_day(run, clock, zone, midnight, days):
    clock.now = midnight - 3
    async with run(Board("b", operator="sum", windows=["daily", "all_time"], timezone=zone)) as lb:
        for step in range(6):
            clock.now = midnight - 3 + step
            receipt = await lb.increment("b", "p", 10**step)
            assert receipt.windows["daily"].id == days[step >= 3]
            assert (await lb.top("b")).window_id == days[step >= 3]
        assert await standings(lb, "b", window_id=days[0]) == [(1, "p", 111)]
        assert await standings(lb, "b", window_id=days[1]) == [(1, "p", 111_000)]
        assert await standings(lb, "b", window="all_time") == [(1, "p", 111_111)]
        late = await lb.increment("b", "p", 5, at=at(midnight - 1))
        assert (late.windows["daily"].id, late.score) == (days[0], 116)
        assert await differences(lb) == []


async def test_late_scores_are_taken_until_the_grace_is_over(run, clock):
    async with run(Board("b", windows=["daily"], grace="1h")) as lb:
        clock.now = NOON + 13 * HOUR - 1
        await lb.submit("b", "p", 1, at=at(NOON))
        clock.now += 1
        with pytest.raises(Exception, match="2026-11-15"):
            await lb.submit("b", "p", 2, at=at(NOON))
        assert await standings(lb, "b", window_id="2026-11-15") == [(1, "p", 1)]


class StuckLedger(SqliteLedger):
    """Never finishes to write a checkpoint."""

    def __init__(self, path):
        super().__init__(path)
        wrap(self.checkpoints, "write", self._stand_still)

    async def _stand_still(self, write, *args):
        await asyncio.Event().wait()


async def test_a_stop_cuts_a_long_checkpoint_short(run):
    async with run(Board("b"), ledger=StuckLedger, keeper="automatic") as lb:
        await lb.submit("b", "p", 5)
        lb.stop_seconds = 0.2
    async with run(Board("b")) as lb:
        assert await standings(lb, "b") == [(1, "p", 5)]
        assert await differences(lb) == []
