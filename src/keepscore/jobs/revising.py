"""Corrections of closed standings: on demand only, audited, and beside what was there."""

from __future__ import annotations

from keepscore.archiving import Series, archive_folded, bring_together, folded_in
from keepscore.catalog import LiveBoard
from keepscore.engines.base import Ranking
from keepscore.errors import InvalidField, NotKept, UnknownWindow, WindowOpen
from keepscore.jobs.base import Parts
from keepscore.jobs.closing import closes_at
from keepscore.ledgers.base import Archive, Slot
from keepscore.openings import said
from keepscore.windows import FOREVER, span_of

__all__ = ["revise_window"]

#: Bytes of a reason.
MAX_REASON = 1000


async def revise_window(parts: Parts, live: LiveBoard, window: str, window_id: str, reason: str, now: int) -> Archive:
    """Archive a closed window again as the ledger has it now; the answer is the new archive of the whole."""
    ledger, engine = parts.ledger, parts.engine
    if not reason.strip() or len(reason.encode("utf-8", "replace")) > MAX_REASON or "\0" in reason:
        raise InvalidField(f"reason is empty, longer than {MAX_REASON} bytes or holds a NUL: say why the standings are corrected")
    name = live.ranking(window, window_id, None, now)
    span = span_of(live.board, name.window, name.window_id)
    if span.end == FOREVER or now < closes_at(live, span):
        raise WindowOpen(f"the {span.window} window {span.id} of board {live.name!r} is not closed yet: there is nothing to correct")
    opening = await ledger.opening(live.id) if live.board.rollup is None else None
    if opening is not None and span.end <= opening.at:
        raise NotKept(
            f"the {span.window} window {span.id} of board {live.name!r} cannot be corrected any more: its events, and all others of "
            f"before {said(opening.at)}, are folded and dropped (keep_events)"
        )
    upto = await bring_together(ledger, engine, parts.applier, parts.writer, parts.spool, live)
    folded = await folded_in(ledger, live, [span], upto)
    known = await ledger.archives(live.id, span.window, span.id, "closed")
    if not known and not any(folded.values()):
        raise UnknownWindow(f"nobody scored in the {span.window} window {span.id} of board {live.name!r}: there is nothing to correct")
    number = max((archive.number for archive in known if not archive.slot.segment), default=0) + 1
    detail = {"id": live.id, "version": live.version, "window": span.window, "window_id": span.id, "number": number, "reason": reason}
    # Noted before it is done: what was changed must never be without a note.
    await ledger.audit("revise", live.name, detail, now)
    for archive in known:
        if archive.number == number:
            # Left by one that was cut short: without the whole, it was nobody's.
            await ledger.drop_archive(archive.id)
    series = Series("closed", number, now, span.end)
    slots = {ranking[1:] for ranking in folded} | {tuple(archive.slot) for archive in known} | {(span.window, span.id, "")}
    for slot in sorted(slots, key=lambda slot: (not slot[2], slot)):
        ranking = Ranking(live.id, *slot)
        await archive_folded(ledger, live, ranking, series, folded.get(ranking, {}))
    found = await ledger.archives(live.id, span.window, span.id, "closed")
    return next(archive for archive in found if archive.slot == Slot(*name[1:]) and archive.number == number)
