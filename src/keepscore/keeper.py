"""Lifecycle jobs: checkpoints, and rankings whose time has come. Every job may be cut short and done again."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from itertools import count, islice
from operator import itemgetter

from keepscore.applier import Applier
from keepscore.catalog import Catalog, LiveBoard
from keepscore.engines.base import Dirty, InProcessEngine, RankingEngine
from keepscore.errors import KeepscoreError
from keepscore.ledgers.base import Checkpoint, Ledger, Slot
from keepscore.replay import fold_for_checkpoint
from keepscore.scoring import State
from keepscore.writer import Writer

__all__ = ["Keeper"]

#: Events after which a checkpoint is due: the most that a start has to fold in.
CHECKPOINT_EVENTS = 200_000
#: States that one transaction of a checkpoint writes, so that submissions get their turn between two.
CHUNK = 1000
#: Seconds between two looks at what is due, and between two tries of what failed.
PAUSE = 1.0
#: Rounds between two checkpoints of rankings that are elsewhere, and while they cannot be reached.
CHECKPOINT_ROUNDS, CHECKPOINT_ROUNDS_AWAY = 30, 2
#: Rounds between two looks for what an engine elsewhere has dropped.
TIDY = 60
#: Milliseconds after which a writer that gets no further with what it has recorded is taken for dead.
GAP_MS = 3000

log = logging.getLogger(__name__)


class Keeper:
    """Does the jobs of one process."""

    def __init__(
        self, catalog: Catalog, ledger: Ledger, engine: RankingEngine, applier: Applier, writer: Writer, clock: Callable[[], int]
    ) -> None:
        self._catalog = catalog
        self._ledger = ledger
        self._engine = engine
        self._applier = applier
        self._writer = writer
        self._clock = clock
        #: The first checkpoint of the series that each board's states are in.
        self._bases: dict[int, int] = {}
        #: How often each board was loaded: a checkpoint under way while that happens is not the new rankings'.
        self._loads: dict[int, int] = {}
        self._checkpointed = 0
        self._failure = ""
        #: Board, writer and position of those that have recorded more than is applied, and since when.
        self._gaps: dict[tuple[int, int, int], int] = {}
        #: Called to take up what other processes have changed, where there may be others.
        self.refresh: Callable[[], Awaitable[None]] | None = None
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def rests_on(self, live: LiveBoard, checkpoint: Checkpoint | None) -> None:
        """A board was loaded from a checkpoint, or (None) from all of its events, and the next checkpoint is to hold everything."""
        self._loads[live.id] = self._loads.get(live.id, 0) + 1
        self._bases.pop(live.id, None)
        if checkpoint is not None:
            self._bases[live.id] = checkpoint.base

    def start(self) -> None:
        """Begin to look after things."""
        self._task = asyncio.get_running_loop().create_task(self._run(), name="keepscore-keeper")

    async def stop(self) -> None:
        """Finish the job under way, leave a checkpoint for the next start, and stop."""
        if self._task is not None:
            self._stopping.set()
            await self._task
            if isinstance(self._engine, InProcessEngine):
                await self._do(self.checkpoint())

    async def _run(self) -> None:
        for round_ in count():
            if self._stopping.is_set():
                return
            shared = not isinstance(self._engine, InProcessEngine)
            together = True
            if shared and self.refresh is not None:
                await self._do(self.refresh())
            if shared:
                together = await self._do(self._writer.catch_up()) and await self._do(self.close_gaps())
            # An engine elsewhere drops what is due by itself, and is only tidied up.
            if not shared or round_ % TIDY == 0:
                await self._do(self._engine.expire(self._clock()))
            fresh = isinstance(self._engine, InProcessEngine) and any(live.id not in self._bases for live in self._catalog)
            # Without an engine the checkpoint is what readers get.
            due = shared and round_ % (CHECKPOINT_ROUNDS if together else CHECKPOINT_ROUNDS_AWAY) == 1
            if fresh or due or self._writer.recorded - self._checkpointed >= CHECKPOINT_EVENTS:
                await self._do(self.checkpoint())
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), PAUSE)

    async def _do(self, job: Awaitable[None]) -> bool:
        """Do a job; answer whether it was done."""
        try:
            await job
            return True
        except KeepscoreError as exc:
            # Once, not every second.
            if self._failure != str(exc):
                log.warning("a job of the keeper failed: %s", exc)
            self._failure = str(exc)
        except Exception:
            log.exception("a job of the keeper failed")
        return False

    async def close_gaps(self) -> None:
        """Apply what a writer that is no more has recorded and not applied. Whoever is alive gets there by itself."""
        now = self._clock()
        for live in self._catalog:
            applied = await self._engine.applied(live.id)
            recorded = await self._ledger.positions(live.id) if applied is not None else {}
            behind = {(live.id, writer, n): now for writer, last in recorded.items() if (n := (applied or {}).get(writer, 0)) < last}
            since = {gap: self._gaps.get(gap, now) for gap in behind}
            self._gaps = {gap: when for gap, when in self._gaps.items() if gap[0] != live.id} | since
            if any(now - when >= GAP_MS for when in since.values()):
                log.warning("board %r: events of a writer that is gone are applied", live.name)
                await self._applier.catch_up(live)

    async def checkpoint(self) -> None:
        """Bring the ledger's checkpoint of every board up to date. O(states changed since the last)."""
        engine = self._engine
        self._checkpointed = self._writer.recorded
        if not isinstance(engine, InProcessEngine):
            await self._checkpoint_from_ledger()
            return
        for name in [live.name for live in self._catalog]:
            pruned = self._catalog.get(name)
            if pruned is not None and pruned.board.keep_top is not None:
                # The engine does not have all that the checkpoint is to hold.
                await engine.dirty(pruned.id)
                await self._checkpoint_board_from_ledger(pruned)
                continue
            async with self._writer.quiet:
                # Looked up again: definitions change and boards go while others are checkpointed.
                live = self._catalog.get(name)
                # Players who are not right yet would be kept as they are.
                dirty = await engine.dirty(live.id) if live and not await engine.late(live.id) else None
            if live and dirty and (dirty.states or dirty.dropped or live.id not in self._bases):
                await self._checkpoint(engine, live, dirty)

    async def _checkpoint_from_ledger(self) -> None:
        """The same where the rankings are elsewhere, and many processes change them: from the events since the last checkpoint."""
        if not await self._ledger.lead():
            return
        for live in list(self._catalog):
            await self._checkpoint_board_from_ledger(live)

    async def _checkpoint_board_from_ledger(self, live: LiveBoard) -> None:
        dirty, point = await fold_for_checkpoint(self._ledger, live, self._clock())
        self._bases.pop(live.id, None)
        if point is not None:
            self._bases[live.id] = point.base
        if point is None or dirty.states or dirty.dropped:
            self._bases[live.id] = await self._write_checkpoint(live, dirty)

    async def _checkpoint(self, engine: InProcessEngine, live: LiveBoard, dirty: Dirty) -> None:
        loads = self._loads.get(live.id)
        try:
            base = await self._write_checkpoint(live, dirty)
        except BaseException:
            # What was taken out of the engine's list of changes is in no checkpoint: the next has to hold everything.
            if self._catalog.get(live.name):
                await engine.touch(live.id)
                self._bases.pop(live.id, None)
            raise
        if self._loads.get(live.id) == loads:
            self._bases[live.id] = base

    async def _write_checkpoint(self, live: LiveBoard, dirty: Dirty) -> int:
        """Write what changed; answer the base of the series that the checkpoint is in."""
        complete = live.id not in self._bases
        point = await self._ledger.begin_checkpoint(live.id, live.meaning, dirty.applied, self._bases.get(live.id), self._clock())
        # First what is gone: a ranking that began anew must not find its old states.
        for ranking in dirty.dropped:
            await self._trim(live, Slot(*ranking[1:]), point.number)
        for ranking, states in dirty.states.items():
            for chunk in _chunks(states):
                await self._ledger.write_checkpoint(live.id, point.number, Slot(*ranking[1:]), chunk)
        expiries = {Slot(*ranking[1:]): expiry for ranking, expiry in dirty.expiries.items()}
        await self._ledger.finish_checkpoint(live.id, point.number, expiries)
        for slot in await self._ledger.checkpoint_slots(live.id) if complete else ():
            await self._trim(live, slot, point.base)
        return point.base

    async def _trim(self, live: LiveBoard, slot: Slot, below: int) -> None:
        while await self._ledger.trim_checkpoint(live.id, slot, below, CHUNK) == CHUNK:
            pass


def _chunks(states: Iterable[tuple[str, State | None]]) -> Iterator[list[tuple[str, State | None]]]:
    # In the order of the table's key, neighbours share pages: fewer of them are written.
    rest = iter(sorted(states, key=itemgetter(0)))
    while chunk := list(islice(rest, CHUNK)):
        yield chunk
