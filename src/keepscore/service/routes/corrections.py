"""The routes of `/v1` that set scores, merge and split accounts, and export and erase what is stored about a player."""

from __future__ import annotations

import msgspec

from keepscore.domain.results.moderation import Erasure, Merge, PlayerExport, VoidReport
from keepscore.errors import Forbidden, InvalidField
from keepscore.leaderboards import Leaderboards
from keepscore.service.http.layer import NO_STORE, Answer, Example, NoBody, NoQuery, Request, Route
from keepscore.service.routes.boards import idempotency_key, replay_headers
from keepscore.service.routes.bodies import number
from keepscore.service.routes.moderation import Reason
from keepscore.service.routes.stated import NumberField, PlayerText, WindowList

__all__ = ["CorrectionRoutes"]


class CorrectBody(msgspec.Struct, forbid_unknown_fields=True):
    """Which score a player has from now on, where, and why."""

    board: str
    player_id: PlayerText
    score: NumberField
    reason: Reason
    window: str | None = None
    windows: WindowList | None = None
    dry_run: bool = False


class MergeBody(msgspec.Struct, forbid_unknown_fields=True):
    """Who is merged into whom, and why."""

    guest: PlayerText = msgspec.field(name="from")
    into: PlayerText
    reason: Reason
    dry_run: bool = False


class SplitBody(msgspec.Struct, forbid_unknown_fields=True):
    """Who is split from the account that they were merged into, and why."""

    guest: PlayerText = msgspec.field(name="from")
    reason: Reason


class EraseBody(msgspec.Struct, forbid_unknown_fields=True):
    """Who is erased, and why."""

    player_id: PlayerText
    reason: Reason


class CorrectionRoutes:
    """Handlers of one service."""

    def __init__(self, leaderboards: Leaderboards) -> None:
        self._lb = leaderboards

    def routes(self) -> list[Route]:
        """Return them all."""
        return [
            Route(
                "POST",
                "/v1/moderation/correct",
                self.correct,
                "Set a player's score",
                scope="moderate",
                cost="heavy",
                about="visible",
                keyed=True,
                body=CorrectBody,
                answers={200: VoidReport},
                tag="Moderation",
                description="The player has this score from now on in the open `window` or `windows` that are named, or in the board's "
                "first, whatever its operator; it may be lower than before. Other windows stay as they are. Undo it with the `void_id` of "
                "the answer.",
                example=Example(body={"board": "global", "player_id": "ada", "score": 1200, "reason": "a wrong result", "dry_run": True}),
            ),
            Route(
                "POST",
                "/v1/moderation/merge",
                self.merge,
                "Merge a guest into an account",
                scope="moderate",
                cost="heavy",
                about="visible",
                keyed=True,
                body=MergeBody,
                answers={200: Merge},
                tag="Moderation",
                description="All events of `from` count as those of `into`, with their own times, on all boards. Later scores of `from` "
                "are refused (409 `player-merged`). Needs a key that is not limited to some boards.",
                example=Example(body={"from": "guest-17", "into": "ada", "reason": "the player has signed up", "dry_run": True}),
            ),
            Route(
                "POST",
                "/v1/moderation/split",
                self.split,
                "Split a guest from an account again",
                scope="moderate",
                cost="heavy",
                about="visible",
                keyed=True,
                body=SplitBody,
                answers={200: Merge},
                tag="Moderation",
                description="Takes a merge back: both players are as if they had not been merged. 409 where there is nothing to split.",
                example=Example(body={"from": "guest-17", "reason": "two people after all"}),
            ),
            Route(
                "POST",
                "/v1/moderation/erase",
                self.erase,
                "Erase a player",
                scope="admin",
                cost="heavy",
                keyed=True,
                body=EraseBody,
                answers={200: Erasure},
                tag="Moderation",
                description="Removes what is stored about a person, for good: profile, friends, groups, metadata, addresses, texts. "
                "Scores and archived ranks stay, under a pseudonym. An id about which nothing is stored gets the answer of its last "
                "erasure, or an `erase_id` of null. 409 while a reward of the player is on its way. Needs a key that is not limited "
                "to some boards.",
                example=Example(body={"player_id": "guest-17", "reason": "the player asked for it"}),
            ),
            Route(
                "GET",
                "/v1/players/{player_id}/export",
                self.export,
                "Export everything about a player",
                scope="admin",
                cost="heavy",
                answers={200: PlayerExport},
                tag="Moderation",
                description="Returns everything that is stored about a player, for the player: profile, friends, groups, events with their "
                "metadata, archived ranks, decisions and appeals. Needs a key that is not limited to some boards.",
            ),
        ]

    async def correct(self, request: Request[NoQuery, CorrectBody]) -> Answer:
        """Set a player's score."""
        body = request.body
        request.principal.check_board(body.board)
        if body.window is not None and body.windows is not None:
            raise InvalidField("give window or windows, not both")
        report = await self._lb.moderation.correct(
            body.board,
            body.player_id,
            number("score", body.score),
            body.reason,
            windows=body.windows if body.window is None else [body.window],
            dry_run=body.dry_run,
            idempotency_key=idempotency_key(request),
        )
        return Answer(report, headers=replay_headers(report))

    async def export(self, request: Request[NoQuery, NoBody]) -> Answer:
        """Export everything about a player."""
        return Answer(await self._lb.moderation.export(request.path[0]), headers=NO_STORE)

    async def erase(self, request: Request[NoQuery, EraseBody]) -> Answer:
        """Erase a player."""
        body, key = request.body, idempotency_key(request)
        erasure = await self._lb.moderation.erase(body.player_id, body.reason, idempotency_key=key)
        return Answer(erasure, headers=replay_headers(erasure))

    async def merge(self, request: Request[NoQuery, MergeBody]) -> Answer:
        """Merge a guest into an account."""
        body, key = request.body, idempotency_key(request)
        _check_unlimited(request)
        merge = await self._lb.moderation.merge(body.guest, body.into, body.reason, dry_run=body.dry_run, idempotency_key=key)
        return Answer(merge, headers=replay_headers(merge))

    async def split(self, request: Request[NoQuery, SplitBody]) -> Answer:
        """Split a guest from an account."""
        body, key = request.body, idempotency_key(request)
        _check_unlimited(request)
        merge = await self._lb.moderation.split(body.guest, body.reason, idempotency_key=key)
        return Answer(merge, headers=replay_headers(merge))


def _check_unlimited(request: Request[NoQuery, MergeBody] | Request[NoQuery, SplitBody]) -> None:
    if request.principal.is_limited:
        raise Forbidden("this key is limited to some boards: a merge is about all boards")
