"""How many of some things there may be. Pure."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["DEFAULT_CAPS", "Caps"]


class Caps(NamedTuple):
    """The most boards, and values of one segment in one window of a board."""

    boards: int = 10_000
    segment_values: int = 10_000


#: Where nobody says otherwise.
DEFAULT_CAPS = Caps()
