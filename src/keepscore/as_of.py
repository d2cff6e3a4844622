"""Rankings as they stood at some moment: the fold of the events that had come by then.

It costs O(all events of the board) whatever the moment, and O(players) memory. So there is one at a time, some may wait, and the event
loop gets its turn between small chunks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from heapq import nlargest, nsmallest

from keepscore.answers import Standing, Top
from keepscore.catalog import LiveBoard
from keepscore.durations import time_of
from keepscore.engines.base import Ranking
from keepscore.errors import InvalidField, InvalidTime, Overloaded, UnknownWindow
from keepscore.guard import moment_of
from keepscore.ledgers.base import Ledger
from keepscore.ordering import KeyCodec, Ranks, Row, number_rows
from keepscore.reader import check_limit, rank_kind
from keepscore.scoring import Event, State, amount_of, cut, fold_all, fold_for
from keepscore.windows import Span, span_at

__all__ = ["AsOf"]

#: Events that are folded without a pause.
CHUNK = 500
#: Questions that may wait for their turn.
MAX_WAITING = 8


class AsOf:
    """Answers how rankings stood, one question at a time."""

    def __init__(self, ledger: Ledger, clock: Callable[[], int], names: Mapping[str, str]) -> None:
        self._ledger = ledger
        self._clock = clock
        self._names = names
        self._turn = asyncio.Lock()
        self._waiting = 0

    async def top(self, live: LiveBoard, at: datetime | str, limit: int, window: str | None, segment: str | None, rank: str | None) -> Top:
        """The first players of a ranking as it stood. O(events of the board)."""
        check_limit(limit)
        moment = self._moment(at)
        if live.board.rollup is not None:
            raise InvalidField(f"board {live.name!r} is a roll-up and has no events: ask for {', '.join(live.board.rollup.of)} instead")
        ranking = _ranking_at(live, window, segment, moment)
        numbering = rank_kind(live.board, rank)
        if self._waiting > MAX_WAITING:
            raise Overloaded(f"{self._waiting} questions about the past are waiting, and one is answered at a time: try again later")
        self._waiting += 1
        try:
            async with self._turn:
                states = await self._fold(live, ranking, moment)
                rows = await asyncio.to_thread(_first, live, states, limit)
        finally:
            self._waiting -= 1
        shown, name = live.shown_at(moment), self._names.get
        standings = [
            Standing(number, player, name(player), shown(score), time_of(since), 0)
            for number, (player, score, since) in zip(number_rows(numbering, Ranks(1, 1, 1), rows), rows, strict=True)
        ]
        return Top(live.name, ranking.window, ranking.window_id, ranking.segment or None, len(states), time_of(moment), standings, None)

    def _moment(self, at: datetime | str) -> int:
        moment, now = moment_of(at), self._clock()
        # The present, to the microsecond, may have been rounded up.
        if moment > now + 1:
            raise InvalidTime(f"at = {str(at)!r} lies in the future: it is {time_of(now).isoformat(timespec='seconds')}")
        return min(moment, now)

    async def _fold(self, live: LiveBoard, ranking: Ranking, moment: int) -> dict[str, State]:
        board, fold = live.board, fold_for(live.board)
        span = span_at(board, ranking.window, moment)
        assert span is not None, "the ranking is one of the moment"
        counts = _counting(ranking, span, moment)
        states: dict[str, State] = {}
        late: set[str] = set()
        # A ranking whose time is over when an event comes begins anew with it.
        began = expiry = 0
        async for events in self._ledger.events(live.id, {}):
            for start in range(0, len(events), CHUNK):
                for event in events[start : start + CHUNK]:
                    if not counts(event):
                        continue
                    if 0 < expiry <= event.received:
                        states, began, expiry = {}, event.received, 0
                    expiry = max(expiry, live.expiry(span, event.received))
                    state = fold(states.get(event.player), event.kind, amount_of(board, event), cut(board, event.at))
                    if state is None:
                        late.add(event.player)
                    else:
                        states[event.player] = state
                await asyncio.sleep(0)
        if 0 < expiry <= moment:
            return {}
        for player in late & states.keys():
            found = await self._ledger.player_events(live.id, player)
            restated = fold_all(board, [event for event in found if event.received >= began and counts(event)])
            assert restated is not None, "a player with a late event has events"
            states[player] = restated
        return states


def _ranking_at(live: LiveBoard, window: str | None, segment: str | None, moment: int) -> Ranking:
    """The ranking of the window that held a moment."""
    try:
        return live.ranking(window, None, segment, moment)
    except UnknownWindow:
        if (window or live.board.first_window) not in live.board.periods:
            raise
        raise UnknownWindow(f"board {live.name!r} had no season at that moment") from None


def _counting(ranking: Ranking, span: Span, moment: int) -> Callable[[Event], bool]:
    """Whether an event counts in a ranking, and had come by a moment."""
    name, _, value = ranking.segment.partition(":")

    def counts(event: Event) -> bool:
        if event.received > moment or not span.start <= event.at < span.end:
            return False
        return not name or (event.segments or {}).get(name) == value

    return counts


def _first(live: LiveBoard, states: dict[str, State], limit: int) -> list[Row]:
    """The first rows in order. In a thread: with a million players it takes a second, in which others get their turn."""
    codec = KeyCodec(live.board)
    keys: Iterable[bytes] = (codec.encode(player, *state) for player, state in states.items())
    chosen = nlargest(limit, keys) if live.board.order == "desc" else nsmallest(limit, keys)
    return [codec.decode(key) for key in chosen]
