"""Losses for inactivity: recorded when they are due, once."""

import asyncio
import functools

import pytest

from keepscore import Board
from keepscore.errors import InvalidBoard
from keepscore.lifecycle.inactivity import lose_for_inactivity
from tests.contract.both import over_redis, own_redis
from tests.contract.opened import DAY, NOON, SECOND, at, differences, standings

RULE = {"after": "14d", "lose": 25, "every": "7d", "floor": 1000}


def rating(**fields):
    return Board("rating", **{"operator": "last", "inactivity": RULE, **fields})


async def run_job(lb, now):
    live = lb.runtime.catalog["rating"]
    return await lose_for_inactivity(lb.runtime.writer, lb.runtime.ledger, lb.runtime.engine, live, now)


@pytest.mark.parametrize("fields", [{"operator": "last"}, {"operator": "sum"}, {"operator": "sum", "ties": "player"}], ids=str)
async def test_players_lose_when_it_is_due_and_once(lbs, clock, fields):
    async with lbs(rating(**fields)) as lb:
        await lb.increment("rating", "a", 1100)
        await lb.increment("rating", "b", 1030)
        await lb.increment("rating", "c", 900)
        clock.now += 14 * DAY - 1
        assert await run_job(lb, clock.now) == 0
        clock.now += 1
        assert await run_job(lb, clock.now) == 2
        assert await run_job(lb, clock.now) == 0
        assert await standings(lb, "rating") == [(1, "a", 1075), (2, "b", 1005), (3, "c", 900)]
        # Two more were due meanwhile: who looks late records them as of then.
        clock.now += 15 * DAY
        assert await run_job(lb, clock.now) == 3
        assert await standings(lb, "rating") == [(1, "a", 1025), (2, "b", 1000), (3, "c", 900)]
        events = (await lb.history.events("rating", "a")).events
        assert [(event.at, event.amount) for event in events[:-1]] == [(at(NOON + days * DAY), -25) for days in (28, 21, 14)]
        assert events[0].game_id == f"inactivity:{NOON + 28 * DAY}"
        assert events[0].metadata["reason"] == "inactivity"
        # A score of their own restarts the count.
        await lb.increment("rating", "a", 100)
        clock.now += 14 * DAY - 1
        assert await run_job(lb, clock.now) == 0
        clock.now += 1
        assert await run_job(lb, clock.now) == 1
        assert await standings(lb, "rating") == [(1, "a", 1100), (2, "b", 1000), (3, "c", 900)]
        assert await differences(lb) == []
    async with lbs() as lb:
        assert await run_job(lb, clock.now) == 0
        assert await differences(lb) == []


async def test_two_processes_record_a_loss_once(tmp_path, clock):
    place = functools.partial(over_redis, tmp_path / "scores.db", own_redis(), clock)
    async with place(rating()) as one, place() as other:
        for number in range(20):
            await one.submit("rating", f"p{number}", 2000)
        clock.now += 22 * DAY
        await asyncio.gather(run_job(one, clock.now), run_job(other, clock.now))
        for lb in (one, other):
            assert {score for _, _, score in await standings(lb, "rating")} == {1950}
            assert await differences(lb) == []


async def test_a_reset_ends_the_count(lbs, clock):
    async with lbs(rating()) as lb:
        await lb.submit("rating", "a", 2000)
        clock.now += 10 * DAY
        await lb.admin.reset("rating")
        clock.now += SECOND
        await lb.submit("rating", "b", 2000)
        clock.now += 10 * DAY
        assert await run_job(lb, clock.now) == 0
        clock.now += 5 * DAY
        assert await run_job(lb, clock.now) == 1
        assert await standings(lb, "rating", window_id="all_time.v1") == [(1, "a", 2000)]
        assert await standings(lb, "rating") == [(1, "b", 1975)]
        assert await differences(lb) == []


async def test_decimals_and_the_lowest_score_are_kept(run, clock):
    rule = {"after": "1h", "lose": 0.75, "every": "1h"}
    async with run(rating(decimals=2, min_score=0, inactivity=rule)) as lb:
        await lb.submit("rating", "a", 1)
        clock.now += DAY
        assert await run_job(lb, clock.now) == 2
        assert await standings(lb, "rating") == [(1, "a", 0)]
        assert await differences(lb) == []


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"operator": "best"}, "last and sum"),
        ({"windows": ["all_time", "daily"]}, "all_time only"),
        ({"order": "asc"}, "high scores"),
        ({"also": ["xp"]}, "without decay and also"),
        ({"inactivity": {"after": "14d"}}, "after, lose and every"),
        ({"inactivity": {**RULE, "lose": 0}}, "lose"),
        ({"inactivity": {**RULE, "lose": 0.5}}, "decimals"),
        ({"inactivity": {**RULE, "every": "1s"}}, "every"),
        ({"inactivity": {**RULE, "after": "soon"}}, "duration"),
        ({"inactivity": {**RULE, "per": "game"}}, "allowed"),
        ({"inactivity": 5}, "table"),
    ],
)
def test_what_is_no_inactivity_is_refused(fields, words):
    with pytest.raises(InvalidBoard, match=words):
        rating(**fields)
