"""What a definition says of teams: how members make a team's score, and which names boards of teams have. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keepscore.domain.board_fields import BOUNDS

__all__ = ["MEAN_OF_BEST", "TEAM", "TEAMS_SUFFIX", "members_from"]

#: The field of the profile that says which team a player is in, and the segment that it becomes.
TEAM = "team"
#: What the name of a board that holds teams ends with. No board that somebody defines has such a name.
TEAMS_SUFFIX = "~teams"
#: The only field of a table of `members`.
MEAN_OF_BEST = "mean_of_best"


def members_from(operator: str, given: Any) -> str | dict[str, int]:
    """Return what makes a team's score, or raise a ValueError that says what is allowed.

    >>> members_from("sum", None), members_from("best", {"mean_of_best": 5})
    ('sum', {'mean_of_best': 5})
    """
    adds_up = operator in ("sum", "last")
    if given is None:
        return "sum" if adds_up else "best"
    if given == "sum" and not adds_up:
        raise ValueError(f"a team's sum needs members whose scores add up, and the operator is {operator!r}: write best or mean_of_best")
    if given in ("sum", "best"):
        return str(given)
    bounds = BOUNDS["Board.members"]
    if isinstance(given, Mapping) and list(given) == [MEAN_OF_BEST] and type(given[MEAN_OF_BEST]) is int and given[MEAN_OF_BEST] in bounds:
        return {MEAN_OF_BEST: given[MEAN_OF_BEST]}
    raise ValueError(f"allowed are 'sum', 'best' and {{mean_of_best = K}}, with a K of {bounds}")
