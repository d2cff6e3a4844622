"""The checks of a batch's entries, and one answer for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import UNSET

from keepscore.domain.inputs import Entry
from keepscore.domain.results.standings import BatchReceipt, Receipt, Rejection
from keepscore.domain.scoring import Kind, Scope
from keepscore.errors import BadInput, InvalidField
from keepscore.projection.live_boards import LiveBoard
from keepscore.writing.checks import SubmissionRequest, check_submission
from keepscore.writing.groups import PendingRequest
from keepscore.writing.protocols import PlayReader
from keepscore.writing.scopes import Submission

__all__ = ["MAX_BATCH", "EntryTerms", "check_entry", "check_size", "merged_answer", "told_by"]

#: Submissions of one batch.
MAX_BATCH = 10_000


class EntryTerms(NamedTuple):
    """How the entries of one batch are taken: where `ranked`, their ranks are answered; as an `opening`, they count in its scope only."""

    now: int
    backfill: bool
    ranked: bool = False
    plays: PlayReader | None = None
    opening: Scope | None = None


def check_entry(live: LiveBoard, entry: Entry, terms: EntryTerms) -> Submission:
    """Return the submission that an entry makes, or raise the error that says why it makes none."""
    now, backfill, ranked, plays, opening = terms
    if entry.play_token is not UNSET and plays is None:
        raise InvalidField("play_token is not for imports: send scores of plays with POST …/scores")
    if (entry.score is None) == (entry.amount is None):
        raise InvalidField(f"the entry of player {entry.player_id!r} needs either score or amount")
    kind: Kind = "increment" if entry.score is None else "score"
    amount = entry.amount if entry.score is None else entry.score
    assert amount is not None
    given = SubmissionRequest(entry.player_id, kind, amount, entry.at, entry.segments, entry.game_id, entry.metadata)
    given.windows = None if entry.windows is UNSET else entry.windows
    given.opening = opening
    given.profile = told_by(entry)
    submission = check_submission(live, given, now, backfill, ranked)
    if isinstance(entry.play_token, str) and plays is not None:
        submission.play = plays.read(entry.play_token, live.id, submission.player, now)
    return submission


def told_by(entry: Entry) -> dict[str, str] | None:
    """Return what an entry tells about its player."""
    told = {"name": entry.name, "avatar_url": entry.avatar_url}
    return {name: value for name, value in told.items() if isinstance(value, str)} or None


def check_size(entries: Sequence[object]) -> None:
    """Refuse a batch of too many entries, or of none."""
    if not 1 <= len(entries) <= MAX_BATCH:
        raise InvalidField(f"scores has {len(entries)} entries: give 1 to {MAX_BATCH}")


def merged_answer(requests: list[PendingRequest], results: bool) -> BatchReceipt:
    """Merge the answers to all requests of a batch, the settled ones of entries with keys of their own among them."""
    merged = BatchReceipt(0, [])
    receipts: list[tuple[int, Receipt]] = []
    for request in requests:
        error = request.answer.exception()
        if isinstance(error, BadInput) and request is not requests[0]:
            merged.rejected.append(Rejection(request.submissions[0][0], error.type, error.detail))
            continue
        answer: BatchReceipt = request.answer.result()
        merged.accepted += answer.accepted
        merged.rejected += answer.rejected
        if answer.pending is True:
            merged.pending = True
        if answer.spooled is True:
            merged.spooled = True
        if isinstance(answer.quarantined, int):
            merged.quarantined = (merged.quarantined or 0) + answer.quarantined
        if isinstance(answer.results, list):
            receipts += zip((index for index, _ in request.submissions), answer.results, strict=False)
        if answer.replayed is True and request is requests[0]:
            merged.replayed = True
        elif answer.replayed is True:
            merged.duplicates = (merged.duplicates or 0) + answer.accepted
    merged.rejected.sort(key=lambda rejection: rejection.index)
    if results:
        merged.results = [receipt for _, receipt in sorted(receipts, key=lambda pair: pair[0])]
    return merged
