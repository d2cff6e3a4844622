"""Several things of a ranking that are read in one step: its first rows, a player with those around, and some players among themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from keepscore.domain.boards import RankKind
from keepscore.domain.ordering import Place, Ranks
from keepscore.storage.engines.values import Page, Ranking

__all__ = ["NO_ROWS", "Look", "Sight"]

#: A page that nobody asked for, or that cannot be told.
NO_ROWS = Page([], Ranks(1, 1, 1), 0)


class Look(NamedTuple):
    """What is wanted of one ranking, and how its ranks are numbered."""

    ranking: Ranking
    rank: RankKind
    #: How many of the first rows.
    top: int = 0
    #: A player, and how many rows above and below.
    player: str | None = None
    around: int = 0
    #: Some players; the ranks of the first `limit` of these are wanted.
    among: Sequence[str] = ()
    limit: int = 0


class Sight(NamedTuple):
    """What was found, all of one moment."""

    total: int
    top: Page
    place: Place | None
    near: Page
    #: The places of the players `among`, None for one who is not ranked; the unique rank is 0 where it was not wanted.
    among: list[Place | None]
