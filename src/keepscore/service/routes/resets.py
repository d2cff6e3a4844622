"""The routes that reset a board."""

from __future__ import annotations

from keepscore.domain.results.standings import Reset
from keepscore.leaderboards import Leaderboards
from keepscore.service.http.layer import Answer, NoBody, NoQuery, Request, Route
from keepscore.service.routes.boards import idempotency_key, replay_headers
from keepscore.service.routes.declarations import BOARD

__all__ = ["ResetRoutes"]


class ResetRoutes:
    """Handlers of one service."""

    def __init__(self, leaderboards: Leaderboards) -> None:
        self._lb = leaderboards

    def routes(self) -> list[Route]:
        """Declare the routes that reset a board, and undo that."""
        reset = BOARD + "/reset"
        return [
            Route(
                "POST",
                reset,
                self.reset,
                "Reset a board",
                scope="admin",
                cost="heavy",
                keyed=True,
                answers={200: Reset},
                tag="Operations",
                description="Ends all rankings of a board as a numbered version, which stays readable, and starts empty ones.",
            ),
            Route(
                "POST",
                reset + "/undo",
                self.undo,
                "Undo the last reset",
                scope="admin",
                cost="heavy",
                keyed=True,
                answers={200: Reset},
                tag="Operations",
                description="Possible within the board's `grace`: scores from before and after the reset are in one ranking again.",
            ),
        ]

    async def reset(self, request: Request[NoQuery, NoBody]) -> Answer:
        """Reset a board."""
        answer = await self._lb.admin.reset(request.path[0], idempotency_key=idempotency_key(request))
        return Answer(answer, headers=replay_headers(answer))

    async def undo(self, request: Request[NoQuery, NoBody]) -> Answer:
        """Undo the last reset of a board."""
        answer = await self._lb.admin.undo_reset(request.path[0], idempotency_key=idempotency_key(request))
        return Answer(answer, headers=replay_headers(answer))
