"""Matches that are rated again because others before them no longer count, or count again.

A match reaches the players who played it; each later match of one of them is rated again, and reaches its players, too. What a change
becomes is recorded as the difference, in an event of the kind `rerate`, under the id of the decision: the match stays as it was recorded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from keepscore.domain.ratings.matches import (
    is_carried_over,
    is_ranking,
    match_of,
    match_of_events,
    provisional_windows,
    rated,
    strength_of,
)
from keepscore.domain.ratings.strength import Strength
from keepscore.domain.scoring import Event
from keepscore.domain.verdicts import EventId, event_id, that_count
from keepscore.errors import EventsDropped, InvalidField
from keepscore.fairplay.selection import MAX_EVENTS, Selection
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.rating_book import RatingBook, in_recorded_order, wholes_of
from keepscore.storage.engines.base import Ranking
from keepscore.storage.ledgers.base import Ledger
from keepscore.storage.pace import Turns

__all__ = ["Replay", "Restored", "replay_with", "replay_without"]

_NOTHING = Strength(0, 0, 0)


class Replay(NamedTuple):
    """What it takes to replay a board without some matches: the events that no longer count, and the differences of all others."""

    void: list[Event]
    rerated: list[Event]


class Restored(NamedTuple):
    """What it takes to replay a board with matches that were void: the events that count again, and the differences of all others."""

    events: list[Event]
    rerated: list[Event]


class _Change(NamedTuple):
    """What a match changes of a player's rating and, where there are deviations, of the strength."""

    amount: int
    strength: Strength | None

    def plus(self, event: Event) -> _Change:
        more = strength_of(event)
        strength = self.strength if more is None else (self.strength or _NOTHING).plus(more)
        return _Change(self.amount + event.amount, strength)


class _Past(NamedTuple):
    """The matches of a board: the events of each, and those that have rated it again, or ranked it, by player."""

    groups: dict[str, list[Event]]
    rerated: dict[tuple[str, str], list[Event]]
    ranked: dict[tuple[str, str], Event]

    def was(self, event: Event) -> _Change:
        """Return what a match changes as it was rated last."""
        change = _Change(event.amount, strength_of(event))
        for again in self.rerated.get((event.game_id or "", event.player), ()):
            change = change.plus(again)
        return change


def _past_of(counting: Iterable[Event]) -> _Past:
    past = _Past(defaultdict(list), defaultdict(list), {})
    for event in counting:
        match_id = match_of(event) or ""
        if event.kind == "match" and not is_carried_over(event):
            past.groups[match_id].append(event)
        elif is_ranking(event) and not is_carried_over(event):
            past.ranked[match_id, event.player] = event
        elif event.kind == "rerate" and not is_carried_over(event):
            past.rerated[match_id, event.player].append(event)
    return past


async def replay_without(ledger: Ledger, live: LiveBoard, selection: Selection, upto: Mapping[int, int]) -> Replay:
    """Return what it takes to replay a board without the matches of a selection, as the ledger was at some positions. O(events)."""
    counting = that_count(await _events(ledger, live, upto))
    past = _past_of(counting)
    void = {match_id for match_id, group in past.groups.items() if any(selection.has(one) for one in group)}
    found = Replay([], [])

    def is_void(event: Event) -> bool:
        # What was made of a match goes with it.
        is_own = selection.has(event) if is_carried_over(event) else match_of(event) in void or selection.has(event)
        if is_own:
            found.void.append(event)
        return is_own

    found.rerated.extend(await _rerated(live, counting, past, is_void, frozenset()))
    for events in found:
        _check_size(events)
    return found


async def replay_with(ledger: Ledger, live: LiveBoard, void_id: str, upto: Mapping[int, int]) -> Restored:
    """Return what it takes to replay a board with what a void has taken out, as the ledger was at some positions. O(events)."""
    events = await _events(ledger, live, upto)
    known = {event_id(event) for event in that_count(events)}
    counting = that_count([event for event in events if (event.kind, event.game_id) != ("void", void_id)])
    started = {place for event in counting if event_id(event) in known for place in _starts(live, event)}
    # Who has started over since does not start twice.
    counting = [event for event in counting if event_id(event) in known or started.isdisjoint(_starts(live, event))]
    restored = [event for event in counting if event_id(event) not in known]
    again = frozenset(event_id(event) for event in restored)
    found = Restored(restored, await _rerated(live, counting, _past_of(counting), lambda event: False, again))
    _check_size(found.rerated)
    return found


def _starts(live: LiveBoard, event: Event) -> list[tuple[Ranking, str]]:
    return [(ranking, event.player) for ranking in wholes_of(live, event)] if event.kind == "initial" else []


async def _rerated(
    live: LiveBoard, counting: Sequence[Event], past: _Past, is_void: Callable[[Event], bool], again: frozenset[EventId]
) -> list[Event]:
    """Return the differences of all matches behind those that are void, or count `again`."""
    book, reached, found = RatingBook(live), set[str](), list[Event]()
    now: dict[tuple[str, str], _Change] = {}
    turns = Turns()
    for event in in_recorded_order(counting):
        if turns.is_over():
            await turns.pass_on()
        if event.kind != "match" or is_carried_over(event):
            if is_void(event) or (event.kind == "rerate" and not is_ranking(event) and not is_carried_over(event)):
                continue
            change = now.get((match_of(event) or "", event.player)) if is_ranking(event) else None
            book.add(event, None if change is None else change.amount)
            continue
        group = past.groups[event.game_id or ""]
        if event.n != max(one.n for one in group):
            # The last of its events stands for the match: what its players start from comes before it.
            continue
        void = [one for one in group if is_void(one)]
        if void:
            reached |= {one.player for one in group}
            continue
        was = {one.player: past.was(one) for one in group}
        if any(event_id(one) in again for one in group):
            reached |= set(was)
        changes = was
        if not reached.isdisjoint(was):
            changes = _rate(live, book, group)
            reached |= set(was)
            moved = [one for one in group if was[one.player] != changes[one.player]]
            found.extend(_difference(one, past, was[one.player], changes[one.player]) for one in moved)
        for one in group:
            book.add(one, *changes[one.player])
            now[one.game_id or "", one.player] = changes[one.player]
    return found


def _rate(live: LiveBoard, book: RatingBook, group: Sequence[Event]) -> dict[str, _Change]:
    """Return what a match changes now."""
    moment = group[0].received
    before = {event.player: book.before(event.player, wholes_of(live, group[0]), moment) for event in group}
    return {one.player: _Change(one.change, one.strength) for one in rated(live.board, match_of_events(group), before, moment)}


def _difference(event: Event, past: _Past, was: _Change, now: _Change) -> Event:
    """Return the event that makes of a change what it is now, where the match counts, or will."""
    note: dict[str, object] = {"match": event.game_id, "was": was.amount, "now": now.amount}
    if now.strength is not None:
        note["strength"] = list(now.strength.minus(was.strength or _NOTHING))
    ranked = past.ranked.get((event.game_id or "", event.player))
    if ranked is None and (windows := provisional_windows(event)) is not None:
        note["provisional"] = windows
    scope = event.scope if ranked is None else ranked.scope
    return event._replace(kind="rerate", amount=now.amount - was.amount, scope=scope, metadata=note)


async def _events(ledger: Ledger, live: LiveBoard, upto: Mapping[int, int]) -> list[Event]:
    if await ledger.openings.current(live.id) is not None:
        raise EventsDropped(f"mode = 'replay' needs all events of board {live.name!r}, and some are folded and dropped: take 'refund'")
    found: list[Event] = []
    async for events in ledger.events.read(live.id, {}):
        found += [event for event in events if event.n <= upto.get(event.writer, 0)]
    return found


def _check_size(events: Iterable[Event]) -> None:
    if (count := len(list(events))) > MAX_EVENTS:
        raise InvalidField(f"the replay has {count} events: at most {MAX_EVENTS} at once. Take mode = 'refund'")
