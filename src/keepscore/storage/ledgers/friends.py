"""The role of a ledger that holds who is whose friend.

A row is a player, a friend of that player, and since when. Where friendship is mutual, one row stands for both directions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from keepscore.domain.friends import FriendChange, FriendRules
from keepscore.errors import CapReached

__all__ = ["FriendStore", "too_many_friends"]


def too_many_friends(player: str, most: int) -> CapReached:
    """Return the error of a change that would make a player's list longer than it may be."""
    return CapReached(f"player {player[:40]!r} would have more than {most} friends: remove some first. Nothing was recorded")


class FriendStore(ABC):
    """Lists of friends, durable."""

    @abstractmethod
    async def of(self, player: str, is_mutual: bool) -> list[str]:
        """Return a player's friends, by id; where friendship is mutual, those whose friend the player is, too. O(friends)."""

    @abstractmethod
    async def change(self, change: FriendChange, rules: FriendRules, now: int) -> list[str]:
        """Change a player's list in one step, and return it; raise CapReached where one would be too long. O(friends)."""
