"""The role of a ledger that holds attempts: submissions that were refused, where a rule of their board counts them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Attempt", "AttemptStore"]


class Attempt(NamedTuple):
    """Refused submissions of a player to a board at one moment, in milliseconds, and how many."""

    board: int
    player: str
    at: int
    times: int


class AttemptStore(ABC):
    """Refused attempts, durable: how many at which moment, and nothing else of them."""

    @abstractmethod
    async def add(self, attempts: Sequence[Attempt]) -> None:
        """Record attempts, all or none; those of one moment add up."""

    @abstractmethod
    async def of_players(self, board_id: int, players: Sequence[str], since: int) -> list[Attempt]:
        """Return the attempts of some players on a board from a moment on."""

    @abstractmethod
    async def forget(self, before: int, limit: int) -> int:
        """Forget up to `limit` moments before a given one; return how many."""
