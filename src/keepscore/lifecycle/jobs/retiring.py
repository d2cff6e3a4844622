"""Rankings of archived windows leave the engine some days after their end: they are read from their archives from then on.

A window's ranking is given its expiry when the window is archived: 8 days after its end, or what the board says (`ttl`). Which windows are
archived is noted in the ledger, so that every process knows what is not in the engine any more, whatever is backfilled.
"""

from __future__ import annotations

import asyncio
import secrets

from keepscore.caches import ByteCache, bytes_of
from keepscore.domain.boards import Board
from keepscore.domain.nouns import counted
from keepscore.lifecycle.jobs.base import SECOND_MS, Job
from keepscore.lifecycle.parts import JobParts
from keepscore.projection.archived_windows import ArchivedWindows, archived_windows
from keepscore.projection.live_boards import Catalog, LiveBoard
from keepscore.storage.engines.base import Ranking
from keepscore.storage.ledgers.base import Ledger
from keepscore.storage.ledgers.marks import ARCHIVED_VERSION, archived_ids

__all__ = ["Retiring", "brings_back", "learn_archived"]

#: Milliseconds after which a board is checked again if no window was closed.
LOOK_EVERY_MS = 3600 * SECOND_MS
#: What is remembered of the expiries that rankings have, in bytes.
GIVEN_BYTES = 16 << 20


async def learn_archived(ledger: Ledger, catalog: Catalog) -> None:
    """Take up which windows are archived, if that has changed. One query where it has not."""
    version = await ledger.marks.get(ARCHIVED_VERSION) or b""
    if version != catalog.archived_version:
        noted = await ledger.marks.archived_windows()
        catalog.archived = {live.id: archived_windows(live.board, noted[live.id]) for live in catalog if live.id in noted}
        catalog.archived_version = version


def brings_back(old: LiveBoard, board: Board) -> bool:
    """Return whether rankings that have left the engine are to be in it by another definition of their board."""
    archived = None if old.catalog is None else old.catalog.archived.get(old.id)
    new = LiveBoard(old.record._replace(board=board), old.catalog)
    gone = [Ranking(old.id, window, own, "") for window, ids in (archived.ids if archived else {}).items() for own in ids]
    return any(old.is_retired(ranking) and not new.is_retired(ranking) for ranking in gone)


class Retiring(Job):
    """Gives rankings of archived windows their expiry."""

    name = "retire"

    def __init__(self, parts: JobParts, defining: asyncio.Lock) -> None:
        super().__init__(parts)
        #: Held while a definition changes.
        self._defining = defining
        #: Up to which ends windows were closed when a board was looked at last, and when that was.
        self._looked: dict[int, tuple[dict[str, int], int]] = {}
        #: The expiries that were given to rankings.
        self._given: ByteCache[Ranking, int] = ByteCache(GIVEN_BYTES)

    def forget(self) -> None:
        self._looked.clear()
        self._given.clear()

    async def look(self, now: int) -> str:
        return await self._retire(now, [live for live in self.parts.catalog if self._is_due(live, now)])

    async def run(self, now: int) -> str:
        return await self._retire(now, list(self.parts.catalog))

    def _is_due(self, live: LiveBoard, now: int) -> bool:
        closed, looked = self._looked.get(live.id, ({}, 0))
        return closed != live.closed or not 0 <= now - looked < LOOK_EVERY_MS

    async def _retire(self, now: int, boards: list[LiveBoard]) -> str:
        done = 0
        for live in boards:
            closed = dict(live.closed)
            await self._note(live)
            done += await self._expire(live)
            self._looked[live.id] = closed, now
        if done:
            await self.parts.engine.expire(self.parts.clock())
        return f"set the expiry of {counted(done, 'ranking')} of archived windows" if done else ""

    async def _note(self, live: LiveBoard) -> None:
        """Note which windows of a board are archived. O(archives)."""
        ledger, catalog = self.parts.ledger, self.parts.catalog
        known = catalog.archived.get(live.id, ArchivedWindows({}, 0)).ids
        ids: dict[str, set[str]] = {}
        for window in live.board.archived_ms if live.closed else ():
            found = {
                archive.slot.window_id for archive in await ledger.archives.find(live.id, window, kind="closed") if not archive.slot.segment
            }
            if found:
                ids[window] = found
            if found and found != known.get(window):
                await ledger.identity.look_confirmed()
                await ledger.marks.put(archived_ids(live.id, window), found)
        if ids and known | ids != known:
            catalog.archived[live.id] = archived_windows(live.board, known | ids)
            catalog.archived_version = secrets.token_hex(8).encode()
            await ledger.marks.put(ARCHIVED_VERSION, catalog.archived_version)

    async def _expire(self, live: LiveBoard) -> int:
        """Give the rankings of archived windows that the engine has their expiry; return how many."""
        engine, catalog = self.parts.engine, self.parts.catalog
        async with self._defining:
            if catalog.get(live.name) is not live or live.id not in catalog.archived:
                return 0
            async with self.parts.write_pause:
                due = {ranking: live.retirement(ranking) for ranking in await engine.rankings(live.id)}
                due = {ranking: expiry for ranking, expiry in due.items() if expiry and self._given.get(ranking) != expiry}
                if due:
                    await engine.redefine(live.id, live.board, due)
        for ranking, expiry in due.items():
            self._given.put(ranking, expiry, bytes_of(expiry))
        return len(due)
