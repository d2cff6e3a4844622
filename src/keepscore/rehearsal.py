"""What would become of a batch: the checks of the write path, without the writing."""

from __future__ import annotations

from collections.abc import Sequence

from keepscore.answers import BatchReceipt, Rejection
from keepscore.catalog import Catalog, LiveBoard
from keepscore.engines.base import RankingEngine
from keepscore.entries import Entry, check_entry
from keepscore.errors import KeepscoreError
from keepscore.ledgers.base import Ledger
from keepscore.planner import Planner
from keepscore.retries import claim_of

__all__ = ["rehearse"]


async def rehearse(
    catalog: Catalog,
    engine: RankingEngine,
    ledger: Ledger,
    live: LiveBoard,
    entries: Sequence[Entry | KeepscoreError],
    now: int,
    backfill: bool,
) -> BatchReceipt:
    """The answer that a batch would get. Nothing is recorded."""
    increments = any(isinstance(entry, Entry) and entry.amount is not None for entry in entries)
    planner = Planner(catalog, engine, ledger, 0, {}, increments)
    answer = BatchReceipt(0, [])
    for index, entry in enumerate(entries):
        try:
            if isinstance(entry, KeepscoreError):
                raise entry
            submission = check_entry(live, entry, now, backfill)
            claim = None if entry.idempotency_key is None else claim_of(live, entry.idempotency_key, entry)
            try:
                await planner.plan(submission)
            except KeepscoreError:
                # One that was taken before is not refused when it comes again.
                if claim is None or await ledger.claimed(claim) is None:
                    raise
            answer.accepted += 1
        except KeepscoreError as exc:
            answer.rejected.append(Rejection(index, exc.type, exc.detail))
    return answer
