"""How the scores of a ranking are distributed: how many players there are in each part of the range."""

from __future__ import annotations

import asyncio
from itertools import pairwise

from keepscore.domain.boards import Board
from keepscore.domain.results.distribution import Distribution, ScoreBin
from keepscore.reading.reader import Reader
from keepscore.reading.view import View, check_within

__all__ = ["MAX_BINS", "distribution"]

#: Parts of one answer.
MAX_BINS = 100


async def distribution(reader: Reader, view: View, bins: int) -> Distribution:
    """Return how many players have which scores, from the lowest score to the highest, in equal parts. O(bins × log N)."""
    check_within("bins", bins, 1, MAX_BINS)
    board = view.live.board
    first = await reader.top(view, 1)
    if not first.standings:
        return Distribution(*view.labels, 0, first.as_of, [], first.archived, first.position)
    last = await reader.top(view, 1, first.total_players - 1)
    ends = [board.stored(standing.score) for standing in (*first.standings, *last.standings)]
    parts = _parts(min(ends), max(ends), bins)
    counts = await asyncio.gather(*(reader.count(view, board.shown(low), board.shown(high)) for low, high in parts))
    found = [_bin(board, part, count.count) for part, count in zip(parts, counts, strict=True)]
    return Distribution(*view.labels, first.total_players, first.as_of, found, first.archived, first.position)


def _parts(low: int, high: int, bins: int) -> list[tuple[int, int]]:
    """Return the first and the last score of each part.

    >>> _parts(0, 9, 3)
    [(0, 3), (4, 6), (7, 9)]
    >>> _parts(5, 6, 3)
    [(5, 5), (6, 6)]
    """
    scores = high - low + 1
    bins = min(bins, scores)
    edges = [low + -(-scores * part // bins) for part in range(bins + 1)]
    return [(start, end - 1) for start, end in pairwise(edges)]


def _bin(board: Board, part: tuple[int, int], players: int) -> ScoreBin:
    low, high = part
    return ScoreBin(board.shown(low), board.shown(high), players)
