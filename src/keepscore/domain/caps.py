"""How many of some things there may be. Pure."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["DEFAULT_CAPS", "DEFAULT_LIVE_CAPS", "Caps", "LiveCaps"]


class Caps(NamedTuple):
    """The most boards, values of one segment in one window of a board, groups, members of a group, and groups of a player."""

    boards: int = 10_000
    segment_values: int = 10_000
    groups: int = 1_000_000
    group_members: int = 500
    player_groups: int = 100


#: Where nobody says otherwise.
class LiveCaps(NamedTuple):
    """How many live subscriptions there may be in one process."""

    #: On one WebSocket, of one key, and from one address.
    per_connection: int = 100
    per_key: int = 100_000
    per_address: int = 1000


DEFAULT_LIVE_CAPS = LiveCaps()
DEFAULT_CAPS = Caps()
