"""Corrections of closed standings: on demand only, audited, and beside what was there."""

from __future__ import annotations

from typing import NamedTuple

from keepscore.domain.durations import text_of
from keepscore.domain.results.standings import Revision
from keepscore.domain.values import check_reason
from keepscore.domain.windows import span_of
from keepscore.errors import NotKept, UnknownWindow, WindowOpen
from keepscore.lifecycle.archiving import ArchiveRequest, Series, archive_folded, bring_together, folded_in
from keepscore.lifecycle.final_windows import check_not_final
from keepscore.lifecycle.jobs.closing import closes_at
from keepscore.lifecycle.parts import JobParts
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.openings import said
from keepscore.storage.engines.base import Ranking
from keepscore.storage.ledgers.claims import Effect
from keepscore.writing.idempotency import Keep

__all__ = ["RevisionRequest", "revise_window"]


class RevisionRequest(NamedTuple):
    """Which window is corrected, and why."""

    window: str
    window_id: str
    reason: str


async def revise_window(parts: JobParts, live: LiveBoard, wanted: RevisionRequest, now: int, keep: Keep) -> Revision:
    """Archive a closed window again as the ledger has it now."""
    ledger = parts.ledger
    window, window_id, reason = wanted
    check_reason(reason)
    name = live.ranking(window, window_id, None, now)
    span = span_of(live.board, name.window, name.window_id)
    if now < closes_at(live, span):
        raise WindowOpen(f"the {span.window} window {span.id} of board {live.name!r} is not closed yet: there is nothing to correct")
    await check_not_final(ledger, live, [Ranking(live.id, span.window, span.id, "")])
    opening = await ledger.openings.current(live.id) if not live.board.is_rollup else None
    if opening is not None and span.end <= opening.at:
        raise NotKept(
            f"the {span.window} window {span.id} of board {live.name!r} can no longer be corrected: its events, and all others from "
            f"before {said(opening.at)}, were folded and dropped (keep_events)"
        )
    upto = await bring_together(parts, live)
    folded = await folded_in(ledger, live, [span], upto)
    known = await ledger.archives.find(live.id, span.window, span.id, "closed")
    if not known and not any(folded.values()):
        raise UnknownWindow(f"nobody scored in the {span.window} window {span.id} of board {live.name!r}: there is nothing to correct")
    number = max((archive.number for archive in known if not archive.slot.segment), default=0) + 1
    detail = {"id": live.id, "version": live.version, "window": span.window, "window_id": span.id, "number": number}
    # Noted before it is done: what was changed must never be without a note.
    await ledger.audit.note("revise", live.name, detail, now, reason)
    for archive in known:
        if archive.number == number:
            # Left by one that was cut short: without the whole, it was nobody's.
            await ledger.archives.drop(archive.id)
    series = Series("closed", number, now, min(span.end, closes_at(live, span)))
    slots = {ranking[1:] for ranking in folded} | {tuple(archive.slot) for archive in known} | {(span.window, span.id, "")}
    made: list[Revision] = []

    def effect(players: int, digest: str) -> Effect | None:
        made.append(Revision(live.name, span.window, span.id, number, text_of(now), players, digest))
        return keep(made[-1])

    # The whole comes last: with it, the revision is there.
    for slot in sorted(slots, key=lambda slot: (not slot[2], slot)):
        ranking = Ranking(live.id, *slot)
        await archive_folded(ledger, ArchiveRequest(live, ranking, series), folded.get(ranking, {}), effect=None if slot[2] else effect)
    return made[-1]
