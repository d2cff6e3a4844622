"""The namespace `client.groups`, as `keepscore.Leaderboards` has it, blocking.

Made from `keepscore.client.groups` by `tools/write_sync.py`; changes belong there.
"""

from __future__ import annotations

from keepscore.client.calls import NO_KEY, RequestKey, change, decoder, nothing, read, view_of
from keepscore.client.sync_sending import SyncSend
from keepscore.domain.results.friends import FriendsBoard
from keepscore.domain.results.groups import GroupList, InviteCode, NewGroup, PlayerGroup

__all__ = ["SyncGroups"]


class SyncGroups:
    """Private groups: create, join, leave, and rank their members."""

    def __init__(self, call: SyncSend) -> None:
        self._call = call

    def create(self, name: str, owner: str, *, idempotency_key: str | None = None) -> NewGroup:
        """Create a group with its owner as the first member. Return its id, and the code with which others join."""
        body = {"name": name, "owner": owner}
        return self._call(change(decoder(NewGroup), "POST", "groups", body=body, key=RequestKey(idempotency_key)))

    def get(self, group_id: str) -> PlayerGroup:
        """Return a group with its members."""
        return self._call(read(decoder(PlayerGroup), "groups", group_id))

    def of(self, player_id: str) -> GroupList:
        """Return a player's groups, by name."""
        return self._call(read(decoder(GroupList), "players", player_id, "groups"))

    def join(self, player_id: str, invite_code: str, *, group_id: str | None = None) -> PlayerGroup:
        """Let a player join the group of an invite code, or just that group. Ten wrong codes in ten minutes are the most."""
        path = ("groups", "join") if group_id is None else ("groups", group_id, "members")
        body = {"player_id": player_id, "invite_code": invite_code}
        return self._call(change(decoder(PlayerGroup), "POST", *path, body=body, key=NO_KEY))

    def add(self, group_id: str, player_id: str) -> PlayerGroup:
        """Add a member; one who is a member already stays it."""
        body = {"player_id": player_id}
        return self._call(change(decoder(PlayerGroup), "POST", "groups", group_id, "members", body=body, key=NO_KEY))

    def remove(self, group_id: str, player_id: str) -> None:
        """Let a member leave. If it is the owner, the next member becomes it; a group without members is gone."""
        return self._call(change(nothing, "DELETE", "groups", group_id, "members", player_id, key=NO_KEY))

    def rotate(self, group_id: str) -> InviteCode:
        """Give a group another invite code: nobody can join with the old one any more."""
        return self._call(change(decoder(InviteCode), "POST", "groups", group_id, "rotate", key=NO_KEY))

    def delete(self, group_id: str) -> None:
        """Delete a group. SyncPlayers and scores stay."""
        return self._call(change(nothing, "DELETE", "groups", group_id, key=NO_KEY))

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
        query = {"player_id": player_id, "limit": limit, **view_of(window, window_id, segment, rank)}
        return self._call(read(decoder(FriendsBoard), "boards", board, "groups", group_id, query=query))
