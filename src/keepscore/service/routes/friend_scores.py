"""The route with which existing clients read the scores of friends whom they keep elsewhere: `/leaderboard/friends`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import msgspec

from keepscore.access.principals import ANONYMOUS
from keepscore.domain.friends import MAX_FRIENDS, check_friends
from keepscore.errors import InvalidField, Unauthenticated
from keepscore.leaderboards import Leaderboards
from keepscore.reading.among import Circle
from keepscore.service.http.layer import NO_STORE, Answer, Example, NoBody, Request, Route
from keepscore.service.routes.stated import FriendIds

__all__ = ["FriendScores"]


class FriendScoresQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which players, on which board, and on which day."""

    #: Parameters that are lists, and how many values each may have.
    LISTS: ClassVar[dict[str, int]] = {"userIds": MAX_FRIENDS}

    userIds: FriendIds = []  # noqa: N815
    mode: str | None = None
    date: str | None = None


class FriendScore(msgspec.Struct):
    """A player's score, and the rank among those who were asked for."""

    userId: str  # noqa: N815
    score: Any
    rank: int


class FriendScores:
    """The handler of one service. `is_public` tells whether everybody may read a board."""

    def __init__(self, leaderboards: Leaderboards, default_board: str, is_public: Callable[[str], bool]) -> None:
        self._lb = leaderboards
        self._default_board = default_board
        self._is_public = is_public

    def routes(self) -> list[Route]:
        """Return the route."""
        return [
            Route(
                "GET",
                "/leaderboard/friends",
                self.scores,
                "Get the scores of friends",
                scope="read",
                players=True,
                about="visible",
                query=FriendScoresQuery,
                answers={200: list[FriendScore], 414: None},
                tag="Existing clients",
                description="Returns the scores of those of some players who are ranked, the best first: of one day, where the board has "
                "days. `POST /v1/boards/{board}/friends` tells more.",
                example=Example({"userIds": "ada,bruno"}),
            )
        ]

    async def scores(self, request: Request[FriendScoresQuery, NoBody]) -> Answer:
        """Return the scores of some players."""
        query, principal = request.query, request.principal
        name = query.mode or self._default_board
        if not self._is_public(name):
            if principal is ANONYMOUS:
                raise Unauthenticated("this board is not public: send a key or a token as 'Authorization: Bearer …'")
            principal.check_board(name)
        players = check_friends("", query.userIds)
        if not players:
            raise InvalidField("userIds is empty: name one or more players, such as userIds=ada,bruno")
        has_days = "daily" in (await self._lb.admin.board(name)).board.periods
        if query.date is not None and not has_days:
            raise InvalidField(f"date = {query.date[:40]!r} cannot be used: board {name!r} has no daily window")
        window = "daily" if has_days else None
        parts = self._lb.runtime
        # Nobody in particular looks at it.
        board = await parts.among.ranking(parts.reader.view(name, window, query.date), Circle(None, players))
        return Answer([FriendScore(one.player_id, one.score, one.rank) for one in board.standings], headers=NO_STORE)
