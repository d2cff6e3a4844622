"""The entries of a batch, and one answer for all of them."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec

from keepscore.answers import BatchReceipt, Receipt, Rejection
from keepscore.catalog import LiveBoard
from keepscore.errors import BadInput, InvalidField
from keepscore.guard import Submission, check_submission
from keepscore.scoring import Kind
from keepscore.tickets import Ticket

__all__ = ["Entry", "check_entry", "merged_answer"]


class Entry(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """One submission of a batch: a `score`, or an `amount` to add."""

    player_id: str
    score: int | float | Decimal | None = None
    amount: int | float | Decimal | None = None
    at: str | datetime | None = None
    segments: dict[str, str] | None = None
    game_id: str | None = None
    metadata: Any = None
    idempotency_key: str | None = None


def check_entry(live: LiveBoard, entry: Entry, now: int, backfill: bool, ranked: bool = False) -> Submission:
    """The submission that an entry makes, or the error that says why it makes none."""
    if (entry.score is None) == (entry.amount is None):
        raise InvalidField(f"the entry of player {entry.player_id!r} needs either score or amount")
    kind: Kind = "increment" if entry.score is None else "score"
    amount = entry.amount if entry.score is None else entry.score
    assert amount is not None
    extras = entry.at, entry.segments, entry.game_id, entry.metadata
    return check_submission(live, entry.player_id, kind, amount, now, *extras, backfill, ranked)


def merged_answer(tickets: list[Ticket], results: bool) -> BatchReceipt:
    """One answer for all tickets of a batch, the settled ones of entries with keys of their own among them."""
    merged = BatchReceipt(0, [])
    receipts: list[tuple[int, Receipt]] = []
    for ticket in tickets:
        error = ticket.answer.exception()
        if isinstance(error, BadInput) and ticket is not tickets[0]:
            merged.rejected.append(Rejection(ticket.submissions[0][0], error.type, error.detail))
            continue
        answer: BatchReceipt = ticket.answer.result()
        merged.accepted += answer.accepted
        merged.rejected += answer.rejected
        if answer.pending is True:
            merged.pending = True
        if answer.spooled is True:
            merged.spooled = True
        if isinstance(answer.results, list):
            receipts += zip((index for index, _ in ticket.submissions), answer.results, strict=False)
        if answer.replayed is True and ticket is tickets[0]:
            merged.replayed = True
        elif answer.replayed is True:
            merged.duplicates = (merged.duplicates or 0) + answer.accepted
    merged.rejected.sort(key=lambda rejection: rejection.index)
    if results:
        merged.results = [receipt for _, receipt in sorted(receipts, key=lambda pair: pair[0])]
    return merged
