"""Tiers in lists: a label for each player, worked out when it is read, and the score that the next tier needs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import NamedTuple

from keepscore.domain.boards import Board, Score
from keepscore.domain.results.friends import FriendStanding, OwnStanding
from keepscore.domain.results.standings import NextTier, PlayerPlace, Standing
from keepscore.domain.tiers import TierCuts
from keepscore.errors import NotKept
from keepscore.storage.engines.base import Ranking, Rankings

__all__ = ["RankedList", "put_tiers"]


class RankedList(NamedTuple):
    """Who is to be labelled: standings, their unique ranks, and where they come from."""

    board: Board
    ranking: Ranking
    standings: Sequence[Standing | PlayerPlace | FriendStanding | OwnStanding]
    unique: Sequence[int]
    total: int
    #: How scores of the ranking are shown.
    shown: Callable[[int], Score]


async def put_tiers(source: Rankings, given: RankedList) -> None:
    """Label players. A read for each tier whose cut is a rank, all at once, whatever the number of players."""
    tiers, cuts = given.board.tiers, TierCuts(given.board, given.total)
    places = [cuts.place(unique, standing.score) for unique, standing in zip(given.unique, given.standings, strict=True)]
    # The tier above each; above none of them lies the last one.
    above = [(len(tiers) if place is None else place) - 1 for place in places]
    wanted = sorted(set(above) - {-1})
    needed = dict(zip(wanted, await asyncio.gather(*(_needed(source, given, cuts, place) for place in wanted)), strict=True))
    for standing, place, higher in zip(given.standings, places, above, strict=True):
        standing.tier = None if place is None else tiers[place].name
        if higher >= 0:
            standing.next_tier = NextTier(tiers[higher].name, needed[higher])


async def _needed(source: Rankings, given: RankedList, cuts: TierCuts, place: int) -> Score | None:
    """Return the score with which a player is in a tier now: its own, or one that is better than that of its last player."""
    if cuts.scores[place] is not None:
        return cuts.scores[place]
    cut = cuts.ranks[place]
    if cut is None:
        return None
    try:
        page = await source.page(given.ranking, cut - 1, 1)
    except NotKept:
        return None
    if not page.rows:
        return None
    step, last = given.board.shown(1), given.shown(page.rows[0].score)
    return last + step if given.board.order == "desc" else last - step
