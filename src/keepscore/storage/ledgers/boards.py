"""The role of a ledger that holds the definitions of boards."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from keepscore.domain.boards import Board, board_from_dict
from keepscore.errors import VersionConflict
from keepscore.storage.ledgers.claims import Effect

__all__ = ["BoardRecord", "BoardStore", "check_version", "next_version", "record_of"]


class BoardRecord(NamedTuple):
    """A board as the ledger knows it: `id` is one life of the board, `version` counts the changes of its definition."""

    id: int
    version: int
    board: Board
    #: The version since which rankings mean the same.
    semantics_version: int


def check_version(current: BoardRecord | None, name: str, version: int | None) -> None:
    """Refuse a change that is meant for another version of a definition than the current one; None: for any."""
    found = 0 if current is None else current.version
    if version is not None and version != found:
        raise VersionConflict(f"board {name!r} is at version {found}, not {version}: read it again")


def next_version(old: BoardRecord, board: Board, same_meaning: bool) -> BoardRecord:
    """Return the record of a changed definition."""
    number = old.version + 1
    return BoardRecord(old.id, number, board, old.semantics_version if same_meaning else number)


def record_of(row: Sequence[Any]) -> BoardRecord:
    """Make a record from its row."""
    number, version, text, semantics_version = row
    return BoardRecord(number, version, board_from_dict(msgspec.json.decode(text)), semantics_version)


class BoardStore(ABC):
    """Definitions of boards, with all their versions. A given `effect` is kept in the same transaction."""

    @abstractmethod
    async def current(self) -> list[BoardRecord]:
        """Return the current definition of every board, by name."""

    @abstractmethod
    async def put(
        self,
        board: Board,
        same_meaning: bool,
        now: int,
        version: int | None = None,
        action: str = "put_board",
        effect: Effect | None = None,
    ) -> BoardRecord:
        """Record a definition: a new board, or the next version of the one with that name.

        Where a `version` is given and another is the current one by now, record nothing, and raise VersionConflict.
        """

    @abstractmethod
    async def delete(self, name: str, now: int, effect: Effect | None = None) -> None:
        """End a board's life. Its events stay, and a later board of that name does not have them."""

    @abstractmethod
    async def deleted(self) -> Mapping[int, int]:
        """Return the numbers of the boards whose life has ended, and the last semantics version of each."""
