"""Levels against the naive recomputation."""

from decimal import Decimal
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepscore.domain.boards import MAX_SCORE, Board
from keepscore.domain.decay import LANDMARK_MS, MAX_HALF_LIFE, MIN_HALF_LIFE, NOTHING, HalfLife
from keepscore.domain.scoring import Event, State, amount_of, fold_all, fold_for, same_state
from tests.support.naive_decay import naive, slack

HOUR, DAY = 3_600_000, 86_400_000
#: 2026-11-15T12:00:00Z.
NOON = 1_794_744_000_000
#: 2200-01-01, up to which levels are exact.
LAST = 7_258_118_400_000

HALF_LIVES = st.sampled_from(["1h", "90m", "1d", "7d", "30d", "365d", "36500d"])
AMOUNTS = st.integers(0, 3) | st.integers(0, 10**6) | st.integers(0, MAX_SCORE)
TIMES = st.integers(-5, 5) | st.integers(-60 * DAY, 60 * DAY)


@st.composite
def players(draw):
    """A board with decay, and events of some players."""
    board = Board("b", operator=draw(st.sampled_from(["best", "sum", "last"])), decay={"half_life": draw(HALF_LIVES)})
    kinds = {"best": ["score"], "sum": ["increment"], "last": ["score", "increment"]}[board.operator]
    rows = st.lists(st.tuples(st.sampled_from(kinds), AMOUNTS, TIMES), min_size=1, max_size=8)
    events = [
        [Event(1, 1, n, "p", kind, amount, NOON + at, NOON + at) for n, (kind, amount, at) in enumerate(mine, 1)]
        for mine in draw(st.lists(rows, min_size=2, max_size=5))
    ]
    return board, events


@given(players(), st.integers(0, 400 * DAY))
def test_the_order_is_that_of_the_naive_recomputation_at_every_later_moment(given_players, later):
    board, events = given_players
    levels = [fold_all(board, mine).score for mine in events]
    for now in (NOON, NOON + later):
        worths = [naive(board, mine, now) for mine in events]
        for (_, x, one), (_, y, other) in combinations(sorted(zip(levels, worths, events, strict=True), key=lambda row: row[:2]), 2):
            # Whoever is behind by level is not ahead by worth, but for what rounding makes.
            assert x <= y * slack(board, len(one) + len(other))


@given(players(), st.integers(0, 400 * DAY))
def test_shown_scores_are_those_of_the_naive_recomputation(given_players, later):
    board, events = given_players
    now = NOON + later
    for mine in events:
        expected = naive(board, mine, now)
        shown = board.half_life.score(fold_all(board, mine).score, now)
        if expected >= MAX_SCORE:
            assert shown >= MAX_SCORE / slack(board, len(mine)) - 1
            continue
        # Half a unit for rounding to a whole number, and what a double of that size cannot hold.
        off = expected * (slack(board, len(mine)) - 1) + expected * Decimal(2) ** -51 + Decimal("0.5")
        assert abs(shown - expected) <= off


@given(players(), st.randoms(use_true_random=False))
def test_any_order_of_arrival_gives_the_same_within_the_tolerance(given_players, random):
    board, events = given_players
    for mine in events:
        wanted = fold_all(board, mine)
        assert same_state(board, wanted, wanted)
        if board.operator == "last":
            continue
        random.shuffle(mine)
        state = None
        for event in mine:
            state = fold_for(board)(state, event.kind, amount_of(board, event), event.at)
        assert state.since == wanted.since
        assert same_state(board, state, wanted)
        assert abs(state.score - wanted.score) <= (0 if board.operator == "best" else 2 * len(mine))


@given(st.integers(MIN_HALF_LIFE, MAX_HALF_LIFE), st.integers(1, MAX_SCORE), st.integers(0, LAST))
def test_every_level_is_exact_in_a_double_and_above_that_of_nothing(ms, amount, at):
    half_life = HalfLife(ms)
    level = half_life.level(amount, at)
    assert NOTHING < level < -NOTHING
    assert NOTHING < half_life.add(level, level) < -NOTHING
    assert half_life.level(0, at) == half_life.level(-amount, at) == NOTHING


@given(st.integers(MIN_HALF_LIFE, MAX_HALF_LIFE), st.integers(0, 10**8), st.integers(0, LAST))
def test_a_score_is_shown_as_it_came_at_its_time_and_halved_after_a_half_life(ms, amount, at):
    half_life = HalfLife(ms)
    level = half_life.level(amount, at)
    assert half_life.score(level, at) == amount
    assert abs(half_life.score(level, at + ms) - amount / 2) <= 0.5
    assert half_life.score(level, at + 60 * ms) == 0


@given(st.integers(MIN_HALF_LIFE, MAX_HALF_LIFE), st.lists(st.tuples(AMOUNTS, TIMES), min_size=1), st.data())
def test_bounds_of_scores_become_bounds_of_levels(ms, rows, data):
    half_life = HalfLife(ms)
    now = NOON + data.draw(TIMES)
    levels = [half_life.level(amount, NOON + at) for amount, at in rows]
    shown = [half_life.score(level, now) for level in levels]
    bounds = st.none() | st.integers(-2, 5) | AMOUNTS | st.sampled_from(shown) | st.sampled_from([MAX_SCORE, -MAX_SCORE])
    low, high = data.draw(bounds), data.draw(bounds)
    lowest, highest = half_life.levels(low, high, now)
    inside = [(low is None or score >= low) and (high is None or score <= high) for score in shown]
    assert inside == [(lowest is None or level >= lowest) and (highest is None or level <= highest) for level in levels]


def test_what_adds_up():
    week = HalfLife(7 * DAY)
    hundred, fifty_later = week.level(100, NOON), week.level(50, NOON + 7 * DAY)
    assert hundred == fifty_later
    assert week.score(week.add(hundred, fifty_later), NOON + 7 * DAY) == 100
    assert week.add(NOTHING, hundred) == week.add(hundred, NOTHING) == hundred
    assert week.add(NOTHING, NOTHING) == NOTHING
    assert week.add(hundred, week.level(1, 0)) == hundred


def test_a_last_board_replaces_and_adds():
    board = Board("b", operator="last", decay={"half_life": "1h"})
    fold, level = fold_for(board), board.half_life.level
    state = fold(None, "increment", level(100, NOON), NOON)
    state = fold(state, "increment", level(50, NOON + HOUR), NOON + HOUR)
    assert board.half_life.score(state.score, NOON + HOUR) == 100
    assert fold(state, "score", level(7, NOON + HOUR), NOON + HOUR) == State(level(7, NOON + HOUR), NOON + HOUR)


def test_states_that_differ_by_more_than_rounding_are_not_the_same():
    board = Board("b", operator="sum", decay={"half_life": "7d"})
    state = State(board.half_life.level(1_000_000, NOON), NOON)
    near, far = board.half_life.level(1_000_000, NOON + 1), board.half_life.level(1_000_002, NOON)
    assert same_state(board, state, State(near, NOON))
    assert not same_state(board, state, State(far, NOON))
    assert not same_state(board, state, state._replace(since=NOON + 1))
    assert not same_state(board, state, None)
    best = Board("b", decay={"half_life": "7d"})
    assert not same_state(best, state, State(near, NOON))


@pytest.mark.parametrize("now", [0, LANDMARK_MS])
def test_a_clock_that_was_put_back_shows_no_more_than_the_highest_score(now):
    hour = HalfLife(HOUR)
    assert hour.score(hour.level(5, NOON), now) == MAX_SCORE
