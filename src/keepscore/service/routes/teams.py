"""The route of `/v1` for teams: where one stands, and what each member brings."""

from __future__ import annotations

import msgspec

from keepscore.domain.results.teams import Team
from keepscore.leaderboards import Leaderboards
from keepscore.service.http.layer import NO_STORE, Answer, Example, NoBody, Request, Route
from keepscore.service.routes.boards import viewer_of
from keepscore.service.routes.declarations import BOARD, board_read
from keepscore.service.routes.stated import PageLimit, PlayerText, WindowChoice

__all__ = ["TEAM_MEANINGS", "TeamRoutes"]

TEAM_MEANINGS = {
    "team_id": "The team: the `team` of its members' profiles.",
    "Team.rank": "The team's rank among all teams.",
    "Team.score": "The team's score.",
    "total_teams": "How many teams are ranked.",
    "total_members": "How many members have a score for the team.",
    "members": "A page of the members, the best first.",
    "TeamMember.rank": "The rank within the team.",
    "TeamMember.score": "What the member brings: the score that the member has for the team.",
    "counts": "Whether the score is part of the team's.",
}


class TeamQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which window, and which members."""

    window: WindowChoice = None
    window_id: str | None = None
    limit: PageLimit = 100
    cursor: str | None = None
    viewer: PlayerText | None = None


class TeamRoutes:
    """Handlers of one service."""

    def __init__(self, leaderboards: Leaderboards) -> None:
        self._lb = leaderboards

    def routes(self) -> list[Route]:
        """Return them all."""
        return [
            board_read(
                BOARD + "/teams/{team_id}",
                self.get,
                "Get a team and its members",
                query=TeamQuery,
                answers={200: Team},
                tag="Players",
                description="On a board with `by = 'team'`: returns where a team stands among all teams, and its members in the order of "
                "what they bring. A team of which no member has a score is unknown (404).",
                example=Example({"board": "clans", "team_id": "red", "limit": 10}),
            )
        ]

    async def get(self, request: Request[TeamQuery, NoBody]) -> Answer:
        """Return a team."""
        query = request.query
        found = await self._lb.players.team(
            *request.path,
            window=query.window,
            window_id=query.window_id,
            limit=query.limit,
            cursor=query.cursor,
            viewer=viewer_of(request),
        )
        return Answer(found, headers=NO_STORE)
