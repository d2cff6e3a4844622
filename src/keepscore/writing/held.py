"""Submissions that go to the moderators: what the ledger keeps of them beside their events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from keepscore.domain.results.plain import encode
from keepscore.domain.verdicts import VERDICTS
from keepscore.storage.ledgers.claims import Claim
from keepscore.storage.ledgers.queue import Queued
from keepscore.writing.groups import PendingRequest
from keepscore.writing.plan import Plan
from keepscore.writing.receipts import pending_receipt

__all__ = ["held_answers", "queued_by"]


def queued_by(plan: Plan) -> Queued:
    """Return the item of the queue that a doubted submission becomes."""
    of, suspicion = plan.submission, plan.submission.suspicion
    assert suspicion is not None, "nobody else comes here"
    events = tuple((event.board, event.writer, event.n) for event in plan.events if event.kind not in VERDICTS)
    told = of.live.id, of.player, of.kind, of.amount, of.at, of.received
    return Queued(suspicion.id, *told, suspicion.is_held, suspicion.reasons, events)


def held_answers(requests: Iterable[PendingRequest], plans: Mapping[int, Plan]) -> dict[Claim, bytes]:
    """Return the answers to single requests with a key that do not count yet: no engine has to tell them."""
    found = {}
    for request in requests:
        if request.claim is not None and not request.batch and request.submissions and request.submissions[0][1].is_held:
            found[request.claim] = encode(pending_receipt(plans[id(request.submissions[0][1])]))
    return found
