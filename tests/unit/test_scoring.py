from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepscore.boards import MAX_SCORE, Board, Operator
from keepscore.scoring import Event, State, cut, fold_all, fold_for

SCORES = st.integers(-MAX_SCORE, MAX_SCORE) | st.integers(-3, 3)
# Few distinct times, so that many are equal.
TIMES = st.integers(0, 5) | st.integers(0, 2_000_000_000_000)
ORDERS = ["desc", "asc"]


def event(n, amount, at, kind="score", writer=1):
    return Event(1, writer, n, "p", kind, amount, at, at)


def events_of(*kinds, min_size=1):
    rows = st.lists(st.tuples(SCORES, TIMES, st.sampled_from(kinds), st.integers(1, 3)), min_size=min_size, max_size=12)
    return rows.map(lambda rows: [event(n, *row) for n, row in enumerate(rows, 1)])


def fold_in_this_order(board, events):
    state = None
    for e in events:
        state = fold_for(board)(state, e.kind, e.amount, cut(board, e.at))
        assert state is not None
    return state


def fold(operator, *rows, order="desc"):
    """The state after (amount, time) or (amount, time, kind), folded in that order."""
    return fold_in_this_order(Board("b", operator=operator, order=order), [event(n, *row) for n, row in enumerate(rows)])


def test_best_keeps_the_best_score_and_the_earliest_time_it_was_reached():
    assert fold("best", (5, 10), (9, 20), (7, 30)) == (9, 20)
    assert fold("best", (9, 20), (9, 10), (9, 30)) == (9, 10)
    assert fold("best", (5, 10), (-9, 20), (-9, 30), order="asc") == (-9, 20)


def test_sum_adds_all_amounts_and_dates_from_the_latest():
    assert fold("sum", (5, 30, "increment"), (-7, 10, "increment"), (1, 20, "correction")) == (-1, 30)


def test_first_keeps_the_earliest_score_and_the_better_of_two_at_once():
    assert fold("first", (5, 20), (3, 10), (9, 30)) == (3, 10)
    assert fold("first", (5, 10), (6, 10)) == (6, 10)
    assert fold("first", (5, 10), (6, 10), order="asc") == (5, 10)


def test_last_keeps_the_latest_score_and_what_was_added_after_it():
    assert fold("last", (9, 10), (5, 20)) == (5, 20)
    assert fold("last", (9, 10), (5, 20), (2, 30, "increment"), (-1, 30, "increment")) == (6, 30)
    assert fold("last", (2, 10, "increment"), (3, 20, "increment")) == (5, 20)


def test_no_event_is_no_state():
    assert [fold_all(Board("b", operator=operator), []) for operator in get_args(Operator)] == [None] * 4


def test_times_are_cut_to_the_resolution_before_they_are_compared():
    board = Board("b", resolution="1s")
    assert [cut(board, at) for at in (0, 999, 1000, 1999)] == [0, 0, 1000, 1000]
    assert fold_all(board, [event(1, 5, 1999), event(2, 5, 1001)]) == State(5, 1000)
    assert fold_all(Board("b", operator="last", resolution="1s"), [event(1, 5, 1999), event(2, 6, 1001)]) == State(6, 1000)


@given(at=st.integers(0, 2**50), resolution=st.sampled_from(["1ms", "7ms", "1s", "1h"]))
def test_a_cut_time_is_the_largest_step_that_is_not_later(at, resolution):
    board = Board("b", resolution=resolution)
    step = board.resolution_ms
    assert cut(board, at) % step == 0
    assert 0 <= at - cut(board, at) < step


@pytest.mark.parametrize("resolution", ["1ms", "1s"])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("operator", ["best", "sum", "first"])
@given(data=st.data())
def test_any_order_of_arrival_gives_the_same_state(operator, order, resolution, data):
    board = Board("b", operator=operator, order=order, resolution=resolution)
    events = data.draw(events_of("increment", "correction") if operator == "sum" else events_of("score"))
    shuffled = data.draw(st.permutations(events))
    assert fold_in_this_order(board, shuffled) == fold_all(board, events) == fold_all(board, shuffled)


@pytest.mark.parametrize("order", ORDERS)
@given(events=events_of("score"))
def test_best_is_the_maximum_or_minimum(order, events):
    best = (max if order == "desc" else min)(e.amount for e in events)
    assert fold_all(Board("b", order=order), events) == (best, min(e.at for e in events if e.amount == best))


@given(events=events_of("increment", "correction"))
def test_sum_is_the_sum(events):
    assert fold_all(Board("b", operator="sum"), events) == (sum(e.amount for e in events), max(e.at for e in events))


@pytest.mark.parametrize("order", ORDERS)
@given(events=events_of("score"))
def test_first_is_the_head_of_the_events_sorted_by_time(order, events):
    earliest = min(e.at for e in events)
    better = (max if order == "desc" else min)(e.amount for e in events if e.at == earliest)
    assert fold_all(Board("b", operator="first", order=order), events) == (better, earliest)


@given(events=events_of("score", "increment"))
def test_last_is_the_latest_score_plus_the_increments_after_it(events):
    ordered = sorted(events, key=lambda e: (e.at, e.writer, e.n))
    since_set = max((i for i, e in enumerate(ordered) if e.kind == "score"), default=0)
    assert fold_all(Board("b", operator="last"), events) == (sum(e.amount for e in ordered[since_set:]), ordered[-1].at)


@given(events=events_of("score", "increment"), resolution=st.sampled_from(["1ms", "1s"]))
def test_last_in_the_order_of_time_is_what_all_events_together_give(events, resolution):
    board = Board("b", operator="last", resolution=resolution)
    in_time = sorted(events, key=lambda e: (cut(board, e.at), e.writer, e.n))
    assert fold_in_this_order(board, in_time) == fold_all(board, events)


@given(SCORES, SCORES, st.integers(1, 100), st.integers(1, 100), st.sampled_from(["score", "increment"]))
def test_an_event_that_is_older_than_a_last_state_asks_for_a_restatement(score, amount, since, earlier, kind):
    step = fold_for(Board("b", operator="last"))
    assert step(State(score, since), kind, amount, since - earlier) is None
    assert step(State(score, since), kind, amount, since) is not None


@pytest.mark.parametrize("operator", ["best", "first"])
@given(events=events_of("score"))
def test_an_event_that_counts_twice_changes_nothing(operator, events):
    board = Board("b", operator=operator)
    assert fold_all(board, events + events) == fold_all(board, events)
