"""While the ledger is away: the engine keeps events beside the rankings, and they go into the ledger, in order, when it is back.

A writer that begins to spool takes on a number that the ledger has never seen in an event: whatever became of what it sent last under the
old one is settled like the events of a writer that is gone. The same goes for a group that the engine may or may not have kept: it may
do so yet, when a call that was given up gets through. What was sent under a number is never sent with another content.
"""

from __future__ import annotations

import logging
from itertools import groupby
from operator import attrgetter

from keepscore.errors import EngineUnavailable, LedgerUnavailable
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.stores import Stores
from keepscore.writing.identity import WriterIdentity
from keepscore.writing.ledger_watch import LedgerWatch
from keepscore.writing.spooled import CHUNK_ENTRIES, events_in
from keepscore.writing.write_pause import WritePause

__all__ = ["Spool"]

log = logging.getLogger(__name__)


class Spool:
    """The spool of the engine, and whether this process writes to it."""

    def __init__(self, stores: Stores, identity: WriterIdentity, watch: LedgerWatch) -> None:
        self._catalog, self._ledger, self._engine, self._clock = stores
        self._identity = identity
        self._watch = watch
        #: Whether this process spools; then the error that says why.
        self.reason: LedgerUnavailable | None = None

    def begin(self, reason: LedgerUnavailable) -> None:
        """Begin to spool, under another writer number."""
        if self._engine.spool is None or not self._identity.has_reserve or self._identity.is_unasked:
            raise reason
        log.warning("the ledger is down, submissions are kept in the engine: %s", reason)
        self.reason = reason
        self._identity.take_spare()

    def renew(self) -> None:
        """Go on under another writer number than one under which the engine was sent what it may or may not have kept."""
        # What is recorded under a number that the engine could not be asked about is looked after when it is back; what is spooled is not.
        if not self._identity.has_reserve or (self.reason is not None and self._identity.is_unasked):
            raise self.reason or LedgerUnavailable("there is no writer number in reserve: try again")
        self._identity.take_spare()

    async def end(self, write_pause: WritePause) -> bool:
        """Stop spooling; return whether the ledger has everything, or what is kept waits for an engine that went away meanwhile.

        Raise what keeps it from that.
        """
        await self._identity.fill_reserve()
        try:
            await self.drain()
            async with write_pause:
                await self.drain()
                self.reason = None
        except EngineUnavailable as exc:
            log.warning("the ledger is back; what the engine keeps for it is recorded when that is back, too: %s", exc)
            self.reason = None
            return False
        log.warning("the ledger is back, and has what the engine kept for it")
        return True

    async def drain(self) -> None:
        """Record what the engine keeps, in order. Safe to be done by several processes, and to be cut short."""
        if self._engine.spool is not None:
            for live in list(self._catalog):
                await self.drain_board(live)

    async def drain_board(self, live: LiveBoard) -> None:
        """Do the same for one board."""
        # What is lost before the first of its entries cannot be told afterwards.
        await self._watch.compare_if_doubted(live)
        spool = self._engine.spool
        while spool is not None and (entries := await spool.entries(live.id, CHUNK_ENTRIES)):
            events = [event for _, text in entries for event in events_in(text)]
            ordered = events if live.board.is_ordered else []
            # Where the order counts, the ledger gets it from the spool: what it takes at once has one number, and is ordered by writers.
            runs = [list(run) for _, run in groupby(ordered, key=attrgetter("writer"))] or [events]
            for run in runs:
                seq = await self._ledger.events.restore(run)
            if live.is_following:
                # Others may have changed profiles since these were planned.
                await self._ledger.players.unsettle(sorted({event.player for event in events}), self._clock())
            # Others may have recorded something meanwhile that was applied later and counts before these, or the other way round.
            needs_restate = {(ranking, event.player) for event in ordered for ranking in live.rankings_of(event)}
            await spool.drop(live.id, [name for name, _ in entries], needs_restate, seq)
