"""Folds: how the events of one player become that player's state. Pure, and the only place that knows the operators.

`best` and `sum` give the same state for any order of the events, and go by times that are cut to the board's resolution (`cut`). `last`
and `first` depend on the order of a player's events: `in_order` defines it, and `fold_all` is the definition of the fold. Where events
come one by one, `place` says where the next one belongs, or that only the ledger can tell: then the player is restated from all events.

On a board with decay, what is folded and kept are levels (`decay.py`) instead of scores: `amount_of` makes one of an event. They add up
rounded, so that states of the same events may differ a little with their order: `same_state` says what is taken for equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from operator import itemgetter
from typing import Any, Literal, NamedTuple

import msgspec

from keepscore.domain.boards import Board
from keepscore.domain.decay import HalfLife

__all__ = [
    "ADDING",
    "NO_TIME",
    "Event",
    "Fold",
    "Kind",
    "Scope",
    "Seen",
    "State",
    "Where",
    "amount_of",
    "cut",
    "fold_all",
    "fold_for",
    "in_order",
    "made_event",
    "next_fold",
    "place",
    "same_state",
]

#: The time of a state whose time an engine does not keep. No event has it.
NO_TIME = -1

#: What an event does: it gives a score, adds an amount, adds the difference that a correction of a sum makes, gives the score that an
#: amount has made of the best one; changes a rating after a match, gives the one to start from, or rates a match again (`ratings`); says
#: of another event that it no longer counts, or counts again, or of the player that nothing is ranked, or all is again (`verdicts`); or
#: says that a player is in other slices from now on.
Kind = Literal["score", "increment", "correction", "raise", "match", "initial", "rerate", "void", "restore", "hide", "show", "move"]
#: The kinds whose amounts add to the score that there is.
ADDING = ("increment", "correction", "match", "initial", "rerate")


class State(NamedTuple):
    """The score of one player in one ranking (on a board with decay its level), and since when (milliseconds)."""

    score: int
    since: int


class Scope(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where an event counts that does not count in all rankings of its time. Windows that the board does not have are passed over."""

    #: The windows of the board in which it counts.
    windows: tuple[str, ...]
    #: The only segment in which it counts: a slice (`region:eu`), or the whole (``). None: the whole, and the event's slices.
    segment: str | None = None


class Event(NamedTuple):
    """An immutable row of the ledger. `(board, writer, n)` is its identity; times are in milliseconds.

    Where `at` and `received` are the same, the service gave the time, else the client did.
    """

    board: int
    writer: int
    n: int
    player: str
    kind: Kind
    amount: int
    at: int
    received: int
    segments: dict[str, str] | None = None
    game_id: str | None = None
    metadata: object = None
    #: The ledger's number of the group that the event was recorded with. One recorded later, by any process, has a higher one. None:
    #: it is not recorded yet, or was before there were numbers.
    seq: int | None = None
    #: Where it counts; None, as for nearly all: in all windows of its time, the whole and its slices.
    scope: Scope | None = None
    #: The build of the game, and the mark of the address that it came from, where they are known.
    build: str | None = None
    address: str | None = None


#: An event of all of its fields, in order: half of the time that the class by itself takes.
made_event: Callable[[Iterable[Any]], Event] = partial(tuple.__new__, Event)


#: Where an event belongs beside a state: after all of its events, or before the one that gave it its time; None: that is not known.
Where = Literal["later", "earlier"] | None

#: (state or None, kind, amount, time) → the new state. On `last` and `first` boards the event is the latest so far.
Fold = Callable[[State | None, Kind, int, int], State]


class Seen(NamedTuple):
    """What has come to a `last` or `first` board so far, as far as the order of events goes."""

    #: The highest number of an event.
    seq: int = 0
    #: No client has given a later time.
    told: int = 0


def cut(board: Board, at: int) -> int:
    """Cut a time to whole steps of the board's resolution, in milliseconds."""
    return at - at % board.resolution_ms


def amount_of(board: Board, event: Event) -> int:
    """Return what an event brings, as folds take it: its amount or, on a board with decay, the level of it."""
    return event.amount if board.half_life is None else board.half_life.level(event.amount, event.at)


def same_state(board: Board, one: State | None, other: State | None) -> bool:
    """Return whether two states say the same: with sums of levels, within the tolerance of the half-life; else exactly."""
    if one is None or other is None or board.half_life is None or board.operator == "best":
        return one == other
    return one.since == other.since and abs(one.score - other.score) <= board.half_life.tolerance


def fold_for(board: Board) -> Fold:
    """Return the fold of a board's operator and order."""
    if board.operator == "best":
        return _best_low if board.order == "asc" else _best_high
    if board.operator == "first":
        return _first
    if board.half_life is not None:
        return _decaying(board.half_life, _sum if board.operator == "sum" else _last)
    return _sum if board.operator == "sum" else _last


def _best_high(state: State | None, kind: Kind, amount: int, at: int) -> State:
    if state is None or amount > state[0] or (amount == state[0] and at < state[1]):
        return State(amount, at)
    return state


def _best_low(state: State | None, kind: Kind, amount: int, at: int) -> State:
    if state is None or amount < state[0] or (amount == state[0] and at < state[1]):
        return State(amount, at)
    return state


def _first(state: State | None, kind: Kind, amount: int, at: int) -> State:
    return State(amount, at) if state is None else state


def _sum(state: State | None, kind: Kind, amount: int, at: int) -> State:
    if state is None:
        return State(amount, at)
    return State(state[0] + amount, at if at > state[1] else state[1])


def _last(state: State | None, kind: Kind, amount: int, at: int) -> State:
    if state is None:
        return State(amount, at)
    return State(state[0] + amount if kind in ADDING else amount, at if at > state[1] else state[1])


def _decaying(half_life: HalfLife, fold: Fold) -> Fold:
    """Turn a fold of amounts that add up into one of levels."""

    def decaying(state: State | None, kind: Kind, amount: int, at: int) -> State:
        if state is None or (kind not in ADDING and fold is _last):
            return fold(state, kind, amount, at)
        # What an amount adds to a level depends on the level.
        return fold(state, kind, half_life.add(state[0], amount) - state[0], at)

    return decaying


def in_order(events: Iterable[Event]) -> list[tuple[int, Event]]:
    """Sort one player's events in one ranking in the order in which they count, each with its effective time. O(n log n).

    A time that a client gave is taken as it is. One that the service gave is not before any that it gave to an earlier event, as the ledger
    counts: clocks that differ, or are put back, change nothing. Of one time, the ledger's order decides.
    """
    latest = 0
    timed = []
    for event in sorted(events, key=lambda e: (e.seq or 0, e.writer, e.n)):
        time = event.at
        if event.at == event.received:
            latest = max(latest, event.at)
            # In which order those were recorded that have no number is not known.
            time = latest if event.seq else event.at
        timed.append((time, event))
    return sorted(timed, key=itemgetter(0))


def fold_all(board: Board, events: Iterable[Event], state: State | None = None) -> State | None:
    """Fold all of a player's events in one ranking, given in any order, into that player's state there. O(n log n).

    Of events that were dropped, the `state` that they have left; the others are later. One that is not, though nobody takes such, is
    passed over where the order matters.
    """
    fold, dropped = fold_for(board), state
    if not board.is_ordered:
        for event in events:
            state = fold(state, event.kind, amount_of(board, event), cut(board, event.at))
        return state
    for time, event in in_order(events):
        if dropped is None or cut(board, time) >= dropped.since:
            state = fold(state, event.kind, amount_of(board, event), cut(board, time))
    return state


def place(since: int, step: int, at: int, received: int, seen: Seen, seq: int | None) -> Where:
    """Return where an event belongs beside a state with that `since`, which is cut to steps; None: only the ledger can tell.

    `later`: after all events of the state. `earlier`: before the one that gave the state its time. `seen` is what came to the board before;
    `seq` is the event's number, or None where it has none yet: then it comes last.
    """
    time = at - at % step
    if at != received:
        return "later" if time > since else "earlier" if time < since else None
    # Events with one number come one after the other: they are of one group. Those without are from before there were numbers.
    if seq is not None and (seq < seen.seq or not seq):
        return None
    # The service gave the time of a state that is later than any that a client gave, and this one is not before it, whatever clocks say.
    return "later" if time > since or since > seen.told else None


def next_fold(board: Board) -> Callable[[State, Where, Kind, int, int], State | None]:
    """Return the fold of one more event into a `last` or `first` state; None: the player has to be restated.

    It takes the state, where the event belongs beside it (`place`), its kind, amount and time.
    """
    fold = fold_for(board)

    def folded_next(state: State, where: Where, kind: Kind, amount: int, at: int) -> State | None:
        if where == "later":
            return fold(state, kind, amount, cut(board, at))
        if where == "earlier" and board.operator == "first":
            return State(amount, cut(board, at))
        return None

    return folded_next
