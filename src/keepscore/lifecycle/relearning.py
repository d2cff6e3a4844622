"""What this process knows from a ledger that came back, and may be older than it was: taken up again."""

from __future__ import annotations

from keepscore.lifecycle.definitions import Definitions
from keepscore.reading.cards import Cards

__all__ = ["Relearning"]


class Relearning:
    """The writer calls it (`writing.protocols.LedgerReturn`) when another ledger may have taken the place of the last."""

    def __init__(self, definitions: Definitions, cards: Cards) -> None:
        self._definitions = definitions
        self._cards = cards

    async def relearn(self) -> bool:
        """Take up the ledger's definitions; return whether they are others. Only for who holds the writer."""
        return await self._definitions.relearn()

    async def forget_lost(self) -> None:
        """Forget names that the ledger has lost."""
        await self._cards.relearn()
