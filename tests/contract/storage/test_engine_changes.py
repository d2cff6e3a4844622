"""What engines of one process know of changes since the last checkpoint."""

from keepscore.domain.boards import Board, Window
from keepscore.domain.ordering import Row
from keepscore.storage.engines.base import Loaded, Ranking
from tests.contract.driving import DAY, NOON, all_time, apply, event, given, live_board, restate, start, state


def plain(dirty):
    """What is dirty, as plain data: {ranking: {player: state}}."""
    return {ranking: dict(states) for ranking, states in dirty.states.items()}


async def test_dirty_tells_each_change_once(volatile):
    live = live_board(Board("b", segments=["region"]))
    await start(volatile, live, {all_time(live): {"old": state(1), "gone": state(1)}}, {1: 5})
    dirty = await volatile.dirty(1)
    assert (plain(dirty), list(dirty.dropped), dict(dirty.applied)) == ({}, [], {1: 5})
    await apply(volatile, live, event(6, "a", 3, segments={"region": "eu"}), event(7, "a", 2), event(8, "a", 4, 1))
    await restate(volatile, all_time(live), "gone", None)
    dirty = await volatile.dirty(1)
    assert plain(dirty) == {
        all_time(live): {"a": state(4, 1), "gone": None},
        all_time(live, "region:eu"): {"a": state(3)},
    }
    assert dict(dirty.applied) == {1: 8}
    await apply(volatile, live, event(9, "a", 1))
    dirty = await volatile.dirty(1)
    assert (plain(dirty), dict(dirty.applied)) == ({}, {1: 9})


async def test_what_dirty_told_does_not_change_afterwards(volatile):
    live = live_board(Board("b"))
    await start(volatile, live)
    await apply(volatile, live, event(1, "a", 3))
    dirty = await volatile.dirty(1)
    await apply(volatile, live, event(2, "a", 4), event(3, "b", 5))
    assert plain(dirty) == {all_time(live): {"a": state(3)}}
    assert dict(dirty.applied) == {1: 1}


async def test_fresh_rows_of_a_load_are_dirty(volatile):
    live = live_board(Board("b"))
    await start(volatile, live, {all_time(live): {"a": state(1)}}, fresh=True)
    assert plain(await volatile.dirty(1)) == {all_time(live): {"a": state(1)}}
    assert plain(await volatile.dirty(1)) == {}


async def test_touch_makes_every_state_dirty_and_keeps_removals(volatile):
    live = live_board(Board("b"))
    await start(volatile, live, {all_time(live): {"a": state(1), "b": state(2), "c": state(3)}})
    await restate(volatile, all_time(live), "c", None)
    await volatile.touch(1)
    assert plain(await volatile.dirty(1)) == {all_time(live): {"a": state(1), "b": state(2), "c": None}}


async def test_a_later_row_of_a_load_is_the_one_that_is_dirty(volatile):
    live = live_board(Board("b"))
    name = all_time(live)
    parts = [Loaded(name, 0, [Row("a", 1, NOON), Row("b", 2, NOON)], False), Loaded(name, 0, [Row("a", 9, NOON + 1)], True, True)]
    await volatile.load(1, live.board, given(*parts), {})
    await volatile.promote(1)
    assert plain(await volatile.dirty(1)) == {name: {"a": state(9, 1)}}


async def test_a_dropped_ranking_is_told_once(volatile):
    live = live_board(Board("b", windows={"daily": Window(ttl="2d"), "all_time": Window()}))
    await start(volatile, live)
    await apply(volatile, live, event(1, "a", 1))
    for expected in ([Ranking(1, "daily", "2026-11-15", "")], []):
        await volatile.expire(NOON + 2 * DAY)
        assert list((await volatile.dirty(1)).dropped) == expected
