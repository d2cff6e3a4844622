"""The namespace `client.friends`, as `keepscore.Leaderboards` has it."""

from __future__ import annotations

from collections.abc import Sequence

from keepscore.client.calls import NO_KEY, change, decoder, read, view_of
from keepscore.client.sending import Send
from keepscore.domain.results.friends import FriendList, FriendsBoard

__all__ = ["Friends"]


class Friends:
    """Lists of friends, and rankings among friends."""

    def __init__(self, call: Send) -> None:
        self._call = call

    async def of(self, player_id: str) -> FriendList:
        """Return a player's friends, by id."""
        return await self._call(read(decoder(FriendList), "players", player_id, "friends"))

    async def replace(self, player_id: str, friend_ids: Sequence[str]) -> FriendList:
        """Make these, up to 5,000 players, a player's friends, and nobody else. Return the list."""
        path, body = ("players", player_id, "friends"), {"friend_ids": friend_ids}
        return await self._call(change(decoder(FriendList), "PUT", *path, body=body, key=NO_KEY))

    async def add(self, player_id: str, friend_ids: Sequence[str]) -> FriendList:
        """Make these friends of a player, too: up to 5,000 in all. Return the list."""
        path, body = ("players", player_id, "friends"), {"friend_ids": friend_ids}
        return await self._call(change(decoder(FriendList), "POST", *path, body=body, key=NO_KEY))

    async def remove(self, player_id: str, friend_id: str) -> FriendList:
        """End a friendship; where there is none, nothing changes. Return the list."""
        return await self._call(change(decoder(FriendList), "DELETE", "players", player_id, "friends", friend_id, key=NO_KEY))

    async def ranking(
        self,
        board: str,
        player_id: str,
        *,
        friend_ids: Sequence[str] | None = None,
        limit: int | None = None,
        window: str | None = None,
        window_id: str | None = None,
        segment: str | None = None,
        rank: str | None = None,
    ) -> FriendsBoard:
        """Return a player and friends in rank order: all who are ranked, or the first `limit`.

        With `friend_ids`, these are the friends, whatever the ledger has.
        """
        query = {"limit": limit, **view_of(window, window_id, segment, rank)}
        if friend_ids is None:
            return await self._call(read(decoder(FriendsBoard), "boards", board, "friends", player_id, query=query))
        body = {"player_id": player_id, "friend_ids": friend_ids}
        return await self._call(read(decoder(FriendsBoard), "boards", board, "friends", query=query, body=body))
