"""Scores are stored as integers and shown as they came; what cannot be stored exactly is refused."""

import re
from decimal import Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepscore.domain.boards import (
    MAX_SCORE,
    Board,
)
from keepscore.errors import InvalidScore

HUGE_NUMBER = 10**5000


def test_ten_times_a_tenth_is_one():
    board = Board("b", decimals=1)
    assert board.shown(sum(board.stored(Decimal("0.1")) for _ in range(10))) == 1


@pytest.mark.parametrize(
    ("decimals", "score", "number"),
    [
        (0, 7, 7),
        (0, Decimal("7.00"), 7),
        (0, Decimal("1e3"), 1000),
        (0, Decimal("0e20"), 0),
        (2, Decimal("0e999999999"), 0),
        (2, Decimal("0e-1000050"), 0),
        (2, Decimal("0.1" + "0" * 10_000), 10),
        (2, 10, 1000),
        (2, Decimal("10.50"), 1050),
        (2, Decimal("-0.01"), -1),
        (2, Decimal("0.010"), 1),
        (9, Decimal("0.000000001"), 1),
        (0, MAX_SCORE, 2**53 - 1),
        (2, Decimal("-90071992547409.91"), -(2**53 - 1)),
    ],
)
def test_scores_are_stored_as_integers_and_shown_as_they_came(decimals, score, number):
    board = Board("b", decimals=decimals)
    stored = board.stored(score)
    assert (stored, type(stored)) == (number, int)
    assert board.shown(number) == score


@given(decimals=st.integers(0, 9), number=st.integers(-MAX_SCORE, MAX_SCORE))
def test_every_stored_score_is_shown_exactly(decimals, number):
    board = Board("b", decimals=decimals)
    assert board.stored(board.shown(number)) == number
    assert board.stored(Decimal(str(board.shown(number)))) == number


@pytest.mark.parametrize("score", ["0.001", "10.505", "1e-30", "-1.000000000000001"])
def test_too_many_decimals_are_refused_not_rounded(score):
    with pytest.raises(InvalidScore, match=f"{re.escape(str(Decimal(score)))} has too many decimals.*2 decimals"):
        Board("b", decimals=2).stored(Decimal(score))


@pytest.mark.parametrize("score", ["0.10000000000000000000000000000000001", "1e-1000050"])
def test_far_decimals_are_refused_too(score):
    with pytest.raises(InvalidScore):
        Board("b", decimals=2).stored(Decimal(score))


HUGE = [2**53, -(2**53), Decimal(2**53), Decimal("1e17"), Decimal("-1e999999"), Decimal("nan"), Decimal("-inf")]


@pytest.mark.parametrize("score", HUGE)
def test_scores_that_a_double_does_not_hold_exactly_are_refused(score):
    with pytest.raises(InvalidScore):
        Board("b").stored(score)


def test_the_bound_holds_for_the_scaled_score():
    with pytest.raises(InvalidScore, match="after scaling"):
        Board("b", decimals=2).stored(2**53 // 100 + 1)


def test_an_integer_of_thousands_of_digits_is_an_invalid_score():
    with pytest.raises(InvalidScore):
        Board("b").stored(HUGE_NUMBER)


def test_the_callers_decimal_context_does_not_round_scores():
    board = Board("b", decimals=2)
    with localcontext() as context:
        context.prec = 3
        assert board.stored(Decimal("1234567.89")) == 123456789
        assert str(board.shown(123456789)) == "1234567.89"
