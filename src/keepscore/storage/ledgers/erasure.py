"""The role of a ledger that lets go of a person: rows keep their scores under a pseudonym, or are removed.

A board is renamed in one transaction, and the note that says so is kept in it: whoever goes on after a crash knows which boards are left.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from keepscore.domain.erasure import Renaming

__all__ = ["BoardErasure", "ErasureStore", "KeptAnswer", "changed_answer"]


class BoardErasure(NamedTuple):
    """What is renamed on one board: the player, in events of `others` that name the player, too; and the note to keep with that."""

    board: int
    who: Renaming
    others: Sequence[str]
    #: The name of a mark, and its value.
    note: tuple[str, bytes]


class KeptAnswer(NamedTuple):
    """An idempotency key whose row names a player."""

    kind: str
    target: str
    key: str
    answer: bytes | None


def changed_answer(row: KeptAnswer, who: Renaming) -> bytes | None:
    """Return the answer to keep for retries, or None where the row has to go: its name has the id, or it is about the profile."""
    if row.target == who.player or who.player in row.key or row.answer is None:
        return None
    try:
        return msgspec.json.encode(who.renamed(msgspec.json.decode(row.answer)))
    except msgspec.DecodeError:
        return None


class ErasureStore(ABC):
    """Lets go of persons, durably."""

    @abstractmethod
    async def boards(self) -> list[int]:
        """Return the numbers of all boards that there have ever been."""

    @abstractmethod
    async def knows(self, player: str) -> bool:
        """Return whether anything but events, rankings and answers names a player."""

    @abstractmethod
    async def has_archived(self, board_id: int, player: str) -> bool:
        """Return whether archives or states of a board name a player."""

    @abstractmethod
    async def rewards_due(self, player: str) -> int:
        """Return how many rewards of a player are on their way."""

    @abstractmethod
    async def rename(self, erasure: BoardErasure) -> None:
        """Put a pseudonym in the place of a player on a board, in one step."""

    @abstractmethod
    async def tidy(self, board_id: int, who: Renaming) -> None:
        """Rename or drop what was copied from an engine that still had the player, who has no events on a board any more."""

    @abstractmethod
    async def forget(self, who: Renaming) -> None:
        """Remove a player's profile, friends and tries of codes, and the player from answers that are kept for retries."""
