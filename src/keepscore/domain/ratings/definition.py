"""The field `rating` of a board: which system rates its matches, and with which numbers. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from keepscore.domain.board_fields import BOUNDS, K_FIELDS, RANKED_FROM_FIELDS, RATING_FIELDS

__all__ = ["KStep", "RankedFrom", "Rating", "rating_from"]

#: The largest K.
MAX_K = 1_000_000
#: The largest number that a rating may start from, on either side of zero, and the largest deviation.
MAX_INITIAL, MAX_DEVIATION = 1_000_000, 1_000_000
#: The most deviations that a shown rating is below the mean.
MAX_Z = 10
#: The most matches that a player may have to play first.
MAX_GAMES = 10_000

System = Literal["elo", "glicko2", "openskill"]

#: The fields of each system, with their defaults. Of OpenSkill, the deviation follows from the start.
_ELO: dict[str, Any] = {"k": 32, "initial": 1000}
_GLICKO2: dict[str, Any] = {"initial": 1500, "deviation": 350, "volatility": 0.06, "tau": 0.5, "z": 2}
_OPENSKILL: dict[str, Any] = {"initial": 25, "z": 3}
_DEFAULTS = {"elo": _ELO, "glicko2": _GLICKO2, "openskill": _OPENSKILL}
#: Fields that a system has beside those.
_MORE = {"elo": ("ranked_from",), "glicko2": ("idle_per_day", "ranked_from"), "openskill": ("deviation", "idle_per_day", "ranked_from")}
#: The part of the deviation at the start by which an idle day makes a rating less certain, where the board does not say.
_IDLE_PART = 0.001


class KStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A K, and for whom it is: those with a rating below one, or with fewer games than some. Without either: for all who are left."""

    k: int | float
    below: int | float | None = None
    games: int | None = None


class RankedFrom(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """From when on players are ranked: after some matches, or as soon as the deviation is small enough."""

    games: int | None = None
    deviation: int | float | None = None


class Rating(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """How the matches of a board are rated. What a system has and the board does not say is filled in by `rating_from`."""

    system: System
    k: int | float | list[KStep] | None = None
    initial: int | float | None = None
    deviation: int | float | None = None
    volatility: int | float | None = None
    tau: int | float | None = None
    z: int | float | None = None
    idle_per_day: int | float | None = None
    ranked_from: RankedFrom | None = None

    @property
    def counts_games(self) -> bool:
        """Whether a change depends on how many matches a player has had."""
        return isinstance(self.k, list) and any(step.games is not None for step in self.k)

    @property
    def has_deviations(self) -> bool:
        """Whether it says of each player how certain the rating is."""
        return self.system != "elo"

    @property
    def needs_past(self) -> bool:
        """Whether a match goes by more than the rating that a player has: by all matches that count."""
        return self.has_deviations or self.ranked_from is not None

    @property
    def takes_teams(self) -> bool:
        """Whether more than two players may play."""
        return self.system == "openskill"

    @property
    def start(self) -> float:
        """The mean that a player starts from."""
        return float(self.initial or 0)

    @property
    def shown_start(self) -> float:
        """The rating that is shown of a player who starts: conservative, where there are deviations."""
        return self.start - float(self.z or 0) * float(self.deviation or 0)

    @property
    def parameters(self) -> dict[str, Any]:
        """What is recorded with each match: the numbers that it was rated with."""
        return {name: value for name, value in msgspec.to_builtins(self).items() if name not in ("system", "k", "ranked_from")}

    def k_for(self, rating: float, games: int) -> float:
        """Return the K of a player with a rating and some games.

        >>> steps = [{"games": 30, "k": 40}, {"below": 2400, "k": 20}, {"k": 10}]
        >>> [rating_from({"system": "elo", "k": steps}).k_for(*who) for who in ((2500, 3), (2399, 30), (2400, 31))]
        [40.0, 20.0, 10.0]
        """
        if not isinstance(self.k, list):
            return float(self.k or 0)
        fits = (step for step in self.k if (step.below is None or rating < step.below) and (step.games is None or games < step.games))
        return float(next(fits).k)

    def same_scale(self, other: Rating | None) -> bool:
        """Return whether ratings that one definition has recorded are shown right by the other."""
        return other is not None and (self.system, self.z, self.idle_per_day) == (other.system, other.z, other.idle_per_day)


def rating_from(data: Any) -> Rating:
    """Read a rating from a table, or raise a ValueError that says what is allowed.

    >>> rating_from({"system": "glicko2", "initial": 1200}).shown_start
    500.0
    """
    if not isinstance(data, Mapping) or "system" not in data or not set(data) <= set(RATING_FIELDS):
        raise ValueError(f"give a table with system; allowed: {', '.join(RATING_FIELDS)}")
    plain = msgspec.to_builtins({name: value for name, value in data.items() if value is not None})
    try:
        found = msgspec.convert(plain, Rating)
    except msgspec.ValidationError as exc:
        raise ValueError(str(exc)) from None
    own = _DEFAULTS[found.system]
    allowed = ["system", *own, *_MORE[found.system]]
    if unknown := [name for name in plain if name not in allowed]:
        raise ValueError(f"{found.system} has no {unknown[0]}; allowed: {', '.join(allowed)}")
    found = replace(found, **{name: value for name, value in own.items() if getattr(found, name) is None})
    if found.has_deviations:
        found = _check_deviations(found)
    else:
        assert found.k is not None, "it has a default"
        _check_k(found.k)
    if found.ranked_from is not None:
        _check_ranked_from(found, found.ranked_from)
    return found


def _check_deviations(given: Rating) -> Rating:
    """Return a rating with the numbers that follow from others, once all of them are possible."""
    if not -MAX_INITIAL <= given.start <= MAX_INITIAL:
        raise ValueError(f"initial = {given.initial}: allowed is -{MAX_INITIAL} to {MAX_INITIAL}")
    deviation = abs(given.start) / 3 if given.deviation is None else given.deviation
    bounds = {"deviation": (deviation, MAX_DEVIATION), "volatility": (given.volatility, 10), "tau": (given.tau, 10)}
    for name, (value, most) in bounds.items():
        if value is not None and not 0 < value <= most:
            raise ValueError(f"{name} = {value}: allowed is a number above 0, up to {most}")
    if given.z is not None and not 0 <= given.z <= MAX_Z:
        raise ValueError(f"z = {given.z}: allowed is 0 to {MAX_Z}")
    idle = deviation * _IDLE_PART if given.idle_per_day is None else given.idle_per_day
    if not 0 <= idle <= deviation:
        raise ValueError(f"idle_per_day = {idle}: allowed is 0 to deviation, {deviation}")
    return replace(given, deviation=deviation, idle_per_day=idle)


def _check_ranked_from(given: Rating, rule: RankedFrom) -> None:
    if (rule.games is None) == (rule.deviation is None):
        raise ValueError(f"ranked_from: give one of {', '.join(RANKED_FROM_FIELDS)}")
    if rule.games is not None and not 1 <= rule.games <= MAX_GAMES:
        raise ValueError(f"ranked_from: games = {rule.games}: allowed is 1 to {MAX_GAMES}")
    if rule.deviation is not None and given.deviation is None:
        raise ValueError("ranked_from: elo has no deviation: give games")
    if rule.deviation is not None and not 0 < rule.deviation < (given.deviation or 0):
        raise ValueError(f"ranked_from: deviation = {rule.deviation}: allowed is a number above 0 and below deviation, {given.deviation}")


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
