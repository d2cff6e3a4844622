"""A Redis that has something else in the place of a ranking: it is named, left alone, and stops nobody but those who need the place."""

import contextlib

import msgspec
import pytest

from keepscore import Board
from keepscore.errors import EngineUnavailable, KeyTaken
from tests.contract.five_players import PLAYERS, fill, keys_of, reasons, shown


@pytest.fixture
def run(on_bare):
    return on_bare


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


async def test_a_definition_on_a_foreign_set_is_refused_and_not_recorded(run, bare):
    bare.zadd("lb:mine", THEIRS)
    async with run() as lb:
        with pytest.raises(Exception, match="'lb:mine' in Redis holds a sorted set of 2") as refused:
            await lb.admin.put_board(Board("mine", windows={"all_time": {"key": "lb:mine"}}), confirm=True)
        assert refused.value.type == "urn:keepscore:invalid-board"
        assert await lb.admin.boards() == []
        assert bare.zcard("lb:mine") == 2
