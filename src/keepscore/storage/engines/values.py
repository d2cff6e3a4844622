"""What goes to a ranking engine and what comes back: one struct for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import msgspec

from keepscore.domain.boards import RankKind
from keepscore.domain.ordering import Ranks, Row
from keepscore.domain.positions import Position
from keepscore.domain.scoring import State

__all__ = [
    "Batch",
    "Change",
    "Dirty",
    "Gap",
    "Loaded",
    "Memory",
    "Outcome",
    "Page",
    "Pruned",
    "Ranking",
    "Update",
    "UpdateKind",
    "made_update",
]


class Ranking(NamedTuple):
    """One ranked set: a board (by its number in the ledger), a window of it, and a segment (`region:eu`) or the whole (``)."""

    board: int
    window: str
    window_id: str
    segment: str


#: What an engine does with an update: fold a score or an amount, or have the player restated from the ledger.
UpdateKind = Literal["score", "increment", "correction", "restate"]


class Update(NamedTuple):
    """One event as an engine sees it. `rankings` are all in which it counts, the `wholes` unsegmented ones first."""

    player: str
    kind: UpdateKind
    #: On a board with decay, the level of the amount.
    amount: int
    #: The event's time, cut to the board's resolution, but on `last` and `first` boards: there it decides in full, and is the same as
    #: `received` where the service gave it.
    at: int
    #: When it came. A ranking whose time was over by then starts over with it.
    received: int
    rankings: tuple[Ranking, ...]
    wholes: int
    #: When each of `rankings` may be dropped, at the earliest (milliseconds; 0: never).
    expiries: tuple[int, ...]
    #: Whether somebody waits for the ranks.
    ranked: bool


#: An update of all of its fields, in order: half of the time that the class by itself takes.
made_update: Callable[[Iterable[Any]], Update] = partial(tuple.__new__, Update)


class Batch(NamedTuple):
    """The events `after + 1` to `upto` of one writer on one board."""

    board: int
    writer: int
    after: int
    upto: int
    updates: Sequence[Update]
    #: Which rank numbers changes carry.
    rank: RankKind
    #: Whether it is meant for the board's shadow.
    shadow: bool = False
    #: What the engine keeps for the ledger, in the same step (see `spooled`).
    spool: str = ""
    #: The ledger's numbers of the first and the last event; None: they have none yet, and are the latest.
    seqs: tuple[int, int] | None = None


class Change(msgspec.Struct, gc=False):
    """What one event did to one player in one ranking: the rank number that was asked for, before and after.

    `previous` is None for a new player; `unique` is the unique rank after, whatever number was asked for.
    """

    score: int
    updated: bool
    previous: int | None
    rank: int
    unique: int
    total: int


class Outcome(msgspec.Struct):
    """What one event did: a change for each unsegmented ranking, where ranks were asked for, and restatements that are due."""

    changes: list[Change]
    restate: list[Ranking]


class Gap(Exception):
    """The engine is not where the writer believes. `applied` is where it is, or None: it knows nothing of the board."""

    def __init__(self, board: int, applied: int | None) -> None:
        super().__init__(f"the engine has applied {applied} on board {board}")
        self.board = board
        self.applied = applied


class Page(NamedTuple):
    """Consecutive rows of a ranking. `first` holds the ranks of the first row (of the next one where there is no row).

    `total` counts the players who are not kept, too.
    """

    rows: list[Row]
    first: Ranks
    total: int
    #: Where the ranking was when they were read, if the source has positions.
    position: Position | None = None


class Pruned(NamedTuple):
    """A ranking whose first rows only are kept by the engine. Players who are not kept have not changed since they were removed.

    Everybody who is not behind the `floor` is kept, so that the first `exact` rows have the ranks that they seem to have.
    """

    #: Players who are not kept.
    hidden: int
    #: How many there were when rows were removed last, and how many rows were left.
    removed: int
    kept: int
    #: Which histogram tells of the moment when rows were removed last; empty: none does.
    mark: str
    floor: Row
    #: The watermarks of that moment.
    applied: dict[int, int]
    exact: int


class Loaded(NamedTuple):
    """Folded states on their way into an engine."""

    ranking: Ranking
    #: When the ranking may be dropped, at the earliest (milliseconds; 0: never).
    expiry: int
    #: Player, score and since of each.
    rows: Iterable[tuple[str, int, int]]
    #: Whether the rows are not in the ledger's checkpoint yet.
    fresh: bool
    #: Whether some of these players came before in this ranking, with a state that is replaced.
    again: bool = False


class Dirty(NamedTuple):
    """What changed on a board since it was asked last: states by ranking (None: the player is gone) and positions included."""

    states: Mapping[Ranking, Iterable[tuple[str, State | None]]]
    #: When each of these rankings may be dropped.
    expiries: Mapping[Ranking, int]
    #: Rankings that were dropped; one that started over since may be in `states`, too.
    dropped: Sequence[Ranking]
    applied: Mapping[int, int]


class Memory(NamedTuple):
    """The memory that an engine's server uses, and may use, in bytes."""

    used: int
    limit: int
