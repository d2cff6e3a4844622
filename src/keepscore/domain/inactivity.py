"""What players lose who do not play any more: the field `inactivity` of a board. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from keepscore.domain.board_fields import INACTIVITY_FIELDS
from keepscore.domain.durations import duration_ms

__all__ = ["PREFIX", "Inactivity", "inactivity_from", "is_loss"]

#: The shortest time between two losses (milliseconds).
MIN_EVERY_MS = 60_000

#: What the game ids of losses begin with; the moment follows, in milliseconds.
PREFIX = "inactivity:"


class Inactivity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What players lose who do not play any more."""

    after: str
    lose: int | float
    every: str
    floor: int | float | None = None


def is_loss(kind: str, game_id: str | None) -> bool:
    """Return whether an event of that kind and game id is a loss, and not a score of the player's own."""
    return kind == "increment" and (game_id or "").startswith(PREFIX)


def inactivity_from(data: Any) -> Inactivity:
    """Read an inactivity rule from a table, or raise a ValueError that says what is allowed."""
    if not isinstance(data, Mapping) or not {"after", "lose", "every"} <= set(data) <= set(INACTIVITY_FIELDS):
        raise ValueError(f"give a table with after, lose and every; allowed: {', '.join(INACTIVITY_FIELDS)}")
    try:
        found = msgspec.convert(dict(data), Inactivity)
    except msgspec.ValidationError as exc:
        raise ValueError(str(exc)) from None
    for field in ("after", "every"):
        if duration_ms(getattr(found, field)) < MIN_EVERY_MS:
            raise ValueError(f"{field}: allowed is 1m or more")
    if not found.lose > 0:
        raise ValueError("lose: a number above 0")
    return found
