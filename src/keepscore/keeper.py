"""The keeper: does the jobs of one process when they are due, and those of all processes where it leads.

A job that fails is tried again after a pause that doubles each time; that it fails is told once, and again when it works. What became of
the jobs is kept in the ledger, so that every process can tell.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime

import msgspec

from keepscore.answers import JobStatus, KeeperRun, KeeperStatus, Revision
from keepscore.catalog import LiveBoard
from keepscore.durations import time_of
from keepscore.errors import InvalidTime, KeepscoreError, LedgerUnavailable
from keepscore.jobs.base import SECOND, Job, Parts
from keepscore.jobs.baselines import Baselines
from keepscore.jobs.checking import Checking
from keepscore.jobs.checkpoints import REST, Checkpoints
from keepscore.jobs.closing import Closing
from keepscore.jobs.dropping import Dropping
from keepscore.jobs.gaps import Gaps
from keepscore.jobs.losses import Losses
from keepscore.jobs.pruning import Pruning
from keepscore.jobs.revising import revise_window
from keepscore.jobs.snapshots import Snapshots
from keepscore.jobs.tidying import Keys, Partitions
from keepscore.jobs.upkeep import CatchingUp, Expiry, Refreshing
from keepscore.ledgers.base import Checkpoint
from keepscore.pace import Pace

__all__ = ["Keeper"]

#: Seconds between two looks at what is due.
PAUSE = 1.0
#: Seconds between two tries to become the one that does the jobs of all.
LEAD = 3.0
#: Seconds after which what became of a job is kept in the ledger, though nothing has changed.
KEEP = 60.0
#: Seconds that a job has to come to an end when the process stops; then it is cut short.
GRACE = 5.0

log = logging.getLogger(__name__)
_decode = msgspec.json.Decoder(JobStatus).decode


class _Task:
    """A job, when it is due by the loop's clock (which nobody sets), and what became of it."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self._clock = job.parts.clock
        self.lock = asyncio.Lock()
        self._ended = float("-inf")
        self.kept = float("-inf")
        #: What the last run did, if it did something.
        self.done: str | None = None
        self.status = JobStatus(job.name, job.every / SECOND)
        #: The kinds of errors that were told since it last worked.
        self._told: set[type[Exception]] = set()

    @property
    def _pause(self) -> int:
        failures = self.status.failures
        return min(SECOND << min(failures - 1, 10), self.job.patience) if failures else self.job.every

    @property
    def due(self) -> float:
        """When it is to be done; how long that is after the last time may change meanwhile."""
        return self._ended + self._pause / SECOND

    async def run(self, call: Callable[[int], Awaitable[str]], now: int) -> bool:
        """Do the job; answer whether there is something to tell."""
        status = self.status
        before = status.failures, status.error
        async with self.lock:
            try:
                done = await call(now)
            except Exception as exc:
                self._fail(exc)
                done = ""
            else:
                if status.failures:
                    log.warning("the keeper's job %r works again, after %d failures", status.name, status.failures)
                status.failures, status.error = 0, None
                self._told.clear()
        ended = self._clock()
        status.last_run = _text(ended)
        self.done = done or None
        status.result = self.done or status.result
        status.every = self.job.every / SECOND
        self._ended = asyncio.get_running_loop().time()
        status.next_run = _text(ended + self._pause)
        return bool(done) or before != (status.failures, status.error)

    def _fail(self, exc: Exception) -> None:
        text = str(exc) if isinstance(exc, KeepscoreError) else f"{type(exc).__name__}: {exc}"
        if type(exc) not in self._told:
            self._told.add(type(exc))
            log.error("the keeper's job %r failed: %s", self.status.name, text, exc_info=None if isinstance(exc, KeepscoreError) else exc)
        self.status.failures += 1
        self.status.error = text


class Keeper:
    """Does the jobs of one process."""

    def __init__(self, parts: Parts, refresh: Callable[[], Awaitable[None]], prune: Callable[[], Awaitable[None]]) -> None:
        self._parts = parts
        #: Held while a definition changes.
        self.defining = asyncio.Lock()
        catching_up = CatchingUp(parts)
        self._checkpoints = Checkpoints(parts, lambda: not catching_up.together)
        jobs: list[Job] = [
            Expiry(parts),
            Closing(parts),
            Snapshots(parts),
            Baselines(parts),
            Losses(parts),
            Pruning(parts, prune),
            self._checkpoints,
            Keys(parts),
            Partitions(parts),
            Dropping(parts, self.defining, self._checkpoint_in_turn),
            Checking(parts),
        ]
        if parts.is_shared:
            jobs = [Refreshing(parts, refresh), catching_up, Gaps(parts), *jobs]
        self._tasks = [_Task(job) for job in jobs]
        (self._checkpointing,) = [task for task in self._tasks if task.job is self._checkpoints]
        self._leads = False
        self._lead_due = 0.0
        self._stopping = asyncio.Event()
        self._loops: list[asyncio.Task[None]] = []

    def rests_on(self, live: LiveBoard, checkpoint: Checkpoint | None) -> None:
        """A board was loaded from a checkpoint, or (None) from all of its events."""
        self._checkpoints.rests_on(live, checkpoint)

    async def checkpoint(self) -> None:
        """Bring the checkpoints of all boards up to date."""
        await self._checkpoints.run(self._parts.clock())

    async def _checkpoint_in_turn(self) -> None:
        """The same, but not while the job does it."""
        async with self._checkpointing.lock:
            await self.checkpoint()

    async def checkpoint_kept(self, live: LiveBoard) -> None:
        """Bring the checkpoint of one board up to date of which the engine keeps the first players only, but not while the job does it."""
        async with self._checkpointing.lock:
            await self._checkpoints.checkpoint_kept(live, Pace(REST))

    def start(self) -> None:
        """Begin to look after things."""
        for slow in (False, True):
            loop = self._look_after([task for task in self._tasks if task.job.is_slow == slow])
            self._loops.append(asyncio.get_running_loop().create_task(loop, name=f"keepscore-keeper-{'slow' if slow else 'quick'}"))

    async def stop(self) -> None:
        """Finish the jobs under way, leave a checkpoint for the next start, and stop."""
        if not self._loops:
            return
        self._stopping.set()
        _, busy = await asyncio.wait(self._loops, timeout=GRACE)
        for loop in busy:
            # Every job may be cut short: the next process does the rest.
            loop.cancel()
        await asyncio.gather(*busy, return_exceptions=True)
        if not self._parts.is_shared:
            await self._checkpointing.run(self._checkpoints.run, self._parts.clock())

    async def _look_after(self, tasks: list[_Task]) -> None:
        time = asyncio.get_running_loop().time
        while not self._stopping.is_set():
            for task in tasks:
                if self._stopping.is_set():
                    return
                if task.due <= time() and (not task.job.for_leader or await self._lead()):
                    told = await task.run(task.job.look, self._parts.clock())
                    await self._keep(task, told)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), PAUSE)

    async def _lead(self) -> bool:
        """Whether this process does the jobs of all."""
        time = asyncio.get_running_loop().time()
        if self._leads or self._lead_due <= time:
            self._lead_due = time + LEAD
            try:
                leads = await self._parts.ledger.lead()
            except KeepscoreError:
                # Then there is nothing to do for the one that leads, either; the other jobs tell.
                leads = False
            if leads and not self._leads and self._parts.is_shared:
                log.info("this process does the keeper's jobs for all")
            self._leads = leads
        return self._leads

    async def _keep(self, task: _Task, told: bool) -> None:
        """Keep what became of a job in the ledger."""
        time = asyncio.get_running_loop().time()
        if task.job.for_leader and (told or time - task.kept >= KEEP):
            try:
                if task.status.result is None:
                    # What it did before this process began is worth telling still.
                    task.status = await self._status(task)
                await self._parts.ledger.put_value(f"keeper:{task.job.name}", msgspec.json.encode(task.status))
                task.kept = time
            except KeepscoreError as exc:
                log.debug("what became of the job %r is not kept: %s", task.job.name, exc)

    # -- on demand ------------------------------------------------------------------------------------------------------

    async def status(self) -> KeeperStatus:
        """All jobs: when they ran, when they run next, and what became of them."""
        return KeeperStatus(self._leads, _text(self._parts.clock()), [await self._status(task) for task in self._tasks])

    async def _status(self, task: _Task) -> JobStatus:
        if not task.job.for_leader:
            return task.status
        try:
            kept = await self._parts.ledger.value(f"keeper:{task.job.name}")
        except LedgerUnavailable:
            # Then this process tells what it knows itself.
            return task.status
        told = None if kept is None else _decode(kept)
        if told is None or (task.status.last_run or "") < (told.last_run or ""):
            return told or task.status
        return msgspec.structs.replace(task.status, result=task.status.result or told.result)

    async def run_once(self, now: datetime | str | None = None) -> KeeperRun:
        """Do all jobs of the one that leads, as they are due at a moment that has passed (default: now)."""
        moment = self._moment(now)
        ran = []
        for task in self._tasks:
            if task.job.for_leader:
                await task.run(task.job.run, moment)
                ran.append(msgspec.structs.replace(task.status, result=task.done))
                await self._keep(task, told=True)
        return KeeperRun(_text(moment), ran)

    def _moment(self, given: datetime | str | None) -> int:
        now = self._parts.clock()
        if given is None:
            return now
        try:
            moment = datetime.fromisoformat(given) if isinstance(given, str) else given
            if moment.tzinfo is None:
                raise ValueError
            ms = round(moment.timestamp() * 1000)
        except (ValueError, OverflowError):
            raise InvalidTime(f"now = {str(given)!r} is not a time with an offset: write it as in '2026-11-16T00:00:00Z'") from None
        if not 0 <= ms <= now:
            raise InvalidTime(f"now = {str(given)!r} lies before 1970 or in the future, in which nothing can be closed yet")
        return ms

    async def revise(self, board: str, window: str, window_id: str, reason: str) -> Revision:
        """Correct the standings of a closed window: they are archived again from the ledger, as the next revision."""
        live = self._parts.catalog[board]
        made = await revise_window(self._parts, live, window, window_id, reason, self._parts.clock())
        return Revision(board, *made.slot[:2], made.number, _text(made.taken), made.players, made.digest)


def _text(moment: int) -> str:
    """A moment as answers tell it, always with milliseconds, so that texts sort as moments do."""
    return time_of(moment).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"
