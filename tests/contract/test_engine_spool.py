"""What an engine keeps for others: events for a ledger that is away, players who are to be restated, a lock."""

import asyncio

import pytest

from keepscore.boards import Board
from keepscore.engines.base import Gap
from tests.contract.driving import all_time, apply, batch, event, live_board, start, state


def spooling(live, *events):
    return batch(live, *events)._replace(spool=f"{[e.n for e in events]}")


async def test_what_is_applied_is_kept_in_the_same_step(engine):
    live = live_board(Board("b", operator="sum"))
    await start(engine, live)
    kept = []
    for one in (spooling(live, event(1, "p", 5, kind="increment")), spooling(live, event(2, "p", 6, 1, "increment"))):
        await engine.apply([one])
        # A reply that was lost: nothing is kept twice.
        await engine.apply([one])
        kept.append(one.spool.encode())
    assert await engine.states(all_time(live), ["p"]) == [state(11, 1)]
    if not engine.spools:
        assert await engine.spooled(live.id, 10) == []
        return
    entries = await engine.spooled(live.id, 10)
    assert [text for _, text in entries] == kept
    assert await engine.spooled(live.id, 1) == entries[:1]
    await engine.unspool(live.id, [entries[0][0]])
    await engine.unspool(live.id, [entries[0][0]])
    assert await engine.spooled(live.id, 10) == entries[1:]


async def test_nothing_is_kept_of_what_is_not_applied(engine):
    live = live_board(Board("b"))
    await start(engine, live)
    gap = spooling(live, event(2, "p", 5))
    with pytest.raises(Gap):
        await engine.apply([gap])
    assert await engine.spooled(live.id, 10) == []


async def test_who_is_to_be_restated_is_known_until_then(engine):
    live = live_board(Board("b", operator="last", windows=["all_time", "daily"]))
    await start(engine, live)
    await apply(engine, live, event(1, "p", 5, 100), event(2, "q", 7, 100))
    assert await engine.late(live.id) == []
    (outcome,) = await apply(engine, live, event(3, "p", 9, 50))
    assert sorted(await engine.late(live.id)) == sorted((ranking, "p") for ranking in outcome.restate)
    for ranking in outcome.restate:
        await engine.restate(ranking, "p", state(5, 100))
    assert await engine.late(live.id) == []


async def test_a_rebuilt_board_has_nobody_to_restate(engine):
    live = live_board(Board("b", operator="last"))
    await start(engine, live)
    await apply(engine, live, event(1, "p", 5, 100), event(2, "p", 7, 50))
    await start(engine, live, {all_time(live): {"p": state(5, 100)}}, {1: 2})
    assert await engine.late(live.id) == []


async def test_one_at_a_time_holds_a_board(engine):
    live = live_board(Board("b"))
    await start(engine, live)
    inside = []

    async def visit(name):
        token = await engine.hold(live.id)
        if engine.spools:
            assert not inside
        inside.append(name)
        await asyncio.sleep(0.01)
        inside.remove(name)
        await engine.release(live.id, token)

    await asyncio.gather(*(visit(name) for name in range(5)))
    token = await engine.hold(live.id)
    await engine.release(live.id, "somebody else's")
    if engine.spools:
        waiting = asyncio.ensure_future(engine.hold(live.id))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        await engine.release(live.id, token)
        await engine.release(live.id, await waiting)
