"""The role of a ledger that holds what is known of players beside their scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from keepscore.storage.ledgers.claims import Effect

__all__ = ["PlayerRecord", "PlayerStore"]


class PlayerRecord(NamedTuple):
    """What is known about a player besides scores."""

    player: str
    name: str | None


class PlayerStore(ABC):
    """Names of players. A given `effect` is kept in the same transaction."""

    @abstractmethod
    async def recorded(self, since: int = 0) -> list[PlayerRecord]:
        """Return all players that were recorded at a moment or later. O(those)."""

    @abstractmethod
    async def put(self, record: PlayerRecord, now: int, effect: Effect | None = None) -> None:
        """Record what is known of a player."""
