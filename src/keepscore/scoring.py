"""Folds: how the events of one player become that player's state. Pure, and the only place that knows the operators.

`best`, `sum` and `first` give the same state for any order of the events. `last` is folded in the order of the events' times;
an event that is older than the state answers None, which means: restate this player from all of the events. Times are cut to the
board's resolution before they get here (`cut`).

On a board with decay, what is folded and kept are levels (`decay.py`) instead of scores: `amount_of` makes one of an event. They add up
rounded, so that states of the same events may differ a little with their order: `same_state` says what is taken for equal.

Among `last` events of one cut time the writer and the number decide. Where one writer at a time applies events, and a later one has a
higher id, that is the order of arrival. An engine that several writers share at once cannot know, and has such a player restated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Literal, NamedTuple

from keepscore.boards import Board
from keepscore.decay import HalfLife

__all__ = ["NO_TIME", "Event", "Fold", "Kind", "State", "amount_of", "cut", "fold_all", "fold_for", "made_event", "same_state"]

#: The time of a state whose time an engine does not keep. No event has it.
NO_TIME = -1

#: What an event does: it sets a score, adds an amount, or adds the difference that a correction of a sum makes.
Kind = Literal["score", "increment", "correction"]


class State(NamedTuple):
    """The score of one player in one ranking (on a board with decay its level), and since when (milliseconds)."""

    score: int
    since: int


class Event(NamedTuple):
    """An immutable row of the ledger. `(board, writer, n)` is its identity; times are in milliseconds."""

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


#: An event of all of its fields, in order: half of the time that the class by itself takes.
made_event: Callable[[Iterable[Any]], Event] = partial(tuple.__new__, Event)


#: (state or None, kind, amount, time) → the new state, or None where the player has to be restated.
Fold = Callable[[State | None, Kind, int, int], State | None]


def cut(board: Board, at: int) -> int:
    """A time in whole steps of the board's resolution, in milliseconds."""
    return at - at % board.resolution_ms


def amount_of(board: Board, event: Event) -> int:
    """What an event brings, as folds take it: its amount or, on a board with decay, the level of it."""
    return event.amount if board.half_life is None else board.half_life.level(event.amount, event.at)


def same_state(board: Board, one: State | None, other: State | None) -> bool:
    """Whether two states say the same: with sums of levels, within the tolerance of the half-life; else exactly."""
    if one is None or other is None or board.half_life is None or board.operator == "best":
        return one == other
    return one.since == other.since and abs(one.score - other.score) <= board.half_life.tolerance


def fold_for(board: Board) -> Fold:
    """The fold of a board's operator and order."""
    if board.operator == "best":
        return _best_low if board.order == "asc" else _best_high
    if board.operator == "first":
        return _first_low if board.order == "asc" else _first_high
    if board.half_life is not None:
        return _decaying(board.half_life, _sum if board.operator == "sum" else _last)
    return _sum if board.operator == "sum" else _last


def _best_high(state: State | None, kind: Kind, amount: int, at: int) -> State | None:
    if state is None or amount > state[0] or (amount == state[0] and at < state[1]):
        return State(amount, at)
    return state


def _best_low(state: State | None, kind: Kind, amount: int, at: int) -> State | None:
    if state is None or amount < state[0] or (amount == state[0] and at < state[1]):
        return State(amount, at)
    return state


def _first_high(state: State | None, kind: Kind, amount: int, at: int) -> State | None:
    # Two scores of the same time: the better counts, so that the order of arrival does not matter.
    if state is None or at < state[1] or (at == state[1] and amount > state[0]):
        return State(amount, at)
    return state


def _first_low(state: State | None, kind: Kind, amount: int, at: int) -> State | None:
    if state is None or at < state[1] or (at == state[1] and amount < state[0]):
        return State(amount, at)
    return state


def _sum(state: State | None, kind: Kind, amount: int, at: int) -> State | None:
    if state is None:
        return State(amount, at)
    return State(state[0] + amount, at if at > state[1] else state[1])


def _last(state: State | None, kind: Kind, amount: int, at: int) -> State | None:
    if state is None:
        return State(amount, at)
    if at < state[1]:
        return None
    return State(amount if kind == "score" else state[0] + amount, at)


def _decaying(half_life: HalfLife, fold: Fold) -> Fold:
    """A fold of amounts that add up, for levels."""

    def decaying(state: State | None, kind: Kind, amount: int, at: int) -> State | None:
        if state is None or (kind == "score" and fold is _last):
            return fold(state, kind, amount, at)
        # What an amount adds to a level depends on the level.
        return fold(state, kind, half_life.add(state[0], amount) - state[0], at)

    return decaying


def fold_all(board: Board, events: Iterable[Event], state: State | None = None) -> State | None:
    """The state of one player in one ranking from all of that player's events there, given in any order. O(n log n).

    Of events that were dropped, the `state` that they have left; the others are later. One that is not, though nobody takes such, is
    passed over where the order matters.
    """
    fold = fold_for(board)
    for event in sorted(events, key=lambda e: (cut(board, e.at), e.writer, e.n)):
        state = fold(state, event.kind, amount_of(board, event), cut(board, event.at)) or state
    return state
