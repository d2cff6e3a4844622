import random

import pytest

from keepscore.domain.boards import Board
from keepscore.domain.ordering import KeyCodec, Row
from keepscore.domain.scoring import State
from keepscore.storage.ledgers.checkpoints import Ahead, Checkpoint, Order
from keepscore.storage.ledgers.slots import Slot

WHOLE, SLICE, DAILY = Slot("all_time", "all_time", ""), Slot("all_time", "all_time", "region:eu"), Slot("daily", "2026-11-15", "")

NOW = 1_794_744_000_000


async def rows(ledger, slot, first, last, board=1):
    return [row async for chunk in ledger.checkpoints.rows(board, slot, first, last) for row in chunk]


async def checkpoint(ledger, states, base=None, positions=None, finish=True, board=1, meaning=1):
    """A checkpoint of {slot: {player: state or None}}."""
    point = await ledger.checkpoints.begin(board, meaning, positions or {}, base, NOW)
    for slot, players in states.items():
        await ledger.checkpoints.write(board, point.number, slot, list(players.items()))
    if finish:
        await ledger.checkpoints.finish(board, point.number, dict.fromkeys(states, 0))
    return point


async def test_no_checkpoint(ledger):
    assert await ledger.checkpoints.latest(1) == []
    assert await ledger.checkpoints.slots(1) == {}
    assert await rows(ledger, WHOLE, 0, 1000) == []


async def test_a_complete_checkpoint(ledger):
    states = {"a": State(2**53 - 1, 5), "Ü 🏆": State(1 - 2**53, 0)}
    point = await checkpoint(ledger, {WHOLE: states, DAILY: {"a": State(3, 4)}}, positions={1: 7, 12: 1}, meaning=4)
    assert point == Checkpoint(point.number, point.number, 4, {1: 7, 12: 1}, False, NOW)
    assert await ledger.checkpoints.latest(1) == [point._replace(complete=True)]
    assert set(await ledger.checkpoints.slots(1)) == {WHOLE, DAILY}
    assert {p: State(score, since) for p, score, since in await rows(ledger, WHOLE, point.base, point.number)} == states
    assert await rows(ledger, SLICE, point.base, point.number) == []


async def test_the_next_one_holds_what_changed_and_rests_on_the_first(ledger):
    first = await checkpoint(ledger, {WHOLE: {"a": State(1, 1), "b": State(2, 2), "c": State(3, 3)}}, positions={1: 3})
    second = await checkpoint(ledger, {WHOLE: {"b": State(9, 9), "c": None, "d": None}}, base=first.base, positions={1: 6})
    assert second.number > first.number
    assert await ledger.checkpoints.latest(1) == [Checkpoint(second.number, first.number, 1, {1: 6}, True, NOW)]
    assert sorted(await rows(ledger, WHOLE, second.base, second.number)) == [("a", 1, 1), ("b", 9, 9)]
    assert await rows(ledger, WHOLE, second.number, second.number) == [("b", 9, 9)]


async def test_incomplete_ones_are_told_behind_the_last_complete_one(ledger):
    first = await checkpoint(ledger, {WHOLE: {"a": State(1, 1), "b": State(2, 2)}}, positions={1: 2})
    second = await checkpoint(ledger, {WHOLE: {"a": State(5, 5)}}, first.base, {1: 4}, finish=False)
    third = await checkpoint(ledger, {WHOLE: {"c": State(6, 6)}}, None, {1: 5}, finish=False)
    assert await ledger.checkpoints.latest(1) == [first._replace(complete=True), second, third]
    assert (second.base, third.base) == (first.number, third.number)
    assert await rows(ledger, WHOLE, first.base, first.number) == [("b", 2, 2)]
    assert await rows(ledger, WHOLE, second.number, second.number) == [("a", 5, 5)]
    assert await rows(ledger, WHOLE, third.number, third.number) == [("c", 6, 6)]


async def test_an_incomplete_first_one_is_no_checkpoint(ledger):
    await checkpoint(ledger, {WHOLE: {"a": State(1, 1)}}, finish=False)
    assert await ledger.checkpoints.latest(1) == []


async def test_a_complete_one_covers_those_before(ledger):
    first = await checkpoint(ledger, {WHOLE: {"a": State(1, 1)}})
    second = await checkpoint(ledger, {WHOLE: {"b": State(1, 1)}}, finish=False)
    third = await checkpoint(ledger, {WHOLE: {"c": State(1, 1)}}, first.base)
    assert [point.number for point in await ledger.checkpoints.latest(1)] == [third.number]
    fourth = await ledger.checkpoints.begin(1, 1, {}, None, NOW)
    assert first.number < second.number < third.number < fourth.number


async def test_a_state_may_be_written_again_in_the_same_checkpoint(ledger):
    point = await checkpoint(ledger, {WHOLE: {"a": State(1, 1), "b": State(1, 1)}}, finish=False)
    await ledger.checkpoints.write(1, point.number, WHOLE, [("a", State(2, 2)), ("b", None)])
    await ledger.checkpoints.write(1, point.number, WHOLE, [])
    assert await rows(ledger, WHOLE, point.number, point.number) == [("a", 2, 2)]


async def test_rows_come_in_chunks_and_none_is_missing(ledger):
    point = await ledger.checkpoints.begin(1, 1, {}, None, NOW)
    states = [(f"p{n:05d}", State(n, n)) for n in range(25_000)]
    await ledger.checkpoints.write(1, point.number, WHOLE, states)
    chunks = [chunk async for chunk in ledger.checkpoints.rows(1, WHOLE, point.number, point.number)]
    assert len(chunks) > 1
    assert sorted(row for chunk in chunks for row in chunk) == [(player, *state) for player, state in states]


async def test_trim_removes_what_belongs_to_older_checkpoints(ledger):
    first = await checkpoint(ledger, {WHOLE: {p: State(1, 1) for p in "abcde"}, SLICE: {"a": State(1, 1)}})
    second = await checkpoint(ledger, {WHOLE: {"a": State(2, 2)}})
    trimmed = [await ledger.checkpoints.trim(1, WHOLE, second.number, 3) for _ in range(3)]
    assert trimmed == [3, 1, 0]
    assert await rows(ledger, WHOLE, 0, second.number) == [("a", 2, 2)]
    assert await rows(ledger, SLICE, first.number, first.number) == [("a", 1, 1)]
    assert await ledger.checkpoints.trim(1, WHOLE, second.number + 1, 100) == 1
    assert list(await ledger.checkpoints.slots(1)) == [SLICE]


async def test_boards_have_their_own_checkpoints(ledger):
    one = await checkpoint(ledger, {WHOLE: {"a": State(1, 1)}}, positions={1: 1})
    two = await checkpoint(ledger, {WHOLE: {"a": State(2, 2)}}, positions={1: 2}, board=2)
    await ledger.checkpoints.trim(1, WHOLE, 1000, 1000)
    assert await rows(ledger, WHOLE, two.base, two.number, board=2) == [("a", 2, 2)]
    assert [p.positions for p in await ledger.checkpoints.latest(1)] == [one.positions]


@pytest.mark.parametrize("finish", [True, False])
async def test_checkpoints_outlive_the_process(place, finish):
    ledger = place()
    await ledger.open(0)
    first = await checkpoint(ledger, {WHOLE: {"a": State(1, 1)}}, positions={1: 3}, meaning=2)
    second = await checkpoint(ledger, {DAILY: {"b": State(2, 2)}}, first.base, {1: 9}, finish, meaning=2)
    await ledger.close()
    again = place()
    await again.open(0)
    expected = [second._replace(complete=True)] if finish else [first._replace(complete=True), second]
    assert await again.checkpoints.latest(1) == expected
    assert set(await again.checkpoints.slots(1)) == ({WHOLE, DAILY} if finish else {WHOLE})
    assert await rows(again, DAILY, second.number, second.number) == [("b", 2, 2)]
    third = await again.checkpoints.begin(1, 2, {}, None, NOW)
    assert third.number > second.number
    await again.close()


async def test_when_rankings_may_be_dropped_is_known_from_complete_checkpoints(ledger):
    first = await ledger.checkpoints.begin(1, 1, {}, None, NOW)
    await ledger.checkpoints.finish(1, first.number, {WHOLE: 0, DAILY: 5000})
    assert await ledger.checkpoints.slots(1) == {WHOLE: 0, DAILY: 5000}
    second = await ledger.checkpoints.begin(1, 1, {}, first.base, NOW)
    await ledger.checkpoints.write(1, second.number, SLICE, [("a", State(1, 1))])
    assert SLICE not in await ledger.checkpoints.slots(1)
    await ledger.checkpoints.finish(1, second.number, {DAILY: 9000})
    assert await ledger.checkpoints.slots(1) == {WHOLE: 0, DAILY: 9000}


async def test_the_states_of_some_players(ledger):
    first = await checkpoint(ledger, {WHOLE: {"a": State(1, 1), "b'\"": State(2, 2)}, SLICE: {"a": State(9, 9)}})
    second = await checkpoint(ledger, {WHOLE: {"a": State(5, 3)}}, first.base)
    found = await ledger.checkpoints.states(1, WHOLE, ["a", "b'\"", "nobody"])
    assert sorted(found) == [("a", 5, 3, second.number), ("b'\"", 2, 2, first.number)]
    assert await ledger.checkpoints.states(1, DAILY, ["a"]) == []


@pytest.mark.parametrize("order", ["desc", "asc"])
@pytest.mark.parametrize("ties", ["first", "last", "player"])
async def test_checkpointed_rows_are_in_the_order_of_the_ranking(ledger, order, ties):
    chance = random.Random(f"{order} {ties}")
    names = ["a", "B", "b", "ä", "z", "🏆", "a b", "aa", "0", "10", "9"]
    states = {name: State(chance.randint(-2, 2), NOW + chance.randint(0, 2)) for name in names}
    await checkpoint(ledger, {WHOLE: states, SLICE: {"a": State(100, NOW)}})
    codec = KeyCodec(Board("b", order=order, ties=ties))
    in_order = sorted((Row(p, *s) for p, s in states.items()), key=lambda row: codec.encode(*row), reverse=order == "desc")
    wanted = Order(order == "desc", {"first": 1, "last": -1, "player": 0}[ties])
    assert await ledger.checkpoints.page(1, WHOLE, wanted, 0, 100) == in_order
    assert await ledger.checkpoints.page(1, WHOLE, wanted, 3, 4) == in_order[3:7]
    assert await ledger.checkpoints.sample(1, WHOLE, wanted, 4) == [(rank, in_order[rank - 1]) for rank in (1, 5, 9)]
    assert await ledger.checkpoints.sample(1, WHOLE, wanted, 1) == list(enumerate(in_order, 1))
    assert await ledger.checkpoints.sample(1, DAILY, wanted, 4) == []
    for position, row in enumerate(in_order):
        better = [other.score for other in in_order if (other.score > row.score if order == "desc" else other.score < row.score)]
        ahead = Ahead(position, len(better), len(set(better)), len(names))
        assert await ledger.checkpoints.ahead(1, WHOLE, wanted, row) == ahead
    assert await ledger.checkpoints.count(1, WHOLE, -1, 1) == sum(-1 <= state.score <= 1 for state in states.values())
    assert await ledger.checkpoints.ahead(1, DAILY, wanted, in_order[0]) == Ahead(0, 0, 0, 0)


async def test_one_leads(ledger):
    assert await ledger.leadership.lead()
    assert await ledger.leadership.lead()
