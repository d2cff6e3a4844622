"""Checkpoints: the states of rankings in the ledger, so that a start, and readers without an engine, need not fold all events."""

from __future__ import annotations

from itertools import islice
from operator import itemgetter

from keepscore.domain.nouns import counted
from keepscore.lifecycle.jobs.base import SECOND_MS, Job
from keepscore.lifecycle.jobs.refreshing import CatchingUp
from keepscore.lifecycle.parts import JobParts
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.load import fold_for_checkpoint
from keepscore.storage.engines.base import CheckpointSupport, Dirty
from keepscore.storage.ledgers.slots import Slot
from keepscore.storage.pace import Pace, in_order

__all__ = ["Checkpoints"]

#: Events after which a checkpoint is due: the most that a start has to fold in.
CHECKPOINT_EVENTS = 200_000
#: States that one transaction of a checkpoint writes, so that submissions get their turn between two.
CHUNK_STATES = 1000
#: How many times as long as it writes a checkpoint rests while there is much else to do: it must keep up with that.
REST_TIMES = 3.0
#: Milliseconds between two checkpoints of rankings that are elsewhere, and while these cannot be reached.
CHECKPOINT_EVERY_MS, CHECKPOINT_AWAY_EVERY_MS = 30 * SECOND_MS, 2 * SECOND_MS


class Checkpoints(Job):
    """Brings the ledger's checkpoint of every board up to date."""

    name = "checkpoint"

    def __init__(self, parts: JobParts, catching_up: CatchingUp) -> None:
        super().__init__(parts)
        self._catalog, self._ledger, self._engine = parts.catalog, parts.ledger, parts.engine
        self._writer, self._clock, self._bases = parts.writer, parts.clock, parts.bases
        #: Knows whether the engine can be reached: where not, the checkpoint is what readers get.
        self.catching_up = catching_up
        self._checkpointed = 0

    @property
    def every(self) -> int:  # type: ignore[override]
        """Milliseconds between two runs."""
        # A board that is new has no checkpoint yet.
        if not self.parts.is_shared or self._is_fresh():
            return SECOND_MS
        return CHECKPOINT_AWAY_EVERY_MS if not self.catching_up.together else CHECKPOINT_EVERY_MS

    def _is_fresh(self) -> bool:
        return any(self._bases.get(live) is None for live in self._catalog)

    async def look(self, now: int) -> str:
        if self.parts.is_shared or self._is_fresh() or self._writer.recorded - self._checkpointed >= CHECKPOINT_EVENTS:
            return await self._run(Pace(REST_TIMES))
        return ""

    async def run(self, now: int) -> str:
        """Bring the checkpoint of every board up to date. O(states changed since the last)."""
        return await self._run(Pace.without_pauses())

    async def _run(self, pace: Pace) -> str:
        changes = self._engine.checkpoints
        self._checkpointed = self._writer.recorded
        done = 0
        if changes is None:
            done = await self._checkpoint_from_ledger(pace)
            return counted(done, "board") if done else ""
        for name in [live.name for live in self._catalog]:
            pruned = self._catalog.get(name)
            if pruned is not None and pruned.board.is_partial:
                done += await self._checkpoint_kept(pruned, pace)
                continue
            async with self.parts.write_pause:
                # Looked up again: definitions change and boards go while others are checkpointed.
                live = self._catalog.get(name)
                # What is not right yet would be kept as it is.
                is_right = live and not self.parts.watch.is_misleading(live) and not await self._engine.needs_restate(live.id)
                dirty = await changes.dirty(live.id) if live and is_right else None
            if live and dirty and (dirty.states or dirty.dropped or self._bases.get(live) is None):
                await self._checkpoint(changes, live, dirty, pace)
                done += 1
        return counted(done, "board") if done else ""

    async def checkpoint(self) -> None:
        """Bring the checkpoints of all boards up to date, in one ledger."""
        async with self._ledger.identity.pinned():
            await self.run(self._clock())

    async def checkpoint_in_turn(self) -> None:
        """Do the same, but not while the keeper does it."""
        async with self.lock:
            await self.checkpoint()

    async def checkpoint_kept(self, live: LiveBoard) -> None:
        """Bring the checkpoint of one board with `keep_top` up to date, but not while the keeper does it."""
        async with self.lock:
            await self._checkpoint_kept(live, Pace(REST_TIMES))

    async def _checkpoint_kept(self, live: LiveBoard, pace: Pace) -> bool:
        """Do so: the engine does not have all that the checkpoint is to hold."""
        if self._engine.checkpoints is not None:
            await self._engine.checkpoints.dirty(live.id)
        return await self._checkpoint_board_from_ledger(live, pace)

    async def _checkpoint_from_ledger(self, pace: Pace) -> int:
        """Do the same where the rankings are elsewhere, and many processes change them: from the events since the last checkpoint."""
        if not await self._ledger.leadership.lead():
            return 0
        return sum([await self._checkpoint_board_from_ledger(live, pace) for live in list(self._catalog)])

    async def _checkpoint_board_from_ledger(self, live: LiveBoard, pace: Pace) -> bool:
        dirty, point = await fold_for_checkpoint(self._ledger, live, self._clock(), pace)
        self._bases.remove(live)
        if point is not None:
            self._bases.put(live, point.base)
        # Readers without an engine see how old the checkpoint is, even if nothing has changed since.
        if point is None or dirty.states or dirty.dropped or not self.catching_up.together:
            self._bases.put(live, await self._write_checkpoint(live, dirty, pace))
            return True
        return False

    async def _checkpoint(self, changes: CheckpointSupport, live: LiveBoard, dirty: Dirty, pace: Pace) -> None:
        loads = self._bases.loads(live)
        try:
            base = await self._write_checkpoint(live, dirty, pace)
        except BaseException:
            # What was taken out of the engine's list of changes is in no checkpoint: the next has to hold everything.
            if self._catalog.get(live.name):
                await changes.touch(live.id)
                self._bases.remove(live)
            raise
        if self._bases.loads(live) == loads:
            self._bases.put(live, base)

    async def _write_checkpoint(self, live: LiveBoard, dirty: Dirty, pace: Pace) -> int:
        """Write what changed; return the base of the series that the checkpoint is in."""
        complete = self._bases.get(live) is None
        point = await self._ledger.checkpoints.begin(live.id, live.semantics_version, dirty.applied, self._bases.get(live), self._clock())
        # First what is gone: a ranking that started over must not find its old states.
        for ranking in dirty.dropped:
            await self._trim(live, Slot(*ranking[1:]), point.number)
        for ranking, states in dirty.states.items():
            # In the order of the table's key, neighbours share pages: fewer of them are written.
            rest = await in_order(states, pace, key=itemgetter(0))
            while chunk := list(islice(rest, CHUNK_STATES)):
                await self._ledger.checkpoints.write(live.id, point.number, Slot(*ranking[1:]), chunk)
                await pace.rest()
        expiries = {Slot(*ranking[1:]): expiry for ranking, expiry in dirty.expiries.items()}
        await self._ledger.checkpoints.finish(live.id, point.number, expiries)
        for slot in await self._ledger.checkpoints.slots(live.id) if complete else ():
            await self._trim(live, slot, point.base)
        return point.base

    async def _trim(self, live: LiveBoard, slot: Slot, below: int) -> None:
        while await self._ledger.checkpoints.trim(live.id, slot, below, CHUNK_STATES) == CHUNK_STATES:
            pass
