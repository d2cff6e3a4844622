"""The role of a ledger that knows which players have sent scores from an address, by its mark (`domain.addresses`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["AddressStore", "SeenAddress"]


class SeenAddress(NamedTuple):
    """A player who has sent a score to a board from an address, and when last (milliseconds)."""

    board: int
    address: str
    player: str
    last: int


class AddressStore(ABC):
    """Players by address, durable."""

    @abstractmethod
    async def add(self, seen: Sequence[SeenAddress]) -> None:
        """Note players, all or none."""

    @abstractmethod
    async def players(self, board_id: int, address: str, limit: int) -> list[str]:
        """Return up to `limit` players who have sent scores to a board from an address, by id."""

    @abstractmethod
    async def forget(self, before: int, limit: int) -> int:
        """Forget up to `limit` players who were last seen before a moment; return how many."""
