"""The fold of a board's own events: all of them, or those of some time. Roll-ups have none (`rollups`)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import NamedTuple

from keepscore.domain.inputs import Progress, no_progress
from keepscore.domain.scoring import Event
from keepscore.domain.windows import FOREVER_MS
from keepscore.projection.fold import Folder, Positions, RankingStates
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.sequence import events_of
from keepscore.storage.engines.base import Ranking
from keepscore.storage.ledgers.base import Ledger
from keepscore.storage.ledgers.openings import Opening
from keepscore.storage.pace import Pace

__all__ = ["FoldRequest", "Folded", "fold_own_events", "in_turns"]

#: Events that are folded before others get their turn.
TURN_EVENTS = 250


class FoldRequest(NamedTuple):
    """Which events of a board are folded: those up to some positions, and of these the ones whose time lies between two moments.

    Windows within `start` and `end` are as they are, others are in part. Where nobody waits for it, the fold goes at a `pace`.
    """

    upto: Positions
    start: int = 0
    end: int = FOREVER_MS
    progress: Progress = no_progress
    pace: Pace | None = None
    #: Whether those who are not ranked now are among the states.
    with_hidden: bool = False


class Folded(NamedTuple):
    """The states of a board by ranking and player, and when each ranking may be dropped."""

    states: RankingStates
    expiries: dict[Ranking, int]
    events: int


async def fold_own_events(ledger: Ledger, live: LiveBoard, request: FoldRequest) -> Folded:
    """Fold a board's own events, and all that were dropped. O(events), and all states are in memory."""
    while True:
        opening = await ledger.openings.current(live.id)
        folder = Folder(live, request.with_hidden)
        if opening is not None:
            await folder.open_with(ledger, opening, request.start, request.end)
        await _fold(ledger, folder, opening, request)
        await folder.settle(ledger, request.upto)
        # What came to count meanwhile covers events that were folded, or others that were gone before.
        if opening == await ledger.openings.current(live.id):
            return Folded(folder.states, folder.expiries, folder.events)


async def _fold(ledger: Ledger, folder: Folder, opening: Opening | None, request: FoldRequest) -> None:
    upto, start, end, progress, given_pace, _ = request
    pace = given_pace or Pace.without_pauses()
    dropped = opening.events if opening is not None else 0
    total = sum(upto.values())
    chunks = events_of(ledger, folder.live, {})
    waiting = asyncio.ensure_future(anext(chunks, None))
    try:
        while (events := await waiting) is not None:
            # Each chunk is fetched while the one before it is folded.
            waiting = asyncio.ensure_future(anext(chunks, None))
            await asyncio.sleep(0)
            counted = [event for event in events if start <= event.at < end and event.n <= upto.get(event.writer, 0)]
            if opening is not None:
                counted = [event for event in counted if not opening.covers(event)]
            async for some in in_turns(counted, pace):
                folder.add(some)
            progress("folding events", dropped + folder.events, total)
    finally:
        waiting.cancel()


async def in_turns(events: list[Event], pace: Pace) -> AsyncIterator[list[Event]]:
    """Yield events in small parts, between which others get their turn."""
    for first in range(0, len(events), TURN_EVENTS):
        pace.begin()
        yield events[first : first + TURN_EVENTS]
        await pace.rest()
