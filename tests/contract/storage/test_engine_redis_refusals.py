"""A Redis that refuses something, in the middle of a script too: nothing half done, nothing recorded on strong boards."""

import asyncio
import contextlib

import pytest

from keepscore import Board
from keepscore.errors import EngineUnavailable
from keepscore.storage.engines.base import Ranking
from tests.contract.both import over_redis
from tests.contract.five_players import EXPECTED, PLAYERS, fill, keys_of, reasons, shown
from tests.support.redis_servers import single


@contextlib.contextmanager
def without(server, command):
    """Take a command from the user for a while."""
    server.ask("ACL SETUSER", "default", f"-{command}")
    try:
        yield
    finally:
        server.ask("ACL SETUSER", "default", f"+{command}")


@pytest.mark.parametrize(
    "command", ["zadd", "hset", "zrem", "zcard", "pexpire", "sadd", "zmscore", "hlen", "exists", "zcount", "hmget", "xadd"]
)
@pytest.mark.parametrize("operator", ["best", "last"])
@pytest.mark.parametrize("strong", [False, True], ids=["eventual", "strong"])
async def test_a_script_that_fails_midway_leaves_nothing_half_done(tmp_path, clock, command, operator, strong):
    """A command is taken from the user in the middle of a script, which Redis does not undo."""
    windows = {"all_time": {}, "daily": {"ttl": "9d"}}
    board = Board("b", operator=operator, windows=windows, consistency="strong" if strong else "eventual", segments=["region"])
    with single() as server:
        async with over_redis(tmp_path / "scores.db", server.url, clock, board) as lb:
            await fill(lb)
            server.ask("ACL SETUSER", "default", f"-{command}")
            try:
                answers = await asyncio.gather(
                    *(lb.submit("b", player, score, at="2026-11-15T11:00:00Z") for player, score in (("p1", 61), ("p6", 33))),
                    return_exceptions=True,
                )
                told = [one if isinstance(one, Exception) else one.pending for one in answers]
                if strong:
                    assert all(isinstance(one, EngineUnavailable) for one in told), told
                    assert len((await lb.history.all_events("b")).events) == len(PLAYERS), "nothing is recorded"
                problem = (await reasons(lb))[0]
                assert "can't run this command" in problem, problem
                assert command.upper() in problem, problem
                assert server.ask("KEYS", "keepscore:probe:*") == []
            finally:
                server.ask("ACL SETUSER", "default", f"+{command}")
            await lb.runtime.catch_up.run()
            assert (await lb.admin.verify("b")).ok
            assert await lb.ready() == []


@pytest.mark.parametrize("command", ["unlink", "rename", "persist", "hexists"])
async def test_a_board_that_cannot_be_rebuilt_leaves_nothing_over(tmp_path, clock, command):
    boards = Board("b", operator="sum"), Board("prize", consistency="strong")
    with single() as server:
        async with over_redis(tmp_path / "scores.db", server.url, clock, *boards) as lb:
            await fill(lb)
            await lb.submit("prize", "p1", 5)
            _, keys = keys_of(lb)
            server.ask("DEL", keys.key)
            with without(server, command):
                for _ in range(3):
                    assert (await lb.increment("b", "p1", 1)).pending
                    with contextlib.suppress(EngineUnavailable):
                        await lb.runtime.catch_up.run()
                with pytest.raises(EngineUnavailable, match=command.upper()):
                    await lb.submit("prize", "p1", 9)
                assert server.ask("KEYS", "keepscore:new:*") == []
            await lb.runtime.catch_up.run()
            assert (await shown(lb))["p1"] == (5, 13)
            assert (await lb.rank("prize", "p1")).score == 5
            assert (await lb.admin.verify("b")).ok


@pytest.mark.parametrize("command", ["zcount", "zrem"])
async def test_a_roll_up_that_fails_midway_is_rebuilt(tmp_path, clock, command):
    rollup = {"of": ["days"], "window": "daily", "into": "weekly", "aggregate": "sum"}
    boards = Board("days", operator="sum", windows=["daily"]), Board("b", rank="dense", windows=["weekly"], rollup=rollup)
    with single() as server:
        async with over_redis(tmp_path / "scores.db", server.url, clock, *boards) as lb:
            for player, score in PLAYERS.items():
                await lb.increment("days", player, score)
            await lb.top("b")
            with without(server, command):
                await lb.increment("days", "p5", 7)
            await lb.runtime.catch_up.run()
            assert await shown(lb) == EXPECTED | {"p5": (1, 57)}
            assert (await lb.admin.verify("b")).ok


async def test_a_pruning_that_fails_midway_is_rebuilt(tmp_path, clock):
    board = Board("b", operator="sum", rank="dense", keep_top=3)
    with single() as server:
        async with over_redis(tmp_path / "scores.db", server.url, clock, board) as lb:
            await fill(lb)
            await lb.top("b")
            ranking = Ranking(lb.runtime.catalog["b"].id, "all_time", "all_time", "")
            with without(server, "hdel"), pytest.raises(EngineUnavailable):
                await lb.runtime.engine.pruning.prune(ranking, 3, "mark")
            await lb.runtime.catch_up.run()
            assert await shown(lb) == EXPECTED
            assert (await lb.admin.verify("b")).ok


async def test_an_index_of_scores_that_fails_midway_starts_over(tmp_path, clock, monkeypatch):
    monkeypatch.setattr("keepscore.storage.engines.redis.boards.CHUNK_PLAYERS", 2)
    with single() as server:
        async with over_redis(tmp_path / "scores.db", server.url, clock, Board("b", operator="sum")) as lb:
            await fill(lb)
            await lb.top("b", rank="dense")
            _, keys = keys_of(lb)
            server.ask("DEL", keys.dense)
            with without(server, "hset"), pytest.raises(EngineUnavailable):
                await lb.runtime.engine.page(Ranking(lb.runtime.catalog["b"].id, "all_time", "all_time", ""), 0, 5, "dense")
            assert [(await lb.rank("b", player, rank="dense")).rank for player in EXPECTED] == [1, 2, 3, 4, 5]
            assert (await lb.admin.verify("b")).ok


@pytest.mark.parametrize("strong", [False, True], ids=["eventual", "strong"])
async def test_a_redis_that_is_full(tmp_path, clock, strong):
    board = Board("b", operator="sum", consistency="strong" if strong else "eventual")
    with single() as server:
        async with over_redis(tmp_path / "scores.db", server.url, clock, board) as lb:
            await fill(lb)
            server.ask("CONFIG SET", "maxmemory", "1")
            if strong:
                with pytest.raises(EngineUnavailable, match="OOM"):
                    await lb.increment("b", "p1", 1)
                with pytest.raises(EngineUnavailable, match="OOM"):
                    await lb.ready()
                assert len((await lb.history.all_events("b")).events) == len(PLAYERS), "nothing is recorded"
            else:
                assert (await lb.increment("b", "p1", 1)).pending
                assert any("OOM" in reason for reason in await lb.ready())
            server.ask("CONFIG SET", "maxmemory", "0")
            await lb.runtime.catch_up.run()
            assert (await shown(lb))["p1"] == (5, 10 if strong else 11)
            assert (await lb.admin.verify("b")).ok
            assert await lb.ready() == []
