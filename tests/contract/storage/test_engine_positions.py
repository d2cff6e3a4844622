"""Positions: whatever changes a ranking moves its position, in the same step; what may take something back begins another epoch."""

import pytest

from keepscore.domain.boards import Board
from tests.contract.backends import ENGINES
from tests.contract.driving import DAY, NOON, all_time, apply, batch, event, live_board, start, state


async def position(engine, ranking):
    (found,) = await engine.positions.read([ranking])
    return found


async def moved(engine, ranking, step):
    """Return how far a step moves a ranking within its epoch; None: to another one."""
    before = await position(engine, ranking)
    await step
    after = await position(engine, ranking)
    return after.seq - before.seq if after.epoch == before.epoch else None


@pytest.mark.parametrize(
    "fields",
    [{}, {"ties": "player"}, {"max_score": 1000, "windows": ["daily"]}, {"operator": "sum"}, {"operator": "last"}, {"rank": "dense"}],
)
@pytest.mark.parametrize("ranked", [True, False])
async def test_applying_moves_what_it_changes(engine, fields, ranked):
    live = live_board(Board("b", segments=["region"], **fields))
    await start(engine, live)
    (whole, eu) = live.route(NOON, {"region": "eu"}).rankings
    us = whole._replace(segment="region:us")
    assert await moved(engine, whole, apply(engine, live, event(1, "a", 7, segments={"region": "eu"}), ranked=ranked)) > 0
    here = await position(engine, whole)
    assert engine.positions.latest(whole) == here, "the process knows what it has changed"
    assert (await engine.page(whole, 0, 10)).position == here
    assert (await engine.page_after(whole, (await engine.page(whole, 0, 1)).rows[0], 10)).position == here
    assert len({(await position(engine, ranking)).epoch for ranking in (whole, eu, us)}) == 3, "each ranking has an epoch of its own"
    eu_before = await position(engine, eu)
    assert await moved(engine, us, apply(engine, live, event(2, "b", 9, segments={"region": "us"}), ranked=ranked)) > 0
    assert await position(engine, eu) == eu_before, "a change elsewhere moves nothing here"
    # The same once more changes nothing.
    assert await moved(engine, whole, engine.apply([batch(live, event(2, "b", 9, segments={"region": "us"}))])) == 0


async def test_what_changes_nothing_moves_nothing(engine):
    live = live_board(Board("b"))
    await start(engine, live)
    await apply(engine, live, event(1, "a", 7))
    for n, ranked in ((2, True), (3, False)):
        assert await moved(engine, all_time(live), apply(engine, live, event(n, "a", 5, at=n), ranked=ranked)) == 0


async def test_restating_settling_and_pruning_move(engine):
    live = live_board(Board("b", keep_top=2))
    await start(engine, live, {all_time(live): {player: state(score) for player, score in zip("abcd", range(4), strict=True)}}, {1: 4})
    name = all_time(live)
    assert await moved(engine, name, engine.restate_all(live.id, {name: {"a": state(9)}})) > 0
    assert await moved(engine, name, engine.restate_all(live.id, {name: {"a": None}})) > 0
    assert await moved(engine, name, engine.settle(live.id, {name: {"b": state(20)}}, {1: 4}, {1: 5})) > 0
    assert await moved(engine, name, engine.settle(live.id, {name: {"b": state(30)}}, {1: 4}, {1: 5})) == 0, "it has gone on"
    assert await moved(engine, name, engine.pruning.prune(name, 2, "mark")) > 0


async def test_a_load_begins_another_epoch_and_a_shadow_moves_nothing(engine):
    live = live_board(Board("b"))
    await start(engine, live)
    await apply(engine, live, event(1, "a", 7))
    name = all_time(live)

    async def fill():
        async def nothing():
            for _ in ():
                yield

        await engine.load(live.id, live.board, nothing(), {})
        await engine.apply([batch(live, event(1, "a", 7), shadow=True)])

    assert await moved(engine, name, fill()) == 0
    assert await moved(engine, name, engine.promote(live.id)) is None
    assert await moved(engine, name, start(engine, live)) is None


async def test_a_ranking_that_was_dropped_goes_on_counting(engine):
    live = live_board(Board("b", windows={"daily": {"ttl": "1d"}}))
    await start(engine, live)
    (name,) = live.route(NOON, None).rankings
    await apply(engine, live, event(1, "a", 7), event(2, "b", 7))
    assert await moved(engine, name, engine.expire(NOON + 10 * DAY)) > 0
    assert await moved(engine, name, apply(engine, live, event(3, "a", 7))) > 0


async def test_another_server_begins_another_epoch():
    """One that has restarted, or was a replica, may lack what was shown."""
    async with ENGINES["redis"]() as engine:
        live = live_board(Board("b"))
        await start(engine, live)
        await apply(engine, live, event(1, "a", 7))
        before = await position(engine, all_time(live))
        node = engine._client._primary
        node._server = (b"another",)
        assert (await position(engine, all_time(live))).epoch != before.epoch
        assert (await position(engine, all_time(live))).seq == before.seq
        node._server = (b"a third one",)
        assert await moved(engine, all_time(live), apply(engine, live, event(2, "a", 8))) == 1
        assert (await engine.page(all_time(live), 0, 1)).position == await position(engine, all_time(live))
