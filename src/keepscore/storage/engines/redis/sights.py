"""Several things of a ranking in one call of the script `see`: what it is told, and what its answer means."""

from __future__ import annotations

from itertools import repeat
from typing import Any

from keepscore.domain.ordering import Place, Ranks, Row
from keepscore.domain.scoring import NO_TIME
from keepscore.storage.engines.base import Look, Page, Sight
from keepscore.storage.engines.looks import NO_ROWS
from keepscore.storage.engines.redis.layouts import RankingKeys

__all__ = ["nothing_seen", "sight_from", "told_look"]


def nothing_seen(look: Look) -> Sight:
    """Return what is seen of a ranking that nobody has put anything into."""
    return Sight(0, NO_ROWS, None, NO_ROWS, [None] * len(look.among))


def told_look(at: RankingKeys, look: Look) -> list[Any]:
    """Return what the script is told of one look."""
    player = False if look.player is None else look.player
    wanted = look.top, player, look.around, list(look.among), look.limit, look.rank == "standard", look.rank == "dense"
    return [at.form, at.field, *wanted]


def sight_from(answer: list[Any]) -> Sight:
    """Return what the script tells of one look."""
    size, hidden, top, place, near, among = answer
    total = size + hidden
    return Sight(
        total,
        _page(top, size, total),
        _place(place, total) if place else None,
        _page(near, size, total) if near else NO_ROWS,
        _places(among, total),
    )


def _place(told: list[Any], total: int) -> Place:
    score, since, unique, standard, dense = told
    return Place(score, since, unique, standard, dense, total)


def _page(told: list[Any], size: int, total: int) -> Page:
    rows, offset, standard, dense = told
    unique = offset + 1 if rows else size + 1
    return Page([Row(*row) for row in rows], Ranks(unique, standard, dense), total)


def _places(told: list[Any], total: int) -> list[Place | None]:
    """Return places from columns by player: scores (False: not ranked), times and ranks."""
    scores, sinces, uniques, standards, denses = told
    columns = zip(scores, sinces or repeat(NO_TIME), uniques, standards or repeat(0), denses or repeat(0), strict=False)
    return [
        None if score is False else Place(score, since, unique, standard, dense, total) for score, since, unique, standard, dense in columns
    ]
