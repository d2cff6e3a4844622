"""The routes of `/v1` that explain: the score that a rank needs, what counts and why, and one player on many boards."""

from __future__ import annotations

from typing import Any

import msgspec

from keepscore.access.principals import ANONYMOUS
from keepscore.domain.results.access import PlayerStandings
from keepscore.domain.results.explanations import Needs, Why
from keepscore.errors import Unauthenticated
from keepscore.leaderboards import Leaderboards
from keepscore.reading.player_standings import player_standings
from keepscore.service.access import AccessRules
from keepscore.service.http.layer import Answer, Example, NoBody, Prepared, Request, Route
from keepscore.service.routes.declarations import BOARD, board_read
from keepscore.service.routes.own_reads import reached, tagged
from keepscore.service.routes.stated import EventCount, PageLimit, PositionText, SegmentName, WindowChoice

__all__ = ["ExplanationRoutes"]


class NeedsQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which rank, or which part of the players; in which ranking."""

    rank: int | None = None
    top: str | None = None
    window: WindowChoice = None
    segment: SegmentName = None
    min_seq: PositionText = None


class WhyQuery(msgspec.Struct, forbid_unknown_fields=True):
    """How many events, and in which ranking."""

    limit: EventCount = 100
    window: WindowChoice = None
    window_id: str | None = None
    segment: SegmentName = None
    min_seq: PositionText = None


class ManyBoardsQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which boards."""

    cursor: str | None = None
    limit: PageLimit = 100


class ExplanationRoutes:
    """Handlers of one service."""

    def __init__(self, leaderboards: Leaderboards, rules: AccessRules) -> None:
        self._lb = leaderboards
        self._rules = rules

    def routes(self) -> list[Route]:
        """Return them all."""
        return [
            board_read(
                BOARD + "/players/{player_id}/needs",
                self.needs,
                "Get the score that a rank needs",
                query=NeedsQuery,
                answers={200: Needs},
                tag="Rankings",
                description="Returns the score with which the player reaches `rank`, or the first `top` of the players, such as 1%, if it "
                "comes now. Where ranks are dense, they are taken as standard ones.",
                example=Example({"rank": 10}),
            ),
            board_read(
                BOARD + "/players/{player_id}/why",
                self.why,
                "Get what counts, and why",
                query=WhyQuery,
                answers={200: Why},
                tag="History",
                description="Returns a player's events, the newest first, and for each whether it counts in the ranking; if not, why: "
                "a worse score, another window or segment, voided, late.",
            ),
            Route(
                "GET",
                "/v1/players/{player_id}/standings",
                self.standings,
                "Get a player's standings on many boards",
                scope="read",
                players=True,
                about="visible",
                query=ManyBoardsQuery,
                answers={200: PlayerStandings},
                tag="Rankings",
                description="Returns where the player stands on every board that the client may read, by their names. Continue with "
                "`next_cursor`.",
            ),
        ]

    async def needs(self, request: Request[NeedsQuery, NoBody]) -> Answer | Prepared:
        """Return the score that a rank needs."""
        query = request.query
        _check_known(request)
        await reached(self._lb, request)
        found = await self._lb.explain.needs(*request.path, rank=query.rank, top=query.top, window=query.window, segment=query.segment)
        return tagged(found)

    async def why(self, request: Request[WhyQuery, NoBody]) -> Answer | Prepared:
        """Return what counts."""
        query = request.query
        _check_known(request)
        await reached(self._lb, request)
        found = await self._lb.explain.why(
            *request.path, limit=query.limit, window=query.window, window_id=query.window_id, segment=query.segment
        )
        return tagged(found)

    async def standings(self, request: Request[ManyBoardsQuery, NoBody]) -> Answer | Prepared:
        """Return where a player stands."""
        query, may_use = request.query, request.principal.may_use
        names = [live.name for live in self._lb.runtime.catalog if may_use(live.name) or self._rules.is_public(live.name)]
        found = await player_standings(self._lb.runtime.reader, request.path[0], names, query.cursor, query.limit)
        return tagged(found)


def _check_known(request: Request[Any, Any]) -> None:
    """Refuse everybody who needs no key because the board is public: the player may not be."""
    if request.principal is ANONYMOUS:
        raise Unauthenticated("what a player needs, and why, needs a key, or the player's token: send it as 'Authorization: Bearer …'")
