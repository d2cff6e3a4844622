"""The role of a ledger that notes who did what."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

__all__ = ["AuditLog"]


class AuditLog(ABC):
    """What was done to boards, and by which process. Definitions are noted as they are recorded."""

    @abstractmethod
    async def note(self, action: str, board: str, detail: Mapping[str, object], now: int) -> None:
        """Note that this process did something to a board."""
