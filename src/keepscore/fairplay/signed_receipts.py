"""Signed receipts: what proves that a submission to a board with a prize was accepted."""

from __future__ import annotations

from typing import Any

from keepscore.domain.certificates import Signer
from keepscore.domain.durations import text_of
from keepscore.domain.scoring import Event
from keepscore.fairplay.prize_windows import plain_score
from keepscore.writing.scopes import Submission

__all__ = ["SignedReceipts"]


class SignedReceipts:
    """Signs for submissions that are recorded. Without the package for it, nothing is signed: scores are taken all the same."""

    def __init__(self, signer: Signer) -> None:
        self._signer = signer
        self._is_able = signer.is_able

    def signed_receipt(self, submission: Submission, event: Event | None) -> str | None:
        """Return a signed statement that a submission is recorded, as this event if that is known."""
        live = submission.live
        if not self._is_able or live.board.prize is None:
            return None
        amount = "score" if submission.kind == "score" else "amount"
        given = plain_score(live.board.shown(submission.amount))
        claims: dict[str, Any] = {"board": live.name, "player_id": submission.player, amount: given}
        claims |= {"at": text_of(submission.at), "accepted_at": text_of(submission.received), "iat": submission.received // 1000}
        claims |= {"windows": {span.window: span.id for span in submission.route.spans}}
        if submission.game_id is not None:
            claims["game_id"] = submission.game_id
        if event is not None:
            claims["event_id"] = f"{event.writer}-{event.n}"
        return self._signer.sign("receipt", claims)
