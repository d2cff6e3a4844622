from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepscore.domain.boards import MAX_SCORE, Board, Operator
from keepscore.domain.ordered_fold import OrderedFold
from keepscore.domain.scoring import Event, State, cut, fold_all, fold_for, in_order

SCORES = st.integers(-MAX_SCORE, MAX_SCORE) | st.integers(-3, 3)
# Few distinct times, so that many are equal.
TIMES = st.integers(0, 5) | st.integers(0, 2_000_000_000_000)
ORDERS = ["desc", "asc"]


def event(n, amount, at, kind="score", writer=1, later=1, seq=None):
    """An event; clients give the time, unless it comes at once."""
    return Event(1, writer, n, "p", kind, amount, at, at + later, seq=n if seq is None else seq)


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


def test_first_keeps_the_earliest_score_and_of_two_at_once_the_one_recorded_first():
    board = Board("b", operator="first")
    assert fold_all(board, [event(1, 5, 20), event(2, 3, 10), event(3, 9, 30)]) == (3, 10)
    assert fold_all(board, [event(2, 6, 10), event(1, 5, 10)]) == (5, 10)


def test_last_keeps_the_latest_score_and_what_was_added_after_it():
    assert fold("last", (9, 10), (5, 20)) == (5, 20)
    assert fold("last", (9, 10), (5, 20), (2, 30, "increment"), (-1, 30, "increment")) == (6, 30)
    assert fold("last", (2, 10, "increment"), (3, 20, "increment")) == (5, 20)


def test_no_event_is_no_state():
    assert [fold_all(Board("b", operator=operator), []) for operator in get_args(Operator)] == [None] * 4


def test_times_are_cut_to_the_resolution_where_order_does_not_matter():
    board = Board("b", resolution="1s")
    assert [cut(board, at) for at in (0, 999, 1000, 1999)] == [0, 0, 1000, 1000]
    assert fold_all(board, [event(1, 5, 1999), event(2, 5, 1001)]) == State(5, 1000)
    assert fold_all(Board("b", operator="last", resolution="1s"), [event(1, 5, 1999), event(2, 6, 1001)]) == State(5, 1000)


@given(at=st.integers(0, 2**50), resolution=st.sampled_from(["1ms", "7ms", "1s", "1h"]))
def test_a_cut_time_is_the_largest_step_that_is_not_later(at, resolution):
    board = Board("b", resolution=resolution)
    step = board.resolution_ms
    assert cut(board, at) % step == 0
    assert 0 <= at - cut(board, at) < step


@pytest.mark.parametrize("resolution", ["1ms", "1s"])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("operator", ["best", "sum"])
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


@st.composite
def recorded(draw):
    """Events of two writers as the ledger has them: clocks differ and go back, clients give some of the times, some have no number."""
    events, counts = [], {1: 0, 2: 0}
    numbered_from = draw(st.sampled_from([0, 0, 4]))
    kinds = st.sampled_from(["score", "increment"])
    rows = draw(st.lists(st.tuples(SCORES, st.integers(0, 5), kinds, st.integers(1, 2), st.integers(0, 1))))
    for seq, (amount, at, kind, writer, later) in enumerate(rows, 1):
        counts[writer] += 1
        one = event(counts[writer], amount, at * 300, kind, writer, later, seq)
        events.append(one if seq > numbered_from else one._replace(seq=None))
    return events


def as_said(events):
    """The definition of the order, word by word."""

    def place(e):
        return e.seq or 0, e.writer, e.n

    def time(e):
        if e.at != e.received or not e.seq:
            return e.at
        return max(other.at for other in events if other.at == other.received and place(other) <= place(e))

    return sorted([(time(e), place(e), e) for e in events])


@given(events=recorded(), data=st.data())
def test_the_order_is_by_times_that_the_service_never_puts_back(events, data):
    assert in_order(data.draw(st.permutations(events))) == [(time, e) for time, _, e in as_said(events)]


@given(events=recorded(), resolution=st.sampled_from(["1ms", "1s"]))
def test_first_and_last_are_the_ends_of_the_order(events, resolution):
    first, last = (Board("b", operator=operator, resolution=resolution) for operator in ("first", "last"))
    if not events:
        assert fold_all(first, events) is fold_all(last, events) is None
        return
    ordered = as_said(events)
    assert fold_all(first, events) == (ordered[0][2].amount, cut(first, ordered[0][0]))
    since_set = max((i for i, (_, _, e) in enumerate(ordered) if e.kind == "score"), default=0)
    assert fold_all(last, events) == (sum(e.amount for _, _, e in ordered[since_set:]), cut(last, ordered[-1][0]))


@pytest.mark.parametrize("operator", ["first", "last"])
@given(events=recorded(), resolution=st.sampled_from(["1ms", "7ms", "1s"]), data=st.data())
def test_one_by_one_as_the_ledger_took_them_is_the_same(operator, events, resolution, data):
    """Also where the first of them were folded before, and only their state is known; only those who are late need all events."""
    board = Board("b", operator=operator, resolution=resolution)
    as_taken = sorted(events, key=lambda e: (e.seq or 0, e.writer, e.n))
    known = data.draw(st.integers(0, len(events)))
    # What was folded before need not be all that has a lower number.
    before = [e for e in as_taken[:known] if e.writer == 1] if data.draw(st.booleans()) else as_taken[:known]
    folded = OrderedFold(board, {})
    if before:
        folded.take_up("p", fold_all(board, before), max(e.seq or 0 for e in before))
    for e in as_taken:
        if e not in before:
            folded.add(e)
    if "p" not in folded.needs_restate:
        assert folded.states.get("p") == fold_all(board, events)


def test_what_another_writer_recorded_before_a_known_state_was_taken_is_not_put_after_it():
    """The last of the first writer came after all; its clock is behind, so the service puts it to the time of what it follows."""
    board = Board("b", operator="last")
    before = [event(1, 10, 0, later=0, seq=1), event(2, 20, 0, later=0, seq=4)]
    told, given = event(1, 30, 300, writer=2, later=1, seq=2), event(2, 40, 300, writer=2, later=0, seq=3)
    assert fold_all(board, [*before, told, given]) == (20, 300)
    folded = OrderedFold(board, {})
    folded.take_up("p", fold_all(board, before), 4)
    for one in (told, given):
        folded.add(one)
    assert "p" in folded.needs_restate


@given(events=recorded())
def test_nobody_is_late_where_the_service_gives_the_times(events):
    board = Board("b", operator="last", resolution="1s")
    folded = OrderedFold(board, {})
    given_by_service = [e._replace(received=e.at) for e in events if e.seq]
    for e in given_by_service:
        folded.add(e)
    assert not folded.needs_restate
    assert folded.states.get("p") == fold_all(board, given_by_service)


@pytest.mark.parametrize("operator", ["best", "first"])
@given(events=events_of("score"))
def test_an_event_that_counts_twice_changes_nothing(operator, events):
    board = Board("b", operator=operator)
    assert fold_all(board, events + events) == fold_all(board, events)
