"""The namespace `prizes` of the blocking library.

Made from `keepscore.fairplay.prizes` by `tools/write_sync.py`; changes belong there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from keepscore.domain.certificates import PublicKey
from keepscore.domain.results.prizes import Certificate, PrizeStatus, RewardStatus, Winners, WinnersCheck

if TYPE_CHECKING:
    from keepscore.sync import Leaderboards

__all__ = ["Prizes"]


class Prizes:
    """What there is to win on boards with a prize. A window goes from open over closing and provisional to final and paid."""

    def __init__(self, leaderboards: Leaderboards) -> None:
        self._leaderboards = leaderboards

    def winners(self, board: str, window: str, window_id: str, *, limit: int = 100, cursor: str | None = None) -> Winners:
        """Return the winners of a window, up to 1,000 at a time, and how far it is. Before it is closed, there are none."""
        return self._leaderboards._run(self._leaderboards._async.prizes.winners(board, window, window_id, limit=limit, cursor=cursor))

    def close(self, board: str, window: str, window_id: str, reason: str, *, idempotency_key: str | None = None) -> PrizeStatus:
        """Close a window before its end: it takes no more scores, and its winners are provisional once it is archived."""
        return self._leaderboards._run(
            self._leaderboards._async.prizes.close(board, window, window_id, reason, idempotency_key=idempotency_key)
        )

    def finalize(
        self, board: str, window: str, window_id: str, reason: str | None = None, *, idempotency_key: str | None = None
    ) -> PrizeStatus:
        """Decide the winners of a closed window now, whatever is left of its review. The keeper does it when the review is over."""
        return self._leaderboards._run(
            self._leaderboards._async.prizes.finalize(board, window, window_id, reason, idempotency_key=idempotency_key)
        )

    def hold(
        self, board: str, window: str, window_id: str, player_id: str, reason: str, *, idempotency_key: str | None = None
    ) -> RewardStatus:
        """Hold a winner's reward back until it is released: it is neither sent nor claimed."""
        return self._leaderboards._run(
            self._leaderboards._async.prizes.hold(board, window, window_id, player_id, reason, idempotency_key=idempotency_key)
        )

    def release(
        self, board: str, window: str, window_id: str, player_id: str, reason: str, *, idempotency_key: str | None = None
    ) -> RewardStatus:
        """Release a reward that was held back."""
        return self._leaderboards._run(
            self._leaderboards._async.prizes.release(board, window, window_id, player_id, reason, idempotency_key=idempotency_key)
        )

    def claim(self, board: str, window: str, window_id: str, player_id: str) -> RewardStatus:
        """Claim the reward of a winner, once: whoever claims it again gets the same answer."""
        return self._leaderboards._run(self._leaderboards._async.prizes.claim(board, window, window_id, player_id))

    def certificate(self, board: str, window: str, window_id: str, player_id: str) -> Certificate:
        """Return a signed statement of a winner's final rank, which anyone can verify with the public key."""
        return self._leaderboards._run(self._leaderboards._async.prizes.certificate(board, window, window_id, player_id))

    def public_key(self) -> PublicKey:
        """Return the key that verifies certificates, receipts and final lists."""
        return self._leaderboards._run(self._leaderboards._async.prizes.public_key())

    def verify(self, board: str, window: str, window_id: str) -> WinnersCheck:
        """Compare the final list of a window with what was signed when it was decided. O(winners)."""
        return self._leaderboards._run(self._leaderboards._async.prizes.verify(board, window, window_id))
