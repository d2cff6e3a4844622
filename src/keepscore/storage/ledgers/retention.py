"""The role of a ledger that drops old events.

What is left of them is an opening (`openings.py`): it counts first, and then the events that it covers are removed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator

from keepscore.storage.ledgers.openings import Opening

__all__ = ["EventRemoval"]


class EventRemoval(ABC):
    """What has to be known of old events before they go, and how they go."""

    @abstractmethod
    async def earliest_since(self, board_id: int, received: int) -> int | None:
        """Return the earliest time of a board's events that came at a moment or later. O(those)."""

    @abstractmethod
    async def count(self, board_id: int, at: int, received: int, beyond: Opening | None) -> tuple[int, int]:
        """Count a board's events that came before a moment, and those among them whose time is before `at`. O(those).

        Events that the opening before covers, and that are not gone yet, do not count.
        """

    @abstractmethod
    def remove(self, opening: Opening) -> AsyncIterator[int]:
        """Remove what an opening that counts covers, in steps between which others get their turn; yield how many each step removed.

        It may be cut short, and done again. Covered events of other boards may go with it.
        """

    @abstractmethod
    async def finish(self, opening: Opening) -> None:
        """Note that nothing is left of what an opening covers."""
