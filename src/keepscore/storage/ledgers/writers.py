"""The role of a ledger that gives processes the numbers they write under."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

__all__ = ["WriterNumbers", "first_free_writer"]

#: 2020-01-01T00:00:00Z, in milliseconds.
EPOCH_MS = 1_577_836_800_000


def first_free_writer(now: int, above: int) -> int:
    """Return the least number that a new writer may get: beyond `above`, and beyond the numbers of writers that a restore has taken back.

    Seconds since 2020 fit 31 bits until 2088. Later starts get larger numbers.

    >>> first_free_writer(1_577_836_807_000, 3), first_free_writer(0, 3)
    (7, 4)
    """
    return max(above + 1, (now - EPOCH_MS) // 1000)


class WriterNumbers(ABC):
    """Writer numbers: each belongs to one process, and none is used twice."""

    @abstractmethod
    async def enlist(self, now: int, above: int = 0) -> int:
        """Return a new writer number for this process, larger than `above` and used by no other, whatever was restored."""

    @abstractmethod
    async def knows(self, numbers: Sequence[int]) -> bool:
        """Return whether all these writer numbers were given, as far as the ledger knows."""
