"""Events that a decision adds: recorded as they are, once, and taken back by verdicts on them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from keepscore.domain.restrictions import Restriction
from keepscore.domain.scoring import Event
from keepscore.domain.verdicts import event_id, named_event, that_count
from keepscore.fairplay.recording import record_verdicts
from keepscore.lifecycle.parts import JobParts
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.openings import pasts_of, player_past
from keepscore.storage.ledgers.claims import SUBMISSION, Claim
from keepscore.writing.groups import PendingRequest
from keepscore.writing.scopes import as_recorded

__all__ = ["added_by", "carry_over", "marked", "record_added", "take_back_added"]

#: Events that are recorded at a time.
CHUNK_EVENTS = 1000


def marked(decision: str, event: Event, of: Event | None = None) -> Event:
    """Return an event that is known as one of a decision, and as what stands in the place `of` another one."""
    mark: dict[str, Any] = {"decision": decision}
    if of is not None:
        mark |= {"event": [of.writer, of.n], "player_id": of.player}
        if of.metadata is not None:
            mark["metadata"] = of.metadata
    return event._replace(metadata=mark)


def added_by(decision: str, events: Sequence[Event]) -> list[Event]:
    """Return those of a player's events that a decision has added, and that count."""
    return [event for event in that_count(events) if isinstance(event.metadata, dict) and event.metadata.get("decision") == decision]


async def record_added(parts: JobParts, live: LiveBoard, decision: str, events: Sequence[Event]) -> None:
    """Record events of a decision, once, and wait until they count."""
    writer, now = parts.writer, parts.clock()
    for first in range(0, len(events), CHUNK_EVENTS):
        some = events[first : first + CHUNK_EVENTS]
        submissions = [(place, as_recorded(live, event, now)) for place, event in enumerate(some)]
        digest = hashlib.blake2b(repr([(first, event[3:7], event[8:]) for event in some]).encode(), digest_size=16)
        # With a claim, as only the ledger can take it.
        claim = Claim(SUBMISSION, str(live.id), f"add:{decision}:{digest.hexdigest()}", digest.digest())
        await writer.submit(PendingRequest(list(submissions), [], claim, False, True, writer.answer(), patient=False))


async def take_back_added(parts: JobParts, live: LiveBoard, decision: str, player: str) -> None:
    """Let what a decision has added for a player no longer count."""
    past = await player_past(parts.ledger, live, player)
    await record_verdicts(parts, live, "void", f"{decision}-undo", added_by(decision, past.events))


async def carry_over(parts: JobParts, live: LiveBoard, merge: Restriction) -> None:
    """Record a guest's events for the account, those that are not yet; or let them no longer count, where the merge is taken back."""
    assert merge.into is not None, "a merge is into somebody"
    if merge.state == "lifting":
        await take_back_added(parts, live, merge.restriction_id, merge.into)
        return
    pasts = await pasts_of(parts.ledger, live, [merge.into, merge.player])
    own = that_count(pasts[merge.into].events)
    known = {named_event(event) for event in added_by(merge.restriction_id, own)}
    rated = {ranking for event in own if event.kind == "initial" for ranking in live.rankings_of(event)}
    events = [
        event
        for event in that_count(pasts[merge.player].events)
        # A rating starts once: of two accounts, the changes add up.
        if event_id(event) not in known and not (event.kind == "initial" and not rated.isdisjoint(live.rankings_of(event)))
    ]
    copies = [marked(merge.restriction_id, event._replace(player=merge.into), event) for event in events]
    await record_added(parts, live, merge.restriction_id, copies)
