"""The namespace `friends` of the blocking library.

Made from `keepscore.players.friends` by `tools/write_sync.py`; changes belong there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from keepscore.domain.results.friends import FriendList, FriendsBoard

if TYPE_CHECKING:
    from keepscore.sync import Leaderboards

__all__ = ["Friends"]


class Friends:
    """Lists of friends, and rankings among friends."""

    def __init__(self, leaderboards: Leaderboards) -> None:
        self._leaderboards = leaderboards

    def of(self, player_id: str) -> FriendList:
        """Return a player's friends, by id."""
        return self._leaderboards._run(self._leaderboards._async.friends.of(player_id))

    def replace(self, player_id: str, friend_ids: Sequence[str]) -> FriendList:
        """Make these, up to 5,000 players, a player's friends, and nobody else. Return the list."""
        return self._leaderboards._run(self._leaderboards._async.friends.replace(player_id, friend_ids))

    def add(self, player_id: str, friend_ids: Sequence[str]) -> FriendList:
        """Make these friends of a player, too: up to 5,000 in all. Return the list."""
        return self._leaderboards._run(self._leaderboards._async.friends.add(player_id, friend_ids))

    def remove(self, player_id: str, friend_id: str) -> FriendList:
        """End a friendship; where there is none, nothing changes. Return the list."""
        return self._leaderboards._run(self._leaderboards._async.friends.remove(player_id, friend_id))

    def ranking(
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
        return self._leaderboards._run(
            self._leaderboards._async.friends.ranking(
                board, player_id, friend_ids=friend_ids, limit=limit, window=window, window_id=window_id, segment=segment, rank=rank
            )
        )
