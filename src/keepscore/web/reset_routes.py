"""The routes that reset a board."""

from __future__ import annotations

from keepscore.answers import Reset
from keepscore.leaderboards import Leaderboards
from keepscore.web.http import Answer, NoBody, NoQuery, Request, Route

__all__ = ["ResetRoutes"]


class ResetRoutes:
    """Handlers of one service."""

    def __init__(self, leaderboards: Leaderboards) -> None:
        self._lb = leaderboards

    def routes(self) -> list[Route]:
        """A reset, and its undoing."""
        reset = "/v1/boards/{board}/reset"
        return [
            Route("POST", reset, self.reset, "End the rankings as a version, and begin new ones", answers={200: Reset}),
            Route("POST", reset + "/undo", self.undo, "Undo the last reset, within the board's grace", answers={200: Reset}),
        ]

    async def reset(self, request: Request[NoQuery, NoBody]) -> Answer:
        """Reset a board."""
        return Answer(await self._lb.reset(request.path[0], idempotency_key=request.header(b"idempotency-key")))

    async def undo(self, request: Request[NoQuery, NoBody]) -> Answer:
        """Undo the last reset of a board."""
        return Answer(await self._lb.undo_reset(request.path[0], idempotency_key=request.header(b"idempotency-key")))
