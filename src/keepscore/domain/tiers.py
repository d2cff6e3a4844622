"""Tiers: labels for the first players of a ranking, such as gold for the best 1 %. The field `tiers` of a board. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec

from keepscore.domain.board_fields import BOUNDS, TIER_FIELDS

if TYPE_CHECKING:
    from keepscore.domain.boards import Board, Score

__all__ = ["Tier", "TierCuts", "cut_of", "tiers_from"]

_PERCENT = re.compile(r"(\d{1,3}(?:\.\d{1,6})?)%", re.ASCII)
#: The largest rank of a tier.
MAX_RANK = 10**12


class Tier(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A label, and who gets it: the first players, by share or number, or those with a score. Without a condition: all who are left."""

    name: str
    top: str | int | None = None
    rank: int | None = None
    score: int | float | None = None

    @property
    def last_rank(self) -> int | None:
        """The last rank that belongs to it, where that is a number."""
        return self.top if isinstance(self.top, int) else self.rank

    @property
    def share(self) -> Decimal | None:
        """The share of the players that belongs to it, where it is one."""
        found = _PERCENT.fullmatch(self.top) if isinstance(self.top, str) else None
        return None if found is None else Decimal(found[1]) / 100


def tiers_from(order: str, data: Any) -> list[Tier]:
    """Read tiers of a board with that order from a list of tables, or raise a ValueError that says what is allowed."""
    if not isinstance(data, list | tuple) or len(data) not in BOUNDS["Board.tiers"]:
        raise ValueError(f"give a list of {BOUNDS['Board.tiers']} tiers, the best first")
    tiers = [_tier(one) for one in data]
    names = [tier.name for tier in tiers]
    if len(set(names)) < len(names):
        raise ValueError(f"the names {', '.join(names)} are not all different")
    if any(len(_conditions(tier)) == 0 for tier in tiers[:-1]):
        raise ValueError("only the last tier is for all who are left: give the others top, rank or score")
    for what, values in (("top", [tier.share for tier in tiers]), ("rank", [tier.last_rank for tier in tiers])):
        given = [value for value in values if value is not None]
        if any(one >= other for one, other in pairwise(given)):
            raise ValueError(f"{what} does not ascend: the best tier comes first, and is the smallest")
    scores = [tier.score for tier in tiers if tier.score is not None]
    if any(one <= other if order == "desc" else one >= other for one, other in pairwise(scores)):
        raise ValueError("score does not get easier: the best tier comes first")
    return tiers


def _tier(data: Any) -> Tier:
    given = msgspec.structs.asdict(data) if isinstance(data, Tier) else data
    if not isinstance(given, Mapping) or not set(given) <= set(TIER_FIELDS):
        raise ValueError(f"a tier is a table of {', '.join(TIER_FIELDS)}")
    try:
        tier = msgspec.convert(dict(given), Tier)
    except msgspec.ValidationError as exc:
        raise ValueError(f"a tier: {exc}") from None
    if not 0 < len(tier.name.encode()) <= 64 or not tier.name.isprintable():
        raise ValueError(f"name = {tier.name[:40]!r}: allowed are 1 to 64 printable bytes")
    if len(_conditions(tier)) > 1:
        raise ValueError(f"tier {tier.name!r} has {' and '.join(_conditions(tier))}: give one of them")
    if isinstance(tier.top, str) and (tier.share is None or not 0 < tier.share <= 1):
        raise ValueError(f"top = {tier.top[:40]!r}: write a share such as '1%', up to 100%, or a rank such as 100")
    if tier.last_rank is not None and not 1 <= tier.last_rank <= MAX_RANK:
        raise ValueError(f"rank = {tier.last_rank}: allowed is 1 or more")
    return tier


def _conditions(tier: Tier) -> list[str]:
    return [field for field in ("top", "rank", "score") if getattr(tier, field) is not None]


def cut_of(tier: Tier, total: int) -> int | None:
    """Return the last unique rank that belongs to a tier among so many players; None: ranks do not decide.

    >>> [cut_of(Tier(name="gold", top="1%"), total) for total in (1, 100, 101)]
    [1, 1, 2]
    """
    if tier.share is not None:
        # Rounded up: where there are players, somebody is in it.
        return math.ceil(total * tier.share)
    return tier.last_rank


class TierCuts:
    """Where the tiers of a board end among so many players, worked out once for a list."""

    def __init__(self, board: Board, total: int) -> None:
        self.board = board
        #: The last rank of each tier, and the score that each asks for; None where it has none.
        self.ranks = [cut_of(tier, total) for tier in board.tiers]
        self.scores = [None if tier.score is None else board.shown(board.points(tier.score)) for tier in board.tiers]
        self._descending = board.order == "desc"

    def place(self, unique: int, score: Score) -> int | None:
        """Return the place of the first tier that a player with a shown score belongs to; None: none."""
        for place, (cut, needed) in enumerate(zip(self.ranks, self.scores, strict=True)):
            if cut is not None:
                fits = unique <= cut
            elif needed is not None:
                fits = score >= needed if self._descending else score <= needed
            else:
                fits = True
            if fits:
                return place
        return None

    def name(self, unique: int, score: Score) -> str | None:
        """Return the name of that tier."""
        place = self.place(unique, score)
        return None if place is None else self.board.tiers[place].name
