"""A Redis that lost something of a board, or has something else in its place: no wrong rank, healed from the ledger."""

import asyncio
import contextlib
from functools import partial

import msgspec
import pytest
import redis

from keepscore import Board, Leaderboards
from keepscore.domain.durations import time_of
from keepscore.errors import EngineUnavailable, KeyTaken, UnknownPlayer
from tests.contract.both import over_redis, own_redis
from tests.contract.five_players import EXPECTED, PLAYERS, fill, keys_of, reasons, shown
from tests.support.redis_servers import cluster, single

#: One board for each layout, and one whose ranks need the index of scores.
BOARDS = {
    "plain": Board("b", operator="sum", ties="player"),
    "composite": Board("b", max_score=1000, resolution="1s"),
    "timed": Board("b"),
    "timed last": Board("b", operator="last"),
    "plain with times": Board("b", operator="first", ties="player"),
    "dense": Board("b", operator="sum", rank="dense"),
}


@pytest.fixture
def bare():
    """An empty database, and a client that knows nothing of Keepscore."""
    with redis.Redis.from_url(own_redis()) as client:
        yield client


@pytest.fixture
def run(bare, tmp_path, clock):
    """Opens leaderboards on that database, again and again, without a keeper."""
    kwargs = bare.connection_pool.connection_kwargs
    url = f"redis://{kwargs['host']}:{kwargs['port']}/{kwargs['db']}"
    return lambda *boards: over_redis(tmp_path / "scores.db", url, clock, *boards)


async def read_all(lb, lose):
    """Every way to read, each after a loss."""
    lose()
    assert await shown(lb) == EXPECTED
    lose()
    place = await lb.rank("b", "p2", rank="dense")
    assert (place.ranks.unique, place.ranks.dense, place.score, place.total_players) == (4, 4, 20, 5)
    lose()
    assert [(one.player_id, one.rank) for one in (await lb.lookup("b", ["p1", "p5"])).standings] == [("p5", 1), ("p1", 5)]
    lose()
    assert (await lb.count("b")).count == 5
    lose()
    assert [(one.window_id, one.players) for one in (await lb.history.windows("b")).windows] == [("all_time", 5)]


async def write_all(lb, lose, board):
    """Every way to write, each after a loss."""
    lose()
    receipt = await lb.submit("b", "p6", 35)
    assert (receipt.score, receipt.rank) == (35, 3)
    if board.operator == "sum":
        # A correction is the difference to the score that there is: nothing wrong may get into the ledger.
        lose()
        assert (await lb.submit("b", "p2", 45)).score == 45
        lose()
        assert (await lb.increment("b", "p2", 1)).score == 46


#: What may be lost; and layouts that keep no times beside the ranking.
LOSSES = ["key", "renamed", "times", "dense", "list", "marks", "list and marks", "key and list"]
TIMELESS = ("plain", "composite")


@pytest.mark.parametrize("how", ["read", "write", "restart"])
@pytest.mark.parametrize(("layout", "lost"), [(one, lost) for one in BOARDS for lost in LOSSES if lost != "times" or one not in TIMELESS])
async def test_what_is_lost_is_rebuilt_before_anybody_is_answered(run, bare, layout, lost, how):
    board = BOARDS[layout]
    async with run(board) as lb:
        await fill(lb)
        known, keys = keys_of(lb)
        # An index of scores is made by a read that needs it.
        await lb.top("b", rank="dense")
        gone = {"key": [keys.key], "times": [keys.times], "dense": [keys.dense], "list": [known.listed], "marks": [known.watermarks]}
        gone |= {"list and marks": [known.listed, known.watermarks], "key and list": [keys.key, known.listed]}

        def lose():
            if lost == "renamed":
                bare.rename(keys.key, "elsewhere")
            else:
                assert bare.delete(*gone[lost]) >= (lost != "dense")

        if how == "read":
            await read_all(lb, lose)
        elif how == "write":
            await write_all(lb, lose, board)
        else:
            lose()
        if how != "restart":
            assert (await lb.admin.verify("b")).ok
    async with run(board) as lb:
        if how != "write":
            assert await shown(lb) == EXPECTED
        assert (await lb.admin.verify("b")).ok


async def test_what_expires_by_itself_is_not_lost(run, bare, clock):
    board = Board("b", windows={"daily": {"ttl": "1d"}, "all_time": {}})
    async with run(board) as lb:
        await fill(lb)
        known, _ = keys_of(lb)
        (daily,) = [key for key in bare.keys("*daily*") if b"times" not in key and b"dense" not in key]
        epoch = bare.hget(known.watermarks, "epoch")
        clock.now += 40 * 3_600_000
        bare.delete(daily)
        assert (await lb.top("b", window="daily", window_id="2026-11-15")).standings == []
        receipt = await lb.submit("b", "p9", 1)
        assert (receipt.windows["daily"].rank, receipt.windows["all_time"].rank) == (1, 6)
        assert bare.hget(known.watermarks, "epoch") == epoch
        assert (await lb.admin.verify("b")).ok


SEGMENTED = Board("b", segments=["region"], ties="player", windows={"all_time": {"key": "lb:b", "segment_key": "lb:b:{segment}:{value}"}})
THEIRS = {"somebody": 1.0, "p1": 5.0}


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("kind", ["sorted set", "string"])
async def test_a_foreign_key_stops_nobody_but_its_segment(run, bare, kind, restarted):
    def theirs():
        return bare.zrange("lb:b:region:eu", 0, -1, withscores=True) if kind == "sorted set" else bare.get("lb:b:region:eu")

    async with contextlib.AsyncExitStack() as stack:
        lb = await stack.enter_async_context(run(SEGMENTED))
        await fill(lb, segments={"region": "us"})
        bare.zadd("lb:b:region:eu", THEIRS) if kind == "sorted set" else bare.set("lb:b:region:eu", "mine")
        before = theirs()
        # The first one is recorded: it counts in all that has a place.
        receipt = await lb.submit("b", "p6", 60, segments={"region": "eu"})
        assert (receipt.rank, receipt.total_players) == (1, 6)
        if restarted:
            await stack.aclose()
            lb = await stack.enter_async_context(run(SEGMENTED))
        with pytest.raises(KeyTaken, match="'lb:b:region:eu'"):
            await lb.submit("b", "p7", 70, segments={"region": "eu"})
        with pytest.raises(EngineUnavailable, match="'lb:b:region:eu'"):
            await lb.top("b", segment="region:eu")
        assert (await lb.submit("b", "p8", 80, segments={"region": "us"})).rank == 1
        assert len(await shown(lb)) == 7, "nothing was recorded of what was refused"
        assert any("'lb:b:region:eu'" in reason for reason in await lb.ready())
        with pytest.raises(KeyTaken, match="'lb:b:region:eu'"):
            await lb.admin.rebuild("b")
        assert theirs() == before
        bare.rename("lb:b:region:eu", "away")
        await lb.runtime.catch_up.run()
        await lb.runtime.catch_up.run()
        assert await shown(lb, segment="region:eu") == {"p6": (1, 60)}
        assert (await lb.submit("b", "p7", 70, segments={"region": "eu"})).rank == 2
        assert (await lb.admin.verify("b")).ok
        assert await lb.ready() == []


BESIDE = {"times": "keepscore:times:lb:b", "dense": "keepscore:dense:lb:b", "segment": "keepscore:times:lb:b:region:eu"}
BESIDE |= {"list": "keepscore:{b}:b:rankings", "marks": "keepscore:{b}:b:applied", "late": "keepscore:{b}:b:late"}


@pytest.mark.parametrize("key", BESIDE)
@pytest.mark.parametrize("strong", [False, True], ids=["eventual", "strong"])
async def test_a_key_of_another_type_beside_a_ranking(run, bare, key, strong):
    templates = {"all_time": {"key": "lb:b", "segment_key": "lb:b:{segment}:{value}"}}
    board = Board("b", operator="last", segments=["region"], windows=templates, consistency="strong" if strong else "eventual")
    async with run(board) as lb:
        await fill(lb, segments={"region": "eu"})
        bare.delete(BESIDE[key])
        kind = "zset" if key == "segment" else "string"
        bare.zadd(BESIDE[key], THEIRS) if kind == "zset" else bare.set(BESIDE[key], "mine")
        for score in (60, 61):
            if strong:
                with pytest.raises(EngineUnavailable):
                    await lb.submit("b", "p6", score, segments={"region": "eu"})
            elif score == 60:
                assert (await lb.submit("b", "p6", score, segments={"region": "eu"})).pending
        assert any(f"'{BESIDE[key]}' in Redis holds a {kind}, not" in reason for reason in await reasons(lb))
        assert bare.type(BESIDE[key]) == kind.encode()
        assert len((await lb.history.all_events("b")).events) == len(PLAYERS) + (not strong)
        bare.delete(BESIDE[key])
        for _ in range(2):
            with contextlib.suppress(EngineUnavailable):
                await lb.runtime.catch_up.run()
        assert len(await shown(lb, segment="region:eu")) == len(PLAYERS) + (not strong)
        assert (await lb.submit("b", "p7", 70, segments={"region": "eu"})).rank == 1
        assert (await lb.admin.verify("b")).ok
        assert await lb.ready() == []


@pytest.mark.parametrize("kind", ["sorted set", "string"])
@pytest.mark.parametrize("segment", ["eu", "us"])
async def test_nothing_is_recorded_on_a_strong_board_for_a_foreign_key(run, bare, kind, segment):
    """Whether the segment has been there before or not."""
    board = msgspec.structs.replace(SEGMENTED, consistency="strong")
    async with run(board) as lb:
        await fill(lb, segments={"region": "us"})
        key = f"lb:b:region:{segment}"
        bare.delete(key)
        bare.zadd(key, THEIRS) if kind == "sorted set" else bare.set(key, "mine")
        for _ in range(2):
            with pytest.raises(KeyTaken, match=f"'{key}'"):
                await lb.submit("b", "p6", 60, segments={"region": segment})
        assert len((await lb.history.all_events("b")).events) == len(PLAYERS)
        assert any(f"'{key}'" in reason for reason in await lb.ready())
        assert (await lb.submit("b", "p7", 70, segments={"region": "asia"})).rank == 1
        bare.delete(key)
        for _ in range(2):
            await lb.runtime.catch_up.run()
        assert (await lb.submit("b", "p6", 60, segments={"region": segment})).rank == 2
        assert (await lb.admin.verify("b")).ok
        assert await lb.ready() == []


async def test_a_foreign_key_is_found_at_the_start(run, bare):
    board = Board("b", ties="player", windows={"daily": {"key": "lb:b:{start:%F}"}, "all_time": {}})
    async with run(board) as lb:
        await fill(lb)
    (key,) = bare.keys("lb:b:*")
    bare.delete(key)
    bare.zadd(key, THEIRS)
    async with run(board) as lb:
        with pytest.raises(KeyTaken, match="keepscore import"):
            await lb.submit("b", "p6", 60)
        assert len((await lb.history.all_events("b")).events) == len(PLAYERS)
        assert bare.zcard(key) == len(THEIRS)


async def test_a_foreign_key_in_the_place_of_a_past_window_is_named_and_rebuilds_the_board_only_once(run, bare):
    board = Board("b", ties="player", windows={"all_time": {}, "weekly": {"key": "lb:b:{start:%G-W%V}"}})
    async with run(board) as lb:
        await fill(lb)
        bare.zadd("lb:b:2026-W40", THEIRS)
        for _ in range(2):
            with pytest.raises(EngineUnavailable, match=r"'lb:b:2026-W40'.*keepscore import"):
                await lb.top("b", window="weekly", window_id="2026-W40")
            epoch = (await lb.top("b")).position
        assert len(await shown(lb)) == len(PLAYERS)
        assert (await lb.submit("b", "p6", 60)).rank == 1
        with pytest.raises(EngineUnavailable, match="'lb:b:2026-W40'"):
            await lb.top("b", window="weekly", window_id="2026-W40")
        assert (await lb.top("b")).position.partition(":")[0] == epoch.partition(":")[0]
        bare.delete("lb:b:2026-W40")
        for _ in range(2):
            await lb.runtime.catch_up.run()
        assert (await lb.top("b", window="weekly", window_id="2026-W40")).standings == []
        assert (await lb.admin.verify("b")).ok


async def test_a_foreign_set_in_the_place_of_what_was_lost_is_left_alone(run, bare):
    """Its players are not all in the ledger, though the board was there before."""
    board = Board("b", ties="player", windows={"all_time": {"key": "lb:b"}})
    async with run(board) as lb:
        await fill(lb)
        known, keys = keys_of(lb)
        bare.delete(known.watermarks, known.listed, keys.key)
        bare.zadd("lb:b", THEIRS)
        assert (await lb.submit("b", "p1", 99)).pending
        with pytest.raises(KeyTaken, match="keepscore import"):
            await lb.submit("b", "p1", 100)
        assert dict(bare.zrange("lb:b", 0, -1, withscores=True)) == {b"somebody": 1.0, b"p1": 5.0}
    async with run(board) as lb:
        with pytest.raises(EngineUnavailable, match="keepscore import"):
            await lb.top("b")
        bare.rename("lb:b", "away")
        for _ in range(2):
            with contextlib.suppress(EngineUnavailable):
                await lb.runtime.catch_up.run()
        assert (await shown(lb))["p1"] == (1, 99)
        assert (await lb.admin.verify("b")).ok


async def test_a_start_while_redis_is_away(tmp_path, clock, caplog):
    boards = Board("b", operator="sum"), Board("prize", consistency="strong")
    with single() as server:
        async with over_redis(tmp_path / "scores.db", server.url, clock, *boards) as lb:
            await fill(lb)
            await lb.submit("prize", "p1", 5)
            await lb.runtime.checkpoints.checkpoint()
        server.kill()
        async with over_redis(tmp_path / "scores.db", f"{server.url}?deadline=0.5", clock, *boards) as lb:
            top = await lb.top("b")
            assert (top.stale, [one.player_id for one in top.standings][:1]) == (True, ["p5"])
            assert (await lb.increment("b", "p1", 100)).pending
            for refused in (lb.submit("prize", "p1", 9), lb.top("prize")):
                with pytest.raises(EngineUnavailable):
                    await refused
            assert any("'b'" in reason for reason in await lb.ready())
            server.start()
            for _ in range(100):
                with contextlib.suppress(EngineUnavailable):
                    await lb.runtime.keeper.job("refresh").run(lb.runtime.clock())
                    await lb.runtime.catch_up.run()
                    break
                await asyncio.sleep(0.05)
            assert (await shown(lb))["p1"] == (1, 110)
            assert (await lb.rank("prize", "p1")).score == 5
            assert await lb.ready() == []
            for board in boards:
                assert (await lb.admin.verify(board.name)).ok


async def test_redis_that_may_drop_rankings_is_told_of(tmp_path, clock, caplog):
    for policy, word in (("allkeys-lru", "rankings,"), ("volatile-ttl", "rankings that expire"), ("noeviction", "")):
        with single(settings=[f"maxmemory-policy {policy}"]) as server:
            caplog.clear()
            async with Leaderboards.open(f"sqlite:///{tmp_path / policy}.db", server.url):
                assert (word in caplog.text and "noeviction" in caplog.text) == bool(word)


async def test_every_node_that_may_drop_rankings_is_told_of(tmp_path, caplog):
    with cluster() as nodes:
        last = next(node for node in reversed(nodes.nodes) if node.ask("ROLE")[0] in (b"master", "master"))
        last.ask("CONFIG SET", "maxmemory-policy", "allkeys-lru")
        async with Leaderboards.open(f"sqlite:///{tmp_path / 'scores.db'}", nodes.url, [Board(f"b{n}") for n in range(20)]):
            told = [record.getMessage() for record in caplog.records if "noeviction" in record.getMessage()]
            assert len(told) == 1
            assert str(last.port) in told[0]


async def test_redis_that_may_drop_rankings_is_told_of_when_it_is_back(tmp_path, caplog):
    with single(settings=["maxmemory-policy allkeys-lru"]) as server:
        opened = partial(Leaderboards.open, f"sqlite:///{tmp_path / 'scores.db'}", f"{server.url}?deadline=0.5", [Board("b")])
        async with opened() as lb:
            await lb.submit("b", "p", 1)
        server.kill()
        caplog.clear()
        async with opened() as lb:
            assert "maxmemory-policy" not in caplog.text
            server.start()
            for _ in range(200):
                if not await lb.ready():
                    break
                await asyncio.sleep(0.05)
            assert caplog.text.count("maxmemory-policy allkeys-lru") == 1


async def test_a_definition_on_a_foreign_set_is_refused_and_not_recorded(run, bare):
    bare.zadd("lb:mine", THEIRS)
    async with run() as lb:
        with pytest.raises(Exception, match="'lb:mine' in Redis holds a sorted set of 2") as refused:
            await lb.admin.put_board(Board("mine", windows={"all_time": {"key": "lb:mine"}}), confirm=True)
        assert refused.value.type == "urn:keepscore:invalid-board"
        assert await lb.admin.boards() == []
        assert bare.zcard("lb:mine") == 2


@pytest.mark.parametrize(
    ("refuse", "accept"),
    [
        (("CONFIG SET", "maxmemory", "1"), ("CONFIG SET", "maxmemory", "0")),
        (("REPLICAOF", "127.0.0.1", "1"), ("REPLICAOF", "NO", "ONE")),
        (("ACL SETUSER", "default", "-hset"), ("ACL SETUSER", "default", "+hset")),
    ],
    ids=["full", "read-only", "not allowed"],
)
async def test_reads_say_what_waits_while_redis_refuses_writes(tmp_path, clock, refuse, accept):
    rollup = Board("all", windows=["weekly"], rollup={"of": ["b", "other"], "window": "daily", "into": "weekly"})
    boards = *(Board(name, windows=["all_time", "daily"]) for name in ("b", "other")), Board("apart"), rollup
    with single() as server:
        async with over_redis(tmp_path / "scores.db", server.url, clock, *boards) as lb:

            async def labels(name):
                try:
                    await lb.rank(name, "p6")
                    missing = None
                except UnknownPlayer as exc:
                    missing = exc.as_of
                answers = [
                    await lb.top(name),
                    await lb.rank(name, "p1", around=1),
                    await lb.around(name, 1),
                    await lb.lookup(name, ["p1", "p6"]),
                    await lb.count(name),
                    await lb.history.windows(name),
                    await lb.history.of(name, "p1"),
                ]
                told = {answer.as_of if answer.stale is True else None for answer in answers}
                assert told == {missing} or missing is None, (told, missing)
                return told

            for name in ("b", "other", "apart"):
                await fill(lb, name)
            assert [await labels(name) for name in ("b", "all", "other", "apart")] == [{None}] * 4
            moment = time_of(clock())
            server.ask(*refuse)
            assert (await lb.submit("b", "p6", 99)).pending
            clock.now += 5000
            assert (await lb.submit("b", "p6", 100)).pending
            assert [await labels(name) for name in ("b", "all", "other", "apart")] == [{moment}, {moment}, {None}, {None}]
            with contextlib.suppress(EngineUnavailable):
                await lb.runtime.catch_up.run()
            assert [await labels(name) for name in ("b", "all")] == [{moment}, {moment}]
            server.ask(*accept)
            await lb.runtime.catch_up.run()
            assert [await labels(name) for name in ("b", "all")] == [{None}, {None}]
            assert (await shown(lb))["p6"] == (1, 100)
            assert (await lb.rank("all", "p6")).score == 100
            assert await lb.ready() == []


async def test_a_strong_board_is_not_read_while_scores_wait(run, clock):
    async with run(Board("b", consistency="strong")) as lb:
        await fill(lb)
        lb.runtime.behind.add(lb.runtime.catalog["b"], clock())
        for read in (lb.top("b"), lb.rank("b", "p1"), lb.rank("b", "nobody"), lb.history.windows("b")):
            with pytest.raises(EngineUnavailable, match="'b' has recorded scores that wait to be ranked"):
                await read
        await lb.runtime.catch_up.run()
        assert await shown(lb) == EXPECTED
