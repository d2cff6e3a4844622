"""The namespace `groups` of the blocking library.

Made from `keepscore.players.groups` by `tools/write_sync.py`; changes belong there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from keepscore.domain.results.friends import FriendsBoard
from keepscore.domain.results.groups import GroupList, InviteCode, NewGroup, PlayerGroup

if TYPE_CHECKING:
    from keepscore.sync import Leaderboards

__all__ = ["Groups"]


class Groups:
    """Private groups: create, join, leave, and rank their members."""

    def __init__(self, leaderboards: Leaderboards) -> None:
        self._leaderboards = leaderboards

    def create(self, name: str, owner: str, *, idempotency_key: str | None = None) -> NewGroup:
        """Create a group with its owner as the first member. Return its id, and the code with which others join."""
        return self._leaderboards._run(self._leaderboards._async.groups.create(name, owner, idempotency_key=idempotency_key))

    def get(self, group_id: str) -> PlayerGroup:
        """Return a group with its members."""
        return self._leaderboards._run(self._leaderboards._async.groups.get(group_id))

    def of(self, player_id: str) -> GroupList:
        """Return a player's groups, by name."""
        return self._leaderboards._run(self._leaderboards._async.groups.of(player_id))

    def join(self, player_id: str, invite_code: str, *, group_id: str | None = None) -> PlayerGroup:
        """Let a player join the group of an invite code, or just that group. Ten wrong codes in ten minutes are the most."""
        return self._leaderboards._run(self._leaderboards._async.groups.join(player_id, invite_code, group_id=group_id))

    def add(self, group_id: str, player_id: str) -> PlayerGroup:
        """Add a member; one who is a member already stays it."""
        return self._leaderboards._run(self._leaderboards._async.groups.add(group_id, player_id))

    def remove(self, group_id: str, player_id: str) -> None:
        """Let a member leave. If it is the owner, the next member becomes it; a group without members is gone."""
        return self._leaderboards._run(self._leaderboards._async.groups.remove(group_id, player_id))

    def rotate(self, group_id: str) -> InviteCode:
        """Give a group another invite code: nobody can join with the old one any more."""
        return self._leaderboards._run(self._leaderboards._async.groups.rotate(group_id))

    def delete(self, group_id: str) -> None:
        """Delete a group. Players and scores stay."""
        return self._leaderboards._run(self._leaderboards._async.groups.delete(group_id))

    def ranking(
        self,
        board: str,
        group_id: str,
        *,
        player_id: str | None = None,
        limit: int | None = None,
        window: str | None = None,
        window_id: str | None = None,
        segment: str | None = None,
        rank: str | None = None,
    ) -> FriendsBoard:
        """Return the members of a group in rank order: all who are ranked, or the first `limit`. `player_id` is who looks."""
        return self._leaderboards._run(
            self._leaderboards._async.groups.ranking(
                board, group_id, player_id=player_id, limit=limit, window=window, window_id=window_id, segment=segment, rank=rank
            )
        )
