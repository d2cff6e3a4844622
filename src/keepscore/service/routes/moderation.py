"""The routes of `/v1` for moderators: void events, undo that, and remove players."""

from __future__ import annotations

from typing import Annotated, get_args

import msgspec

from keepscore.domain.results.moderation import Void, VoidList, VoidReport
from keepscore.fairplay.selection import Mode
from keepscore.leaderboards import Leaderboards
from keepscore.service.http.layer import NO_STORE, Answer, Example, NoBody, NoQuery, Request, Route
from keepscore.service.routes.boards import idempotency_key, replay_headers
from keepscore.service.routes.declarations import BOARD
from keepscore.service.routes.stated import PlayerText, TextField, Time

__all__ = ["ModerationRoutes", "Reason"]

#: Why something is done.
Reason = Annotated[str, msgspec.Meta(extra_json_schema={"maxLength": 1000})]


#: What becomes of later matches.
VoidMode = Annotated[str, msgspec.Meta(extra_json_schema={"enum": list(get_args(Mode))})]


class VoidBody(msgspec.Struct, forbid_unknown_fields=True):
    """Which events no longer count, and why."""

    board: str
    reason: Reason
    player_id: PlayerText | None = None
    game_id: TextField | None = None
    build: TextField | None = None
    address: str | None = None
    match_id: TextField | None = None
    mode: VoidMode | None = None
    event_ids: list[str] | None = None
    since: Time | None = msgspec.field(default=None, name="from")
    until: Time | None = msgspec.field(default=None, name="to")
    revise: bool = False
    dry_run: bool = False
    cursor: str | None = None


class UndoBody(msgspec.Struct, forbid_unknown_fields=True):
    """Why a void is undone."""

    reason: Reason


class RemoveQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Why a player is removed, and whether that is only tried."""

    #: Required, and refused by its check where it is missing.
    reason: Reason = ""
    dry_run: bool = False


class VoidQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which changes of a void."""

    cursor: str | None = None


class VoidsQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Of which board."""

    board: str | None = None


class ModerationRoutes:
    """Handlers of one service."""

    def __init__(self, leaderboards: Leaderboards) -> None:
        self._lb = leaderboards

    def routes(self) -> list[Route]:
        """Return them all."""
        return [
            Route(
                "POST",
                "/v1/moderation/void",
                self.void,
                "Void events",
                scope="moderate",
                cost="heavy",
                about="visible",
                keyed=True,
                body=VoidBody,
                answers={200: VoidReport},
                tag="Moderation",
                description="Events of a player, a game, a time, or named as `writer-n` no longer count. Rankings of open windows are "
                "restated before the answer, which says what changed. Closed windows stay as they are, unless `revise` is true. With "
                "`dry_run`, nothing is recorded. Where no event matches, nothing is recorded either, and `void_id` is null.",
                example=Example(body={"board": "global", "player_id": "ada", "reason": "scores of a bot", "dry_run": True}),
            ),
            Route(
                "GET",
                "/v1/moderation/void/{void_id}",
                self.report,
                "Get what a void changed",
                scope="moderate",
                about="visible",
                query=VoidQuery,
                answers={200: VoidReport},
                tag="Moderation",
                description="Returns scores and ranks before and after, as they were then, 1,000 changes at a time.",
            ),
            Route(
                "POST",
                "/v1/moderation/void/{void_id}/undo",
                self.undo,
                "Undo a void",
                scope="moderate",
                cost="heavy",
                about="visible",
                keyed=True,
                body=UndoBody,
                answers={200: Void},
                tag="Moderation",
                description="The events count again, with their own times, so that ties are as they were. A void that was undone "
                "cannot be undone again (409).",
                example=Example(body={"reason": "it was no bot"}),
            ),
            Route(
                "GET",
                "/v1/moderation/voids",
                self.voids,
                "List voids",
                scope="moderate",
                about="visible",
                query=VoidsQuery,
                answers={200: VoidList},
                tag="Moderation",
                description="Returns all voids on boards that the key may use, the newest first.",
            ),
            Route(
                "DELETE",
                BOARD + "/players/{player_id}",
                self.remove,
                "Remove a player from a board",
                scope="moderate",
                cost="heavy",
                keyed=True,
                query=RemoveQuery,
                answers={200: VoidReport},
                tag="Moderation",
                description="VoidList all events of a player on a board. Undo it with the `void_id` of the answer.",
                example=Example({"reason": "scores of a bot"}),
            ),
        ]

    async def void(self, request: Request[NoQuery, VoidBody]) -> Answer:
        """Void events."""
        body = request.body
        request.principal.check_board(body.board)
        report = await self._lb.moderation.void(
            body.board,
            body.reason,
            player_id=body.player_id,
            game_id=body.game_id,
            event_ids=body.event_ids,
            build=body.build,
            address=body.address,
            match_id=body.match_id,
            mode=body.mode,
            since=body.since,
            until=body.until,
            revise=body.revise,
            dry_run=body.dry_run,
            cursor=body.cursor,
            idempotency_key=idempotency_key(request),
        )
        return Answer(report, headers=replay_headers(report))

    async def report(self, request: Request[VoidQuery, NoBody]) -> Answer:
        """Return what a void changed."""
        report = await self._lb.moderation.report(request.path[0], cursor=request.query.cursor)
        request.principal.check_board(report.board)
        return Answer(report, headers=NO_STORE)

    async def undo(self, request: Request[NoQuery, UndoBody]) -> Answer:
        """Undo a void."""
        void_id = request.path[0]
        request.principal.check_board((await self._lb.moderation.report(void_id)).board)
        void = await self._lb.moderation.undo(void_id, request.body.reason, idempotency_key=idempotency_key(request))
        return Answer(void, headers=replay_headers(void))

    async def voids(self, request: Request[VoidsQuery, NoBody]) -> Answer:
        """List voids."""
        found = await self._lb.moderation.voids(board=request.query.board)
        return Answer(VoidList([void for void in found if request.principal.may_use(void.board)]), headers=NO_STORE)

    async def remove(self, request: Request[RemoveQuery, NoBody]) -> Answer:
        """Remove a player from a board."""
        board, player = request.path
        query = request.query
        report = await self._lb.moderation.remove(
            board, player, query.reason, dry_run=query.dry_run, idempotency_key=idempotency_key(request)
        )
        return Answer(report, headers=replay_headers(report))
