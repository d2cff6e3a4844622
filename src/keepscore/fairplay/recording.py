"""Verdicts on their way into the ledger."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Literal

from keepscore.domain.scoring import Event
from keepscore.domain.verdicts import event_id
from keepscore.lifecycle.parts import JobParts
from keepscore.projection.live_boards import LiveBoard
from keepscore.storage.ledgers.claims import SUBMISSION, Claim
from keepscore.writing.groups import PendingRequest
from keepscore.writing.scopes import verdict

__all__ = ["record_verdicts"]

#: Verdicts that are recorded at a time.
CHUNK_VERDICTS = 1000


async def record_verdicts(
    parts: JobParts, live: LiveBoard, kind: Literal["void", "restore"], decision: str, events: Sequence[Event]
) -> None:
    """Record the verdicts of a decision on events of a board, and wait until their players are restated."""
    writer, now = parts.writer, parts.clock()
    for first in range(0, len(events), CHUNK_VERDICTS):
        some = events[first : first + CHUNK_VERDICTS]
        verdicts = [(place, verdict(live, kind, decision, event, now)) for place, event in enumerate(some)]
        digest = hashlib.blake2b(repr([event_id(event) for event in some]).encode(), digest_size=16)
        # With a claim, as only the ledger can take it.
        claim = Claim(SUBMISSION, str(live.id), f"{kind}:{decision}:{digest.hexdigest()}", digest.digest())
        await writer.submit(PendingRequest(list(verdicts), [], claim, False, True, writer.answer(), patient=False))
