"""Scores that stand out: far from what a player, or everybody on a board, has sent before. Pure.

How far is told by a robust z-score: the distance from the median, in units of the median distance from it, scaled so that it is the usual
z-score where values are normal. One wild score among many changes neither.

    >>> spread = spread_of([8, 9, 10, 10, 10, 11, 12])
    >>> round(spread.z(30), 2)
    13.49
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import floor, log2
from typing import Literal, NamedTuple

import msgspec

__all__ = ["JUMP", "LEAST_BOARD", "LEAST_OWN", "Anomalies", "SizeHistogram", "Spread", "TopScores", "spread_of"]

#: What the median distance is multiplied by to be the standard deviation of normal values.
SCALE = 1.4826
#: The least spread, as a share of the median: where all scores are equal, the first other one is no reason to doubt.
LEAST_SHARE = 0.05
#: Scores that have to be known before one can stand out, of a player and of a board.
LEAST_OWN, LEAST_BOARD = 8, 100
#: Buckets of a histogram for each doubling: values are kept within 2 %.
PER_DOUBLING = 32
#: By how much a histogram has to grow until its spread is worked out again.
GROWTH = 1.02
#: A jump begins behind so many times the places of the top.
JUMP = 10


class Anomalies(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """What is taken for an anomaly, and what happens to it; 0: that is not looked at."""

    action: Literal["flag", "quarantine"] = "flag"
    own: float = 6
    board: float = 8
    top: int = 10
    accounts: int = 20


class Spread(NamedTuple):
    """The median of some values, and how far from it they usually lie, as a standard deviation; and how many there are."""

    median: float
    deviation: float
    values: int

    def z(self, value: float) -> float:
        """Return how many deviations a value lies from the median."""
        return (value - self.median) / self.deviation


class TopScores(NamedTuple):
    """The score at the last place of the top, and the one from behind which a player jumps."""

    last: int
    behind: int

    def is_jump(self, before: int | None, score: int, sign: int) -> bool:
        """Return whether a score leads into the top from far behind, or from nowhere; `sign` is 1 where high scores are ahead."""
        return score * sign >= self.last * sign and (before is None or before * sign < self.behind * sign)


def spread_of(values: Iterable[float]) -> Spread:
    """Return the spread of some values, at least one. O(n log n)."""
    known = sorted(values)
    return _spread([(value, 1) for value in known])


def _spread(counts: list[tuple[float, int]]) -> Spread:
    total = sum(count for _, count in counts)
    median = _median(counts, total)
    distance = _median(sorted((abs(value - median), count) for value, count in counts), total)
    return Spread(median, max(distance * SCALE, abs(median) * LEAST_SHARE, 0.5), total)


def _median(counts: list[tuple[float, int]], total: int) -> float:
    """Return the value in the middle of counted values, given in order; the upper one of two."""
    seen = 0
    for value, count in counts:
        seen += count
        if seen * 2 > total:
            return value
    return counts[-1][0]


class SizeHistogram:
    """How often values have come, by their size: a bucket for each 2 %. O(1) for one more value, and O(buckets) for the spread.

    >>> histogram = SizeHistogram()
    >>> for value in range(90, 111):
    ...     histogram.add(value)
    >>> histogram.spread.values, 97 < histogram.spread.median < 103
    (21, True)
    """

    def __init__(self, counts: Mapping[int, int] | None = None) -> None:
        self.counts = dict(counts or {})
        self.total = sum(self.counts.values())
        self._spread: Spread | None = None

    def add(self, value: int, times: int = 1) -> None:
        """Count a value once more, or some times."""
        place = _bucket(value)
        self.counts[place] = self.counts.get(place, 0) + times
        self.total += times

    @property
    def spread(self) -> Spread:
        """The spread of all values, as it was not long ago. There has to be one."""
        if self._spread is None or self.total > self._spread.values * GROWTH:
            self._spread = _spread([(_value(place), count) for place, count in sorted(self.counts.items())])
        return self._spread


def _bucket(value: int) -> int:
    """Return the bucket of a value: 0 for 0, and in the order of the values.

    >>> [_bucket(value) for value in (-2, -1, 0, 1, 2, 1000)]
    [-33, -1, 0, 1, 33, 319]
    """
    if value == 0:
        return 0
    place = 1 + floor(PER_DOUBLING * log2(abs(value)))
    return place if value > 0 else -place


def _value(place: int) -> float:
    """Return a value in the middle of a bucket."""
    if place == 0:
        return 0.0
    found = 2 ** ((abs(place) - 0.5) / PER_DOUBLING)
    return found if place > 0 else -found
