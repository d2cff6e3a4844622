"""How far back a board's events go. Whoever drops events that are folded into the checkpoint says so here first."""

from __future__ import annotations

from keepscore.ledgers.base import Ledger
from keepscore.windows import Span

__all__ = ["covers", "events_since", "note_dropped"]

#: How much earlier than its time an event may come, as clocks differ (milliseconds).
MAX_AHEAD = 60_000


async def events_since(ledger: Ledger, board_id: int) -> int:
    """The moment since which all that came is in the ledger; 0 where nothing was dropped."""
    return int(await ledger.value(f"events-since:{board_id}") or 0)


async def note_dropped(ledger: Ledger, board_id: int, moment: int) -> None:
    """What came before a moment is not, or soon will not be, in the ledger any more."""
    if moment > await events_since(ledger, board_id):
        await ledger.put_value(f"events-since:{board_id}", str(moment).encode())


def covers(since: int, span: Span) -> bool:
    """Whether all events of a window came at a moment or later."""
    return not since or span.start - MAX_AHEAD >= since
