"""The role of a ledger that holds archives: rankings as they were at some moment."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

from keepscore.storage.ledgers.claims import Effect
from keepscore.storage.ledgers.slots import Slot

__all__ = ["TAKEN_OVER", "Archive", "ArchiveStore", "Archived", "archive_of"]

#: What an archive that cannot be finished has come to.
TAKEN_OVER = "another process has restarted the same archive: it is finished there"


class Archived(NamedTuple):
    """A row of an archived ranking: the three ways to number its rank, and what the ranking had."""

    rank: int
    standard: int
    dense: int
    player: str
    score: int
    since: int


class Archive(NamedTuple):
    """A ranking as it was at the moment `taken`: all of its players counted, the first `kept` of them kept."""

    id: int
    board: int
    slot: Slot
    #: `closed`: the final standings of a window. `snapshot`: the standings at some moment.
    kind: str
    #: The revision of a closed window's standings, counted from 1; the position of a snapshot in its series.
    number: int
    taken: int
    players: int
    kept: int
    #: What tells whether the rows are those that were archived.
    digest: str


def archive_of(row: Sequence[Any]) -> Archive:
    """Make an archive from its row: number, board, the three parts of the slot, and the rest."""
    number, board, window, window_id, segment, *rest = row
    return Archive(number, board, Slot(window, window_id, segment), *rest)


class ArchiveStore(ABC):
    """Archives and the rows in them. A given `effect` is kept in the same transaction."""

    @abstractmethod
    async def begin(self, board_id: int, slot: Slot, kind: str, number: int, taken: int) -> int:
        """Begin to archive a ranking; return the archive's id. One of the same number that was not finished is dropped."""

    @abstractmethod
    async def write(self, archive: int, rows: Sequence[Archived]) -> None:
        """Archive some rows; nothing happens to an archive that was dropped or finished meanwhile."""

    @abstractmethod
    async def finish(self, archive: int, players: int, kept: int, digest: str, effect: Effect | None = None) -> None:
        """Declare an archive complete: from now on it is there, and does not change.

        Raise LedgerUnavailable where another process has begun it again, or finished it.
        """

    @abstractmethod
    async def drop(self, archive: int) -> None:
        """Remove an archive."""

    @abstractmethod
    async def find(self, board_id: int, window: str | None = None, window_id: str | None = None, kind: str | None = None) -> list[Archive]:
        """Return the complete archives of a board, by window and the moment when they were taken."""

    @abstractmethod
    async def rows(self, archive: int, offset: int, limit: int) -> list[Archived]:
        """Return the rows of an archive after the first `offset`."""

    @abstractmethod
    async def places(self, archive: int, players: Sequence[str]) -> list[Archived]:
        """Return the rows of some players in an archive."""

    @abstractmethod
    async def count(self, archive: int, low: int, high: int) -> int:
        """Count the rows of an archive with a score from `low` to `high`, both included."""

    @abstractmethod
    async def of_player(self, board_id: int, player: str) -> list[tuple[Archive, Archived]]:
        """Return all archives of a board that a player is in, the oldest first, with the player's rows."""
