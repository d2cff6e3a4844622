"""While the ledger is away: the engine keeps events beside the rankings, and they go into the ledger, in order, when it is back.

A writer that begins to spool takes on a number that the ledger has never seen in an event: whatever became of what it sent last under the
old one is settled like the events of a writer that is gone. The same goes for a group that the engine may or may not have kept: it may
do so yet, when a call that was given up gets through. What was sent under a number is never sent with another content.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

import msgspec

from keepscore.catalog import Catalog, LiveBoard
from keepscore.engines.base import RankingEngine
from keepscore.errors import EngineUnavailable, LedgerUnavailable
from keepscore.ledgers.base import Ledger
from keepscore.quiet import Quiet
from keepscore.scoring import Event

__all__ = ["Spool", "packed"]

#: Writer numbers that are kept in reserve, for absences of the ledger, and for failures of the engine meanwhile.
SPARES = 4
#: Entries of the spool that go into the ledger at a time.
CHUNK = 100

log = logging.getLogger(__name__)
_decoder = msgspec.json.Decoder(list[Event])


def packed(events: Iterable[Event]) -> str:
    """Events as a spool keeps them."""
    return msgspec.json.encode(list(events)).decode()


class Spool:
    """The spool of the engine, and whether this process writes to it."""

    def __init__(self, catalog: Catalog, ledger: Ledger, engine: RankingEngine) -> None:
        self._catalog = catalog
        self._ledger = ledger
        self._engine = engine
        self._spares: list[int] = []
        #: Whether this process spools; then the error that says why.
        self.reason: LedgerUnavailable | None = None

    async def prepare(self, now: int) -> None:
        """Keep writer numbers in reserve, where the engine can spool."""
        while self._engine.spools and len(self._spares) < SPARES:
            self._spares.append(await self._ledger.enlist(now))

    def begin(self, reason: LedgerUnavailable) -> int:
        """Begin to spool; the answer is the writer number to use from now on."""
        if not self._engine.spools or not self._spares:
            raise reason
        log.warning("the ledger is away, submissions are kept in the engine: %s", reason)
        self.reason = reason
        return self._spares.pop()

    def renew(self) -> int:
        """Another writer number, in the place of one under which the engine was sent what it may or may not have kept."""
        if not self._spares:
            raise self.reason or LedgerUnavailable("there is no writer number in reserve: try again")
        return self._spares.pop()

    async def end(self, quiet: Quiet, now: int) -> bool:
        """Stop spooling; answer whether the ledger has everything, or what is kept waits for an engine that went away meanwhile.

        Raises what keeps it from that. Nobody waits for a ledger that is away.
        """
        await self._ledger.probe(now)
        await self.prepare(now)
        try:
            await self.drain()
            async with quiet:
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
        if self._engine.spools:
            for live in list(self._catalog):
                await self.drain_board(live)

    async def drain_board(self, live: LiveBoard) -> None:
        """The same for one board."""
        while entries := await self._engine.spooled(live.id, CHUNK):
            events = [event for _, text in entries for event in _decoder.decode(text)]
            await self._ledger.restore(events)
            await self._engine.unspool(live.id, [name for name, _ in entries])
