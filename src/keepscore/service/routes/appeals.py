"""The routes of `/v1` for appeals: players make them, moderators reply."""

from __future__ import annotations

from typing import Annotated

import msgspec

from keepscore.domain.results.review import Appeal, AppealPage, AppealState
from keepscore.fairplay.appeals import MAX_TEXT_BYTES, AppealRequest
from keepscore.leaderboards import Leaderboards
from keepscore.service.http.layer import NO_STORE, Answer, Example, NoBody, NoQuery, Request, Route
from keepscore.service.routes.boards import idempotency_key, replay_headers
from keepscore.service.routes.moderation import Reason
from keepscore.service.routes.review import ItemCount
from keepscore.service.routes.stated import PlayerText

__all__ = ["AppealRoutes"]


class AppealBody(msgspec.Struct, forbid_unknown_fields=True):
    """Against which decision a player appeals, and why."""

    decision_id: str
    player_id: PlayerText
    text: Annotated[str, msgspec.Meta(extra_json_schema={"minLength": 1, "maxLength": MAX_TEXT_BYTES})]


class AppealsQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which appeals: about a board, of a player, and whether there is a reply."""

    board: str | None = None
    player_id: PlayerText | None = None
    state: AppealState = "open"
    cursor: str | None = None
    limit: ItemCount = 50


class ReplyBody(msgspec.Struct, forbid_unknown_fields=True):
    """What a moderator replies, and whether the decision is taken back."""

    reply: Reason
    grant: bool = False


class AppealRoutes:
    """Handlers of one service."""

    def __init__(self, leaderboards: Leaderboards) -> None:
        self._lb = leaderboards

    def routes(self) -> list[Route]:
        """Return them all."""
        return [
            Route(
                "POST",
                "/v1/appeals",
                self.appeal,
                "Appeal against a decision",
                scope="submit",
                about="visible",
                players=True,
                keyed=True,
                body=AppealBody,
                answers={201: Appeal},
                tag="Moderation",
                description="A player appeals against a decision about a score of theirs: a void, or a score in quarantine. Once for each "
                "decision (409 after that). A player token appeals for its own player only.",
                example=Example(body={"decision_id": "q_8d1e5b7c02f4a963", "player_id": "ada", "text": "I have a video of it."}),
            ),
            Route(
                "GET",
                "/v1/appeals",
                self.appeals,
                "List appeals",
                scope="moderate",
                about="visible",
                query=AppealsQuery,
                answers={200: AppealPage},
                tag="Moderation",
                description="Returns appeals about boards that the key may use, the oldest first.",
                example=Example({"limit": 10}),
            ),
            Route(
                "GET",
                "/v1/appeals/{appeal_id}",
                self.one,
                "Show an appeal",
                scope="submit",
                about="visible",
                players=True,
                answers={200: Appeal},
                tag="Moderation",
                description="Returns an appeal and the reply. A player token sees those of its own player only.",
            ),
            Route(
                "POST",
                "/v1/appeals/{appeal_id}/reply",
                self.reply,
                "Reply to an appeal",
                scope="moderate",
                cost="heavy",
                about="visible",
                keyed=True,
                body=ReplyBody,
                answers={200: Appeal},
                tag="Moderation",
                description="With `grant`, the decision is taken back first, and the score counts, with its original time. An appeal gets "
                "one reply (409 after that).",
                example=Example(body={"reply": "It was a bug of ours, sorry.", "grant": True}),
            ),
        ]

    async def appeal(self, request: Request[NoQuery, AppealBody]) -> Answer:
        """Appeal against a decision."""
        body = request.body
        if request.principal.is_limited:
            request.principal.check_board(await self._lb.runtime.appeals.board_of(body.decision_id, body.player_id))
        made = await self._lb.moderation.appeal(body.decision_id, body.player_id, body.text, idempotency_key=idempotency_key(request))
        return Answer(made, 201, replay_headers(made))

    async def appeals(self, request: Request[AppealsQuery, NoBody]) -> Answer:
        """List appeals."""
        query = request.query
        if query.board is not None:
            request.principal.check_board(query.board)
        wanted = AppealRequest(query.board, query.player_id, query.state, query.cursor, query.limit)
        return Answer(await self._lb.runtime.appeals.page(wanted, request.principal.may_use), headers=NO_STORE)

    async def one(self, request: Request[NoQuery, NoBody]) -> Answer:
        """Show an appeal."""
        found = await self._lb.moderation.appeal_of(request.path[0])
        if request.principal.player is not None:
            request.principal.check_player(found.player_id)
        request.principal.check_board(found.board)
        return Answer(found, headers=NO_STORE)

    async def reply(self, request: Request[NoQuery, ReplyBody]) -> Answer:
        """Reply to an appeal."""
        appeal_id, body = request.path[0], request.body
        request.principal.check_board((await self._lb.moderation.appeal_of(appeal_id)).board)
        made = await self._lb.moderation.reply(appeal_id, body.reply, grant=body.grant, idempotency_key=idempotency_key(request))
        return Answer(made, headers=replay_headers(made))
