"""States on their way into the rankings of a board in the memory of the process."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from keepscore.domain.boards import Board
from keepscore.storage.engines.embedded.ladder import Ladder
from keepscore.storage.engines.embedded.ranking import EmbeddedRanking
from keepscore.storage.pace import Pace, sorted_parts

__all__ = ["EmbeddedLoading"]


class EmbeddedLoading:
    """What the rankings of a board share while they are loaded: most players have the same state in most windows.

    Ids and keys are made once: a quarter of the memory for a board with four windows, and what is near in one is near in all.
    A ranking that holds just what the first one holds takes over its order, too.
    """

    def __init__(self, board: Board) -> None:
        self._sharing = len(board.periods) > 1
        self._first: EmbeddedRanking | None = None
        #: Player and key of every row of the first ranking.
        self._known: dict[tuple[str, int, int], tuple[str, bytes]] = {}

    def keys(self, ranking: EmbeddedRanking, rows: Iterable[tuple[str, int, int]]) -> list[tuple[str, bytes]]:
        """Return players and keys of some rows of a ranking."""
        if not self._sharing:
            return ranking.codec.encode_all(rows)
        rows = list(rows)
        if self._first is None or self._first is ranking:
            self._first = ranking
            pairs = ranking.codec.encode_all(rows)
            self._known.update(zip(rows, pairs, strict=True))
            return pairs
        found = [self._known.get(row) for row in rows]
        if None not in found:
            return cast("list[tuple[str, bytes]]", found)
        made = ranking.codec.encode_all(rows)
        return [pair if known is None else known for pair, known in zip(made, found, strict=True)]

    async def order(self, ranking: EmbeddedRanking, in_turns: bool) -> None:
        """Put a ranking that has all its keys in order: in turns with others, or quicker. O(N log N)."""
        first = self._first
        # Rows may have come for a player more than once, and only the last of them count: what is compared is what they came to.
        if first is not None and first is not ranking and len(ranking.keys) == first.ladder.size and first.keys == ranking.keys:
            ranking.ladder = first.ladder.copy()
        elif not in_turns:
            ranking.ladder = Ladder(ranking.keys.values(), ranking.codec.score)
        else:
            ranking.ladder = Ladder((), ranking.codec.score)
            async for part in sorted_parts(ranking.keys.values(), Pace.without_pauses()):
                ranking.ladder.extend(part, ranking.codec.score)
