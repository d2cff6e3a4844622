"""The role of a ledger that decides which of several processes does the jobs that one does for all."""

from __future__ import annotations

from abc import ABC, abstractmethod

__all__ = ["Leadership"]


class Leadership(ABC):
    """Who leads. At most one process does at a time."""

    @abstractmethod
    async def lead(self) -> bool:
        """Return whether this process is the leader. The first that asks becomes it, until it is gone."""
