"""What callers give: numbers, the entries of a batch, and whom to tell of progress."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

__all__ = ["Entry", "Number", "Progress", "no_progress"]

#: A score or an amount.
Number = int | float | Decimal

#: Called with what is being done, how much of it is done, and how much there is.
Progress = Callable[[str, int, int], None]


def no_progress(what: str, done: int, total: int) -> None:
    """Do nothing: nobody wants to see progress."""


class Entry(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """One submission of a batch: a `score`, or an `amount` to add."""

    player_id: str
    score: Number | None = None
    amount: Number | None = None
    at: str | datetime | None = None
    segments: dict[str, str] | None = None
    game_id: str | None = None
    metadata: Any = None
    idempotency_key: str | None = None
    #: Left out where there is none: an entry is known by what it was before there were play tokens.
    play_token: str | UnsetType = UNSET
    #: Of a correction, the windows in which it counts.
    windows: list[str] | UnsetType = UNSET
    #: What the player's profile shows from now on.
    name: str | UnsetType = UNSET
    avatar_url: str | UnsetType = UNSET

    def given(self) -> dict[str, Any]:
        """Return the fields that it has a value for."""
        values = {name: getattr(self, name) for name in self.__struct_fields__}
        return {name: value for name, value in values.items() if value is not None and value is not UNSET}
