"""Scores that lose half of their worth in every half-life, ranked without ever being rewritten: forward decay. Pure.

A score s given at time t is worth s × 2^(−(now − t) / H). Who is ahead by that is ahead at every moment, so that what is stored is the
logarithm of the worth at a fixed moment, the landmark: the *level* (log2 s + (t − landmark) / H) × 2^k, as an integer. Levels compare as
the worths do, whatever the time is. What is shown is worked out from the level when it is shown.

    half-life 7d, so k = 39:  100 given on the landmark has the level log2(100) × 2^39, rounded: 3652498566964
                              50 given 7 days later has the same, and so is worth the same at any time

Two amounts add up to the level log2(2^a + 2^b). Each level, and each sum of two, is rounded to a whole number: a level made of n
events is off by at most n, whatever the order of the events, and a unit of it is 2^−k of a doubling: about 1e-10 of the worth at a
half-life of an hour, 1e-12 at a week. The script `folds.lua` adds levels in the same way, operation by operation.
"""

from __future__ import annotations

from math import log, log2

__all__ = ["LANDMARK_MS", "MAX_HALF_LIFE", "MIN_HALF_LIFE", "NOTHING", "HalfLife"]

#: The moment at which levels are logarithms of what scores are worth: 2020-01-01, in milliseconds.
LANDMARK_MS = 1_577_836_800_000
#: The half-lives that there may be: an hour and 100 years, in milliseconds.
MIN_HALF_LIFE, MAX_HALF_LIFE = 3_600_000, 36_500 * 86_400_000
#: The level of a score of 0, below every other level.
NOTHING = -(2**53 - 1)

#: How far from the landmark levels stay exact in a double: 180 years, from before 1970 to 2200, in milliseconds.
_REACH_MS = 180 * 31_557_600_000
#: Doublings that a score, or a sum of many, may have.
_DOUBLINGS = 64
#: More would be finer than the logarithm of a double is.
_MAX_BITS = 44
#: Sums of the same events in two orders are taken for equal where they differ by less than this part of a doubling, 2^−20. It takes
#: 2^(k − 20) events within a few half-lives, 4096 at an hour and 524288 at a week, until rounding could make more.
_TOLERANCE_BITS = 20
_LN2 = log(2)


class HalfLife:
    """Levels of one half-life.

    >>> week = HalfLife(7 * 86_400_000)
    >>> level = week.level(100, LANDMARK_MS)
    >>> [week.score(level, LANDMARK_MS + days * 86_400_000) for days in (0, 7, 14, 70)]
    [100, 50, 25, 0]
    >>> week.score(week.add(level, level), LANDMARK_MS)
    200
    """

    __slots__ = ("_ms", "scale", "tolerance")

    def __init__(self, ms: int) -> None:
        self._ms = ms
        units = -NOTHING * ms // (_REACH_MS + _DOUBLINGS * ms)
        #: Units of a doubling: 2^k.
        self.scale = 1 << min(_MAX_BITS, units.bit_length() - 1)
        #: Levels of the same events that differ by no more than this are taken for equal: less than a millionth of the worth.
        self.tolerance = self.scale >> _TOLERANCE_BITS

    def level(self, amount: int, at: int) -> int:
        """Return the level of an amount given at a time. What is below 0, from before a board had decay, is worth nothing."""
        return NOTHING if amount <= 0 else round(log2(amount) * self.scale) + self._age(at)

    def score(self, level: int, now: int) -> int:
        """Return what a level is worth at a time, rounded; at most 2^53 − 1."""
        if level == NOTHING:
            return 0
        doublings = (level - self._age(now)) / self.scale
        # A clock that was put back far may find scores of the future, which are worth a lot.
        return -NOTHING if doublings >= 53 else min(round(2.0**doublings), -NOTHING)

    def add(self, a: int, b: int) -> int:
        """Return the level of two amounts together."""
        if a < b:
            a, b = b, a
        if b == NOTHING:
            return a
        return a + int(log(1 + 2.0 ** ((b - a) / self.scale)) / _LN2 * self.scale + 0.5)

    def levels(self, low: int | None, high: int | None, now: int) -> tuple[int | None, int | None]:
        """Return the lowest and the highest level that are shown as scores from `low` to `high` at a time; None: no bound."""
        highest = None if high is None or high >= -NOTHING else self._lowest(high + 1, now) - 1
        return None if low is None else self._lowest(low, now), highest

    def _lowest(self, score: int, now: int) -> int:
        if score <= 0:
            return NOTHING
        level = round(log2(score - 0.5) * self.scale) + self._age(now)
        # Rounding may have led some units away.
        while self.score(level, now) >= score:
            level -= 1
        while self.score(level, now) < score:
            level += 1
        return level

    def _age(self, at: int) -> int:
        """Return the units from the landmark to a time."""
        return (2 * (at - LANDMARK_MS) * self.scale + self._ms) // (2 * self._ms)
