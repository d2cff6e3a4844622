"""What an engine keeps for others: events for a ledger that is away, players who are to be restated, a lock."""

import asyncio

import pytest

from keepscore.domain.boards import Board
from keepscore.storage.engines.base import Gap
from tests.contract.driving import all_time, apply, batch, event, live_board, restate, start, state


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
    if engine.spool is None:
        return
    assert await engine.spool.size(live.id) == 2
    entries = await engine.spool.entries(live.id, 10)
    assert [text for _, text in entries] == kept
    assert await engine.spool.entries(live.id, 1) == entries[:1]
    await engine.spool.drop(live.id, [entries[0][0]])
    await engine.spool.drop(live.id, [entries[0][0]])
    assert await engine.spool.entries(live.id, 10) == entries[1:]
    assert await engine.spool.size(live.id) == 1


async def test_an_engine_with_servers_tells_of_their_memory(engine):
    memory = await engine.memory()
    assert (memory is None) == (not engine.is_shared)
    assert memory is None or 0 < memory.used < memory.limit


async def test_what_the_ledger_has_by_now_is_in_its_order(engine):
    """A spooled event counts as the latest, until the ledger numbers it; whatever is applied later with a lower number came before it."""
    live = live_board(Board("b", operator="last", resolution="1s"))
    await start(engine, live)
    if engine.spool is None:
        return
    await apply(engine, live, event(1, "p", 1, seq=1), event(2, "q", 1, seq=1))
    await engine.apply([spooling(live, event(1, "p", 5, -5000, writer=2))])
    assert await engine.states(all_time(live), ["p"]) == [state(5)]
    ((name, _),) = await engine.spool.entries(live.id, 10)
    await engine.spool.drop(live.id, [name], [(all_time(live), "p")], 9)
    assert await engine.needs_restate(live.id) == [(all_time(live), "p")]
    outcomes = await apply(engine, live, event(3, "p", 7, seq=8), event(4, "q", 7, seq=8))
    assert [outcome.restate for outcome in outcomes] == [[all_time(live)]] * 2
    outcomes = await apply(engine, live, event(5, "p", 8, -9000, seq=10))
    assert [outcome.restate for outcome in outcomes] == [[]]
    assert await engine.states(all_time(live), ["p"]) == [state(8)]


async def test_nothing_is_kept_of_what_is_not_applied(engine):
    live = live_board(Board("b"))
    await start(engine, live)
    gap = spooling(live, event(2, "p", 5))
    with pytest.raises(Gap):
        await engine.apply([gap])
    assert engine.spool is None or await engine.spool.entries(live.id, 10) == []


async def test_who_is_to_be_restated_is_known_until_then(engine):
    live = live_board(Board("b", operator="last", windows=["all_time", "daily"]))
    await start(engine, live)
    await apply(engine, live, event(1, "p", 5, 100), event(2, "q", 7, 100))
    assert await engine.needs_restate(live.id) == []
    (outcome,) = await apply(engine, live, event(3, "p", 9, 50, received=200))
    assert sorted(await engine.needs_restate(live.id)) == sorted((ranking, "p") for ranking in outcome.restate)
    for ranking in outcome.restate:
        await restate(engine, ranking, "p", state(5, 100))
    assert await engine.needs_restate(live.id) == []


async def test_a_rebuilt_board_has_nobody_to_restate(engine):
    live = live_board(Board("b", operator="last"))
    await start(engine, live)
    await apply(engine, live, event(1, "p", 5, 100), event(2, "p", 7, 50, received=200))
    await start(engine, live, {all_time(live): {"p": state(5, 100)}}, {1: 2})
    assert await engine.needs_restate(live.id) == []


async def test_one_at_a_time_holds_a_board(engine):
    live = live_board(Board("b"))
    await start(engine, live)
    inside = []

    async def visit(name):
        token = await engine.locks.hold(live.id)
        if engine.is_shared:
            assert not inside
        inside.append(name)
        await asyncio.sleep(0)
        inside.remove(name)
        await engine.locks.release(live.id, token)

    await asyncio.gather(*(visit(name) for name in range(5)))
    token = await engine.locks.hold(live.id)
    await engine.locks.release(live.id, "somebody else's")
    if engine.is_shared:
        waiting = asyncio.ensure_future(engine.locks.hold(live.id))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        await engine.locks.release(live.id, token)
        await engine.locks.release(live.id, await waiting)
