"""How strong a player is as far as a ranking does not show: mean, deviation and volatility, as sums of what matches changed. Pure.

The shown rating is conservative: the mean less `z` deviations. While a player is idle the deviation grows, by the same amount a day for
everybody, so that who is ahead of whom never changes by that. As with decay (`decay.py`), what is stored does not change either: it is the
*level*, the rating as it would have been at a fixed moment, the landmark. What idleness has taken since is subtracted when it is shown.

    z = 2, 1 a day:  1300 shown at day 100 is the level 1500, and so is 1100 at day 200: both show 1080 at day 210

Numbers are integers, in fixed parts of a point, so that sums are the same in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from keepscore.domain.decay import LANDMARK_MS
from keepscore.domain.ratings.definition import Rating

__all__ = ["Idleness", "Strength"]

#: Parts of a point, and parts of a volatility of 1, that numbers are kept in.
PARTS, VOLATILITY_PARTS = 1_000_000, 10**12
#: A day, in milliseconds.
DAY_MS = 86_400_000
#: No rating is taken for more certain than this part of the deviation at the start.
LEAST_PART = 0.01


class Strength(NamedTuple):
    """Mean, deviation at the landmark, and volatility, in parts; or what a match has changed of them."""

    mean: int
    deviation: int
    volatility: int

    def plus(self, other: Strength) -> Strength:
        """Return the sum."""
        return Strength(*(one + more for one, more in zip(self, other, strict=True)))

    def minus(self, other: Strength) -> Strength:
        """Return the difference."""
        return Strength(*(one - less for one, less in zip(self, other, strict=True)))


class Idleness:
    """What time makes of ratings: of deviations, and of the ratings that are shown.

    >>> idle = Idleness(Rating(system="glicko2", initial=1500, deviation=350, volatility=0.06, z=2, idle_per_day=1), 1)
    >>> idle.score(1500, LANDMARK_MS + 100 * DAY_MS), idle.levels(1300, None, LANDMARK_MS + 100 * DAY_MS)
    (1300, (1500, None))
    """

    __slots__ = ("_per_day", "_points", "_rating", "_scale", "_z")

    def __init__(self, rating: Rating, scale: int) -> None:
        self._rating = rating
        self._scale = scale
        self._z = float(rating.z or 0)
        self._per_day = float(rating.idle_per_day or 0) * PARTS
        self._points = self._z * float(rating.idle_per_day or 0) * scale

    def score(self, level: int, now: int) -> int:
        """Return the rating that a level shows at a moment."""
        return level - self._lost(now)

    def level(self, score: int, now: int) -> int:
        """Return the level that shows a rating at a moment."""
        return score + self._lost(now)

    def levels(self, low: int | None, high: int | None, now: int) -> tuple[int | None, int | None]:
        """Return the lowest and the highest level that show ratings from `low` to `high` at a moment; None: no bound."""
        lost = self._lost(now)
        return None if low is None else low + lost, None if high is None else high + lost

    def _lost(self, now: int) -> int:
        return round(self._points * (now - LANDMARK_MS) / DAY_MS)

    def _grown(self, now: int) -> int:
        return round(self._per_day * (now - LANDMARK_MS) / DAY_MS)

    # -- strengths ------------------------------------------------------------------------------------------------------

    def start(self, now: int) -> Strength:
        """Return what a player starts from at a moment."""
        rating = self._rating
        return self.strength((rating.start, float(rating.deviation or 0), float(rating.volatility or 0)), now)

    def strength(self, numbers: Sequence[float], now: int) -> Strength:
        """Return the strength that has mean, deviation and volatility at a moment."""
        mean, deviation, volatility = numbers
        return Strength(round(mean * PARTS), round(deviation * PARTS) - self._grown(now), round(volatility * VOLATILITY_PARTS))

    def numbers(self, strength: Strength, now: int) -> tuple[float, float, float]:
        """Return mean, deviation and volatility at a moment."""
        return strength.mean / PARTS, (strength.deviation + self._grown(now)) / PARTS, strength.volatility / VOLATILITY_PARTS

    def before_match(self, strength: Strength, now: int) -> tuple[float, float, float]:
        """Return the same as a match takes them: nobody is less certain than at the start."""
        first = float(self._rating.deviation or 0)
        mean, deviation, volatility = self.numbers(strength, now)
        return mean, max(first * LEAST_PART, min(first, deviation)), max(volatility, 1e-6)

    def level_of(self, strength: Strength) -> int:
        """Return the level of a strength: the mean less z deviations, at the landmark."""
        return round((strength.mean - self._z * strength.deviation) * self._scale / PARTS)
