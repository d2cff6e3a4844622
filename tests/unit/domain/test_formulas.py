"""Formulas take composite numbers apart, exactly, and do nothing else."""

from __future__ import annotations

from decimal import Decimal

import pytest

from keepscore.domain.formulas import Formula
from keepscore.errors import ConfigError


@pytest.mark.parametrize(
    ("formula", "score", "expected"),
    [
        ("score", "1500", 1500),
        ("floor(score / 2**32)", str(1500 * 2**32 + 77), 1500),
        ("2**32 - 1 - score % 2**32", str(1500 * 2**32 + 77), 2**32 - 78),
        ("score // 1e10", "15000000000123", 1500),
        ("-score", "7", -7),
        ("round(score * 100) / 100", "10.499999", Decimal("10.5")),
        ("abs(ceil(score))", "-2.5", 2),
        ("0.1 + 0.2", "0", Decimal("0.3")),
    ],
)
def test_a_formula(formula: str, score: str, expected: object) -> None:
    assert Formula(formula).of(Decimal(score)) == expected


def test_score_and_time_of_one_number() -> None:
    encoded = Decimal(repr(1500 + (10**10 - 1_700_000_000) / 10**10))
    assert Formula("floor(score)").of(encoded) == 1500
    assert round(Formula("10**10 - score % 1 * 10**10").of(encoded), 2) == 1_700_000_000


@pytest.mark.parametrize(
    "formula",
    [
        "",
        "score +",
        "points",
        "score.real",
        "__import__('os')",
        "score ** score",
        "2 ** 999",
        "min(score)",
        "floor(score, 2)",
        "True",
        "'x'",
        "s" * 300,
    ],
)
def test_what_is_no_formula_is_refused(formula: str) -> None:
    with pytest.raises(ConfigError, match=r"formula .* cannot be used: write one in score"):
        Formula(formula)


@pytest.mark.parametrize(("formula", "problem"), [("1 / score", "no result for 0"), ("floor(1 / 3) + 1 / 3", "use floor or round")])
def test_what_has_no_result_says_so(formula: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Formula(formula).of(Decimal(0))
