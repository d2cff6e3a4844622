"""Checkpoints: the states of rankings in the ledger, so that a start, and readers without an engine, need not fold all events."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from operator import itemgetter

from keepscore.catalog import LiveBoard
from keepscore.engines.base import Dirty, InProcessEngine
from keepscore.jobs.base import SECOND, Job, Parts
from keepscore.ledgers.base import Checkpoint, Slot
from keepscore.loading import fold_for_checkpoint
from keepscore.pace import Pace, in_order

__all__ = ["Checkpoints"]

#: Events after which a checkpoint is due: the most that a start has to fold in.
CHECKPOINT_EVENTS = 200_000
#: States that one transaction of a checkpoint writes, so that submissions get their turn between two.
CHUNK = 1000
#: How many times as long as it writes a checkpoint rests while there is much else to do: it must keep up with that.
REST = 3.0
#: Milliseconds between two checkpoints of rankings that are elsewhere, and while these cannot be reached.
PAUSE, PAUSE_AWAY = 30 * SECOND, 2 * SECOND


class Checkpoints(Job):
    """Brings the ledger's checkpoint of every board up to date."""

    name = "checkpoint"

    def __init__(self, parts: Parts, is_away: Callable[[], bool]) -> None:
        super().__init__(parts)
        self._catalog, self._ledger, self._engine = parts[:3]
        self._writer, self._clock = parts.writer, parts.clock
        #: Whether the engine cannot be reached: then the checkpoint is what readers get.
        self._is_away = is_away
        #: The first checkpoint of the series that each board's states are in.
        self._bases: dict[int, int] = {}
        #: How often each board was loaded: a checkpoint under way while that happens is not the new rankings'.
        self._loads: dict[int, int] = {}
        self._checkpointed = 0

    @property
    def every(self) -> int:  # type: ignore[override]
        """Milliseconds between two runs."""
        # A board that is new has no checkpoint yet.
        if not self.parts.is_shared or self._is_fresh():
            return SECOND
        return PAUSE_AWAY if self._is_away() else PAUSE

    def _is_fresh(self) -> bool:
        return any(live.id not in self._bases for live in self._catalog)

    def rests_on(self, live: LiveBoard, checkpoint: Checkpoint | None) -> None:
        """A board was loaded from a checkpoint, or (None) from all of its events, and the next checkpoint is to hold everything."""
        self._loads[live.id] = self._loads.get(live.id, 0) + 1
        self._bases.pop(live.id, None)
        if checkpoint is not None:
            self._bases[live.id] = checkpoint.base

    async def look(self, now: int) -> str:
        if self.parts.is_shared or self._is_fresh() or self._writer.recorded - self._checkpointed >= CHECKPOINT_EVENTS:
            return await self._run(Pace(REST))
        return ""

    async def run(self, now: int) -> str:
        """Bring the checkpoint of every board up to date. O(states changed since the last)."""
        return await self._run(Pace.without_pauses())

    async def _run(self, pace: Pace) -> str:
        engine = self._engine
        self._checkpointed = self._writer.recorded
        done = 0
        if not isinstance(engine, InProcessEngine):
            done = await self._checkpoint_from_ledger(pace)
            return f"{done} boards" if done else ""
        for name in [live.name for live in self._catalog]:
            pruned = self._catalog.get(name)
            if pruned is not None and pruned.board.keep_top is not None:
                done += await self.checkpoint_kept(pruned, pace)
                continue
            async with self._writer.quiet:
                # Looked up again: definitions change and boards go while others are checkpointed.
                live = self._catalog.get(name)
                # Players who are not right yet would be kept as they are.
                dirty = await engine.dirty(live.id) if live and not await engine.late(live.id) else None
            if live and dirty and (dirty.states or dirty.dropped or live.id not in self._bases):
                await self._checkpoint(engine, live, dirty, pace)
                done += 1
        return f"{done} boards" if done else ""

    async def checkpoint_kept(self, live: LiveBoard, pace: Pace) -> bool:
        """The same for one board with `keep_top`: the engine does not have all that the checkpoint is to hold."""
        if isinstance(self._engine, InProcessEngine):
            await self._engine.dirty(live.id)
        return await self._checkpoint_board_from_ledger(live, pace)

    async def _checkpoint_from_ledger(self, pace: Pace) -> int:
        """The same where the rankings are elsewhere, and many processes change them: from the events since the last checkpoint."""
        if not await self._ledger.lead():
            return 0
        return sum([await self._checkpoint_board_from_ledger(live, pace) for live in list(self._catalog)])

    async def _checkpoint_board_from_ledger(self, live: LiveBoard, pace: Pace) -> bool:
        dirty, point = await fold_for_checkpoint(self._ledger, live, self._clock(), pace)
        self._bases.pop(live.id, None)
        if point is not None:
            self._bases[live.id] = point.base
        # Readers without an engine are told how old the checkpoint is, though nothing may have changed since.
        if point is None or dirty.states or dirty.dropped or self._is_away():
            self._bases[live.id] = await self._write_checkpoint(live, dirty, pace)
            return True
        return False

    async def _checkpoint(self, engine: InProcessEngine, live: LiveBoard, dirty: Dirty, pace: Pace) -> None:
        loads = self._loads.get(live.id)
        try:
            base = await self._write_checkpoint(live, dirty, pace)
        except BaseException:
            # What was taken out of the engine's list of changes is in no checkpoint: the next has to hold everything.
            if self._catalog.get(live.name):
                await engine.touch(live.id)
                self._bases.pop(live.id, None)
            raise
        if self._loads.get(live.id) == loads:
            self._bases[live.id] = base

    async def _write_checkpoint(self, live: LiveBoard, dirty: Dirty, pace: Pace) -> int:
        """Write what changed; answer the base of the series that the checkpoint is in."""
        complete = live.id not in self._bases
        point = await self._ledger.begin_checkpoint(live.id, live.meaning, dirty.applied, self._bases.get(live.id), self._clock())
        # First what is gone: a ranking that began anew must not find its old states.
        for ranking in dirty.dropped:
            await self._trim(live, Slot(*ranking[1:]), point.number)
        for ranking, states in dirty.states.items():
            # In the order of the table's key, neighbours share pages: fewer of them are written.
            rest = await in_order(states, pace, key=itemgetter(0))
            while chunk := list(islice(rest, CHUNK)):
                await self._ledger.write_checkpoint(live.id, point.number, Slot(*ranking[1:]), chunk)
                await pace.rest()
        expiries = {Slot(*ranking[1:]): expiry for ranking, expiry in dirty.expiries.items()}
        await self._ledger.finish_checkpoint(live.id, point.number, expiries)
        for slot in await self._ledger.checkpoint_slots(live.id) if complete else ():
            await self._trim(live, slot, point.base)
        return point.base

    async def _trim(self, live: LiveBoard, slot: Slot, below: int) -> None:
        while await self._ledger.trim_checkpoint(live.id, slot, below, CHUNK) == CHUNK:
            pass
