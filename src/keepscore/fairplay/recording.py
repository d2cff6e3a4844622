"""Verdicts, and differences of matches that are rated again, on their way into the ledger."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Literal

from keepscore.domain.scoring import Event
from keepscore.domain.verdicts import event_id
from keepscore.lifecycle.parts import JobParts
from keepscore.projection.live_boards import LiveBoard
from keepscore.storage.ledgers.claims import SUBMISSION, Claim
from keepscore.writing.groups import PendingRequest
from keepscore.writing.scopes import Submission, as_recorded, verdict

__all__ = ["DECISIONS", "record_differences", "record_verdicts"]

#: What is done alone, in one process at a time: each decision is worked out from what the others have made of the scores.
DECISIONS = "decisions"
#: Verdicts that are recorded at a time.
CHUNK_VERDICTS = 1000


async def record_verdicts(
    parts: JobParts, live: LiveBoard, kind: Literal["void", "restore"], decision: str, events: Sequence[Event]
) -> None:
    """Record the verdicts of a decision on events of a board, and wait until their players are restated."""
    now = parts.clock()
    await _record(parts, live, f"{kind}:{decision}", events, lambda event: verdict(live, kind, decision, event, now))


async def record_differences(parts: JobParts, live: LiveBoard, decision: str, differences: Sequence[Event]) -> None:
    """Record what a decision makes of recorded matches, each difference once."""
    now = parts.clock()
    await _record(parts, live, f"rerate:{decision}", differences, lambda event: as_recorded(live, event._replace(game_id=decision), now))


async def _record(parts: JobParts, live: LiveBoard, name: str, events: Sequence[Event], made: Callable[[Event], Submission]) -> None:
    writer = parts.writer
    for first in range(0, len(events), CHUNK_VERDICTS):
        some = events[first : first + CHUNK_VERDICTS]
        submissions = [(place, made(event)) for place, event in enumerate(some)]
        digest = hashlib.blake2b(repr([event_id(event) for event in some]).encode(), digest_size=16)
        # With a claim, as only the ledger can take it.
        claim = Claim(SUBMISSION, str(live.id), f"{name}:{digest.hexdigest()}", digest.digest())
        await writer.submit(PendingRequest(submissions, [], claim, False, True, writer.answer(), patient=False))
