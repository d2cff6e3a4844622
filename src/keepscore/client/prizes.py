"""`client.prizes`: what there is to win, over a service."""

from __future__ import annotations

from keepscore.client.calls import NO_KEY, RequestKey, change, decoder, read
from keepscore.client.sending import Send
from keepscore.domain.certificates import PublicKey
from keepscore.domain.results.prizes import Certificate, PrizeStatus, RewardStatus, Winners, WinnersCheck

__all__ = ["Prizes"]


class Prizes:
    """What there is to win on boards with a prize. A window goes from open over closing and provisional to final and paid."""

    def __init__(self, call: Send) -> None:
        self._call = call

    async def winners(self, board: str, window: str, window_id: str, *, limit: int = 100, cursor: str | None = None) -> Winners:
        """Return the winners of a window, up to 1,000 at a time, and how far it is. Before it is closed, there are none."""
        place = "boards", board, "windows", window, window_id
        return await self._call(read(decoder(Winners), *place, "winners", query={"limit": limit, "cursor": cursor}))

    async def close(self, board: str, window: str, window_id: str, reason: str, *, idempotency_key: str | None = None) -> PrizeStatus:
        """Close a window before its end: it takes no more scores, and its winners are provisional once it is archived."""
        place, key = ("boards", board, "windows", window, window_id), RequestKey(idempotency_key)
        return await self._call(change(decoder(PrizeStatus), "POST", *place, "close", body={"reason": reason}, key=key, is_long=True))

    async def finalize(
        self, board: str, window: str, window_id: str, reason: str | None = None, *, idempotency_key: str | None = None
    ) -> PrizeStatus:
        """Decide the winners of a closed window now, whatever is left of its review. The keeper does it when the review is over."""
        place, key = ("boards", board, "windows", window, window_id), RequestKey(idempotency_key)
        return await self._call(change(decoder(PrizeStatus), "POST", *place, "finalize", body={"reason": reason}, key=key, is_long=True))

    async def hold(
        self, board: str, window: str, window_id: str, player_id: str, reason: str, *, idempotency_key: str | None = None
    ) -> RewardStatus:
        """Hold a winner's reward back until it is released: it is neither sent nor claimed."""
        place, key = ("boards", board, "windows", window, window_id), RequestKey(idempotency_key)
        body = {"player_id": player_id, "reason": reason}
        return await self._call(change(decoder(RewardStatus), "POST", *place, "hold", body=body, key=key))

    async def release(
        self, board: str, window: str, window_id: str, player_id: str, reason: str, *, idempotency_key: str | None = None
    ) -> RewardStatus:
        """Release a reward that was held back."""
        place, key = ("boards", board, "windows", window, window_id), RequestKey(idempotency_key)
        body = {"player_id": player_id, "reason": reason}
        return await self._call(change(decoder(RewardStatus), "POST", *place, "release", body=body, key=key))

    async def claim(self, board: str, window: str, window_id: str, player_id: str) -> RewardStatus:
        """Claim the reward of a winner, once: whoever claims it again gets the same answer."""
        place = "boards", board, "windows", window, window_id, "winners", player_id
        return await self._call(change(decoder(RewardStatus), "POST", *place, "claim", key=NO_KEY))

    async def certificate(self, board: str, window: str, window_id: str, player_id: str) -> Certificate:
        """Return a signed statement of a winner's final rank, which anyone can verify with the public key."""
        place = "boards", board, "windows", window, window_id, "winners", player_id
        return await self._call(read(decoder(Certificate), *place, "certificate"))

    async def public_key(self) -> PublicKey:
        """Return the key that verifies certificates, receipts and final lists."""
        return await self._call(read(decoder(PublicKey), "certificates", "key"))

    async def verify(self, board: str, window: str, window_id: str) -> WinnersCheck:
        """Compare the final list of a window with what was signed when it was decided. O(winners)."""
        return await self._call(read(decoder(WinnersCheck), "boards", board, "windows", window, window_id, "verify", is_long=True))
