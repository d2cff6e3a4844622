"""OpenSkill: teams of any size, rated by the library `openskill`. Pure, but for the library, which is loaded when it is needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from keepscore.errors import NotInstalled

__all__ = ["Skill", "check_installed", "model_version", "rated"]

#: What the library takes for a team's spread of luck, and for how much skills change between matches, as parts of the first deviation.
BETA_PART, TAU_PART = 1 / 2, 1 / 100


class Skill(NamedTuple):
    """How strong a player is, and how certain that is."""

    mean: float
    deviation: float


def _library() -> Any:
    try:
        import openskill.models
    except ImportError:
        raise NotInstalled("openskill needs the package openskill: install it with pip install 'keepscore[openskill]'") from None
    return openskill


def _model(mean: float, deviation: float) -> Any:
    options = {"mu": mean, "sigma": deviation, "beta": deviation * BETA_PART, "tau": deviation * TAU_PART}
    return _library().models.PlackettLuce(**options)


def check_installed() -> None:
    """Refuse to go on without the library."""
    _library()


def model_version() -> str:
    """Return which model of which version of the library rates matches."""
    return f"PlackettLuce {_library().__version__}"


def rated(teams: Sequence[Sequence[Skill]], places: Sequence[int], start: Skill) -> list[list[Skill]]:
    """Return what a match makes of the players of each team; the best place is the lowest.

    >>> ada, bo = Skill(25, 25 / 3), Skill(25, 25 / 3)
    >>> [[round(one.mean, 2) for one in team] for team in rated([[ada], [bo]], [1, 2], Skill(25, 25 / 3))]
    [[27.64], [22.36]]
    """
    model = _model(*start)
    given = [[model.rating(mu=player.mean, sigma=player.deviation) for player in team] for team in teams]
    found = model.rate(given, ranks=[float(place) for place in places])
    return [[Skill(player.mu, player.sigma) for player in team] for team in found]
