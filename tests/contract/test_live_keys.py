"""Windows with a key without a date while they are live, renamed in one step when they end: nothing is lost or in the wrong place."""

import random

import msgspec
import pytest
import redis

from keepscore import Board
from keepscore.errors import InvalidBoard
from tests.contract.backends import cluster_url
from tests.contract.both import over_redis, own_redis
from tests.contract.opened import DAY, HOUR, MINUTE, SECOND, Clock, at, standings
from tests.contract.twins import START

LIVE, KEY = "lb:daily", "lb:daily:2027-01-05"
NEXT = "lb:daily:2027-01-06"
DAILY = {
    "key": "lb:daily:{start:%Y-%m-%d}",
    "segment_key": "lb:{segment}:{value}:daily:{start:%Y-%m-%d}",
    "live_key": "lb:daily",
    "live_segment_key": "lb:{segment}:{value}:daily",
    "ttl": "30d",
}
WINDOWS = {"daily": DAILY, "all_time": {"key": "lb:ever"}}
#: One for each layout, and one with an index of scores.
BOARDS = {
    "plain": Board("b", operator="sum", ties="player", windows=WINDOWS, segments=["region"]),
    "composite": Board("b", max_score=1000, resolution="1s", windows=WINDOWS, segments=["region"]),
    "timed": Board("b", windows=WINDOWS, segments=["region"]),
    "timed last": Board("b", operator="last", windows=WINDOWS, segments=["region"]),
    "dense": Board("b", operator="sum", rank="dense", windows=WINDOWS, segments=["region"]),
    "keep_top": Board("b", operator="sum", keep_top=3, windows=WINDOWS, segments=["region"]),
}
PLAIN = BOARDS["plain"]


@pytest.fixture
def clock():
    return Clock(START)


@pytest.fixture
def bare():
    """An empty database, and a client that knows nothing of Keepscore."""
    with redis.Redis.from_url(own_redis(), decode_responses=True, encoding_errors="surrogateescape") as client:
        yield client


@pytest.fixture
def run(bare, tmp_path, clock):
    kwargs = bare.connection_pool.connection_kwargs
    url = f"redis://{kwargs['host']}:{kwargs['port']}/{kwargs['db']}"
    return lambda *boards, clock=clock: over_redis(tmp_path / "scores.db", url, clock, *boards)


async def play(lb, *scores, first=0):
    for number, score in enumerate(scores, first):
        give = lb.increment if lb.runtime.catalog["b"].board.adds_up else lb.submit
        receipt = await give("b", f"p{number}", score, segments={"region": "eu"})
    return receipt


def sizes(bare):
    """How many players there are under each key that is no one's but the rankings'."""
    return {key: bare.zcard(key) for key in sorted(bare.keys("lb:*"))}


async def day(lb, window_id, **view):
    return [(player, score) for _, player, score in await standings(lb, "b", window="daily", window_id=window_id, **view)]


async def keep(lb):
    """Do all jobs of the keeper that are due."""
    await lb.runtime.keeper.run_once(at(lb.runtime.clock()))


@pytest.mark.parametrize("layout", BOARDS)
async def test_a_window_is_renamed_when_it_ends(run, bare, clock, layout):
    board = BOARDS[layout]
    async with run(board) as lb:
        await play(lb, 10, 30, 20)
        assert sizes(bare) == {LIVE: 3, "lb:ever": 3, "lb:region:eu:daily": 3} | {"lb:ever:region:eu": 3}
        clock.now = START + DAY
        receipt = await play(lb, 7, first=9)
        assert (receipt.windows["daily"].rank, receipt.windows["daily"].total_players) == (1, 1)
        assert (bare.zcard(LIVE), bare.zcard(KEY)) == (1, 3)
        assert (bare.zcard("lb:region:eu:daily"), bare.zcard("lb:region:eu:daily:2027-01-05")) == (1, 3)
        assert bare.keys(f"*{NEXT}*") == []
        assert await day(lb, "2027-01-05") == [("p1", 30), ("p2", 20), ("p0", 10)]
        assert await day(lb, "2027-01-05", segment="region:eu") == [("p1", 30), ("p2", 20), ("p0", 10)]
        assert await day(lb, "2027-01-06") == [("p9", 7)]
        assert (await lb.rank("b", "p0", window="daily", window_id="2027-01-05", rank="dense")).rank == 3
        assert (await lb.admin.verify("b")).ok
        await lb.admin.rebuild("b")
        assert (bare.zcard(LIVE), bare.zcard(KEY)) == (1, 3)
        assert (await lb.admin.verify("b")).ok
    # Whatever lies beside a ranking has moved with it.
    beside = [key for key in bare.keys("*") if KEY in key or NEXT in key]
    assert all(KEY in key for key in beside)
    async with run(board) as lb:
        assert await day(lb, "2027-01-05") == [("p1", 30), ("p2", 20), ("p0", 10)]
        assert (await lb.admin.verify("b")).ok


async def test_late_scores_count_in_the_renamed_key_and_early_ones_wait_under_their_own(run, bare, clock):
    midnight = START + DAY // 2
    async with run(PLAIN) as lb:
        clock.now = midnight - 10 * SECOND
        await lb.increment("b", "ada", 5)
        # A client's clock is ahead.
        await lb.increment("b", "ada", 2, at=at(midnight + 5 * SECOND))
        assert (bare.zscore(LIVE, "ada"), bare.zscore(NEXT, "ada")) == (5, 2)
        clock.now = midnight + 10 * MINUTE
        # The old window's, before anybody has rotated.
        await lb.increment("b", "ada", 1, at=at(midnight - SECOND))
        assert (bare.zscore(LIVE, "ada"), bare.zscore(KEY, "ada")) == (2, 6)
        assert not bare.exists(NEXT)
        await lb.increment("b", "ada", 100)
        await lb.increment("b", "ada", 10, at=at(midnight - SECOND))
        assert (bare.zscore(LIVE, "ada"), bare.zscore(KEY, "ada")) == (102, 16)
        assert (await lb.admin.verify("b")).ok


async def test_the_keeper_renames_what_nobody_plays_in_and_the_archive_has_the_ttl(run, bare, clock):
    async with run(PLAIN) as lb:
        await play(lb, 10, 30)
        assert bare.ttl(LIVE) == -1
        clock.now = START + DAY // 2 + SECOND
        await keep(lb)
        assert sizes(bare) == {KEY: 2, "lb:ever": 2, "lb:ever:region:eu": 2, "lb:region:eu:daily:2027-01-05": 2}
        assert bare.ttl(KEY) == -1
        clock.now = START + DAY
        await keep(lb)
        # 30 days after its end, half a day ago.
        assert bare.ttl(KEY) == pytest.approx(29.5 * DAY / SECOND, abs=60)
        assert bare.ttl("lb:region:eu:daily:2027-01-05") == pytest.approx(29.5 * DAY / SECOND, abs=60)
        await play(lb, 1)
        assert bare.ttl(LIVE) == -1
        clock.now = START + 32 * DAY
        await keep(lb)
        await lb.runtime.engine.expire(clock())
        assert not bare.exists(KEY)
        assert await day(lb, "2027-01-05") == [("p1", 30), ("p0", 10)]
        assert (await lb.admin.verify("b")).ok


#: All that a service may do next that does not know of a rename yet.
NEXT_STEPS = {
    "page": lambda lb: standings(lb, "b", window="daily", window_id="2027-01-05"),
    "place": lambda lb: lb.rank("b", "p1", window="daily", window_id="2027-01-05"),
    "dense": lambda lb: lb.rank("b", "p1", window="daily", window_id="2027-01-05", rank="dense"),
    "count": lambda lb: lb.count("b", window="daily", window_id="2027-01-05"),
    "windows": lambda lb: lb.history.windows("b"),
    "verify": lambda lb: lb.admin.verify("b"),
    "rebuild": lambda lb: lb.admin.rebuild("b"),
    "correct": lambda lb: lb.submit("b", "p1", 40, at=at(START)),
    "write": lambda lb: lb.increment("b", "p1", 10, at=at(START)),
    "keeper": lambda lb: keep(lb),
    "ready": lambda lb: lb.ready(),
    "expire": lambda lb: lb.runtime.engine.expire(lb.runtime.clock()),
    "redefine": lambda lb: lb.admin.put_board(msgspec.structs.replace(PLAIN, grace="2h"), confirm=True),
}


@pytest.mark.parametrize("step", NEXT_STEPS)
async def test_two_services_that_turn_at_different_moments(run, bare, clock, step):
    """The other one's clock is behind: it learns what was renamed whatever it does next, and never turns back."""
    slow = Clock(START)
    async with run(PLAIN) as one, run(PLAIN, clock=slow) as other:
        clock.now = slow.now = START + DAY // 2 - 10 * SECOND
        await one.increment("b", "p1", 30)
        await other.increment("b", "p2", 20)
        clock.now += 15 * SECOND
        await one.increment("b", "p3", 5)
        assert bare.zcard(LIVE) == 1
        epoch = bare.hget("keepscore:{b}:b:applied", "epoch")
        await NEXT_STEPS[step](other)
        assert (bare.zcard(LIVE), bare.zcard(KEY)) == (1, 2)
        assert bare.hget("keepscore:{b}:b:applied", "epoch") == epoch
        assert await day(other, "2027-01-05") == await day(one, "2027-01-05")
        assert (await one.admin.verify("b")).ok


async def test_lost_redis_around_the_end_of_a_window(run, bare, clock):
    """Whatever of Redis is gone, before or after the rename, comes back to its place."""
    dice = random.Random(7)
    parts = [[LIVE], [KEY], ["keepscore:{b}:b:applied"], ["keepscore:{b}:b:rankings"], [LIVE, KEY], ["*"]]
    async with run(PLAIN) as lb:
        for number, lost in enumerate(parts * 2):
            start = START + number * 3 * DAY
            clock.now = start
            await lb.increment("b", "p0", number + 1)
            await lb.increment("b", "p1", dice.randrange(100))
            clock.now = start + DAY
            if number < len(parts):
                await lb.runtime.engine.rotate()
            gone = bare.keys("*") if lost == ["*"] else [key.replace("2027-01-05", at(start).date().isoformat()) for key in lost]
            bare.delete(*gone)
            await lb.increment("b", "p2", 3)
            assert await day(lb, at(clock.now).date().isoformat()) == [("p2", 3)], (number, lost)
            assert len(await day(lb, at(start).date().isoformat())) == 2, (number, lost)
            assert (await lb.admin.verify("b")).ok, (number, lost)
            await lb.runtime.engine.rotate()
            assert bare.zrange(LIVE, 0, -1) == ["p2"], (number, lost)


async def test_a_failure_in_the_middle_of_a_rename_is_healed(run, bare, clock):
    raw = {name: bare.connection_pool.connection_kwargs[name] for name in ("host", "port", "db")}
    async with run(PLAIN) as lb:
        await play(lb, 10, 30)
        clock.now = START + DAY
        # What a script leaves that fails after it has renamed one key of several: no epoch, and a list that tells of the new names.
        bare.hset("keepscore:{b}:b:applied", "epoch", "")
        with redis.Redis(**raw) as listed:
            for segment, key in {"": KEY, "region:eu": "lb:region:eu:daily:2027-01-05"}.items():
                field = f"daily\0002027-01-05\0{segment}"
                entry = msgspec.msgpack.decode(listed.hget("keepscore:{b}:b:rankings", field))
                listed.hset("keepscore:{b}:b:rankings", field, msgspec.msgpack.encode([*entry[:2], key, *entry[3:]]))
        bare.rename(LIVE, KEY)
        await lb.increment("b", "p2", 3)
        assert await day(lb, "2027-01-06") == [("p2", 3)]
        await lb.runtime.engine.rotate()
        assert (bare.zcard(LIVE), bare.zcard(KEY)) == (1, 2)
        assert (await lb.admin.verify("b")).ok


async def test_what_somebody_else_has_put_there_stays(run, bare, clock):
    bare.zadd(KEY, {"theirs": 1})
    async with run(PLAIN) as lb:
        await play(lb, 10, 30)
        clock.now = START + DAY
        await lb.increment("b", "p2", 3)
        assert bare.zrange(KEY, 0, -1) == ["theirs"]
        assert await day(lb, "2027-01-06") == [("p2", 3)]
        assert KEY in "".join(lb.runtime.engine.taken().values())
        bare.delete(KEY)
        await lb.admin.rebuild("b")
        assert await day(lb, "2027-01-05") == [("p1", 30), ("p0", 10)]
        assert bare.zrange(KEY, 0, -1) == ["p0", "p1"]
    bare.flushdb()
    bare.zadd(LIVE, {"theirs": 1})
    async with run() as lb:
        with pytest.raises(InvalidBoard, match="lb:daily"):
            await lb.admin.put_board(msgspec.structs.replace(PLAIN, name="other"))


async def test_a_board_gets_and_loses_live_keys_and_is_reset(run, bare, clock):
    dated = {name: {field: value for field, value in window.items() if "live" not in field} for name, window in WINDOWS.items()}
    async with run(msgspec.structs.replace(PLAIN, windows=dated)) as lb:
        await play(lb, 10, 30)
        assert (bare.zcard(LIVE), bare.zcard(KEY)) == (0, 2)
        await lb.admin.put_board(PLAIN, confirm=True)
        assert (bare.zcard(LIVE), bare.zcard(KEY)) == (2, 0)
        clock.now += HOUR
        await lb.admin.reset("b")
        clock.now += MINUTE
        await lb.increment("b", "p7", 1)
        assert (bare.zrange(LIVE, 0, -1), bare.zcard(f"{KEY}:v1")) == (["p7"], 2)
        clock.now = START + DAY
        await lb.increment("b", "p8", 1)
        assert (bare.zrange(LIVE, 0, -1), bare.zrange(KEY, 0, -1), bare.zcard(f"{KEY}:v1")) == (["p8"], ["p7"], 2)
        await lb.admin.put_board(msgspec.structs.replace(lb.runtime.catalog["b"].board, windows=dated), confirm=True)
        assert (bare.zcard(LIVE), bare.zrange(NEXT, 0, -1), bare.zrange(KEY, 0, -1)) == (0, ["p8"], ["p7"])
        assert (await lb.admin.verify("b")).ok


@pytest.mark.parametrize(
    "windows",
    [
        {"daily": {"live_key": "lb"}, "all_time": {"key": "lb"}},
        {"daily": {"live_key": "lb"}, "weekly": {"live_key": "lb"}},
        {"daily": {"live_key": "lb", "live_segment_key": "lb"}},
        {"daily": {"live_key": "lb", "live_segment_key": "lb:{segment}"}},
    ],
)
async def test_live_keys_that_several_rankings_would_have_are_refused(run, windows):
    async with run() as lb:
        with pytest.raises(InvalidBoard, match="several of its rankings would have the key 'lb"):
            await lb.admin.put_board(Board("b", windows=windows, segments=["region"]))


async def test_seasons_have_pauses(run, bare, clock):
    season = {"start": "2027-01-05T18:00", "end": "2027-01-07", "key": "lb:s:{start:%Y}", "live_key": "lb:season"}
    async with run(Board("b", operator="sum", ties="player", windows={"all_time": {}, "season": season})) as lb:
        await lb.increment("b", "ada", 1)
        assert not bare.exists("lb:season")
        clock.now = START + 12 * HOUR
        await lb.increment("b", "ada", 2)
        assert bare.zscore("lb:season", "ada") == 2
        clock.now = START + 3 * DAY
        await lb.runtime.engine.rotate()
        assert (bare.exists("lb:season"), bare.zscore("lb:s:2027", "ada")) == (0, 2)
        assert (await lb.admin.verify("b")).ok


async def test_live_keys_on_a_cluster(tmp_path, clock):
    tagged = {"key": "{{lb}}:{start:%Y-%m-%d}", "live_key": "{{lb}}:now"}
    async with over_redis(tmp_path / "c.db", cluster_url(), clock) as lb:
        with pytest.raises(InvalidBoard, match="hash tag"):
            await lb.admin.put_board(Board("b", windows={"daily": tagged | {"live_key": "now"}}))
        await lb.admin.put_board(Board("b", windows={"daily": tagged}, segments=["region"]))
        await play(lb, 10, 30)
        clock.now = START + DAY
        await play(lb, 5)
        with redis.RedisCluster.from_url(cluster_url().replace("redis+cluster", "redis").partition(",")[0]) as bare:
            assert (bare.zcard("{lb}:now"), bare.zcard("{lb}:2027-01-05")) == (1, 2)
        assert (await lb.admin.verify("b")).ok


async def test_in_the_process_there_are_no_keys(tmp_path, clock):
    from tests.contract.opened import opened

    async with opened(tmp_path / "p.db", clock, PLAIN) as lb:
        await play(lb, 10, 30)
        clock.now = START + DAY
        await play(lb, 5)
        await lb.runtime.engine.rotate()
        assert await day(lb, "2027-01-05") == [("p1", 30), ("p0", 10)]
        assert await day(lb, "2027-01-06") == [("p0", 5)]
