"""Old events: once they are folded, and the configuration does not keep them, they are dropped, a month at a time.

What they have made is carried forward as the board's opening (`ledgers/openings.py`), so that every fold stays exact. Events go by the
month in which they came; of these, those stay whose time is not before that of some event which came later, so that all that remains is
later than what was folded. First the opening is announced: from then on, nothing earlier is taken. Where there are other processes, these
have a minute to learn of it. Then it is written, comes to count in one step, and what it covers is removed. Each step may be cut short.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from keepscore.domain.nouns import counted
from keepscore.domain.rollups import mark_of
from keepscore.domain.windows import FOREVER_MS
from keepscore.lifecycle.archiving import bring_together
from keepscore.lifecycle.jobs.base import SECOND_MS, Job
from keepscore.lifecycle.jobs.checkpoints import Checkpoints
from keepscore.lifecycle.jobs.closing import ends_around
from keepscore.lifecycle.parts import JobParts
from keepscore.lifecycle.retention import write_opening
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.openings import said
from keepscore.projection.rollups import part_window, parts_that_expire
from keepscore.storage.ledgers.marks import closed_until
from keepscore.storage.ledgers.openings import Opening
from keepscore.storage.pace import Pace

__all__ = ["Retention"]

#: Milliseconds for which an opening is announced before it is made, where other processes take scores.
ANNOUNCED_MS = 60 * SECOND_MS
#: States of old openings that are removed at a time.
CHUNK_STATES = 1000
#: What is worth it: one in so many of the events whose month is over.
WORTH_ONE_IN = 10


def month_of(moment: int) -> int:
    """Return the start of the month, in UTC, that holds a moment."""
    start = datetime.fromtimestamp(max(moment, 0) // 1000, UTC).replace(day=1, hour=0, minute=0, second=0)
    return round(start.timestamp()) * 1000


class _Waits(Exception):
    """Something has to happen first."""


class Retention(Job):
    """Folds and drops events that are older than the configuration wants."""

    name = "drop events"
    every = 3600 * SECOND_MS

    def __init__(self, parts: JobParts, defining: asyncio.Lock, checkpoints: Checkpoints) -> None:
        super().__init__(parts)
        self._checkpoints = checkpoints
        #: Held while a definition changes: what a board means must not do so while an opening comes to count.
        self._defining = defining
        #: Boards with nothing to drop, and up to which month.
        self._idle: dict[int, int] = {}

    def forget(self) -> None:
        self._idle.clear()

    async def look(self, now: int) -> str:
        return await self._drop(now, Pace())

    async def run(self, now: int) -> str:
        return await self._drop(now, Pace.without_pauses())

    async def _drop(self, now: int, pace: Pace) -> str:
        keep = self.parts.keep_events_ms
        if keep is None:
            return ""
        told = []
        lives = [live for live in list(self.parts.catalog) if not live.board.is_rollup]
        for live in lives:
            if live.board.rating is not None and live.board.rating.needs_past:
                # The next match goes by all matches that there were.
                continue
            try:
                await self._open(live, month_of(now - keep - live.board.grace_ms), now, pace)
            except _Waits as waits:
                told.append(f"{live.name} waits: {waits}")
        deleted = await self.parts.ledger.boards.deleted()
        for board, semantics_version in deleted.items():
            await self._close_books(board, semantics_version, month_of(now - keep), now)
        gone, months = await self._remove([*(live.id for live in lives), *deleted])
        if gone:
            told.insert(0, f"dropped {counted(gone, 'event')} from before {' and '.join(sorted(months))}")
        return "; ".join(told)

    # -- openings -------------------------------------------------------------------------------------------------------

    async def _open(self, live: LiveBoard, until: int, now: int, pace: Pace) -> None:
        """Make the opening that covers what came before a month, unless it is there, or something has to happen first."""
        ledger = self.parts.ledger
        known = await ledger.openings.current(live.id)
        if self._idle.get(live.id) == until or (known is not None and known.received >= until):
            return
        opening = await ledger.openings.announced(live.id)
        await self._check_closed(live, until if opening is None else opening.received)
        await self._check_checkpoint(live, {})
        if opening is None:
            at = await self._earliest(live, until)
            came, covered = await ledger.retention.count(live.id, at, until, known)
            if not covered or covered * WORTH_ONE_IN < came:
                # What stands in the way goes when its month is due.
                self._idle[live.id] = until
                return
            opening = await self._announce(live, at, until)
        if self.parts.is_shared and self.parts.clock() - opening.announced < ANNOUNCED_MS:
            raise _Waits(f"it no longer takes scores from before {said(opening.at)}, and waits until all processes know")
        if await self._earliest(live, opening.received) < opening.at:
            # It came when that was not known everywhere.
            await self._announce(live, await self._earliest(live, opening.received), opening.received)
            raise _Waits("scores with earlier times came in")
        await self._make(live, now, pace)

    async def _check_closed(self, live: LiveBoard, until: int) -> None:
        """See that nothing but an opening will be asked for what is dropped: windows are closed, and roll-ups need no dropped rankings."""
        ledger = self.parts.ledger
        for window in live.board.periods:
            end, _ = ends_around(live.board, window, until)
            mark = await ledger.marks.get(closed_until(live.id, window)) or 0
            if mark < end and (await ledger.events.first_time(live.id) or FOREVER_MS) < end:
                raise _Waits(f"its {window} windows are not all closed up to {said(end)}")
        for target in self.parts.catalog.rollups(live):
            if live.name in parts_that_expire(target):
                raise _Waits(f"its {part_window(target)} rankings expire, and {target.name} is made from their events")

    async def _check_checkpoint(self, live: LiveBoard, positions: dict[int, int]) -> None:
        """See that the board's last checkpoint, and the engine, include the events up to some positions."""
        if not await self._is_checkpointed(live, positions):
            await self._checkpoints.checkpoint_in_turn()
            if not await self._is_checkpointed(live, positions):
                raise _Waits("there is no checkpoint yet that includes the events")
        watermarks = {mark_of(live.id, writer): n for writer, n in positions.items()}
        for other in [live, *self.parts.catalog.rollups(live)]:
            if not _includes(await self.parts.engine.applied(other.id) or {}, positions if other is live else watermarks):
                raise _Waits(f"the engine has not applied all of them on {other.name}")

    async def _is_checkpointed(self, live: LiveBoard, positions: dict[int, int]) -> bool:
        points = await self.parts.ledger.checkpoints.latest(live.id)
        return bool(points) and points[0].semantics_version == live.semantics_version and _includes(points[0].positions, positions)

    async def _announce(self, live: LiveBoard, at: int, until: int) -> Opening:
        """Take no more scores of before `at`, as events of then are to be dropped."""
        async with self.parts.write_pause:
            opening = await self.parts.ledger.openings.announce(live.id, at, until, self.parts.clock())
            self.parts.catalog.accepts_from[live.id] = at
        return opening

    async def _earliest(self, live: LiveBoard, until: int) -> int:
        """Return the earliest time of what came since a month began, in whole steps of the board; not later than that month itself."""
        found = await self.parts.ledger.retention.earliest_since(live.id, until)
        at = until if found is None else min(found, until)
        return at - at % live.board.resolution_ms

    async def _make(self, live: LiveBoard, now: int, pace: Pace) -> None:
        """Fold what the opening that is announced covers, and let it count."""
        ledger = self.parts.ledger
        await bring_together(self.parts, live)
        begun = await ledger.openings.begin(live.id)
        if begun is None:
            # Another process has just finished it.
            return
        await self._trim(live.id)
        opening = await write_opening(ledger, live, begun, now, pace)
        await self._check_checkpoint(live, opening.positions)
        detail = {"id": live.id, "at": opening.at, "received": opening.received, "events": opening.events}
        if self._defining.locked():
            raise _Waits("a definition is being changed")
        async with self._defining:
            await ledger.audit.note("drop_events", live.name, detail, now)
            if self.parts.catalog.get(live.name) is not live or not await ledger.openings.finish(opening, live.semantics_version):
                raise _Waits("its definition has changed in the meantime")

    async def _close_books(self, board: int, semantics_version: int, until: int, now: int) -> None:
        """Let nothing be left of a deleted board's events."""
        ledger = self.parts.ledger
        known = await ledger.openings.current(board)
        if (known is None or known.received < until) and (await ledger.retention.count(board, 0, until, known))[0]:
            opening = await ledger.openings.announce(board, FOREVER_MS, until, now)
            await ledger.openings.finish(opening._replace(positions=await ledger.events.positions(board)), semantics_version)

    # -- events ---------------------------------------------------------------------------------------------------------

    async def _remove(self, boards: list[int]) -> tuple[int, set[str]]:
        """Remove what openings cover; answer how many events that were, and the months before which they came."""
        ledger = self.parts.ledger
        gone, months = 0, set()
        for board in boards:
            opening = await ledger.openings.current(board)
            if opening is not None and not opening.removed:
                async for count in ledger.retention.remove(opening):
                    gone += count
                    months.add(said(opening.received)[:7])
                await self._trim(board)
                await ledger.retention.finish(opening)
        return gone, months

    async def _trim(self, board: int) -> None:
        while await self.parts.ledger.openings.trim(board, CHUNK_STATES):
            pass


def _includes(positions: dict[int, int], wanted: dict[int, int]) -> bool:
    return all(positions.get(writer, 0) >= n for writer, n in wanted.items())
