"""The role of a ledger that says which ledger it is.

A ledger may come back older than it was: a restored backup, or a replica that lagged and was made the primary. Whoever writes has to
notice before anything more is written. So a ledger counts how often it may have been exchanged, and takes no events and no checkpoints
until somebody has compared it with what is known, and confirms it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar

from keepscore.errors import LedgerReplaced

__all__ = ["Identity"]

#: The incarnation that the present task works on, if it says so: what it has read there may be wrong in any other.
_pinned: ContextVar[int | None] = ContextVar("pinned", default=None)


class Identity(ABC):
    """Which ledger it is that answers, as far as this process can tell."""

    #: Changes whenever the ledger may have lost data: connected again, or another file lies in its place.
    incarnation = 0
    #: The incarnation that was compared with what this process and the engine know.
    confirmed = 0

    @property
    def is_confirmed(self) -> bool:
        """Return whether nothing speaks against writing."""
        return self.incarnation == self.confirmed

    def check_confirmed(self) -> None:
        """Raise LedgerReplaced where the ledger may be another than the confirmed one."""
        if self.incarnation != self.confirmed or _pinned.get() not in (None, self.incarnation):
            raise LedgerReplaced("the ledger was reconnected, and is compared with the rankings first: try again")

    async def look_confirmed(self) -> None:
        """Look, and raise LedgerReplaced where the ledger may be another than the confirmed one."""
        await self.look()
        self.check_confirmed()

    @asynccontextmanager
    async def pinned(self) -> AsyncIterator[None]:
        """Let this task write nothing that has to be confirmed into another ledger than the one that is there now.

        For whoever reads rankings and events, and writes what follows from them. Raise LedgerReplaced where the ledger is not confirmed.
        """
        await self.look_confirmed()
        token = _pinned.set(self.incarnation)
        try:
            yield
        finally:
            # A task that is dropped where it waits comes to its end in the context of another.
            with suppress(ValueError):
                _pinned.reset(token)

    @abstractmethod
    async def look(self) -> None:
        """See whether the ledger is still the one that it was, where that costs little, and else connect to the one that is there.

        Raise LedgerAway where there is none.
        """
