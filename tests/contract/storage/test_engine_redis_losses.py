"""A Redis that lost something of a board, or has something else in its place: no wrong rank, healed from the ledger."""

import asyncio
import contextlib
from functools import partial

import pytest

from keepscore import Board, Leaderboards
from keepscore.domain.durations import time_of
from keepscore.errors import EngineUnavailable, UnknownPlayer
from tests.contract.both import over_redis
from tests.contract.five_players import EXPECTED, fill, keys_of, shown
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
def run(on_bare):
    return on_bare


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
