"""A board that another process redefines or resets while this one has submissions to it on their way."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from keepscore import Board, Entry
from tests.contract.both import own_redis
from tests.contract.opened import differences
from tests.support.opening import leaderboards

#: Enough for two groups at once.
MANY = 60


@asynccontextmanager
async def two(tmp_path, *boards):
    """Two processes' parts on one ledger and one Redis; the second learns of changes when it meets them."""
    ledger, redis = f"sqlite:///{tmp_path / 'scores.db'}", own_redis()
    async with leaderboards(ledger, redis, boards) as one, leaderboards(ledger, redis) as other:
        yield one, other


@pytest.mark.parametrize("change", ["windows", "reset"])
@pytest.mark.parametrize("consistency", ["eventual", "strong"])
async def test_groups_on_their_way_count_as_the_board_is_now(tmp_path, change, consistency):
    async with two(tmp_path, Board("b", consistency=consistency)) as (one, other):
        await other.submit("b", "before", 1)
        append, reached, gate = other.runtime.ledger.events.append, asyncio.Event(), asyncio.Event()

        async def slow(*args):
            reached.set()
            await gate.wait()
            return await append(*args)

        async def send(name):
            return await other.submit_many("b", [Entry(player_id=f"{name}{n}", score=n) for n in range(MANY)])

        other.runtime.ledger.events.append = slow
        first = asyncio.create_task(send("x"))
        await reached.wait()
        second = asyncio.create_task(send("y"))
        if change == "reset":
            await one.admin.reset("b")
        else:
            await one.admin.put_board(Board("b", windows=["all_time", "daily"], consistency=consistency), confirm=True)
        gate.set()
        assert [receipt.accepted for receipt in await asyncio.gather(first, second)] == [MANY, MANY]
        assert await differences(one) == []
        if change == "reset":
            assert (await one.top("b")).standings == []
            assert (await one.top("b", window_id="all_time.v1")).total_players == 2 * MANY + 1
        else:
            assert (await one.top("b", window="daily")).total_players == 2 * MANY + 1
        assert (await other.submit("b", "after", MANY)).rank == 1
        assert await differences(other) == []


async def test_a_window_that_is_gone_is_nobody_s_error(tmp_path):
    async with two(tmp_path, Board("b", windows=["all_time", "daily"]), Board("c")) as (one, other):
        await other.submit("b", "p", 1)
        await one.admin.put_board(Board("b", windows=["all_time"]), confirm=True)
        mine, theirs = await asyncio.gather(other.submit("b", "q", 10), other.submit("c", "r", 5))
        assert (mine.score, mine.rank, mine.updated, [*mine.windows]) == (10, 1, True, ["all_time"])
        assert (theirs.score, theirs.rank) == (5, 1)
        assert [(s.player_id, s.score) for s in (await other.top("b")).standings] == [("q", 10), ("p", 1)]
        assert await differences(one) == []
