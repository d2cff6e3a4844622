"""Players' names, as the ledger has them, for readers."""

from __future__ import annotations

from keepscore.projection.stores import Stores
from keepscore.reading.reader import Reader

__all__ = ["Names"]

#: Milliseconds in which a name may be recorded after the moment that it was given.
DELAY_MS = 5000


class Names:
    """Brings names to one reader."""

    def __init__(self, stores: Stores, reader: Reader) -> None:
        self._ledger = stores.ledger
        self._clock = stores.clock
        self._reader = reader
        self._since = 0

    async def learn(self) -> None:
        """Take up names that were given since the last time."""
        learned = self._clock()
        changed = await self._ledger.players.recorded(self._since - DELAY_MS)
        self._since = learned
        for player, name in changed:
            self._reader.name(player, name)

    async def relearn(self) -> None:
        """Take up all names, and forget those that the ledger does not have."""
        self._reader.forget_names()
        self._since = 0
        await self.learn()
