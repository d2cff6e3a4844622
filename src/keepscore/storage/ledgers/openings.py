"""The role of a ledger that holds openings: what is left of events that were dropped.

As in accounting: an old year's books are put away, and its balance is carried forward. An opening covers the events of a board that came
before one moment (`received`) and whose time lies before another (`at`), and has the states that these make. Whoever folds begins with
these states, and passes over what is covered, whether it is gone yet or not. A new opening is announced, written beside the one before it,
and becomes the one that counts in one step; what it covers is removed after that.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from typing import Any, NamedTuple

import msgspec

from keepscore.domain.scoring import Event

__all__ = ["Opened", "OpenedRanking", "Opening", "OpeningStore", "opened_by", "opening_of"]


class Opening(NamedTuple):
    """One opening of a board. Events of the board that are not covered are not earlier than `at`."""

    board: int
    number: int
    at: int
    received: int
    #: When it was announced: since then nothing earlier than `at` is taken.
    announced: int
    #: The time of the earliest event that it covers, how many these are, and the last one of each writer.
    first: int | None
    events: int
    positions: dict[int, int]
    #: Whether it counts, and whether all that it covers is gone.
    complete: bool = False
    removed: bool = False

    def covers(self, event: Event) -> bool:
        """Return whether an event is in the opening's states."""
        return event.received < self.received and event.at < self.at


class OpenedRanking(NamedTuple):
    """A ranking in an opening: its names, a moment within it (a reset may have given it another name since), and when it may be dropped."""

    window: str
    window_id: str
    segment: str
    moment: int
    expiry: int


class Opened(NamedTuple):
    """A state in an opening."""

    player: str
    window: str
    window_id: str
    segment: str
    score: int
    since: int
    #: When the player last scored, where losses for inactivity are counted from that.
    own: int | None


def opening_of(row: Sequence[Any]) -> Opening:
    """Make an opening from its row."""
    board, number, at, received, announced, first, events, positions, complete, removed = row
    last = {int(writer): n for writer, n in msgspec.json.decode(positions).items()}
    return Opening(board, number, at, received, announced, first, events, last, bool(complete), bool(removed))


def opened_by(rows: Sequence[Sequence[Any]]) -> tuple[Opening, list[tuple[OpenedRanking, Opened]]] | None:
    """Make an opening and states in it from rows that have all of it; without states, the one row has nothing there."""
    if not rows:
        return None
    found = [tuple(row) for row in rows]
    return opening_of(found[0][:10]), [(OpenedRanking(*row[10:15]), Opened(*row[15:])) for row in found if row[15] is not None]


class OpeningStore(ABC):
    """Openings, durable."""

    @abstractmethod
    async def current(self, board_id: int) -> Opening | None:
        """Return the opening of a board that counts, if there is one."""

    @abstractmethod
    async def announced(self, board_id: int) -> Opening | None:
        """Return the opening of a board that is announced and does not count yet, if there is one."""

    @abstractmethod
    async def accepts_from(self) -> dict[int, int]:
        """Return from which time on each board with an opening, announced ones included, takes scores."""

    @abstractmethod
    async def announce(self, board_id: int, at: int, received: int, now: int) -> Opening:
        """Announce an opening, in the place of one that is announced already."""

    @abstractmethod
    async def begin(self, board_id: int) -> Opening | None:
        """Begin to write the opening that is announced, if there is one, under a new number: whoever else was at it cannot finish."""

    @abstractmethod
    async def write(self, board_id: int, number: int, rankings: Sequence[OpenedRanking], states: Sequence[Opened]) -> None:
        """Write a part of an opening, or raise LedgerUnavailable where another process has begun it again."""

    @abstractmethod
    async def finish(self, opening: Opening, semantics_version: int) -> bool:
        """Let an opening count in the place of the one before, with what it says of its events.

        Return False, and change nothing, where another process has begun it again, or the board means something else by now.
        """

    @abstractmethod
    async def trim(self, board_id: int, limit: int) -> int:
        """Remove up to `limit` states of openings that are no more; return how many there were."""

    @abstractmethod
    async def rankings(self, board_id: int, number: int) -> list[OpenedRanking]:
        """Return the rankings in an opening."""

    @abstractmethod
    def states(self, board_id: int, number: int) -> AsyncIterator[list[Opened]]:
        """Yield the states in an opening, in chunks, by player."""

    @abstractmethod
    async def states_of(self, board_id: int, players: Sequence[str]) -> tuple[Opening, list[tuple[OpenedRanking, Opened]]] | None:
        """Return the opening of a board that counts, and the states of some players in it, seen in one moment."""
