"""The route of `/v1` that tries rules on the past of a board."""

from __future__ import annotations

from typing import Any

import msgspec

from keepscore.domain.results.back_testing import RuleTest
from keepscore.leaderboards import Leaderboards
from keepscore.service.http.layer import NO_STORE, Answer, Example, NoQuery, Request, Route
from keepscore.service.routes.declarations import BOARD

__all__ = ["RuleTestRoutes"]


class RuleTestBody(msgspec.Struct, forbid_unknown_fields=True):
    """The rules to try."""

    rules: dict[str, Any]


class RuleTestRoutes:
    """Handlers of one service."""

    def __init__(self, leaderboards: Leaderboards) -> None:
        self._lb = leaderboards

    def routes(self) -> list[Route]:
        """Return them all."""
        return [
            Route(
                "POST",
                BOARD + "/rules/test",
                self.test,
                "Try rules on the past",
                scope="moderate",
                cost="heavy",
                body=RuleTestBody,
                answers={200: RuleTest},
                tag="Moderation",
                description="Runs rules over all that was sent to a board: what they would have caught, how that compares with what "
                "moderators decided, and whose ranks would change. Nothing is changed. Reads all events of the board.",
                example=Example(body={"rules": {"max_increase": 1000}}),
            )
        ]

    async def test(self, request: Request[NoQuery, RuleTestBody]) -> Answer:
        """Try rules."""
        return Answer(await self._lb.moderation.test_rules(request.path[0], request.body.rules), headers=NO_STORE)
