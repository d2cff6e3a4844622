"""The routes of `/v1` for leagues: a player's cohort, past seasons, and what a proposed league would have done."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from keepscore.access.principals import ANONYMOUS
from keepscore.domain.results.leagues import LeagueHistory, LeagueSimulation, PlayerLeague
from keepscore.errors import Unauthenticated
from keepscore.leaderboards import Leaderboards
from keepscore.players.league_simulation import MAX_WINDOWS
from keepscore.players.leagues import MAX_SEASONS
from keepscore.service.http.layer import NO_STORE, Answer, Example, NoBody, NoQuery, Request, Route
from keepscore.service.routes.declarations import BOARD, board_read

__all__ = ["LeagueRoutes"]

SeasonCount = Annotated[int, msgspec.Meta(extra_json_schema={"minimum": 1, "maximum": MAX_SEASONS})]
WindowCount = Annotated[int, msgspec.Meta(extra_json_schema={"minimum": 1, "maximum": MAX_WINDOWS})]


class SeasonsQuery(msgspec.Struct, forbid_unknown_fields=True):
    """How many seasons."""

    limit: SeasonCount = 50


class SimulationBody(msgspec.Struct, forbid_unknown_fields=True):
    """The league to try, and on how many windows."""

    league: dict[str, Any]
    windows: WindowCount = 12


class LeagueRoutes:
    """Handlers of one service."""

    def __init__(self, leaderboards: Leaderboards) -> None:
        self._lb = leaderboards

    def routes(self) -> list[Route]:
        """Return them all."""
        return [
            board_read(
                BOARD + "/leagues/{player_id}",
                self.of,
                "Get a player's league",
                answers={200: PlayerLeague},
                tag="Leagues",
                description="Returns the player's tier and cohort in the present season, with the standings and zones of the cohort, and "
                "what is missing to promotion and to safety. Without a score in the season there is a tier and no cohort. It needs a key, "
                "or the player's token.",
                example=Example({"board": "ladder"}),
            ),
            board_read(
                BOARD + "/leagues/{player_id}/history",
                self.history,
                "List a player's seasons",
                query=SeasonsQuery,
                answers={200: LeagueHistory},
                tag="Leagues",
                description="Returns the seasons in which the player took part, the newest first: tier, cohort, final rank, best rank, and "
                "what became of it. It needs a key, or the player's token.",
                example=Example({"board": "ladder", "limit": 10}),
            ),
            Route(
                "POST",
                BOARD + "/leagues/simulate",
                self.simulate,
                "Try a league on the past",
                scope="admin",
                cost="heavy",
                body=SimulationBody,
                answers={200: LeagueSimulation},
                tag="Leagues",
                description="Plays past windows of a board through a proposed league: sizes of cohorts, players in each tier, and how many "
                "move or do not come back. Nothing is changed. Reads all events of the board.",
                example=Example({"board": "ladder"}, {"league": {"tiers": ["bronze", "silver"], "promote": [10], "demote": [5]}}),
            ),
        ]

    async def of(self, request: Request[NoQuery, NoBody]) -> Answer:
        """Return a player's league."""
        _check_known(request)
        return Answer(await self._lb.leagues.of(*request.path), headers=NO_STORE)

    async def history(self, request: Request[SeasonsQuery, NoBody]) -> Answer:
        """Return a player's seasons."""
        _check_known(request)
        return Answer(await self._lb.leagues.history(*request.path, limit=request.query.limit), headers=NO_STORE)

    async def simulate(self, request: Request[NoQuery, SimulationBody]) -> Answer:
        """Try a league."""
        body = request.body
        return Answer(await self._lb.leagues.simulate(request.path[0], body.league, windows=body.windows), headers=NO_STORE)


def _check_known(request: Request[Any, Any]) -> None:
    """Refuse everybody who needs no key because the board is public: a cohort is shown as the player sees it."""
    if request.principal is ANONYMOUS:
        raise Unauthenticated("a player's league is told with a key or the player's token only: send it as 'Authorization: Bearer …'")
