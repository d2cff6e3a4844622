"""Rankings as they stood at some moment: the fold of the events that had come by then.

It costs O(all events of the board) whatever the moment, and O(players) memory. So there is one at a time, some may wait, and the event
loop gets its turn between small chunks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from datetime import datetime
from heapq import nlargest, nsmallest

from keepscore.domain.durations import time_of
from keepscore.domain.leagues.definition import COHORT
from keepscore.domain.ordered_fold import OrderedFold
from keepscore.domain.ordering import KeyCodec, Ranks, Row, number_rows
from keepscore.domain.results.standings import Standing, Top
from keepscore.domain.scoring import Event, State, amount_of, cut, fold_for
from keepscore.domain.tiers import TierCuts
from keepscore.domain.values import moment_of
from keepscore.domain.verdicts import RESTATING
from keepscore.domain.windows import Span, span_at
from keepscore.errors import InvalidField, InvalidTime, NotKept, Overloaded, UnknownWindow
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.openings import expiry_in, names_in, pasts_of, said
from keepscore.projection.player_states import state_in
from keepscore.projection.sequence import events_of
from keepscore.reading.view import check_limit, rank_kind
from keepscore.reading.visibility import Labels
from keepscore.storage.engines.base import Ranking
from keepscore.storage.ledgers.base import Ledger
from keepscore.storage.ledgers.openings import Opening
from keepscore.storage.ledgers.slots import Slot

__all__ = ["AsOf"]

#: Events that are folded without a pause.
CHUNK_EVENTS = 500
#: Questions that may wait for their turn.
MAX_WAITING_READS = 8


class AsOf:
    """Answers how rankings stood, one question at a time."""

    def __init__(self, ledger: Ledger, clock: Callable[[], int], labels: Labels) -> None:
        self._ledger = ledger
        self._clock = clock
        self._labels = labels
        self._turn = asyncio.Lock()
        self._waiting = 0

    async def top(self, live: LiveBoard, at: datetime | str, limit: int, window: str | None, segment: str | None, rank: str | None) -> Top:
        """Return the first players of a ranking as it stood. O(events of the board)."""
        check_limit(limit)
        moment = self._moment(at)
        if live.board.is_rollup:
            raise InvalidField(f"board {live.name!r} is a roll-up and has no events: ask for {', '.join(live.board.made_from)} instead")
        if live.board.ranks_teams and segment is None:
            raise InvalidField(
                f"how the teams of board {live.name!r} stood is not known: name one, as in segment=team:red, for its members"
            )
        ranking = _ranking_at(live, window, segment, moment)
        if live.board.league is not None and ranking.segment.startswith(f"{COHORT}:"):
            raise InvalidField(f"segment = {segment!r}: how a cohort stood in the past is not known: ask for everybody, or for now")
        numbering = rank_kind(live.board, rank)
        if self._waiting > MAX_WAITING_READS:
            raise Overloaded(f"{self._waiting} requests about the past are waiting, and one is answered at a time: try again later")
        self._waiting += 1
        try:
            async with self._turn:
                states = await self._fold(live, ranking, moment)
                await self._leave_out(live, states, moment)
                rows = await asyncio.to_thread(_first, live, states, limit)
        finally:
            self._waiting -= 1
        shown = live.shown_at(moment)
        standings = [
            Standing(number, player, None, shown(score), time_of(since), 0)
            for number, (player, score, since) in zip(number_rows(numbering, Ranks(1, 1, 1), rows), rows, strict=True)
        ]
        if live.board.tiers:
            cuts = TierCuts(live.board, len(states))
            for unique, standing in enumerate(standings, 1):
                standing.tier = cuts.name(unique, standing.score)
        standings = await self._labels.shown(standings, None)
        return Top(live.name, ranking.window, ranking.window_id, ranking.segment or None, len(states), time_of(moment), standings, None)

    def _moment(self, at: datetime | str) -> int:
        moment, now = moment_of(at), self._clock()
        # The present, to the microsecond, may have been rounded up.
        if moment > now + 1:
            raise InvalidTime(f"at = {str(at)!r} is in the future: it is now {time_of(now).isoformat(timespec='seconds')}")
        return min(moment, now)

    async def _fold(self, live: LiveBoard, ranking: Ranking, moment: int) -> dict[str, State]:
        board, fold = live.board, fold_for(live.board)
        span = span_at(board, ranking.window, moment)
        assert span is not None, "the ranking is one of the moment"
        opening = await self._ledger.openings.current(live.id)
        if opening is not None and span.start < opening.at and moment < opening.received:
            raise NotKept(
                f"how board {live.name!r} stood at {said(moment)} is no longer known: events that arrived before {said(opening.received)} "
                "were folded and dropped (keep_events); ask for a later moment"
            )
        states, expiry = await self._opened(live, ranking, opening)
        was_there = _known_by(span, moment, opening)
        counts = _counting(live, ranking, was_there)
        ordered = OrderedFold(board, states) if board.is_ordered else None
        if ordered is not None:
            for player, state in list(states.items()):
                ordered.begin_with(player, state)
        # A ranking whose time is over when an event comes starts over with it.
        began = 0
        judged: set[str] = set()
        async for events in events_of(self._ledger, live, {}):
            for start in range(0, len(events), CHUNK_EVENTS):
                for event in events[start : start + CHUNK_EVENTS]:
                    if not counts(event):
                        continue
                    if event.kind in RESTATING:
                        judged.add(event.player)
                        continue
                    if 0 < expiry <= event.received:
                        states.clear()
                        began, expiry = event.received, 0
                        if ordered is not None:
                            ordered.start_over()
                    expiry = max(expiry, live.expiry(span, event.received))
                    if ordered is not None:
                        ordered.add(event)
                    else:
                        state = fold(states.get(event.player), event.kind, amount_of(board, event), cut(board, event.at))
                        states[event.player] = state
                await asyncio.sleep(0)
        if 0 < expiry <= moment:
            return {}
        needs_restate = judged | (ordered.needs_restate & states.keys() if ordered else set())
        for player, past in (await pasts_of(self._ledger, live, sorted(needs_restate))).items():
            known = [event for event in past.events if event.received >= began and was_there(event)]
            restated = state_in(live, ranking, known, {} if began else past.states)
            if restated is None:
                states.pop(player, None)
            else:
                states[player] = restated
        if opening != await self._ledger.openings.current(live.id):
            # What came to count meanwhile covers events that were folded, or others that were gone before.
            return await self._fold(live, ranking, moment)
        return states

    async def _leave_out(self, live: LiveBoard, states: dict[str, State], moment: int) -> None:
        """Take out those who were not ranked at a moment."""
        if live.catalog is not None:
            await live.catalog.restrictions.refresh(self._ledger, self._clock())
            for player in live.catalog.restrictions.players_on(live.name, moment):
                states.pop(player, None)

    async def _opened(self, live: LiveBoard, ranking: Ranking, opening: Opening | None) -> tuple[dict[str, State], int]:
        """Return what dropped events have left of a ranking, and until when it stays."""
        states: dict[str, State] = {}
        names = await names_in(self._ledger, live, opening) if opening is not None else {}
        slot = next((slot for slot, (name, _) in names.items() if name == ranking), None)
        if opening is None or slot is None:
            return states, 0
        async for rows in self._ledger.openings.states(live.id, opening.number):
            states |= {row.player: State(row.score, row.since) for row in rows if Slot(*row[1:4]) == slot}
        return states, expiry_in(live, opening, names[slot][1])


def _ranking_at(live: LiveBoard, window: str | None, segment: str | None, moment: int) -> Ranking:
    """Return the ranking of the window that held a moment."""
    try:
        return live.ranking(window, None, segment, moment)
    except UnknownWindow:
        if (window or live.board.first_window) not in live.board.periods:
            raise
        raise UnknownWindow(f"board {live.name!r} had no season at that moment") from None


def _known_by(span: Span, moment: int, opening: Opening | None) -> Callable[[Event], bool]:
    """Return a test of whether an event of a window had come by a moment, and is not in an opening."""

    def is_known(event: Event) -> bool:
        return event.received <= moment and span.start <= event.at < span.end and (opening is None or not opening.covers(event))

    return is_known


def _counting(live: LiveBoard, ranking: Ranking, is_known: Callable[[Event], bool]) -> Callable[[Event], bool]:
    """Return a test of whether an event that is known counts in a ranking."""
    return lambda event: is_known(event) and ranking in live.rankings_of(event)


def _first(live: LiveBoard, states: dict[str, State], limit: int) -> list[Row]:
    """Return the first rows in order. In a thread: with a million players it takes a second, in which others get their turn."""
    codec = KeyCodec(live.board)
    keys: Iterable[bytes] = (codec.encode(player, *state) for player, state in states.items())
    chosen = nlargest(limit, keys) if live.board.order == "desc" else nsmallest(limit, keys)
    return [codec.decode(key) for key in chosen]
