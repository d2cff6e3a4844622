"""The writer numbers of this process: the one that its events go under, and a reserve.

No number is ever used by two processes, whatever is restored: it must be new to the ledger and to the engine. An engine that does not
answer is asked later.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from keepscore.errors import EngineUnavailable
from keepscore.storage.engines.base import RankingEngine
from keepscore.storage.ledgers.base import Ledger

__all__ = ["WriterIdentity"]

#: Writer numbers in reserve, for absences of the ledger, and for failures of the engine meanwhile.
SPARE_NUMBERS = 4


class WriterIdentity:
    """Who this process is as a writer. `number` is the one that the ledger gave it when it was opened."""

    def __init__(self, number: int, ledger: Ledger, engine: RankingEngine, clock: Callable[[], int]) -> None:
        #: The writer number that events are recorded under from now on.
        self.number = number
        self._ledger = ledger
        self._engine = engine
        self._clock = clock
        self._spares: list[int] = []
        #: The highest writer number that this process has had.
        self._highest = 0
        #: Numbers that were given while the engine could not be asked whether it has seen them; and those that it turned out to have seen.
        self._unasked: set[int] = set()
        self.reused: set[int] = set()

    @property
    def is_unsure(self) -> bool:
        """Whether the engine may have seen a number of this process in use by another."""
        return bool(self._unasked or self.reused)

    @property
    def is_unasked(self) -> bool:
        """Whether the engine has yet to be asked about a number."""
        return bool(self._unasked)

    @property
    def has_reserve(self) -> bool:
        """Whether there is a number in reserve."""
        return bool(self._spares)

    async def make_unused(self) -> None:
        """Take another number where the engine has seen the present one in use. Only for the start."""
        try:
            if self.number <= await self._engine.highest_writer():
                self.number = await self._enlist()
                return
            await self._engine.note_writer(self.number)
        except EngineUnavailable:
            self._unasked.add(self.number)
        self._highest = self.number

    async def fill_reserve(self) -> None:
        """Keep writer numbers in reserve, where the engine can spool."""
        while self._engine.spool is not None and len(self._spares) < SPARE_NUMBERS:
            self._spares.append(await self._enlist())

    def take_spare(self) -> None:
        """Go on under a number of the reserve."""
        self.number = self._spares.pop()

    async def enlist(self) -> None:
        """Go on under a number that neither the ledger nor the engine, if that answers, has ever seen."""
        self.number = await self._enlist()

    async def _enlist(self) -> int:
        is_asked = False
        with suppress(EngineUnavailable):
            await self.ask_engine()
            self._highest = max(self._highest, await self._engine.highest_writer())
            is_asked = True
        number = self._highest = await self._ledger.writers.enlist(self._clock(), self._highest)
        self._unasked.add(number)
        if is_asked:
            with suppress(EngineUnavailable):
                await self._engine.note_writer(number)
                self._unasked.discard(number)
        return number

    async def ask_engine(self) -> None:
        """Ask about the numbers that were given while the engine was away."""
        if self._unasked:
            highest = await self._engine.highest_writer()
            await self._engine.note_writer(max(self._unasked))
            self.reused |= {number for number in self._unasked if number <= highest}
            self._spares = [number for number in self._spares if number not in self.reused]
            self._unasked.clear()

    async def knows_reserve(self) -> bool:
        """Return whether the ledger knows the numbers in reserve; where it does not, they are let go."""
        if self._spares and not await self._ledger.writers.knows(self._spares):
            self._spares.clear()
            return False
        return True
