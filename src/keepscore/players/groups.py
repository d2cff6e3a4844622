"""Private groups that players join with a code: `lb.groups`."""

from __future__ import annotations

from keepscore.domain.caps import Caps
from keepscore.domain.durations import time_of
from keepscore.domain.groups import TRIES, GroupCaps, check_group_name, code_of, new_code, new_group_id
from keepscore.domain.results.friends import FriendsBoard
from keepscore.domain.results.groups import GroupList, InviteCode, NewGroup, OneGroup, PlayerGroup
from keepscore.domain.values import check_player
from keepscore.errors import UnknownInvite, UnknownPlayer
from keepscore.projection.stores import Stores
from keepscore.reading.among import Among, Circle
from keepscore.reading.reader import Reader
from keepscore.storage.ledgers.groups import GroupRecord, no_group
from keepscore.writing.idempotency import Claims, Keep, claim_on

__all__ = ["Groups"]


class Groups:
    """Private groups: create, join, leave, and rank their members."""

    def __init__(self, stores: Stores, claims: Claims, caps: Caps, reader: Reader, among: Among) -> None:
        self._store = stores.ledger.groups
        self._clock = stores.clock
        self._claims = claims
        self._caps = GroupCaps(caps.groups, caps.group_members, caps.player_groups)
        self._reader = reader
        self._among = among

    async def create(self, name: str, owner: str, *, idempotency_key: str | None = None) -> NewGroup:
        """Create a group with its owner as the first member. Return its id, and the code with which others join."""
        check_group_name(name)
        check_player(owner)

        async def work(keep: Keep) -> NewGroup:
            group = GroupRecord(new_group_id(), name, owner, new_code(), self._clock())
            answer = NewGroup(group.id, group.code, name, owner)
            await self._store.add(group, self._caps, keep(answer))
            return answer

        return await self._claims.once(claim_on("group", owner, idempotency_key, ["create", name]), NewGroup, work)

    async def get(self, group_id: str) -> PlayerGroup:
        """Return a group with its members."""
        group = await self._found(group_id)
        members = await self._store.members(group_id)
        return PlayerGroup(group.id, group.name, group.owner, time_of(group.created), group.code, members)

    async def _found(self, group_id: str) -> GroupRecord:
        group = await self._store.find(group_id)
        if group is None:
            raise no_group(group_id)
        return group

    async def of(self, player_id: str) -> GroupList:
        """Return a player's groups, by name."""
        found = await self._store.of(check_player(player_id))
        return GroupList(player_id, [OneGroup(group.id, group.name, group.owner, members) for group, members in found])

    async def join(self, player_id: str, invite_code: str, *, group_id: str | None = None) -> PlayerGroup:
        """Let a player join the group of an invite code, or just that group. Ten wrong codes in ten minutes are the most."""
        check_player(player_id)
        group = await self._store.find_by_code(code_of(invite_code), player_id, TRIES, self._clock())
        if group is None or group_id not in (None, group.id):
            raise UnknownInvite(f"invite_code = {invite_code[:40]!r} is not the code of a group: ask a member for the current one")
        return await self.add(group.id, player_id)

    async def add(self, group_id: str, player_id: str) -> PlayerGroup:
        """Add a member; one who is a member already stays it."""
        await self._store.join(group_id, check_player(player_id), self._caps, self._clock())
        return await self.get(group_id)

    async def remove(self, group_id: str, player_id: str) -> None:
        """Let a member leave. If it is the owner, the next member becomes it; a group without members is gone."""
        if not await self._store.leave(group_id, check_player(player_id)):
            await self._found(group_id)
            raise UnknownPlayer(f"player_id = {player_id!r} is not a member of group {group_id!r}")

    async def rotate(self, group_id: str) -> InviteCode:
        """Give a group another invite code: nobody can join with the old one any more."""
        await self._found(group_id)
        code = new_code()
        await self._store.set_code(group_id, code)
        return InviteCode(group_id, code)

    async def delete(self, group_id: str) -> None:
        """Delete a group. Players and scores stay."""
        await self._found(group_id)
        await self._store.drop(group_id)

    async def ranking(
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
        view = self._reader.view(board, window, window_id, segment, rank)
        if player_id is not None:
            check_player(player_id)
        await self._found(group_id)
        return await self._among.ranking(view, Circle(player_id, await self._store.members(group_id), group_id), limit)
