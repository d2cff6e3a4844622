"""Matches that are rated again because others before them no longer count.

A match reaches the players who played it; each later match of one of them is rated again, and reaches its players, too. What a change
becomes is recorded as the difference, in an event of the kind `rerate`, under the id of the decision: the match stays as it was recorded.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from keepscore.domain.ratings.matches import Before, is_carried_over, match_of, match_of_events, rated
from keepscore.domain.scoring import Event
from keepscore.domain.verdicts import that_count
from keepscore.errors import EventsDropped, InvalidField
from keepscore.fairplay.selection import MAX_EVENTS, Selection
from keepscore.projection.live_boards import LiveBoard
from keepscore.storage.engines.base import Ranking
from keepscore.storage.ledgers.base import Ledger
from keepscore.storage.pace import Turns

__all__ = ["Replay", "replay_without"]


class Replay(NamedTuple):
    """What it takes to replay a board without some matches: the events that no longer count, and the differences of all others."""

    void: list[Event]
    rerated: list[Event]


class _Ratings:
    """The ratings of a board while its matches are replayed."""

    def __init__(self, live: LiveBoard) -> None:
        self._live = live
        self._points: dict[tuple[Ranking, str], int] = {}
        self._games: Counter[str] = Counter()

    def add(self, event: Event, amount: int) -> None:
        """Add an amount where an event counts."""
        for ranking in self._live.rankings_of(event):
            self._points[ranking, event.player] = self._points.get((ranking, event.player), 0) + amount

    def play(self, group: Sequence[Event], changes: Mapping[str, int]) -> None:
        """Add the changes of a match."""
        for event in group:
            self.add(event, changes[event.player])
            self._games[event.player] += 1

    def rate(self, group: Sequence[Event]) -> dict[str, int]:
        """Return what a match changes now."""
        wholes = [ranking for ranking in self._live.rankings_of(group[0]) if not ranking.segment]
        before = {
            event.player: Before([self._points.get((ranking, event.player), 0) for ranking in wholes], self._games[event.player])
            for event in group
        }
        return {one.player: one.change for one in rated(self._live.board, match_of_events(group), before)}


async def replay_without(ledger: Ledger, live: LiveBoard, selection: Selection, upto: Mapping[int, int]) -> Replay:
    """Return what it takes to replay a board without the matches of a selection, as the ledger was at some positions. O(events)."""
    if await ledger.openings.current(live.id) is not None:
        raise EventsDropped(f"mode = 'replay' needs all events of board {live.name!r}, and some are folded and dropped: take 'refund'")
    counting = that_count([event for event in await _events(ledger, live) if event.n <= upto.get(event.writer, 0)])
    groups: dict[str, list[Event]] = defaultdict(list)
    earlier: Counter[tuple[str, str]] = Counter()
    for event in counting:
        match_id = match_of(event) or ""
        if event.kind == "match" and not is_carried_over(event):
            groups[match_id].append(event)
        elif event.kind == "rerate":
            earlier[match_id, event.player] += event.amount
    replay, ratings, reached = Replay([], []), _Ratings(live), set[str]()
    turns = Turns()
    # What players start from comes before the first match of its group.
    for event in sorted(counting, key=lambda event: (event.seq or 0, event.writer, event.kind != "initial", event.n)):
        if turns.is_over():
            await turns.pass_on()
        if event.kind == "rerate":
            if selection.has(event):
                replay.void.append(event)
            continue
        if event.kind != "match" or is_carried_over(event):
            if selection.has(event):
                replay.void.append(event)
            else:
                ratings.add(event, event.amount)
            continue
        group = groups.pop(event.game_id or "", None)
        if group is None:
            # The first of its events stands for the match.
            continue
        if any(selection.has(one) for one in group):
            replay.void.extend(group)
            reached |= {one.player for one in group}
            continue
        was = {one.player: one.amount + earlier[event.game_id or "", one.player] for one in group}
        now = was
        if not reached.isdisjoint(was):
            now = ratings.rate(group)
            reached |= set(was)
            replay.rerated.extend(_difference(one, was, now) for one in group if was[one.player] != now[one.player])
        ratings.play(group, now)
    for found in replay:
        _check_size(found)
    return replay


def _difference(event: Event, was: Mapping[str, int], now: Mapping[str, int]) -> Event:
    note = {"match": event.game_id, "was": was[event.player], "now": now[event.player]}
    return event._replace(kind="rerate", amount=now[event.player] - was[event.player], metadata=note)


async def _events(ledger: Ledger, live: LiveBoard) -> list[Event]:
    found: list[Event] = []
    async for events in ledger.events.read(live.id, {}):
        found += events
    return found


def _check_size(events: Iterable[Event]) -> None:
    if (count := len(list(events))) > MAX_EVENTS:
        raise InvalidField(f"the replay has {count} events: at most {MAX_EVENTS} at once. Take mode = 'refund'")
