"""Glicko-2: a rating with a deviation, which says how certain it is, and a volatility, which says how steady the player is. Pure.

As in Mark E. Glickman, "Example of the Glicko-2 system" (2012, revised 2022), whose steps are named here. Each match is a rating period of
its own. How a rating becomes less certain while nobody plays is not part of this: it goes by time (`strength`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log, pi, sqrt
from typing import NamedTuple

__all__ = ["VERSION", "Glicko", "rated"]

#: Recorded with each match: what `rated` returns for given numbers does not change within a version.
VERSION = 1
#: Points of a rating in one unit of the system, and the rating that is its zero.
SCALE, ZERO = 173.7178, 1500.0
#: How exactly the volatility is worked out, and in how many steps at most.
TOLERANCE, MAX_STEPS = 1e-6, 100
#: Expected results are no closer to 0 or 1 than this: a difference of thousands of points makes no difference any more.
LEAST_EXPECTED = 1e-9


class Glicko(NamedTuple):
    """How strong a player is, how certain that is, and how steady the player is."""

    rating: float
    deviation: float
    volatility: float


def rated(own: Glicko, results: Sequence[tuple[Glicko, float]], tau: float) -> Glicko:
    """Return what the results of one period make of a player: each with the opponent; 1 is a win, 0.5 a draw, 0 a loss.

    >>> others = [(Glicko(1400, 30, 0.06), 1), (Glicko(1550, 100, 0.06), 0), (Glicko(1700, 300, 0.06), 0)]
    >>> [round(number, 5) for number in rated(Glicko(1500, 200, 0.06), others, tau=0.5)]
    [1464.05067, 151.51652, 0.06]
    """
    # Step 2: into units of the system.
    mu, phi = (own.rating - ZERO) / SCALE, own.deviation / SCALE
    # Steps 3 and 4: how much the results tell, and how much better they are than expected.
    information = gain = 0.0
    for other, result in results:
        g = _weight(other.deviation / SCALE)
        expected = _expected(mu, (other.rating - ZERO) / SCALE, g)
        information += g * g * expected * (1.0 - expected)
        gain += g * (result - expected)
    variance = 1.0 / information
    # Steps 5 to 7.
    volatility = _volatility(phi, own.volatility, variance, variance * gain, tau)
    uncertain = phi * phi + volatility * volatility
    new_phi = 1.0 / sqrt(1.0 / uncertain + information)
    # Step 8: back into points.
    return Glicko(own.rating + SCALE * new_phi * new_phi * gain, SCALE * new_phi, volatility)


def _weight(phi: float) -> float:
    """Return how much a result against somebody tells: less, the less certain their rating is."""
    return 1.0 / sqrt(1.0 + 3.0 * phi * phi / (pi * pi))


def _expected(mu: float, other: float, g: float) -> float:
    power = max(-700.0, min(700.0, -g * (mu - other)))
    return max(LEAST_EXPECTED, min(1.0 - LEAST_EXPECTED, 1.0 / (1.0 + exp(power))))


def _volatility(phi: float, sigma: float, variance: float, delta: float, tau: float) -> float:
    """Return the new volatility: step 5, the Illinois algorithm."""
    start = log(sigma * sigma)

    def f(x: float) -> float:
        e = exp(x)
        spread = phi * phi + variance + e
        return e * (delta * delta - spread) / (2.0 * spread * spread) - (x - start) / (tau * tau)

    low = start
    if delta * delta > phi * phi + variance:
        high = log(delta * delta - phi * phi - variance)
    else:
        steps = 1
        while f(start - steps * tau) < 0.0 and steps < MAX_STEPS:
            steps += 1
        high = start - steps * tau
    f_low, f_high = f(low), f(high)
    for _ in range(MAX_STEPS):
        if abs(high - low) <= TOLERANCE or f_high == f_low:
            break
        middle = low + (low - high) * f_low / (f_high - f_low)
        f_middle = f(middle)
        if f_middle * f_high <= 0.0:
            low, f_low = high, f_high
        else:
            f_low /= 2.0
        high, f_high = middle, f_middle
    return exp(low / 2.0)
