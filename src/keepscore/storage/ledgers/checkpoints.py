"""The role of a ledger that holds checkpoints: the states of rankings as of some events.

A start loads them and replays what came later. While the engine is away, readers get them in order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from keepscore.domain.ordering import Row
from keepscore.domain.scoring import State
from keepscore.storage.ledgers.slots import Slot

__all__ = ["Ahead", "Checkpoint", "CheckpointStore", "Order", "checkpoints_of"]


class Checkpoint(NamedTuple):
    """What checkpointed states include: the last event number of each writer.

    A checkpoint holds what changed since the one before; `base` is the number of the first of the series. States of checkpoints
    below the base belong to an earlier definition.
    """

    number: int
    base: int
    #: The version whose meaning the states have (`BoardRecord.semantics_version`).
    semantics_version: int
    positions: dict[int, int]
    complete: bool
    #: The moment whose events it includes.
    taken: int


class Order(NamedTuple):
    """The order of a ranking's rows: by score, and rows of one score by time; rows of one time by the id in the scores' direction."""

    desc: bool
    #: 1: the earlier first, -1: the later first, 0: times do not matter.
    ties: int


class Ahead(NamedTuple):
    """Where a row of a ranking is: rows ahead of it, rows with a better score, better scores, and rows in all."""

    rows: int
    better: int
    scores: int
    total: int


def checkpoints_of(rows: Iterable[Sequence[Any]]) -> list[Checkpoint]:
    """Make checkpoints from their rows, the oldest first: from the first complete one on."""
    found: list[Checkpoint] = []
    for number, base, semantics_version, text, complete, taken in rows:
        positions = {int(writer): n for writer, n in msgspec.json.decode(text).items()}
        if found or complete:
            found.append(Checkpoint(number, base, semantics_version, positions, bool(complete), taken))
    return found


class CheckpointStore(ABC):
    """Checkpoints and the states in them."""

    @abstractmethod
    async def begin(self, board_id: int, semantics_version: int, positions: Mapping[int, int], base: int | None, now: int) -> Checkpoint:
        """Begin a checkpoint that includes the events up to these positions, on top of `base`, or (None) a complete new one."""

    @abstractmethod
    async def write(self, board_id: int, checkpoint: int, slot: Slot, states: Sequence[tuple[str, State | None]]) -> None:
        """Replace some states of a ranking; None removes a player."""

    @abstractmethod
    async def trim(self, board_id: int, slot: Slot, below: int, limit: int) -> int:
        """Remove up to `limit` states of a ranking that belong to checkpoints below a number; return how many there were.

        A ranking without states is forgotten.
        """

    @abstractmethod
    async def finish(self, board_id: int, checkpoint: int, expiries: Mapping[Slot, int]) -> None:
        """Declare a checkpoint complete, and say when the rankings in it may be dropped (0: never)."""

    @abstractmethod
    async def latest(self, board_id: int) -> list[Checkpoint]:
        """Return the last complete checkpoint of a board and those begun after it, by number."""

    @abstractmethod
    async def slots(self, board_id: int) -> dict[Slot, int]:
        """Return the rankings in complete checkpoints, and when each may be dropped (0: never)."""

    @abstractmethod
    def rows(self, board_id: int, slot: Slot, first: int, last: int) -> AsyncIterator[list[tuple[str, int, int]]]:
        """Yield the states of one ranking that belong to the checkpoints `first` to `last`, in chunks of (player, score, since)."""

    @abstractmethod
    async def states(self, board_id: int, slot: Slot, players: Sequence[str]) -> list[tuple[str, int, int, int]]:
        """Return the states of some players in one ranking: player, score, since, and the checkpoint that each belongs to."""

    @abstractmethod
    async def page(self, board_id: int, slot: Slot, order: Order, offset: int, limit: int) -> list[Row]:
        """Return the checkpointed rows of a ranking after the first `offset`, in order."""

    @abstractmethod
    async def sample(self, board_id: int, slot: Slot, order: Order, step: int) -> list[tuple[int, Row]]:
        """Return the first checkpointed row of a ranking and every `step`-th behind it, in order, with their ranks. O(N log N)."""

    @abstractmethod
    async def ahead(self, board_id: int, slot: Slot, order: Order, row: Row) -> Ahead:
        """Return where a row is, or would be, among the checkpointed ones of a ranking."""

    @abstractmethod
    async def count(self, board_id: int, slot: Slot, low: int, high: int) -> int:
        """Count the checkpointed rows of a ranking with a score from `low` to `high`, both included."""
