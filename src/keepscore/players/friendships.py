"""Who may see a player who is open to friends only."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from keepscore.errors import LedgerUnavailable
from keepscore.players.friends import FriendLists

__all__ = ["KnownFriendships"]


class KnownFriendships:
    """Implements `reading.visibility.Friendships` on the lists of friends."""

    def __init__(self, lists: FriendLists) -> None:
        self._lists = lists

    async def friends_with(self, viewer: str, players: Collection[str]) -> Collection[str]:
        """Return those of some players who call a viewer their friend; nobody, where the ledger does not answer."""
        try:
            if self._lists.rules.is_mutual:
                return {*players} & {*await self._lists.of(viewer)}
            found = await asyncio.gather(*map(self._lists.of, players))
        except LedgerUnavailable:
            return ()
        return {player for player, friends in zip(players, found, strict=True) if viewer in friends}
