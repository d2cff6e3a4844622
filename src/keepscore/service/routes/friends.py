"""The routes of `/v1` for lists of friends, rankings among friends, and everything that one screen shows."""

from __future__ import annotations

from typing import Any

import msgspec

from keepscore.access.principals import ANONYMOUS
from keepscore.domain.results.friends import BoardView, FriendList, FriendsBoard
from keepscore.errors import Unauthenticated
from keepscore.leaderboards import Leaderboards
from keepscore.service.http.layer import NO_STORE, Answer, Example, NoBody, NoQuery, Prepared, Request, Route
from keepscore.service.routes.bodies import ViewQuery
from keepscore.service.routes.declarations import BOARD, board_read
from keepscore.service.routes.own_reads import reached, tagged
from keepscore.service.routes.stated import (
    AroundCount,
    FriendCount,
    FriendIds,
    FriendLimit,
    PlayerText,
    PositionText,
    RankName,
    SegmentName,
    TopCount,
)

__all__ = ["FriendRoutes"]

#: The address of a player's list.
LIST = "/v1/players/{player_id}/friends"


class FriendsBody(msgspec.Struct, forbid_unknown_fields=True):
    """Up to 5,000 friends."""

    friend_ids: FriendIds


class CircleBody(msgspec.Struct, forbid_unknown_fields=True):
    """A player and up to 5,000 friends, from a list that is kept elsewhere."""

    player_id: PlayerText
    friend_ids: FriendIds


class FriendsQuery(ViewQuery, forbid_unknown_fields=True, kw_only=True):
    """Which ranking, and how many of the friends."""

    limit: FriendLimit = None


class ScreenQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Whose screen (a token says it by itself), how much of each part, and which windows."""

    player_id: str | None = None
    top: TopCount = 10
    around: AroundCount = 5
    friends: FriendCount = 10
    windows: str | None = None
    segment: SegmentName = None
    rank: RankName = None
    min_seq: PositionText = None


class FriendRoutes:
    """Handlers of one service."""

    def __init__(self, leaderboards: Leaderboards) -> None:
        self._lb = leaderboards

    def routes(self) -> list[Route]:
        """Return them all."""
        return [*self._lists(), *self._rankings()]

    def _lists(self) -> list[Route]:
        declared: dict[str, Any] = {"players": True, "about": "visible", "answers": {200: FriendList}, "tag": "Friends"}
        friends = Example(body={"friend_ids": ["bruno", "carla"]})
        return [
            Route(
                "GET",
                LIST,
                self.friends,
                "Get a player's friends",
                scope="read",
                cost="light",
                description="Returns the ids of a player's friends. A player token reads its own player's list only.",
                **declared,
            ),
            Route(
                "PUT",
                LIST,
                self.replace,
                "Replace a player's friends",
                scope="submit",
                body=FriendsBody,
                description='Makes these the player\'s friends, and nobody else: up to 5,000. With `[players] friends = "mutual"`, the '
                "player is on the friends' lists, too. A player token changes its own player's list only.",
                example=friends,
                **declared,
            ),
            Route(
                "POST",
                LIST,
                self.add,
                "Add friends",
                scope="submit",
                body=FriendsBody,
                description="Adds to a player's friends, up to 5,000 in all.",
                example=friends,
                **declared,
            ),
            Route(
                "DELETE",
                LIST + "/{friend_id}",
                self.remove,
                "Remove a friend",
                scope="submit",
                description="Ends a friendship. Where there is none, nothing changes.",
                **declared,
            ),
        ]

    def _rankings(self) -> list[Route]:
        return [
            board_read(
                BOARD + "/friends/{player_id}",
                self.ranking,
                "Rank a player among friends",
                query=FriendsQuery,
                answers={200: FriendsBoard},
                tag="Friends",
                description="Returns the player and all friends who are ranked, with their ranks among each other and among all players. "
                "Friends who are not ranked are in `missing`. It needs a key, or the player's token.",
                example=Example({"limit": 10}),
            ),
            Route(
                "POST",
                BOARD + "/friends",
                self.ranking_of,
                "Rank a player among friends that are kept elsewhere",
                scope="read",
                players=True,
                query=FriendsQuery,
                body=CircleBody,
                answers={200: FriendsBoard},
                tag="Friends",
                description="The same, for up to 5,000 friends of a list that is kept elsewhere. Nothing is recorded.",
                example=Example({"limit": 10}, {"player_id": "ada", "friend_ids": ["bruno", "carla"]}),
            ),
            board_read(
                BOARD + "/view",
                self.view,
                "Get everything for one screen",
                query=ScreenQuery,
                answers={200: BoardView},
                tag="Friends",
                description="Returns the top, the player, those around and the first of the player's friends, for each window: all of one "
                "moment, in one request. Without a player, only the top.",
                example=Example({"player_id": "ada", "top": 10, "around": 5, "friends": 10}),
            ),
        ]

    async def friends(self, request: Request[NoQuery, NoBody]) -> Answer:
        """Return a player's list."""
        return Answer(await self._lb.friends.of(request.path[0]), headers=NO_STORE)

    async def replace(self, request: Request[NoQuery, FriendsBody]) -> Answer:
        """Replace a player's list."""
        return Answer(await self._lb.friends.replace(request.path[0], request.body.friend_ids))

    async def add(self, request: Request[NoQuery, FriendsBody]) -> Answer:
        """Add to a player's list."""
        return Answer(await self._lb.friends.add(request.path[0], request.body.friend_ids))

    async def remove(self, request: Request[NoQuery, NoBody]) -> Answer:
        """Take a friend off a player's list."""
        return Answer(await self._lb.friends.remove(*request.path))

    async def ranking(self, request: Request[FriendsQuery, NoBody]) -> Answer | Prepared:
        """Rank a player among friends."""
        _check_known(request)
        return tagged(await self._ranked(request, request.path[1], None))

    async def ranking_of(self, request: Request[FriendsQuery, CircleBody]) -> Answer:
        """Rank a player among friends that the request names."""
        _check_known(request)
        return Answer(await self._ranked(request, request.body.player_id, request.body.friend_ids), headers=NO_STORE)

    async def _ranked(self, request: Request[FriendsQuery, Any], player: str, friends: list[str] | None) -> FriendsBoard:
        query = request.query
        await reached(self._lb, request)
        return await self._lb.friends.ranking(
            request.path[0],
            player,
            friend_ids=friends,
            limit=query.limit,
            window=query.window,
            window_id=query.window_id,
            segment=query.segment,
            rank=query.rank,
        )

    async def view(self, request: Request[ScreenQuery, NoBody]) -> Answer | Prepared:
        """Return everything for one screen."""
        query, principal = request.query, request.principal
        if query.player_id is not None:
            principal.check_player(query.player_id)
        player = principal.player or query.player_id
        if player is not None and query.friends:
            _check_known(request)
        windows = None if query.windows is None else [name for name in query.windows.split(",") if name]
        await reached(self._lb, request, windows or [*self._lb.runtime.catalog[request.path[0]].board.periods])
        answer = await self._lb.view(
            request.path[0],
            player,
            top=query.top,
            around=query.around,
            friends=query.friends,
            windows=windows,
            segment=query.segment,
            rank=query.rank,
        )
        return tagged(answer)


def _check_known(request: Request[Any, Any]) -> None:
    """Refuse to tell just anybody who is whose friend, though everybody may read the board."""
    if request.principal is ANONYMOUS:
        raise Unauthenticated(
            "whose friends somebody is, is told with a key or the player's token only: send it as 'Authorization: Bearer …'"
        )
