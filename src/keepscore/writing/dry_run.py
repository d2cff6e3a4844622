"""What would become of a batch: the checks of the write path, without the writing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from keepscore.domain.inputs import Entry
from keepscore.domain.key_places import RankingPlace
from keepscore.domain.results.standings import BatchReceipt, Rejection
from keepscore.errors import KeepscoreError
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.stores import Stores
from keepscore.storage.ledgers.claims import Claim
from keepscore.storage.pace import Turns
from keepscore.writing.batches import EntryTerms, check_entry
from keepscore.writing.idempotency import submission_claim
from keepscore.writing.opening_balances import OpeningBalances
from keepscore.writing.plan import Planner
from keepscore.writing.protocols import PlayReader, SubmissionRules
from keepscore.writing.scopes import Submission
from keepscore.writing.scores import Scores

__all__ = ["DryRunTerms", "dry_run"]


class DryRunTerms(NamedTuple):
    """What a batch would be: opening balances of a ranking (`into`), or scores. Without `rules`, those of the board do not matter."""

    backfill: bool = True
    plays: PlayReader | None = None
    into: RankingPlace | None = None
    rules: SubmissionRules | None = None


async def dry_run(stores: Stores, live: LiveBoard, entries: Sequence[Entry | KeepscoreError], terms: DryRunTerms) -> BatchReceipt:
    """Return the answer that a batch would get. Nothing is recorded."""
    catalog, ledger, engine, clock = stores
    backfill, plays, into, rules = terms
    now = clock()
    taken = EntryTerms(now, backfill, plays=plays)
    opening = None if into is None else OpeningBalances(live, into, now)
    planner = Planner(catalog, Scores(engine, ledger, lambda: now), 0, {})
    answer = BatchReceipt(0, [])
    checked: list[tuple[int, Submission, Claim | None]] = []
    for index, entry in enumerate(entries):
        try:
            if isinstance(entry, KeepscoreError):
                raise entry
            claim = None if entry.idempotency_key is None else submission_claim(live.id, entry.idempotency_key, entry)
            submission = opening.check(entry) if opening is not None else check_entry(live, entry, taken)
            checked.append((index, submission, claim))
        except KeepscoreError as exc:
            answer.rejected.append(Rejection(index, exc.type, exc.detail))
    broken: Mapping[int, KeepscoreError] = {}
    if rules is not None and live.limits is not None:
        # One that was taken before counts already.
        known = {index for index, _, claim in checked if claim is not None and await ledger.claims.find(claim) is not None}
        answer.accepted += len(known)
        checked = [one for one in checked if one[0] not in known]
        broken = await rules.broken([submission for _, submission, _ in checked], is_dry_run=True)
    await planner.prepare(submission for _, submission, _ in checked)
    turns = Turns()
    for place, (index, submission, claim) in enumerate(checked):
        if turns.is_over():
            await turns.pass_on()
        try:
            if place in broken:
                raise broken[place]
            planner.plan(submission)
            answer.accepted += 1
            if submission.is_held:
                answer.quarantined = (answer.quarantined or 0) + 1
        except KeepscoreError as exc:
            # One that was taken before is not refused when it comes again.
            if claim is not None and await ledger.claims.find(claim) is not None:
                answer.accepted += 1
            else:
                answer.rejected.append(Rejection(index, exc.type, exc.detail))
    answer.rejected.sort(key=lambda rejection: rejection.index)
    return answer
