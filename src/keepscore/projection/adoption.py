"""Definitions that other processes have made: taken up once the engine has the rankings, or built here where nobody else does."""

from __future__ import annotations

import logging

from keepscore.projection.changes import Changes
from keepscore.projection.homes import promote
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.load import load_engine
from keepscore.projection.stores import Stores

__all__ = ["Adoption"]

#: Milliseconds after which a process builds rankings itself that another one was to build.
BUILD_TAKEOVER_MS = 30_000

log = logging.getLogger(__name__)


class Adoption:
    """Brings the catalog of one process up to date with the definitions of the ledger."""

    def __init__(self, stores: Stores, changes: Changes) -> None:
        self._catalog, self._ledger, self._engine, self._clock = stores
        self._changes = changes
        #: Definitions whose rankings are not there yet, and since when.
        self._missing: dict[tuple[int, int], int] = {}

    async def adopt(self, abandoned: str | None = None) -> bool:
        """Take up what other processes have defined; return whether there was something. Only for who holds the writer.

        Nobody else builds the rankings of a board that is `abandoned`. O(boards).
        """
        records = {record.id: record for record in await self._ledger.boards.current()}
        changed = False
        for live in [live for live in self._catalog if live.id not in records]:
            self._catalog.remove(live.name)
            changed = True
        for record in records.values():
            known = self._catalog.get(record.board.name)
            if known is not None and (known.id, known.version) == record[:2]:
                continue
            since = self._missing.setdefault(record[:2], self._clock())
            if await self._engine.adopt(record.id, record.board):
                self._catalog.put(record)
                changed = True
            elif record.board.name == abandoned or self._clock() - since > BUILD_TAKEOVER_MS:
                log.warning("the rankings of board %r are built here: the process that defined it has not", record.board.name)
                live = LiveBoard(record, self._catalog)
                await load_engine(self._ledger, self._engine, live)
                await promote(self._ledger, self._engine, live)
                self._catalog.put(record)
                changed = True
            else:
                continue
            # Another task may have learned of it meanwhile.
            self._missing.pop(record[:2], None)
        if changed:
            self._changes.announce()
        return changed
