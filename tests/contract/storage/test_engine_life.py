import pytest

from keepscore.domain.boards import Board, Window
from keepscore.domain.ordering import Row
from keepscore.storage.engines.base import Gap, Loaded, Ranking
from tests.contract.driving import DAY, NOON, all_time, apply, batch, event, given, live_board, restate, start, state, table

# -- load, promote, forget ----------------------------------------------------------------------------------------------


async def test_a_shadow_is_read_by_nobody_until_it_is_promoted(engine):
    old, new = live_board(Board("b")), live_board(Board("b", order="asc"), version=2)
    await start(engine, old, {all_time(old): {"a": state(1), "b": state(2)}}, {1: 2})
    rows = [Row("a", 1, NOON), Row("b", 2, NOON), Row("c", 3, NOON)]
    await engine.load(1, new.board, given(Loaded(all_time(new), 0, rows, True)), {1: 3})
    assert await table(engine, all_time(old)) == [("b", 2, 0), ("a", 1, 0)]
    assert (await engine.applied(1), await engine.applied(1, shadow=True)) == ({1: 2}, {1: 3})
    await engine.promote(1)
    assert await table(engine, all_time(new)) == [("a", 1, 0), ("b", 2, 0), ("c", 3, 0)]
    assert (await engine.applied(1), await engine.applied(1, shadow=True)) == ({1: 3}, None)


async def test_the_board_takes_events_while_its_shadow_is_filled(engine):
    old, new = live_board(Board("b")), live_board(Board("b", operator="sum"), version=2)
    await start(engine, old)

    async def states():
        await apply(engine, old, event(1, "a", 5))
        assert await table(engine, all_time(old)) == [("a", 5, 0)]
        yield Loaded(all_time(new), 0, [Row("z", 1, NOON)], True)

    await engine.load(1, new.board, states(), {})
    await engine.apply([batch(new, event(1, "a", 5, kind="increment"), event(2, "a", 5, 1, "increment"), shadow=True)])
    await restate(engine, all_time(new), "z", state(4), shadow=True)
    assert await table(engine, all_time(old)) == [("a", 5, 0)]
    await engine.promote(1)
    assert await table(engine, all_time(new)) == [("a", 10, 1), ("z", 4, 0)]
    assert await engine.applied(1) == {1: 2}


async def test_a_shadow_that_is_not_there_is_a_gap(engine):
    live = live_board(Board("b"))
    await start(engine, live)
    with pytest.raises(Gap) as gap:
        await apply(engine, live, event(1, "a", 5), shadow=True)
    assert gap.value.applied is None


async def test_a_later_row_of_a_load_replaces_an_earlier_one(engine):
    live = live_board(Board("b"))
    name = all_time(live)
    parts = [Loaded(name, 0, [Row("a", 1, NOON), Row("b", 2, NOON)], False), Loaded(name, 0, [Row("a", 9, NOON + 1)], True, True)]
    await engine.load(1, live.board, given(*parts), {})
    await engine.promote(1)
    assert await table(engine, name) == [("a", 9, 1), ("b", 2, 0)]


async def test_a_load_can_be_repeated(engine):
    live = live_board(Board("b"))
    await engine.load(1, live.board, given(Loaded(all_time(live), 0, [Row("a", 1, NOON)], True)), {1: 1})
    await start(engine, live, {all_time(live): {"b": state(2)}}, {1: 2})
    assert await table(engine, all_time(live)) == [("b", 2, 0)]


async def test_forget(engine):
    one, two = live_board(Board("one"), 1), live_board(Board("two"), 2)
    for live in (one, two):
        await start(engine, live, {all_time(live): {"a": state(1)}}, {1: 1})
    await engine.forget(1)
    await engine.forget(1)
    assert (await engine.applied(1), await engine.rankings(1), await table(engine, all_time(one))) == (None, [], [])
    assert await table(engine, all_time(two)) == [("a", 1, 0)]
    with pytest.raises(Gap):
        await apply(engine, one, event(2, "a", 5))


# -- restate ------------------------------------------------------------------------------------------------------------


async def test_restate(engine):
    live = live_board(Board("b", segments=["region"]))
    await start(engine, live, {all_time(live): {"a": state(1), "b": state(2), "c": state(2, 1)}}, {1: 3})
    await restate(engine, all_time(live), "a", state(5, 7))
    await restate(engine, all_time(live), "b", None)
    await restate(engine, all_time(live), "nobody", None)
    await restate(engine, all_time(live), "new", state(-1))
    await restate(engine, all_time(live, "region:eu"), "a", state(5, 7))
    assert await table(engine, all_time(live)) == [("a", 5, 7), ("c", 2, 1), ("new", -1, 0)]
    assert await table(engine, all_time(live, "region:eu")) == [("a", 5, 7)]
    assert await engine.applied(1) == {1: 3}


async def test_many_are_restated_in_one_step_or_not_at_all(engine):
    live = live_board(Board("b", segments=["region"]))
    whole, part = all_time(live), all_time(live, "region:eu")
    await start(engine, live, {whole: {"a": state(1), "b": state(2)}}, {1: 3})
    states = {whole: {"a": state(5), "b": None, "c": state(3)}, part: {"a": state(5)}}
    assert not await engine.restate_all(1, states, upto={1: 2})
    assert not await engine.restate_all(1, states, upto={1: 3, 2: 1})
    assert await table(engine, whole) == [("b", 2, 0), ("a", 1, 0)]
    assert await engine.restate_all(1, states, upto={1: 3})
    assert await table(engine, whole) == [("a", 5, 0), ("c", 3, 0)]
    assert await table(engine, part) == [("a", 5, 0)]
    assert set(await engine.rankings(1)) == {whole, part}


async def test_a_ranking_without_players_is_not_listed(engine):
    live = live_board(Board("b"))
    await start(engine, live, {all_time(live): {"a": state(1)}})
    assert await engine.rankings(1) == [all_time(live)]
    await restate(engine, all_time(live), "a", None)
    assert await engine.rankings(1) == []


# -- expire and redefine ------------------------------------------------------------------------------------------------


async def test_expire_drops_a_ranking_when_its_time_has_come(engine):
    board = Board("b", windows={"daily": Window(ttl="2d"), "all_time": Window()}, grace="1h")
    live = live_board(board)
    await start(engine, live)
    await apply(engine, live, event(1, "a", 1), event(2, "b", 1, DAY), event(3, "c", 1, 0, received=DAY // 4))
    first, second = Ranking(1, "daily", "2026-11-15", ""), Ranking(1, "daily", "2026-11-16", "")
    due = NOON + DAY // 4 + 2 * DAY
    await engine.expire(due - 1)
    assert set(await engine.rankings(1)) == {first, second, all_time(live)}
    await engine.expire(due)
    assert set(await engine.rankings(1)) == {second, all_time(live)}
    assert await table(engine, first) == []
    await engine.expire(due)
    await engine.expire(NOON + 1000 * DAY)
    assert await engine.rankings(1) == [all_time(live)]


async def test_loaded_rankings_expire_too(engine):
    live = live_board(Board("b"))
    await start(engine, live, {all_time(live): {"a": state(1)}}, expiry=NOON)
    await engine.expire(NOON - 1)
    assert await engine.rankings(1) == [all_time(live)]
    await engine.expire(NOON)
    assert await engine.rankings(1) == []


async def test_redefine_keeps_rankings_and_sets_when_they_expire(engine):
    live = live_board(Board("b", windows={"all_time": Window(ttl="1d")}))
    await start(engine, live)
    await apply(engine, live, event(1, "a", 1))
    longer = live_board(Board("b", windows={"all_time": Window(ttl="9d")}, rank="dense"), version=2)
    await engine.redefine(1, longer.board, {all_time(live): NOON + 9 * DAY})
    await engine.expire(NOON + 2 * DAY)
    assert await table(engine, all_time(live)) == [("a", 1, 0)]
    assert await engine.applied(1) == {1: 1}
    await engine.redefine(1, longer.board, {all_time(live): 0})
    await engine.expire(NOON + 100 * DAY)
    assert await table(engine, all_time(live)) == [("a", 1, 0)]
    await engine.redefine(1, longer.board, {all_time(live): NOON + 1})
    await engine.expire(NOON + 1)
    assert await table(engine, all_time(live)) == []
