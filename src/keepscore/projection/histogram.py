"""How many rows of a ranking are ahead, from every n-th of them: a histogram with its bounds. Pure.

The rows 1, 11, 21, … of a ranking of 25 are known with their ranks. A row that is behind row 11 and ahead of row 21 has 11 to 20 rows
ahead of it, whichever row it is.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import msgspec

from keepscore.domain.boards import Board
from keepscore.domain.ordering import KeyCodec, Row
from keepscore.storage.engines.base import Pruned

__all__ = ["Bounds", "Histogram", "Sampled"]

#: The least and the most that a number may be.
Bounds = tuple[int, int]


class Sampled(msgspec.Struct):
    """Some rows of a ranking with their ranks, in order, of `total` rows, at a moment that includes the events up to `positions`."""

    mark: str
    positions: dict[int, int]
    total: int
    rows: list[tuple[int, Row]]


class Histogram:
    """How many of a ranking's hidden players are ahead of a row, or of a score.

    When rows were removed, the ranking held its first `kept` rows, and everybody else was hidden: of the rows that were ahead of a row
    then, all but `kept` were hidden. Two things have happened beside: events between the moment of the samples and that of the removal,
    each of which moved one player at most, and hidden players have come back since, who are not hidden any more.
    """

    def __init__(self, board: Board, sampled: Sampled) -> None:
        self.mark = sampled.mark
        self._positions = sampled.positions
        self._total = sampled.total
        self._codec = KeyCodec(board)
        self._desc = board.order == "desc"
        self._ranks = [rank for rank, _ in sampled.rows]
        keys = [self._key(row) for _, row in sampled.rows]
        #: Ascending, as bisect wants it.
        self._keys = keys[::-1] if self._desc else keys
        self._merits = [self._merit(row.score) for _, row in sampled.rows]

    def _key(self, row: Row) -> bytes:
        return self._codec.encode(row.player, row.score, max(row.since, 0))

    def _merit(self, score: int) -> int:
        """Return a number that is smaller for better scores."""
        return -score if self._desc else score

    def ahead_of(self, pruned: Pruned, row: Row) -> Bounds:
        """Count the hidden players who are ahead of a row that is behind the floor."""
        key = self._key(row)
        found = len(self._keys) - bisect_right(self._keys, key) if self._desc else bisect_left(self._keys, key)
        return self._hidden(pruned, found)

    def better_than(self, pruned: Pruned, score: int, or_equal: bool = False) -> Bounds:
        """Count the hidden players who have a better score, or an equal one, too."""
        merit, floor = self._merit(score), self._merit(pruned.floor.score)
        if merit < floor or (merit == floor and not or_equal):
            return 0, 0
        return self._hidden(pruned, (bisect_right if or_equal else bisect_left)(self._merits, merit))

    def _hidden(self, pruned: Pruned, samples: int) -> Bounds:
        """Count the hidden players among the first rows of the ranking, where those have so many of the samples."""
        if not self.mark or pruned.mark != self.mark:
            return 0, pruned.hidden
        low = self._ranks[samples - 1] if samples else 0
        high = self._ranks[samples] - 1 if samples < len(self._ranks) else self._total
        writers = {*pruned.applied, *self._positions}
        between = sum(abs(pruned.applied.get(writer, 0) - self._positions.get(writer, 0)) for writer in writers)
        back = pruned.removed - pruned.hidden
        least = max(0, low - between - pruned.kept - back)
        most = min(pruned.hidden, max(0, high + between - pruned.kept))
        return min(least, most), most
