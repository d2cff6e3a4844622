"""The numbers of this process's events, and whether the ledger has what was recorded under them.

An event is `(board, writer, n)`, and none of these is ever used twice: where the ledger came back older, the process goes on as another
writer.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from contextlib import suppress

from keepscore.domain.scoring import Event
from keepscore.errors import EngineUnavailable, LedgerReplaced
from keepscore.projection.rollups import positions_of
from keepscore.writing.parts import WriteParts
from keepscore.writing.protocols import LedgerReturn

__all__ = ["Numbers"]

#: The part of a roll-up's mark that is the number of the writer.
WRITER = 0xFFFFFFFF

log = logging.getLogger(__name__)


class Numbers:
    """How far one writer is. `Identity` has its number."""

    def __init__(self, parts: WriteParts, returned: LedgerReturn) -> None:
        self._catalog, self._ledger, self._engine, self._clock = parts.stores
        self._identity = parts.identity
        self._healing = parts.healing
        self._behind = parts.behind
        self._spool = parts.spool
        self._watch = parts.watch
        self._retries = parts.retries
        #: Takes up what a ledger says that came back.
        self._returned = returned
        #: The number of this writer's last recorded event on each board.
        self.counts: dict[int, int] = {}
        #: Whether it is not known if the last group was recorded.
        self.unsure = False
        #: Whether the engine may or may not have kept a group under the present number, or may do so yet.
        self.spent = False

    def count(self, events: Iterable[Event]) -> None:
        """Count events that were recorded, or are kept for the ledger."""
        for event in events:
            self.counts[event.board] = event.n

    def restart(self) -> None:
        """Count from the start: the process goes on under a number that was never used."""
        self.counts = {}
        self.unsure = self.spent = False

    async def meet_ledger(self, is_alone: bool) -> None:
        """See that the ledger is the one that this process knows, and what it has. `is_alone`: no group is being applied."""
        if self._identity.is_unsure:
            if not is_alone:
                raise LedgerReplaced("a group that is being applied comes first")
            await self.meet_engine()
        if self.unsure:
            await self._ledger.identity.look()
        if not self._ledger.identity.is_confirmed:
            if not is_alone:
                raise LedgerReplaced("a group that is being applied comes first")
            await self.reconcile()
        if self.unsure:
            await self._settle_outcome()

    async def meet_engine(self) -> None:
        """See that the engine has not seen numbers of this process in use that were given while it was away. For who holds the writer.

        A ledger that came back older at the same time has forgotten who had them: what is recorded under them since, the engine takes for
        what it has applied already.
        """
        with suppress(EngineUnavailable):
            await self._identity.ask_engine()
        reused = self._identity.reused
        if not reused:
            return
        if self._identity.number in reused:
            await self._enlist()
        for live in self._catalog:
            if reused & {mark & WRITER for mark in await positions_of(self._ledger, live)}:
                log.error("events of board %r have numbers of events that the ledger has lost: it is rebuilt", live.name)
                self._watch.distrust(live)
                await self._engine.disown(live.id)
        self._identity.reused = set()

    async def reconcile(self) -> None:
        """Go on with a ledger that may be older than it was, whatever it has lost. For who holds the writer, with nothing on its way."""
        incarnation = self._ledger.identity.incarnation
        is_older = await self._returned.relearn()
        if not await self._identity.knows_reserve() or not await self._has_events():
            is_older = True
            await self._enlist()
            if not self._engine.is_shared:
                # What was on its way under the old number may be in the ledger, and not in the engine.
                for live in self._catalog:
                    self._watch.distrust(live)
        await self._identity.fill_reserve()
        self._watch.doubt_all()
        with suppress(EngineUnavailable):
            # Else the keeper does it when the engine is back.
            await self._watch.compare_doubted()
        if is_older or self._watch.wrong():
            self._retries.forget()
            await self._returned.forget_lost()
        self._ledger.identity.confirmed = incarnation

    async def _enlist(self) -> None:
        await self._identity.enlist()
        self.restart()

    async def _has_events(self) -> bool:
        """Return whether the ledger has all that was recorded under the present number."""
        number = self._identity.number
        if not await self._ledger.writers.knows([number]):
            return False
        if self._spool.reason is not None:
            # What is counted is kept for the ledger.
            return True
        return all([(await self._ledger.events.positions(board)).get(number, 0) >= n for board, n in self.counts.items()])

    async def _settle_outcome(self) -> None:
        """Find out how far this writer's events are recorded, after an append that ended in an error, and apply those."""
        for live in self._catalog:
            last = (await self._ledger.events.positions(live.id)).get(self._identity.number, 0)
            # After a reconnect, it may be an older one.
            self._ledger.identity.check_confirmed()
            if last < self.counts.get(live.id, 0):
                await self.reconcile()
                return
            if last != self.counts.get(live.id, 0):
                self.counts[live.id] = last
                try:
                    await self._healing.ensure(live, last)
                except EngineUnavailable:
                    # That it is recorded is known, and the watermark says the rest.
                    self._behind.add(live, self._clock())
        self.unsure = False
