"""The routes of `/v1` that decide who is ranked: hide, shadow and restore players."""

from __future__ import annotations

import msgspec

from keepscore.domain.results.moderation import PlayerDecision, RestrictedPlayers
from keepscore.errors import Forbidden, InvalidField
from keepscore.leaderboards import Leaderboards
from keepscore.service.http.layer import NO_STORE, Answer, Example, NoBody, NoQuery, Request, Route
from keepscore.service.routes.boards import idempotency_key, replay_headers
from keepscore.service.routes.moderation import Reason
from keepscore.service.routes.stated import PlayerText, Time

__all__ = ["RestrictionRoutes"]


class RestrictBody(msgspec.Struct, forbid_unknown_fields=True):
    """Who is restricted or restored, where, up to when, and why."""

    player_id: PlayerText
    reason: Reason
    boards: list[str] | None = None
    until: Time | None = None


class RestrictedQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which restrictions."""

    player_id: PlayerText | None = None
    board: str | None = None


class RestrictionRoutes:
    """Handlers of one service."""

    def __init__(self, leaderboards: Leaderboards) -> None:
        self._lb = leaderboards

    def routes(self) -> list[Route]:
        """Return them all."""
        example = {"player_id": "ada", "reason": "scores of a bot", "until": "2030-01-01T00:00:00Z"}
        return [
            self._decision(
                "hide",
                "Hide a player",
                "Ranked for nobody on these boards, or on all, those that are defined later included. What the player scores is "
                "recorded, and counts when they are restored. `until` restores them by itself.",
                example,
            ),
            self._decision(
                "shadow",
                "Shadow a player",
                "Ranked for themselves, as before, and for nobody else: in receipts, in reads of their own rank, with their token, and in "
                "reads with their id as `viewer`.",
                example,
            ),
            self._decision(
                "restore",
                "Restore a player who is hidden or shadowed",
                "Ranked again on these boards, or on all, with everything that they scored meanwhile. 409 where there is nothing to "
                "restore.",
                {"player_id": "ada", "reason": "it was no bot"},
            ),
            Route(
                "GET",
                "/v1/moderation/restricted",
                self.restricted,
                "List hidden and shadowed players",
                scope="moderate",
                about="visible",
                query=RestrictedQuery,
                answers={200: RestrictedPlayers},
                tag="Moderation",
                description="Returns who is hidden or shadowed now, of all, of a player or of a board, the latest decisions first.",
            ),
        ]

    def _decision(self, action: str, summary: str, description: str, example: dict[str, str]) -> Route:
        return Route(
            "POST",
            f"/v1/moderation/{action}",
            getattr(self, action),
            summary,
            scope="moderate",
            cost="heavy",
            about="visible",
            keyed=True,
            body=RestrictBody,
            answers={200: PlayerDecision},
            tag="Moderation",
            description=description,
            example=Example(body=example),
        )

    async def hide(self, request: Request[NoQuery, RestrictBody]) -> Answer:
        """Hide a player."""
        body, key = _allowed(request), idempotency_key(request)
        done = await self._lb.moderation.hide(body.player_id, body.reason, boards=body.boards, until=body.until, idempotency_key=key)
        return Answer(done, headers=replay_headers(done))

    async def shadow(self, request: Request[NoQuery, RestrictBody]) -> Answer:
        """Shadow a player."""
        body, key = _allowed(request), idempotency_key(request)
        done = await self._lb.moderation.shadow(body.player_id, body.reason, boards=body.boards, until=body.until, idempotency_key=key)
        return Answer(done, headers=replay_headers(done))

    async def restore(self, request: Request[NoQuery, RestrictBody]) -> Answer:
        """Restore a player."""
        body, key = _allowed(request), idempotency_key(request)
        if body.until is not None:
            raise InvalidField("until cannot be given: a player is restored for good, and can be hidden again")
        done = await self._lb.moderation.restore(body.player_id, body.reason, boards=body.boards, idempotency_key=key)
        return Answer(done, headers=replay_headers(done))

    async def restricted(self, request: Request[RestrictedQuery, NoBody]) -> Answer:
        """List hidden and shadowed players."""
        query, may_use = request.query, request.principal.may_use
        if query.board is not None:
            request.principal.check_board(query.board)
        found = await self._lb.moderation.restricted(player_id=query.player_id, board=query.board)
        return Answer(RestrictedPlayers([one for one in found if all(map(may_use, one.boards or ()))]), headers=NO_STORE)


def _allowed(request: Request[NoQuery, RestrictBody]) -> RestrictBody:
    """Return the body, unless it is about boards that are not the key's own."""
    body, principal = request.body, request.principal
    if body.boards is None and principal.is_limited:
        raise Forbidden("boards is missing: this key is limited to some boards, and has to name those that it is about")
    for board in body.boards or ():
        principal.check_board(board)
    return body
