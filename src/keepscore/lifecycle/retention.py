"""The fold of events that are to be dropped, written into the ledger as a board's next opening."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import islice

from keepscore.domain.inactivity import is_loss
from keepscore.domain.scoring import Event
from keepscore.domain.verdicts import RESTATING, VERDICTS
from keepscore.domain.windows import span_of
from keepscore.projection.fold import Folder
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.load import LEFT_OUT_MS
from keepscore.projection.sequence import events_of
from keepscore.storage.engines.base import Ranking
from keepscore.storage.ledgers.base import Ledger
from keepscore.storage.ledgers.openings import Opened, OpenedRanking, Opening
from keepscore.storage.pace import Pace, in_order

__all__ = ["write_opening"]

#: States that one transaction writes, so that submissions get their turn between two.
CHUNK_STATES = 1000
#: Events that are folded before others get their turn.
TURN_EVENTS = 1000


async def write_opening(ledger: Ledger, live: LiveBoard, opening: Opening, now: int, pace: Pace) -> Opening:
    """Write the states of what an opening covers; answer it with what it says of its events.

    O(events of the board), most of which are only looked at, and O(states), which are all in memory.
    """
    before = await ledger.openings.current(live.id)
    covered = _Covered(live, opening, before)
    if before is not None:
        await covered.folder.open_with(ledger, before)
    async for events in events_of(ledger, live, {}):
        for first in range(0, len(events), TURN_EVENTS):
            pace.begin()
            covered.add(events[first : first + TURN_EVENTS])
            await pace.rest()
    made = covered.opening()
    await covered.folder.settle(ledger, made.positions, opening.covers)
    rankings = covered.rankings(now)
    await ledger.openings.write(live.id, opening.number, list(rankings.values()), [])
    for ranking, place in rankings.items():
        async for chunk in covered.states(ranking, place, pace):
            await ledger.openings.write(live.id, opening.number, [], chunk)
    return made


class _Covered:
    """What an opening covers, the one before it included."""

    def __init__(self, live: LiveBoard, opening: Opening, before: Opening | None) -> None:
        # What is hidden now may be shown again.
        self.folder = Folder(live, with_hidden=True)
        self._live = live
        self._opening = opening
        self._before = before
        self._first = None if before is None else before.first
        self._positions = {} if before is None else dict(before.positions)

    def add(self, events: list[Event]) -> None:
        """Take up, of consecutive events, those that are covered."""
        live, folder, opening, before = self._live, self.folder, self._opening, self._before
        new = [event for event in events if before is None or not before.covers(event)]
        covered = [event for event in new if opening.covers(event)]
        for event in new:
            if event.kind in VERDICTS and not opening.covers(event):
                # What it is about may be covered: it is left out for good.
                folder.judge(event)
        if live.ttls:
            # Those that stay keep rankings alive, too.
            for event in new:
                if opening.covers(event):
                    folder.add([event])
                elif event.received < opening.received:
                    folder.pass_over(event)
        else:
            folder.add(covered)
        for event in covered:
            self._first = event.at if self._first is None else min(self._first, event.at)
            self._positions[event.writer] = max(event.n, self._positions.get(event.writer, 0))
        if live.board.inactivity is not None:
            for event in covered:
                for ranking in live.rankings_of(event) if not is_loss(event.kind, event.game_id) and event.kind not in RESTATING else ():
                    if not ranking.segment:
                        folder.own[ranking, event.player] = max(event.at, folder.own.get((ranking, event.player), 0))

    def opening(self) -> Opening:
        """Return the opening with what it says of its events."""
        events = self.folder.events + (0 if self._before is None else self._before.events)
        return self._opening._replace(first=self._first, events=events, positions=self._positions)

    def rankings(self, now: int) -> dict[Ranking, OpenedRanking]:
        """Return the rankings that it has, but for those that are over for good: closed, and gone from every engine."""
        found = {}
        for ranking, states in self.folder.states.items():
            span = span_of(self._live.board, ranking.window, ranking.window_id)
            expiry = self.folder.expiries.get(ranking, 0)
            if states and not (span.end <= self._opening.at and 0 < expiry <= now - LEFT_OUT_MS):
                # Resets cut windows later than that, so that this part of one stays the one that holds the moment.
                found[ranking] = OpenedRanking(*ranking[1:], min(span.end, self._opening.at) - 1, expiry)
        return found

    async def states(self, ranking: Ranking, place: OpenedRanking, pace: Pace) -> AsyncIterator[list[Opened]]:
        """Yield the states of a ranking, in chunks, in the order of the table's key."""
        own = self.folder.own
        found = await in_order(self.folder.states[ranking].items(), pace)
        rest = (Opened(player, *place[:3], *state, own.get((ranking, player))) for player, state in found)
        while chunk := list(islice(rest, CHUNK_STATES)):
            yield chunk
            await pace.rest()
