"""Robust figures, with known numbers."""

import random
from statistics import median

import pytest

from keepscore import Board
from keepscore.domain.anomalies import Anomalies, SizeHistogram, TopScores, spread_of
from keepscore.errors import InvalidBoard


def test_a_robust_z_score_has_known_values():
    # Median 10, distances 0 0 0 1 1 2 2: their median is 1.
    spread = spread_of([10, 12, 8, 10, 9, 11, 10])
    assert (spread.median, spread.values) == (10, 7)
    assert spread.deviation == pytest.approx(1.4826)
    assert spread.z(30) == pytest.approx(20 / 1.4826)
    assert spread.z(8) == pytest.approx(-2 / 1.4826)


def test_a_wild_score_hides_no_other():
    calm = spread_of(range(90, 111))
    wild = spread_of([*range(90, 111), 10**9])
    assert wild.z(1000) == pytest.approx(calm.z(1000), rel=0.2)


def test_equal_scores_are_no_reason_to_doubt_the_next():
    spread = spread_of([100] * 20)
    assert spread.deviation == 5
    assert spread.z(110) == 2
    assert spread_of([0] * 20).deviation == 0.5


@pytest.mark.parametrize("seed", range(3))
def test_a_histogram_is_about_as_good_as_all_values(seed):
    dice = random.Random(seed)
    values = [round(dice.lognormvariate(8, 1)) * dice.choice([1, 1, 1, -1]) for _ in range(5000)]
    histogram = SizeHistogram()
    for value in values[:2000]:
        histogram.add(value)
    assert histogram.spread.values == 2000
    for value in values[2000:]:
        histogram.add(value)
    exact = spread_of(values)
    assert histogram.spread.values == 5000
    assert histogram.spread.median == pytest.approx(median(values), rel=0.05)
    assert histogram.spread.deviation == pytest.approx(exact.deviation, rel=0.05)
    again = SizeHistogram(histogram.counts)
    assert (again.total, again.spread) == (5000, histogram.spread)


def test_a_jump_begins_far_behind_and_ends_in_the_top():
    top = TopScores(900, 100)
    assert top.is_jump(50, 950, 1)
    assert top.is_jump(None, 900, 1)
    assert not top.is_jump(100, 950, 1)
    assert not top.is_jump(50, 899, 1)
    laps = TopScores(30, 90)
    assert laps.is_jump(95, 30, -1)
    assert not laps.is_jump(80, 20, -1)


def test_how_anomalies_are_written():
    assert Board("a", rules={"anomalies": "quarantine"}).limits.anomalies == Anomalies(action="quarantine")
    assert Board("a", rules={"anomalies": {"own": 3.5, "top": 0}}).limits.anomalies == Anomalies(own=3.5, top=0)
    assert Board("a").limits is None
    for wrong in ("ignore", {"own": -1}, {"top": 10_000}, {"most": 1}, {"action": "refuse"}, 5):
        with pytest.raises(InvalidBoard, match="anomalies"):
            Board("a", rules={"anomalies": wrong})
