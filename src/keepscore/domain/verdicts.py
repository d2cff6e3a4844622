"""Verdicts: events that say of another event whether it counts. Pure.

A *void* says that an event no longer counts, a *restore* takes one void back. Each names one event, under the id of the decision that it
belongs to, and has the player, time, segments and scope of that event: so it reaches the same rankings. An event counts while no void of
it stands, whatever order the verdicts come in.

A *hide* says that a player was hidden or shadowed, a *show* that this has ended: both only let the player be restated. Who is ranked is
what `restrictions` say.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from keepscore.domain.scoring import Event

__all__ = ["ON_PLAYERS", "RESTATING", "VERDICTS", "EventId", "event_id", "named_event", "that_count", "verdict_on"]

#: The kinds of events that are verdicts on a player.
ON_PLAYERS = frozenset({"hide", "show"})
#: The kinds of events that are verdicts.
VERDICTS = frozenset({"void", "restore"}) | ON_PLAYERS
#: The kinds of events that bring nothing by themselves: who they are about is restated. A *move* has the slices in which a player is from
#: now on, and in its metadata those in which the player may have been.
RESTATING = VERDICTS | {"move"}

#: Writer and number of an event on its board.
EventId = tuple[int, int]


def event_id(event: Event) -> EventId:
    """Return what tells an event from the others of its board."""
    return event.writer, event.n


def named_event(verdict: Event) -> EventId:
    """Return the event that a verdict is about."""
    found: Any = verdict.metadata
    return found["event"][0], found["event"][1]


def verdict_on(event: Event) -> dict[str, list[int]]:
    """Return what a verdict on an event keeps of it."""
    return {"event": [event.writer, event.n]}


def that_count(events: Iterable[Event]) -> list[Event]:
    """Return the events of one player that count: no verdicts, and nothing that a verdict among them has made void. O(n)."""
    found = list(events)
    verdicts = [event for event in found if event.kind in RESTATING]
    if not verdicts:
        return found
    restored = {(event.game_id, named_event(event)) for event in verdicts if event.kind == "restore"}
    void = {named_event(event) for event in verdicts if event.kind == "void" and (event.game_id, named_event(event)) not in restored}
    return [event for event in found if event.kind not in RESTATING and event_id(event) not in void]
