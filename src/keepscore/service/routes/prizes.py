"""The routes of `/v1` for prizes: winners, closing and deciding windows, holds, claims and certificates."""

from __future__ import annotations

from typing import Annotated

import msgspec

from keepscore.access.principals import LEVELS
from keepscore.domain.certificates import PublicKey
from keepscore.domain.results.prizes import Certificate, PrizeStatus, RewardStatus, Winner, Winners, WinnersCheck
from keepscore.leaderboards import Leaderboards
from keepscore.service.http.layer import NO_STORE, Answer, Example, NoBody, NoQuery, Request, Route
from keepscore.service.routes.boards import idempotency_key, replay_headers
from keepscore.service.routes.declarations import BOARD, board_read
from keepscore.service.routes.stated import PageLimit, PlayerText

__all__ = ["PrizeRoutes"]

#: Why something is done.
Reason = Annotated[str, msgspec.Meta(extra_json_schema={"maxLength": 1000})]
WINDOW = BOARD + "/windows/{window}/{window_id}"
#: The window of the examples.
CUP = {"board": "cup", "window": "all_time", "window_id": "all_time"}
WINNER = WINDOW + "/winners/{player_id}"


class WinnersQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which winners."""

    limit: PageLimit = 100
    cursor: str | None = None


class CloseBody(msgspec.Struct, forbid_unknown_fields=True):
    """Why a window is closed before its end."""

    reason: Reason


class FinalizeBody(msgspec.Struct, forbid_unknown_fields=True):
    """Why the winners are decided now."""

    reason: Reason | None = None


class HoldBody(msgspec.Struct, forbid_unknown_fields=True):
    """Whose reward waits, or waits no longer, and why."""

    player_id: PlayerText
    reason: Reason


class PrizeRoutes:
    """Handlers of one service."""

    def __init__(self, leaderboards: Leaderboards) -> None:
        self._lb = leaderboards

    def routes(self) -> list[Route]:
        """Return them all."""
        return [
            board_read(
                WINDOW + "/winners",
                self.winners,
                "Get the winners of a window",
                query=WinnersQuery,
                answers={200: Winners},
                tag="Prizes",
                description="Returns how far the window is (`open`, `closing`, `provisional`, `final`, `paid`) and, once it is closed, its "
                "winners with their rewards. Continue with `next_cursor`.",
                example=Example({**CUP, "limit": 10}),
            ),
            Route(
                "POST",
                WINDOW + "/close",
                self.close,
                "Close a window before its end",
                scope="moderate",
                cost="heavy",
                keyed=True,
                body=CloseBody,
                answers={200: PrizeStatus},
                tag="Prizes",
                description="The window takes no more scores. It is `closing` until it is archived, which takes some seconds where several "
                "processes serve, and then `provisional`.",
                example=Example(CUP, {"reason": "the final was moved"}),
            ),
            Route(
                "POST",
                WINDOW + "/hold",
                self.hold,
                "Hold a reward back",
                scope="moderate",
                keyed=True,
                body=HoldBody,
                answers={200: RewardStatus},
                tag="Prizes",
                description="The reward of a winner waits until it is released: it is neither sent nor claimed. One that is paid, "
                "claimed or on its way cannot be held back (409).",
                example=Example(CUP, {"player_id": "ada", "reason": "we check the replay"}),
            ),
            Route(
                "POST",
                WINDOW + "/release",
                self.release,
                "Release a reward",
                scope="moderate",
                keyed=True,
                body=HoldBody,
                answers={200: RewardStatus},
                tag="Prizes",
                description="A reward that was held back goes out as the others do.",
                example=Example(CUP, {"player_id": "ada", "reason": "the replay is fine"}),
            ),
            Route(
                "POST",
                WINDOW + "/finalize",
                self.finalize,
                "Decide the winners",
                scope="moderate",
                cost="heavy",
                keyed=True,
                body=FinalizeBody,
                takes_no_body=True,
                answers={200: PrizeStatus},
                tag="Prizes",
                description="Decides the winners of a closed window now: the list is signed, and nothing changes it any more. Rewards go "
                "out. The keeper does this by itself when the review is over. Where it is done already, the answer says so.",
                example=Example(CUP, {"reason": "all replays are checked"}),
            ),
            Route(
                "GET",
                WINDOW + "/verify",
                self.verify,
                "Verify the winners",
                scope="read",
                cost="heavy",
                answers={200: WinnersCheck},
                tag="Prizes",
                description="Compares the final list with what was signed when it was decided.",
                example=Example(CUP),
            ),
            Route(
                "POST",
                WINNER + "/claim",
                self.claim,
                "Claim a reward",
                scope="submit",
                players=True,
                of_rewards=True,
                answers={200: RewardStatus},
                tag="Prizes",
                description="Claims the reward of a winner, once: a retry gets the same answer. With a player token, one's own. A "
                "reward that was sent by webhook cannot be claimed, too (409).",
                example=Example(CUP),
            ),
            board_read(
                WINNER + "/certificate",
                self.certificate,
                "Get a certificate of a final rank",
                answers={200: Certificate},
                tag="Prizes",
                description="Returns a signed statement that anyone can verify with the public key, without asking the service.",
                example=Example(CUP),
            ),
            Route(
                "GET",
                "/v1/certificates/key",
                self.public_key,
                "Get the public key",
                scope="open",
                cost="light",
                answers={200: PublicKey},
                tag="Prizes",
                description="Returns the Ed25519 key that verifies certificates, receipts and final lists of this service.",
            ),
        ]

    async def winners(self, request: Request[WinnersQuery, NoBody]) -> Answer:
        """Return the winners of a window."""
        board, window, window_id = request.path
        query, principal = request.query, request.principal
        found = await self._lb.prizes.winners(board, window, window_id, limit=query.limit, cursor=query.cursor)
        if principal.level < LEVELS["moderate"]:
            # Moderators need to know who it is; all others see what they see in rankings.
            found.winners = await self._as_seen_by(principal.player, found.winners)
        return Answer(found, headers=NO_STORE)

    async def _as_seen_by(self, viewer: str | None, winners: list[Winner]) -> list[Winner]:
        told = await self._lb.runtime.reader.labels.visible([winner.player_id for winner in winners], viewer)
        for winner, player in zip(winners, told, strict=True):
            winner.player_id = player or ""
        return [winner for winner in winners if winner.player_id]

    async def close(self, request: Request[NoQuery, CloseBody]) -> Answer:
        """Close a window before its end."""
        board, window, window_id = request.path
        found = await self._lb.prizes.close(board, window, window_id, request.body.reason, idempotency_key=idempotency_key(request))
        return Answer(found, headers=replay_headers(found))

    async def finalize(self, request: Request[NoQuery, FinalizeBody]) -> Answer:
        """Decide the winners of a window."""
        board, window, window_id = request.path
        found = await self._lb.prizes.finalize(board, window, window_id, request.body.reason, idempotency_key=idempotency_key(request))
        return Answer(found, headers=replay_headers(found))

    async def hold(self, request: Request[NoQuery, HoldBody]) -> Answer:
        """Hold a reward back."""
        board, window, window_id = request.path
        body, key = request.body, idempotency_key(request)
        found = await self._lb.prizes.hold(board, window, window_id, body.player_id, body.reason, idempotency_key=key)
        return Answer(found, headers=replay_headers(found))

    async def release(self, request: Request[NoQuery, HoldBody]) -> Answer:
        """Release a reward."""
        board, window, window_id = request.path
        body, key = request.body, idempotency_key(request)
        found = await self._lb.prizes.release(board, window, window_id, body.player_id, body.reason, idempotency_key=key)
        return Answer(found, headers=replay_headers(found))

    async def verify(self, request: Request[NoQuery, NoBody]) -> Answer:
        """Verify the winners of a window."""
        board, window, window_id = request.path
        return Answer(await self._lb.prizes.verify(board, window, window_id), headers=NO_STORE)

    async def claim(self, request: Request[NoQuery, NoBody]) -> Answer:
        """Claim a reward."""
        board, window, window_id, player = request.path
        return Answer(await self._lb.prizes.claim(board, window, window_id, player))

    async def certificate(self, request: Request[NoQuery, NoBody]) -> Answer:
        """Return a certificate."""
        board, window, window_id, player = request.path
        return Answer(await self._lb.prizes.certificate(board, window, window_id, player), headers=NO_STORE)

    async def public_key(self, request: Request[NoQuery, NoBody]) -> Answer:
        """Return the public key."""
        return Answer(await self._lb.prizes.public_key())
