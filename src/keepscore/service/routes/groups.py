"""The routes of `/v1` for private groups, and rankings of their members."""

from __future__ import annotations

from typing import Any

import msgspec

from keepscore.access.principals import ANONYMOUS, Principal
from keepscore.domain.results.friends import FriendsBoard
from keepscore.domain.results.groups import GroupList, InviteCode, NewGroup, PlayerGroup
from keepscore.errors import Forbidden, InvalidField, Unauthenticated
from keepscore.leaderboards import Leaderboards
from keepscore.service.http.layer import NO_STORE, Answer, Example, NoBody, NoQuery, Prepared, Request, Route
from keepscore.service.routes.boards import idempotency_key, replay_headers, viewer_of
from keepscore.service.routes.bodies import ViewQuery
from keepscore.service.routes.declarations import BOARD, board_read
from keepscore.service.routes.own_reads import reached, tagged
from keepscore.service.routes.stated import FriendLimit, PlayerText, TextField

__all__ = ["GroupRoutes"]

GROUP = "/v1/groups/{group_id}"


class GroupBody(msgspec.Struct, forbid_unknown_fields=True):
    """A new group."""

    name: TextField
    owner: PlayerText


class JoinBody(msgspec.Struct, forbid_unknown_fields=True):
    """Who joins, and the code of the group."""

    player_id: PlayerText
    invite_code: str


class MemberBody(msgspec.Struct, forbid_unknown_fields=True):
    """Who joins. A player token needs the group's code, too."""

    player_id: PlayerText
    invite_code: str | None = None


class GroupQuery(ViewQuery, forbid_unknown_fields=True, kw_only=True):
    """Which ranking, how many members, and who looks (a token says it by itself)."""

    player_id: str | None = None
    limit: FriendLimit = None


class GroupRoutes:
    """Handlers of one service. A player with a token acts for itself, on groups that it is a member of."""

    def __init__(self, leaderboards: Leaderboards) -> None:
        self._lb = leaderboards

    def routes(self) -> list[Route]:
        """Return them all."""
        declared: dict[str, Any] = {"players": True, "about": "visible", "tag": "Friends"}
        code = "ACDEFGH3"
        return [
            Route(
                "POST",
                "/v1/groups",
                self.create,
                "Create a private group",
                scope="submit",
                keyed=True,
                body=GroupBody,
                answers={201: NewGroup},
                description="Returns the group's id and its invite code of 8 characters. The owner is the first member.",
                example=Example(body={"name": "Lunch league", "owner": "ada"}),
                **declared,
            ),
            Route(
                "POST",
                "/v1/groups/join",
                self.join,
                "Join a group by its code",
                scope="submit",
                body=JoinBody,
                answers={200: PlayerGroup},
                description="Case, spaces and hyphens of the code do not matter. After ten wrong codes in ten minutes, the player has to "
                "wait (429).",
                example=Example(body={"player_id": "bruno", "invite_code": code}),
                **declared,
            ),
            Route(
                "GET",
                GROUP,
                self.get,
                "Get a group",
                scope="read",
                cost="light",
                answers={200: PlayerGroup},
                description="Returns a group with its code and its members, in the order in which they joined. With a player token, only "
                "members may.",
                **declared,
            ),
            Route(
                "DELETE",
                GROUP,
                self.delete,
                "Delete a group",
                scope="submit",
                answers={204: None},
                description="Players and their scores stay. With a player token, only the owner may.",
                **declared,
            ),
            Route(
                "POST",
                GROUP + "/members",
                self.add,
                "Add a member to a group",
                scope="submit",
                body=MemberBody,
                answers={200: PlayerGroup},
                description="With a key, adds any player. With a player token, the player joins, and needs the group's `invite_code`.",
                example=Example(body={"player_id": "bruno"}),
                **declared,
            ),
            Route(
                "DELETE",
                GROUP + "/members/{member_id}",
                self.remove,
                "Leave a group, or remove a member",
                scope="submit",
                answers={204: None},
                description="With a player token, players leave, and the owner removes others. If the owner leaves, the member who joined "
                "next becomes the owner. A group without members is gone.",
                **declared,
            ),
            Route(
                "POST",
                GROUP + "/rotate",
                self.rotate,
                "Replace a group's invite code",
                scope="submit",
                answers={200: InviteCode},
                description="Nobody can join with the old code any more. With a player token, only the owner may.",
                **declared,
            ),
            Route(
                "GET",
                "/v1/players/{player_id}/groups",
                self.of_player,
                "Get a player's groups",
                scope="read",
                cost="light",
                answers={200: GroupList},
                description="Returns the groups that a player is a member of, by name.",
                **declared,
            ),
            board_read(
                BOARD + "/groups/{group_id}",
                self.ranking,
                "Rank the members of a group",
                query=GroupQuery,
                answers={200: FriendsBoard},
                tag="Friends",
                description="Returns the members of a group, as for friends. With a player token, only members may.",
                example=Example({"limit": 10}),
            ),
        ]

    async def create(self, request: Request[NoQuery, GroupBody]) -> Answer:
        """Create a group."""
        body = request.body
        group = await self._lb.groups.create(body.name, body.owner, idempotency_key=idempotency_key(request))
        return Answer(group, 201, (*replay_headers(group), *NO_STORE))

    async def join(self, request: Request[NoQuery, JoinBody]) -> Answer:
        """Join a group by its code."""
        return Answer(await self._lb.groups.join(request.body.player_id, request.body.invite_code), headers=NO_STORE)

    async def get(self, request: Request[NoQuery, NoBody]) -> Answer:
        """Return a group."""
        group = await self._lb.groups.get(request.path[0])
        _check_member(request.principal, group)
        return Answer(group, headers=NO_STORE)

    async def delete(self, request: Request[NoQuery, NoBody]) -> Answer:
        """Delete a group."""
        await self._check_owner(request)
        await self._lb.groups.delete(request.path[0])
        return Answer(None, 204)

    async def add(self, request: Request[NoQuery, MemberBody]) -> Answer:
        """Add a member."""
        group_id, body = request.path[0], request.body
        if body.invite_code is not None:
            return Answer(await self._lb.groups.join(body.player_id, body.invite_code, group_id=group_id), headers=NO_STORE)
        if request.principal.player is not None:
            raise InvalidField("invite_code is missing: a player joins with the code of the group")
        return Answer(await self._lb.groups.add(group_id, body.player_id), headers=NO_STORE)

    async def remove(self, request: Request[NoQuery, NoBody]) -> Answer:
        """Remove a member."""
        group_id, member = request.path
        if request.principal.player not in (None, member):
            await self._check_owner(request)
        await self._lb.groups.remove(group_id, member)
        return Answer(None, 204)

    async def rotate(self, request: Request[NoQuery, NoBody]) -> Answer:
        """Replace the code."""
        await self._check_owner(request)
        return Answer(await self._lb.groups.rotate(request.path[0]), headers=NO_STORE)

    async def of_player(self, request: Request[NoQuery, NoBody]) -> Answer:
        """Return a player's groups."""
        return Answer(await self._lb.groups.of(request.path[0]), headers=NO_STORE)

    async def ranking(self, request: Request[GroupQuery, NoBody]) -> Answer | Prepared:
        """Rank the members of a group."""
        query, principal = request.query, request.principal
        if principal is ANONYMOUS:
            raise Unauthenticated("a group is private: send a key, or a member's token, as 'Authorization: Bearer …'")
        if query.player_id is not None:
            principal.check_player(query.player_id)
        board, group_id = request.path
        if principal.player is not None:
            _check_member(principal, await self._lb.groups.get(group_id))
        await reached(self._lb, request)
        answer = await self._lb.groups.ranking(
            board,
            group_id,
            player_id=principal.player or query.player_id or viewer_of(request),
            limit=query.limit,
            window=query.window,
            window_id=query.window_id,
            segment=query.segment,
            rank=query.rank,
        )
        return tagged(answer)

    async def _check_owner(self, request: Request[Any, Any]) -> None:
        player = request.principal.player
        if player is not None and (await self._lb.groups.get(request.path[0])).owner != player:
            raise Forbidden("only the owner of the group may do this, or a key")


def _check_member(principal: Principal, group: PlayerGroup) -> None:
    if principal.player is not None and principal.player not in group.members:
        raise Forbidden(f"player {principal.player!r} is not a member of this group: join it first")
