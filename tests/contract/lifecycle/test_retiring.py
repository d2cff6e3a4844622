"""Rankings of archived windows leave the engine 8 days after their end, and are read from their archives from then on."""

import random

import msgspec
import pytest
import redis

from keepscore import Board
from keepscore.domain.inputs import Entry
from keepscore.errors import InvalidBoard
from tests.contract.opened import DAY, HOUR, NOON, Clock, at, recorded, standings
from tests.contract.twins import START, Place

DAYS = Board("b", operator="sum", windows={"all_time": {}, "daily": {"archive": 2}}, segments=["region"])
SUNDAY = "2026-11-15"


async def keep(lb):
    """Do all jobs of the keeper that are due."""
    await lb.runtime.keeper.run_once(at(lb.runtime.clock()))
    await lb.runtime.engine.expire(lb.runtime.clock())


async def windows(lb, name="b"):
    return {(ranking.window, ranking.window_id) for ranking in await lb.runtime.engine.rankings(lb.runtime.catalog[name].id)}


async def play(lb, *amounts, board="b"):
    for number, amount in enumerate(amounts):
        await lb.increment(board, f"p{number}", amount, segments={"region": "eu"})


async def test_an_archived_window_leaves_the_engine_and_stays_readable(lbs, clock):
    async with lbs(DAYS) as lb:
        await play(lb, 3, 9, 5)
        clock.now = NOON + DAY
        await keep(lb)
        assert ("daily", SUNDAY) in await windows(lb)
        # Beyond the archive, the engine knows.
        assert len((await lb.top("b", window="daily", window_id=SUNDAY)).standings) == 3
        clock.now = NOON + DAY // 2 + 8 * DAY + HOUR
        await keep(lb)
        assert await windows(lb) == {("all_time", "all_time")}
        top = await lb.top("b", window="daily", window_id=SUNDAY)
        assert (top.archived, top.total_players, [row.player_id for row in top.standings]) == (True, 3, ["p1", "p2"])
        assert (await lb.rank("b", "p1", window="daily", window_id=SUNDAY)).rank == 1
        assert await standings(lb, "b") == [(1, "p1", 9), (2, "p2", 5), (3, "p0", 3)]
        assert (await lb.admin.verify("b")).ok
        await lb.admin.rebuild("b")
        assert await windows(lb) == {("all_time", "all_time")}
        await lb.runtime.checkpoints.checkpoint()
    async with lbs(DAYS) as lb:
        assert await windows(lb) == {("all_time", "all_time")}
        assert (await lb.admin.verify("b")).ok


async def test_redis_itself_drops_the_keys(tmp_path):
    clock = Clock(START)
    place = Place("sqlite", "redis", tmp_path, clock, "forever")
    async with place.opened(DAYS) as lb:
        await play(lb, 3, 9)
        clock.now += DAY
        await keep(lb)
        with redis.Redis.from_url(place.engine) as bare:
            ended = bare.keys("keepscore:{b}:daily:2027-01-05*")
            assert len(ended) == 2
            left = {bare.pttl(key) for key in ended}
            # It ended at midnight, 12 hours before now.
            assert all(7 * DAY < ms <= 7 * DAY + DAY // 2 for ms in left), left
            assert bare.pttl("keepscore:{b}:all_time") == -1


async def test_what_is_backfilled_later_is_recorded_and_not_ranked(lbs, clock):
    async with lbs(DAYS) as lb:
        await play(lb, 3, 9)
        clock.now = NOON + 10 * DAY
        await keep(lb)
        before = await lb.top("b", window="daily", window_id=SUNDAY)
        answer = await lb.submit_many("b", [Entry(player_id="new", amount=50, at=at(NOON))], results=True, backfill=True)
        assert [list(receipt.windows) for receipt in answer.results] == [["all_time"]]
        assert ("daily", SUNDAY) not in await windows(lb)
        assert (await lb.top("b", window="daily", window_id=SUNDAY)).standings == before.standings
        assert await standings(lb, "b", limit=1) == [(1, "new", 50)]
        assert (await lb.admin.verify("b")).ok
        # A revision knows of it.
        await lb.admin.revise("b", window="daily", window_id=SUNDAY, reason="a late game")
        assert (await lb.top("b", window="daily", window_id=SUNDAY)).standings[0].player_id == "new"
        only = await lb.submit_many("b", [Entry(player_id="x", score=7, at=at(NOON), windows=["daily"])], results=True, backfill=True)
        assert (only.results[0].windows, only.results[0].rank) == ({}, None)
        assert (await lb.admin.verify("b")).ok


async def test_a_correction_of_a_window_that_is_gone_goes_on_from_the_ledger(lbs, clock):
    async with lbs(DAYS, Board("best", increments=True, windows=["daily", "all_time"])) as lb:
        await play(lb, 30)
        await lb.submit("best", "p0", 30)
        clock.now = NOON + 10 * DAY
        await keep(lb)
        fix = Entry(player_id="p0", score=20, at=at(NOON), windows=["daily"])
        await lb.submit_many("b", [fix], backfill=True)
        await lb.submit_many("best", [Entry(player_id="p0", amount=5, at=at(NOON))], backfill=True)
        assert [event.amount for event in await recorded(lb, "b")] == [30, -10]
        assert [(event.kind, event.amount) for event in await recorded(lb, "best")] == [("score", 30), ("raise", 35)]


async def test_windows_that_were_imported_stay_until_they_are_archived(lbs, clock):
    async with lbs(DAYS) as lb:
        await lb.submit_many("b", [Entry(player_id="a", amount=5, at=at(NOON - 40 * DAY))], backfill=True)
        assert ("daily", "2026-10-06") in await windows(lb)
        assert await standings(lb, "b", window="daily", window_id="2026-10-06") == [(1, "a", 5)]
        await keep(lb)
        assert ("daily", "2026-10-06") not in await windows(lb)
        assert await standings(lb, "b", window="daily", window_id="2026-10-06") == [(1, "a", 5)]


async def test_a_board_may_say_otherwise(lbs, clock):
    forever = Board("b", operator="sum", windows={"all_time": {}, "daily": {"ttl": "forever"}}, segments=["region"])
    async with lbs(forever) as lb:
        await play(lb, 3)
        clock.now = NOON + 20 * DAY
        await keep(lb)
        assert ("daily", SUNDAY) in await windows(lb)
        await lb.admin.put_board(Board("b", operator="sum", windows=["all_time", "daily"], segments=["region"]), confirm=True)
        await keep(lb)
        assert ("daily", SUNDAY) not in await windows(lb)
        # What has left comes back from the ledger.
        await lb.admin.put_board(forever, confirm=True)
        assert ("daily", SUNDAY) in await windows(lb)
        assert (await lb.admin.verify("b")).ok
    with pytest.raises(InvalidBoard, match="or 'forever'"):
        Board("b", windows={"daily": {"ttl": "never"}})


async def test_a_board_with_keep_top_lets_its_archived_windows_go(lbs, clock):
    async with lbs(Board("b", operator="sum", windows=["daily", "all_time"], segments=["region"], keep_top=2)) as lb:
        await play(lb, *range(1, 9))
        await lb.runtime.rebuilds.prune()
        clock.now = NOON + 10 * DAY
        await keep(lb)
        assert await windows(lb) == {("all_time", "all_time")}
        assert (await lb.top("b", window_id=SUNDAY)).total_players == 8
        assert (await lb.admin.verify("b")).ok


async def test_other_processes_learn_what_is_archived(tmp_path):
    clock = Clock(START)
    place = Place("postgres", "redis", tmp_path, clock, "forever")
    async with place.opened(DAYS) as one, place.opened(DAYS) as other:
        await play(one, 3)
        clock.now += 10 * DAY
        await keep(one)
        await other.runtime.keeper.job("refresh").run(clock.now)
        await other.submit_many("b", [Entry(player_id="x", amount=5, at=at(START))], backfill=True)
        assert await windows(one) == {("all_time", "all_time")}
        assert (await other.admin.verify("b")).ok


# -- roll-ups -----------------------------------------------------------------------------------------------------------


def rollup(into="weekly", **window):
    return Board("w", windows={into: window}, rollup={"of": ["b"], "window": "daily", "into": into})


async def test_a_roll_up_has_a_ttl(lbs, clock):
    async with lbs(DAYS, rollup(ttl="30d")) as lb:
        await play(lb, 3, 9)
        clock.now = NOON + 29 * DAY
        await keep(lb)
        assert await windows(lb, "w") == {("weekly", "2026-W46")}
        clock.now = NOON + 31 * DAY
        await keep(lb)
        assert await windows(lb, "w") == set()
        assert await standings(lb, "w", window_id="2026-W46") == [(1, "p1", 9), (2, "p0", 3)]
        assert (await lb.admin.verify("w")).ok
    assert Board("w", windows=["weekly"], rollup=rollup().rollup).archived_ms == {"weekly": 8 * DAY}
    assert rollup(ttl="forever").archived_ms == {}


async def test_a_roll_up_counts_days_that_have_left_the_engine(lbs, clock):
    async with lbs(DAYS, rollup("monthly")) as lb:
        clock.now = NOON - 12 * DAY
        await play(lb, 3, 9)
        clock.now = NOON
        await keep(lb)
        assert ("daily", "2026-11-03") not in await windows(lb)
        await play(lb, 100)
        assert await standings(lb, "w") == [(1, "p0", 103), (2, "p1", 9)]
        assert (await lb.admin.verify("w")).ok


@pytest.mark.parametrize(("ledger", "engine"), [("sqlite", "embedded"), ("postgres", "redis")])
async def test_what_leaves_changes_nothing_else(tmp_path, ledger, engine):
    """Beside a twin whose rankings stay, all that is still there is the same, and nothing differs from the ledger."""
    (tmp_path / "other").mkdir()
    dice, clock = random.Random(11), Clock(START)
    boards = [DAYS, rollup("monthly"), Board("last", operator="last", windows=["weekly", "daily"])]
    stay = [msgspec.structs.replace(one, windows={window: {"ttl": "forever"} for window in one.periods}) for one in boards]
    places = Place(ledger, engine, tmp_path, clock, "forever"), Place("sqlite", "embedded", tmp_path / "other", clock, "forever")
    async with places[0].opened(*boards) as one, places[1].opened(*stay) as other:
        for _ in range(30):
            clock.now += dice.randrange(2 * DAY)
            for name in ("b", "last"):
                entries = [
                    Entry(player_id=f"p{dice.randrange(6)}", amount=dice.randrange(50), at=at(clock.now - dice.randrange(25 * DAY)))
                    for _ in range(4)
                ]
                for lb in (one, other):
                    await lb.submit_many(name, entries, backfill=True)
            if dice.random() < 0.5:
                for lb in (one, other):
                    await keep(lb)
        for name in ("b", "w", "last"):
            assert (await one.admin.verify(name)).ok, name
            for ranking in await one.runtime.engine.rankings(one.runtime.catalog[name].id):
                if one.runtime.catalog[name].is_retired(ranking):
                    # Its time came since the keeper looked last.
                    continue
                live = other.runtime.catalog[name]
                twin = (await other.runtime.engine.page(ranking._replace(board=live.id), 0, 1000)).rows
                rows = (await one.runtime.engine.page(ranking, 0, 1000)).rows
                assert [row[:2] for row in rows] == [row[:2] for row in twin], ranking
