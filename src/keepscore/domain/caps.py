"""How many of some things there may be. Pure."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["DEFAULT_CAPS", "Caps"]


class Caps(NamedTuple):
    """The most boards, values of one segment in one window of a board, groups, members of a group, and groups of a player."""

    boards: int = 10_000
    segment_values: int = 10_000
    groups: int = 1_000_000
    group_members: int = 500
    player_groups: int = 100


#: Where nobody says otherwise.
DEFAULT_CAPS = Caps()
