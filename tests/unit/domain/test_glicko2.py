"""Glicko-2: Glickman's published example, and numbers at the edges."""

import pytest

from keepscore.domain.ratings.glicko2 import Glicko, rated


def test_the_published_example() -> None:
    """Mark E. Glickman, "Example of the Glicko-2 system": three games of one period."""
    others = [(Glicko(1400, 30, 0.06), 1.0), (Glicko(1550, 100, 0.06), 0.0), (Glicko(1700, 300, 0.06), 0.0)]
    found = rated(Glicko(1500, 200, 0.06), others, tau=0.5)
    assert found.rating == pytest.approx(1464.06, abs=0.01)
    assert found.deviation == pytest.approx(151.52, abs=0.01)
    assert found.volatility == pytest.approx(0.05999, abs=0.00001)


@pytest.mark.parametrize("gap", [0, 100, 5_000, 1_000_000])
@pytest.mark.parametrize("deviations", [(350, 350), (3.5, 350), (350, 3.5)])
@pytest.mark.parametrize("result", [0.0, 0.5, 1.0])
def test_numbers_at_the_edges(gap: int, deviations: tuple[float, float], result: float) -> None:
    own, other = Glicko(1500, deviations[0], 0.06), Glicko(1500 + gap, deviations[1], 0.06)
    one, two = rated(own, [(other, result)], 0.5), rated(other, [(own, 1 - result)], 0.5)
    for number in (*one, *two):
        assert number == number
        assert abs(number) < 1e8
    assert one.rating >= own.rating if result > 0.5 else one.rating <= own.rating or result == 0.5
    assert one.volatility > 0
