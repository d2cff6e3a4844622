"""The field `rating` of a board: which system rates its matches, and with which numbers. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Literal

import msgspec

from keepscore.domain.board_fields import BOUNDS, K_FIELDS, RATING_FIELDS

__all__ = ["KStep", "Rating", "rating_from"]

#: The largest K.
MAX_K = 1_000_000

System = Literal["elo"]


class KStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A K, and for whom it is: those with a rating below one, or with fewer games than some. Without either: for all who are left."""

    k: int | float
    below: int | float | None = None
    games: int | None = None


class Rating(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """How the matches of a board are rated."""

    system: System
    k: int | float | list[KStep] = 32
    initial: int | float = 1000

    @property
    def counts_games(self) -> bool:
        """Whether a change depends on how many matches a player has had."""
        return isinstance(self.k, list) and any(step.games is not None for step in self.k)

    def k_for(self, rating: float, games: int) -> float:
        """Return the K of a player with a rating and some games.

        >>> steps = [{"games": 30, "k": 40}, {"below": 2400, "k": 20}, {"k": 10}]
        >>> [rating_from({"system": "elo", "k": steps}).k_for(*who) for who in ((2500, 3), (2399, 30), (2400, 31))]
        [40.0, 20.0, 10.0]
        """
        if not isinstance(self.k, list):
            return float(self.k)
        fits = (step for step in self.k if (step.below is None or rating < step.below) and (step.games is None or games < step.games))
        return float(next(fits).k)


def rating_from(data: Any) -> Rating:
    """Read a rating from a table, or raise a ValueError that says what is allowed."""
    if not isinstance(data, Mapping) or "system" not in data or not set(data) <= set(RATING_FIELDS):
        raise ValueError(f"give a table with system; allowed: {', '.join(RATING_FIELDS)}")
    plain = msgspec.to_builtins(dict(data))
    try:
        found = msgspec.convert(plain, Rating)
    except msgspec.ValidationError as exc:
        raise ValueError(str(exc)) from None
    _check_k(found.k)
    return found


def _check_k(k: int | float | list[KStep]) -> None:
    steps = k if isinstance(k, list) else [KStep(k=k)]
    if len(steps) not in BOUNDS["Rating.k"]:
        raise ValueError(f"k: allowed are {BOUNDS['Rating.k']} steps, each with {', '.join(K_FIELDS)}")
    for step in steps:
        if not 0 < step.k <= MAX_K:
            raise ValueError(f"k = {step.k}: allowed is a number above 0, up to {MAX_K}")
        if step.games is not None and step.games < 1:
            raise ValueError(f"k: games = {step.games}: allowed is 1 or more")
    for field in ("below", "games"):
        given = [value for step in steps if (value := getattr(step, field)) is not None]
        if any(one >= other for one, other in pairwise(given)):
            raise ValueError(f"k: {field} = {', '.join(map(str, given))} does not ascend")
    if (steps[-1].below, steps[-1].games) != (None, None):
        raise ValueError("k: the last step is for all who are left: give it neither below nor games")
