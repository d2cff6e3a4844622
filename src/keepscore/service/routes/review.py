"""The routes of `/v1` for the review of scores: the queue, and what moderators decide about it."""

from __future__ import annotations

from typing import Annotated

import msgspec

from keepscore.domain.results.review import QueueItem, QueuePage, QueueState
from keepscore.fairplay.review import MAX_ITEMS, ReviewRequest
from keepscore.leaderboards import Leaderboards
from keepscore.service.http.layer import NO_STORE, Answer, Example, NoBody, NoQuery, Request, Route
from keepscore.service.routes.boards import idempotency_key, replay_headers
from keepscore.service.routes.moderation import Reason
from keepscore.service.routes.stated import PlayerText

__all__ = ["ItemCount", "ReviewRoutes"]

ItemCount = Annotated[int, msgspec.Meta(extra_json_schema={"minimum": 1, "maximum": MAX_ITEMS})]


class QueueQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which scores: of a board, of a player, and whether they are decided."""

    board: str | None = None
    player_id: PlayerText | None = None
    state: QueueState = "open"
    cursor: str | None = None
    limit: ItemCount = 50


class DecisionBody(msgspec.Struct, forbid_unknown_fields=True):
    """Why a score is approved or rejected."""

    reason: Reason


class ReviewRoutes:
    """Handlers of one service."""

    def __init__(self, leaderboards: Leaderboards) -> None:
        self._lb = leaderboards

    def routes(self) -> list[Route]:
        """Return them all."""
        return [
            Route(
                "GET",
                "/v1/moderation/queue",
                self.queue,
                "List scores to decide about",
                scope="moderate",
                cost="heavy",
                about="visible",
                query=QueueQuery,
                answers={200: QueuePage},
                tag="Moderation",
                description="Returns scores in quarantine, and those that count and are flagged, the oldest first, each with the "
                "reasons and with evidence: the player's history on the board, where the score lies among those of the board, and "
                "accounts from the same address.",
                example=Example({"limit": 10}),
            ),
            Route(
                "POST",
                "/v1/moderation/queue/{queue_id}/approve",
                self.approve,
                "Approve a score",
                scope="moderate",
                cost="heavy",
                about="visible",
                keyed=True,
                body=DecisionBody,
                answers={200: QueueItem},
                tag="Moderation",
                description="The score counts, with its original time, so that ties are fair. A score that was decided before is 409.",
                example=Example(body={"reason": "seen on stream"}),
            ),
            Route(
                "POST",
                "/v1/moderation/queue/{queue_id}/reject",
                self.reject,
                "Reject a score",
                scope="moderate",
                cost="heavy",
                about="visible",
                keyed=True,
                body=DecisionBody,
                answers={200: QueueItem},
                tag="Moderation",
                description="The score does not count. A score that was decided before is 409.",
                example=Example(body={"reason": "not possible"}),
            ),
        ]

    async def queue(self, request: Request[QueueQuery, NoBody]) -> Answer:
        """List scores to decide about."""
        query = request.query
        if query.board is not None:
            request.principal.check_board(query.board)
        wanted = ReviewRequest(query.board, query.player_id, query.state, query.cursor, query.limit)
        return Answer(await self._lb.runtime.review.page(wanted, request.principal.may_use), headers=NO_STORE)

    async def approve(self, request: Request[NoQuery, DecisionBody]) -> Answer:
        """Approve a score."""
        queue_id = await self._checked(request)
        item = await self._lb.moderation.approve(queue_id, request.body.reason, idempotency_key=idempotency_key(request))
        return Answer(item, headers=replay_headers(item))

    async def reject(self, request: Request[NoQuery, DecisionBody]) -> Answer:
        """Reject a score."""
        queue_id = await self._checked(request)
        item = await self._lb.moderation.reject(queue_id, request.body.reason, idempotency_key=idempotency_key(request))
        return Answer(item, headers=replay_headers(item))

    async def _checked(self, request: Request[NoQuery, DecisionBody]) -> str:
        """Return the id of an item on a board that the moderator may use."""
        queue_id = request.path[0]
        request.principal.check_board(await self._lb.runtime.review.board_of(queue_id))
        return queue_id
