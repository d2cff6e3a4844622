"""Who is followed together: a player and friends, or the members of a group."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from keepscore.reading.live.specs import LiveSpec
from keepscore.storage.ledgers.groups import GroupStore, no_group

__all__ = ["Circles", "Friends"]

#: Returns the friends of a player.
Friends = Callable[[str], Awaitable[Sequence[str]]]


class Circles:
    """Finds the players of friends and groups, as they are now."""

    def __init__(self, friends: Friends, groups: GroupStore) -> None:
        self._friends = friends
        self._groups = groups

    async def of(self, spec: LiveSpec) -> list[str]:
        """Return who is followed."""
        if spec.friends_of:
            return [spec.friends_of, *await self._friends(spec.friends_of)]
        return await self.members(spec.group)

    async def members(self, group_id: str) -> list[str]:
        """Return the members of a group."""
        if await self._groups.find(group_id) is None:
            raise no_group(group_id)
        return [*await self._groups.members(group_id)]
