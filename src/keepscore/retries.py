"""Requests that come again: idempotency keys, and the answers that were given for them."""

from __future__ import annotations

import hashlib
import logging

import msgspec

from keepscore.answers import BatchReceipt, Receipt, encode
from keepscore.catalog import LiveBoard
from keepscore.errors import IdempotencyKeyReused
from keepscore.guard import check_key
from keepscore.ledgers.base import Answered, Claim, Ledger

__all__ = ["Retries", "claim_of"]

#: Bytes of an answer that are kept for retries; of a larger one only the counts are.
MAX_ANSWER = 1 << 20

log = logging.getLogger(__name__)


def claim_of(live: LiveBoard, key: str, request: object) -> Claim:
    """What a request with an idempotency key claims."""
    fingerprint = hashlib.blake2b(msgspec.json.encode(request, order="sorted"), digest_size=16).digest()
    return Claim(live.id, check_key(key) or "", fingerprint)


class Retries:
    """The answers of one process. Each is recorded with the next transaction, as its ranks are known only after its own."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        #: Answers that the next transaction records.
        self._unsaved: dict[Claim, bytes] = {}

    def unsaved(self) -> dict[Claim, bytes]:
        """The answers that a transaction is to record."""
        return dict(self._unsaved)

    def saved(self, answers: dict[Claim, bytes]) -> None:
        """A transaction has recorded these."""
        for claim in answers:
            del self._unsaved[claim]

    async def save(self) -> None:
        """Record what no transaction has recorded yet."""
        if answers := self.unsaved():
            try:
                await self._ledger.save_answers(answers)
            except Exception as exc:
                # A retry then gets where the player stands by then, not the first answer.
                log.warning("answers for retries were not kept: %s", exc)
            self.saved(answers)

    def keep(self, claim: Claim, answer: Receipt | BatchReceipt) -> None:
        """Remember the answer of a request."""
        text = encode(answer)
        if len(text) > MAX_ANSWER and isinstance(answer, BatchReceipt):
            text = encode(BatchReceipt(answer.accepted, answer.rejected))
        self._unsaved[claim] = text

    def answer(self, claim: Claim, known: Answered, batch: bool) -> Receipt | BatchReceipt | None:
        """The first answer to a request whose key was claimed before, unless the process stopped before it answered."""
        if known.fingerprint != claim.fingerprint:
            raise IdempotencyKeyReused(f"idempotency key {claim.key!r} was used on this board for another request")
        text = known.answer or self._unsaved.get(claim)
        if text is None:
            return None
        answer: Receipt | BatchReceipt
        answer = msgspec.json.decode(text, type=BatchReceipt) if batch else msgspec.json.decode(text, type=Receipt)
        answer.replayed = True
        return answer

    async def first_answer(self, claim: Claim, batch: bool) -> Receipt | BatchReceipt | None:
        """The answer that a request with this key got before, if it did."""
        known = await self._ledger.claimed(claim)
        return None if known is None or known.fingerprint != claim.fingerprint else self.answer(claim, known, batch)
