"""What only an engine on Redis can meet: another process beside it."""

import asyncio
import contextlib
import secrets
from unittest.mock import patch

import pytest
import redis

from keepscore.domain.boards import Board
from keepscore.domain.ordering import Row
from keepscore.errors import EngineUnavailable, InvalidBoard, LedgerUnavailable
from keepscore.storage.engines.base import Loaded, Ranking
from keepscore.storage.engines.redis.boards import list_of
from keepscore.storage.engines.redis.client import RedisClient
from keepscore.storage.engines.redis.engine import RedisEngine
from keepscore.storage.engines.redis.questions import Questions
from keepscore.storage.engines.redis.url import parse_redis_url
from tests.contract.backends import redis_url
from tests.contract.driving import DAY, NOON, all_time, given, live_board, table
from tests.support.opening import leaderboards
from tests.support.redis_servers import single


async def test_two_processes_rebuild_a_lost_board_at_once():
    live, ledger = live_board(Board(f"b-{secrets.token_hex(4)}")), secrets.token_hex(4)
    one, two = (RedisEngine(redis_url(), clock=lambda: NOON - DAY) for _ in range(2))
    for engine in (one, two):
        await engine.open(ledger)
        await engine.load(1, live.board, given(Loaded(all_time(live), 0, [Row("a", 1, NOON)], True)), {1: 1})
    looked = []

    async def overtaken(client, known):
        found = await list_of(client, known)
        if not looked and not known.prefix:
            looked.append(found)
            await one.promote(1)
        return found

    with patch("keepscore.storage.engines.redis.shadows.list_of", overtaken):
        await two.promote(1)
    assert looked == [{}]
    for engine in (one, two):
        assert (await table(engine, all_time(live)), await engine.applied(1)) == ([("a", 1, 0)], {1: 1})
        await engine.close()


async def test_two_loads_of_one_process_do_not_get_into_each_other_s_way():
    live = live_board(Board(f"b-{secrets.token_hex(4)}"))
    engine = RedisEngine(redis_url(), clock=lambda: NOON)
    await engine.open(secrets.token_hex(4))
    half, rest = asyncio.Event(), asyncio.Event()

    def loaded(player, score):
        return Loaded(all_time(live), 0, [Row(player, score, NOON)], True)

    async def older():
        yield loaded("a", 1)
        await half.wait()
        yield loaded("b", 1)
        rest.set()

    async def newer():
        yield loaded("a", 2)
        yield loaded("b", 2)
        half.set()
        await rest.wait()

    first = asyncio.create_task(engine.load(1, live.board, older(), {1: 2}))
    await engine.load(1, live.board, newer(), {1: 4})
    await first
    # What was loaded last is what counts.
    await engine.promote(1)
    with pytest.raises(EngineUnavailable, match="replaced in the meantime"):
        await engine.promote(1)
    shown = await table(engine, all_time(live)), await engine.applied(1)
    assert shown in (([("b", 1, 0), ("a", 1, 0)], {1: 2}), ([("b", 2, 0), ("a", 2, 0)], {1: 4}))
    assert not [key async for key in engine._client._primary.client.scan_iter(match=f"keepscore:new:*{live.name}*")]
    await engine.forget(1)
    await engine.close()


async def test_a_load_that_fails_leaves_nothing():
    live = live_board(Board(f"b-{secrets.token_hex(4)}"))
    engine = RedisEngine(redis_url(), clock=lambda: NOON)
    await engine.open(secrets.token_hex(4))

    async def failing():
        yield Loaded(all_time(live), 0, [Row("a", 1, NOON)], True)
        raise LedgerUnavailable("it is away")

    with pytest.raises(LedgerUnavailable):
        await engine.load(1, live.board, failing(), {1: 1})
    assert not [key async for key in engine._client._primary.client.scan_iter(match=f"*{live.name}*")]
    await engine.close()


async def test_a_board_with_more_rankings_than_there_are_connections():
    board = Board(f"b-{secrets.token_hex(4)}", windows=["daily"])
    engine = RedisEngine(redis_url(), clock=lambda: NOON)
    await engine.open(secrets.token_hex(4))
    days = [
        Ranking(1, "daily", f"20{year:02}-{month:02}-{day:02}", "") for year in range(3) for month in range(1, 13) for day in range(1, 29)
    ]
    await engine.load(1, board, given(*(Loaded(day, 0, [Row("a", 1, NOON)], True) for day in days)), {1: 1})
    await engine.promote(1)
    assert sorted(await engine.rankings(1)) == days
    await engine.forget(1)
    await engine.close()


@pytest.mark.parametrize("players", [["ann"], ["ann", "bob"]], ids=["less", "nobody"])
async def test_a_strong_board_shows_all_though_redis_comes_back_as_it_was(tmp_path, players):
    """As after a failover to a replica that lags: nobody writes, no keeper looks, and a reader in another process knows of nothing."""
    board, ledger = Board("cup", consistency="strong", operator="sum"), f"sqlite:///{tmp_path / 'scores.db'}"
    with single() as server:
        async with leaderboards(ledger, server.url, [board]) as one, leaderboards(ledger, server.url) as other:
            for player in players[:1]:
                await one.increment("cup", player, 5)
            assert (await other.rank("cup", "ann")).score == 5
            server.ask("SAVE")
            for player in players:
                await one.increment("cup", player, 4)
            server.kill()
            server.start()
            for _ in range(100):
                with contextlib.suppress(EngineUnavailable):
                    assert (await other.rank("cup", players[-1])).score == (9 if players[-1] == "ann" else 4)
                    break
                await asyncio.sleep(0.05)
            else:
                pytest.fail("the board is not shown again")
            assert [(one.player_id, one.score) for one in (await other.top("cup")).standings] == [("ann", 9), ("bob", 4)][: len(players)]


async def test_each_of_many_readers_gets_the_answer_to_its_question():
    board = Board(f"b-{secrets.token_hex(4)}", ties="player")
    live, engine = live_board(board), RedisEngine(redis_url(), clock=lambda: NOON)
    await engine.open(secrets.token_hex(4))
    await engine.load(1, board, given(Loaded(all_time(live), 0, [Row(f"p{n}", n, NOON) for n in range(100)], True)), {})
    await engine.promote(1)
    await engine.places(all_time(live), ["p1"], "dense")

    async def reader(number):
        for n in range(number, 100):
            # Now and then one goes away before its answer is there.
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(engine.places(all_time(live), ["nobody"]), 0.0001 if n % 7 == 0 else 10)
            none, place = await engine.places(all_time(live), ["nobody", f"p{n}"])
            assert (none, place.score, place.unique, place.standard, place.dense, place.total) == (None, n, 100 - n, 100 - n, 100 - n, 100)

    await asyncio.wait_for(asyncio.gather(*map(reader, range(40))), 60)
    await engine.close()


@pytest.mark.parametrize("problem", [ValueError("no number"), "too few", "closed"])
async def test_nobody_waits_for_an_answer_that_does_not_come(problem):
    async def places(ranking, is_dense, players):
        if problem == "closed":
            questions.stop()
            await asyncio.Event().wait()
        if problem == "too few":
            return []
        raise problem

    questions = Questions(places)
    asked = [questions.ask(Ranking(1, "all_time", "all_time", ""), False, player) for player in "ab"]
    async with asyncio.timeout(5):
        answers = await asyncio.gather(*asked, return_exceptions=True)
    assert {type(answer) for answer in answers} == {EngineUnavailable if problem == "closed" else ValueError}


async def test_a_call_that_may_take_long_is_not_cut_off_at_the_deadline():
    with single() as server:
        client = RedisClient(parse_redis_url(f"{server.url}?deadline=0.1"))
        await client.open()
        assert await client.command("DEBUG", "SLEEP", 0.3, seconds=5) == b"OK"
        with pytest.raises(EngineUnavailable, match=r"no answer within 0\.1 s"):
            await client.command("DEBUG", "SLEEP", 0.3)
        await client.close()


@pytest.mark.parametrize("key", ["applied", "rankings", "spool", "late", "lock", "positions"])
async def test_a_board_is_refused_where_something_else_lies_under_one_of_its_own_keys(key):
    board, ledger = Board(f"b-{secrets.token_hex(4)}"), secrets.token_hex(4)
    engine = RedisEngine(redis_url(), clock=lambda: NOON)
    await engine.open(ledger)
    name = f"keepscore:{{{board.name}}}:{board.name}:{key}{f':{ledger}' if key == 'spool' else ''}"
    with redis.Redis.from_url(redis_url()) as bare:
        bare.sadd(name, "mine") if key != "late" else bare.set(name, "mine")
        with pytest.raises(InvalidBoard, match="not what Keepscore puts there"):
            await engine.check(board, [])
        bare.delete(name)
    await engine.check(board, [])
    await engine.close()
