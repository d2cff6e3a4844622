"""How much can be added to scores before one could pass the largest number, so that sums are not read for every amount.

A process that has seen all scores of a ranking within half of the bound adds up to a budget before it looks again. What thousands of
processes add meanwhile, each within its own budget, cannot make up the other half. Scores that other processes have set outright are seen
when it looks again, after a second at most.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from keepscore.caches import ByteCache
from keepscore.domain.boards import MAX_SCORE
from keepscore.storage.engines.base import Ranking

__all__ = ["Headroom"]

#: The largest distance from zero at which there is room.
SAFE_SCORE = MAX_SCORE // 2
#: What is added to a ranking before its scores are looked at again.
BUDGET = 1 << 40
#: Milliseconds after which they are looked at again.
KNOWN_MS = 1000
#: What is remembered of rankings, in bytes; and what each takes.
REMEMBERED_BYTES, BUDGET_BYTES = 16 << 20, 150


class Headroom:
    """What one process may still add to scores of rankings."""

    def __init__(self) -> None:
        #: What is left of the budget of each ranking, and until when (milliseconds).
        self._left: ByteCache[Ranking, list[int]] = ByteCache(REMEMBERED_BYTES)

    def take(self, rankings: Iterable[Ranking], total: int, now: int) -> bool:
        """Take an amount from the budget of each of some rankings, if all of them have as much left.

        >>> room, ranking = Headroom(), Ranking(1, "all_time", "all_time", "")
        >>> room.take([ranking], 5, now=0)
        False
        >>> room.learn({ranking: 1000}, now=0)
        >>> room.take([ranking], 5, now=0), room.take([ranking], BUDGET, now=0), room.take([ranking], 5, now=1000)
        (True, False, False)
        """
        found = {}
        for ranking in rankings:
            left = self._left.get(ranking)
            if left is None or left[0] < total or not left[1] - KNOWN_MS <= now < left[1]:
                return False
            found[ranking] = left
        for left in found.values():
            left[0] -= total
        return True

    def learn(self, peaks: Mapping[Ranking, int], now: int) -> None:
        """Take note of how far from zero the scores of rankings are now at most."""
        for ranking, peak in peaks.items():
            self._left.put(ranking, [BUDGET if peak <= SAFE_SCORE else 0, now + KNOWN_MS], BUDGET_BYTES)

    def forget(self, rankings: Iterable[Ranking]) -> None:
        """Look at these again before anything is added: their scores may be set outright now."""
        for ranking in rankings:
            self._left.pop(ranking)
