"""Snapshots: the standings of a window while it goes on, at the times that its definition names."""

from __future__ import annotations

from keepscore.domain.schedules import last_moment
from keepscore.domain.windows import span_at
from keepscore.lifecycle.archiving import ArchiveRequest, Series, archive_snapshot, bring_together
from keepscore.lifecycle.jobs.base import SECOND_MS, Job
from keepscore.lifecycle.parts import JobParts
from keepscore.projection.live_boards import LiveBoard
from keepscore.storage.ledgers.marks import snapshot_taken
from keepscore.storage.ledgers.slots import Slot

__all__ = ["ScheduledSnapshots"]

#: A snapshot that is taken later than this is one of the moment when it is taken, and says so.
LATE_MS = 300 * SECOND_MS


class ScheduledSnapshots(Job):
    """Takes the snapshot of the last scheduled moment that has passed. Those that were missed before it are not made up."""

    name = "snapshot"

    def __init__(self, parts: JobParts) -> None:
        super().__init__(parts)
        #: The last moment with a snapshot, by board and window.
        self._taken: dict[tuple[int, str], int] = {}
        #: The last scheduled moment, worked out once a minute.
        self._moments: dict[tuple[int, int, str], tuple[int, int | None]] = {}

    def forget(self) -> None:
        self._taken.clear()

    async def look(self, now: int) -> str:
        return await self._snapshots(now, made_up=False)

    async def run(self, now: int) -> str:
        return await self._snapshots(now, made_up=True)

    async def _snapshots(self, now: int, made_up: bool) -> str:
        taken = []
        for live in list(self.parts.catalog):
            for window, fields in live.board.periods.items():
                if fields.snapshot is not None and await self._snapshot(live, window, fields.snapshot, now, made_up):
                    taken.append(f"{live.name} {window}")
        return f"snapshots of {', '.join(taken)}" if taken else ""

    async def _snapshot(self, live: LiveBoard, window: str, schedule: str, now: int, made_up: bool) -> bool:
        moment = self._last_moment(live, window, schedule, now)
        last = 0 if moment is None else await self._last(live, window)
        if moment is None or moment <= last:
            return False
        needs_restate = now - moment > LATE_MS
        if needs_restate and not last and not made_up:
            # The schedule is younger than its last moment, as far as anybody knows: it begins with the next.
            return False
        span = span_at(live.board, window, moment)
        found = False
        if span is not None:
            ledger, engine = self.parts.ledger, self.parts.engine
            await bring_together(self.parts, live)
            taken = now if needs_restate else moment
            series = Series("snapshot", moment // 1000, taken, taken)
            done = {a.slot for a in await ledger.archives.find(live.id, window, span.id, "snapshot") if a.number == series.number}
            rankings = [ranking for ranking in await engine.rankings(live.id) if ranking[1:3] == (window, span.id)]
            for ranking in sorted(rankings, key=lambda ranking: (not ranking.segment, ranking)):
                if Slot(*ranking[1:]) not in done:
                    await archive_snapshot(ledger, engine, ArchiveRequest(live, ranking, series))
            found = bool(rankings)
        await self.parts.ledger.identity.look_confirmed()
        await self.parts.ledger.marks.put(snapshot_taken(live.id, window), moment)
        self._taken[live.id, window] = moment
        return found

    def _last_moment(self, live: LiveBoard, window: str, schedule: str, now: int) -> int | None:
        name, minute = (live.id, live.version, window), now // (60 * SECOND_MS)
        known = self._moments.get(name)
        if known is None or known[0] != minute:
            known = self._moments[name] = minute, last_moment(live.board, schedule, now)
        return known[1]

    async def _last(self, live: LiveBoard, window: str) -> int:
        known = self._taken.get((live.id, window))
        if known is None:
            kept = await self.parts.ledger.marks.get(snapshot_taken(live.id, window))
            known = self._taken[live.id, window] = kept or 0
        return known
