"""Elo: who wins takes points from who loses, the more the less that was expected. Pure."""

from __future__ import annotations

import math

__all__ = ["VERSION", "change", "expected"]

#: Recorded with each match: what `change` returns for given numbers does not change within a version.
VERSION = 1
#: The difference of ratings at which ten wins to one loss are expected.
SCALE = 400.0
#: Differences beyond this make no difference, and would be more than a float holds.
MAX_DIFFERENCE = 100_000.0


def expected(rating: float, other: float) -> float:
    """Return the result that is expected of a player against another: 1 is a win, 0 a loss.

    >>> expected(1000, 1000), round(expected(1200, 1000), 4)
    (0.5, 0.7597)
    """
    difference = max(-MAX_DIFFERENCE, min(MAX_DIFFERENCE, other - rating))
    return 1.0 / (1.0 + math.pow(10.0, difference / SCALE))


def change(rating: float, other: float, result: float, k: float) -> float:
    """Return what a player gains, and the other one loses.

    >>> change(1000, 1000, 1, 32), round(change(1016, 984, 0, 32), 3)
    (16.0, -17.47)
    """
    return k * (result - expected(rating, other))
