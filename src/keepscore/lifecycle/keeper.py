"""The keeper: does the jobs of one process when they are due, and those of all processes where it leads.

A job that fails is tried again after a pause that doubles each time; the log says so once, and again when it works. The status of
the jobs is kept in the ledger, so that every process can tell.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

import msgspec

from keepscore.domain.durations import text_of
from keepscore.domain.nouns import counted
from keepscore.domain.results.standings import JobStatus, KeeperRun, KeeperStatus, Revision
from keepscore.errors import InvalidTime, KeepscoreError, LedgerUnavailable, RankingLost
from keepscore.lifecycle.definitions import Definitions
from keepscore.lifecycle.jobs.base import SECOND_MS, Job
from keepscore.lifecycle.jobs.baselines import Baselines
from keepscore.lifecycle.jobs.checkpoints import Checkpoints
from keepscore.lifecycle.jobs.closing import Closing
from keepscore.lifecycle.jobs.dead_writers import DeadWriters
from keepscore.lifecycle.jobs.housekeeping import ExpiredKeys, Partitions
from keepscore.lifecycle.jobs.inactivity import InactivityLosses
from keepscore.lifecycle.jobs.older_ledger import Comparing
from keepscore.lifecycle.jobs.pruning import Pruning
from keepscore.lifecycle.jobs.refreshing import Expiry, Refreshing, Rotating
from keepscore.lifecycle.jobs.retention import Retention
from keepscore.lifecycle.jobs.retiring import Retiring
from keepscore.lifecycle.jobs.revising import RevisionRequest, revise_window
from keepscore.lifecycle.jobs.snapshots import ScheduledSnapshots
from keepscore.lifecycle.jobs.spot_check import SpotCheck
from keepscore.lifecycle.parts import JobParts
from keepscore.lifecycle.rebuild import Rebuilds
from keepscore.reading.cards import Cards
from keepscore.storage.ledgers.marks import job_status
from keepscore.telemetry.counters import JOB_FAILURES, JOB_RUNS, JOB_SUCCESS
from keepscore.writing.idempotency import Keep

__all__ = ["JobTask", "Keeper"]

#: Seconds between two looks at what is due.
LOOK_EVERY_S = 1.0
#: Seconds between two tries to become the one that does the jobs of all.
LEAD_EVERY_S = 3.0
#: Seconds after which what became of a job is kept in the ledger, though nothing has changed.
KEEP_STATUS_S = 60.0
#: Seconds that a job has to come to an end when the process stops; then it is cut short.
STOP_GRACE_S = 5.0

log = logging.getLogger(__name__)


class JobTask:
    """A job, when it is due by the loop's clock (which nobody sets), and what became of it."""

    def __init__(self, job: Job, comparing: Comparing) -> None:
        self.job = job
        self._comparing = comparing
        self._clock = job.parts.clock
        self._ended = float("-inf")
        self.kept = float("-inf")
        #: What the last run did, if it did something.
        self.done: str | None = None
        self.status = JobStatus(job.name, job.every / SECOND_MS)
        #: The ledger's incarnation of the last run.
        self._incarnation = 0
        #: The kinds of errors that were told since it last worked.
        self._told: set[type[Exception]] = set()

    @property
    def _pause(self) -> int:
        failures = self.status.failures
        return min(SECOND_MS << min(failures - 1, 10), self.job.patience) if failures else self.job.every

    @property
    def due(self) -> float:
        """When it is to be done; how long that is after the last time may change meanwhile."""
        return self._ended + self._pause / SECOND_MS

    async def run(self, call: Callable[[int], Awaitable[str]], now: int) -> bool:
        """Do the job; answer whether there is something to tell."""
        status = self.status
        before = status.failures, status.error
        async with self.job.lock:
            try:
                done = await (self._work(call, now) if self.job.for_leader else call(now))
            except Exception as exc:
                self._fail(exc)
                done = ""
                if isinstance(exc, RankingLost):
                    with contextlib.suppress(KeepscoreError):
                        await self.job.parts.healing.heal(exc)
            else:
                JOB_RUNS.add(status.name, "worked")
                JOB_SUCCESS.set(self._clock() / SECOND_MS, status.name)
                if status.failures:
                    log.warning("the keeper's job %r works again, after %s", status.name, counted(status.failures, "failure"))
                status.failures, status.error = 0, None
                self._told.clear()
        JOB_FAILURES.set(status.failures, status.name)
        ended = self._clock()
        status.last_run = text_of(ended)
        self.done = done or None
        status.result = self.done or status.result
        status.every = self.job.every / SECOND_MS
        self._ended = asyncio.get_running_loop().time()
        status.next_run = text_of(ended + self._pause)
        return bool(done) or before != (status.failures, status.error)

    async def _work(self, call: Callable[[int], Awaitable[str]], now: int) -> str:
        """Do a job that writes into the ledger what it works out: not into another ledger than the one that it began with."""
        ledger = self.job.parts.ledger
        await ledger.identity.look()
        if not ledger.identity.is_confirmed:
            # A connection that was lost is no reason to fail: the ledger may be the same.
            async with self._comparing.lock:
                await self._comparing.run(now)
        async with ledger.identity.pinned():
            if self._incarnation != ledger.identity.incarnation:
                self._incarnation = ledger.identity.incarnation
                self.job.forget()
            return await call(now)

    def _fail(self, exc: Exception) -> None:
        text = str(exc) if isinstance(exc, KeepscoreError) else f"{type(exc).__name__}: {exc}"
        if type(exc) not in self._told:
            self._told.add(type(exc))
            log.error("the keeper's job %r failed: %s", self.status.name, text, exc_info=None if isinstance(exc, KeepscoreError) else exc)
        self.status.failures += 1
        self.status.error = text
        JOB_RUNS.add(self.status.name, "failed")


class Keeper:
    """Does the jobs of one process."""

    def __init__(
        self,
        parts: JobParts,
        checkpoints: Checkpoints,
        definitions: Definitions,
        rebuilds: Rebuilds,
        cards: Cards,
        more: Sequence[Job] = (),
    ) -> None:
        self._parts = parts
        self._checkpoints = checkpoints
        comparing = Comparing(parts, definitions)
        jobs: list[Job] = [
            comparing,
            Expiry(parts),
            Closing(parts),
            Retiring(parts, definitions.defining),
            ScheduledSnapshots(parts),
            Baselines(parts),
            InactivityLosses(parts),
            Pruning(parts, rebuilds),
            checkpoints,
            ExpiredKeys(parts),
            Partitions(parts),
            Retention(parts, definitions.defining, checkpoints),
            SpotCheck(parts),
            *more,
        ]
        if parts.is_shared:
            jobs = [Refreshing(parts, definitions, cards), checkpoints.catching_up, DeadWriters(parts), Rotating(parts), *jobs]
        #: All jobs of this process, in the order in which they are looked at.
        self.tasks = [JobTask(job, comparing) for job in jobs]
        (self._checkpointing,) = [task for task in self.tasks if task.job is checkpoints]
        (self._compare,) = [task for task in self.tasks if task.job is comparing]
        self._leads = False
        self._lead_due = 0.0
        self._stopping = asyncio.Event()
        self._loops: list[asyncio.Task[None]] = []

    @property
    def jobs(self) -> list[Job]:
        """All jobs of this process."""
        return [task.job for task in self.tasks]

    def job(self, name: str) -> Job:
        """Return the job of a name."""
        return next(job for job in self.jobs if job.name == name)

    def start(self) -> None:
        """Begin to look after things."""
        for slow in (False, True):
            loop = self._look_after([task for task in self.tasks if task.job.is_slow == slow])
            self._loops.append(asyncio.get_running_loop().create_task(loop, name=f"keepscore-keeper-{'slow' if slow else 'quick'}"))

    async def stop(self, deadline: float | None = None) -> None:
        """Finish the jobs under way, leave a checkpoint for the next start, and stop, by a `deadline` of the loop's clock."""
        if not self._loops:
            return
        self._stopping.set()
        now = asyncio.get_running_loop().time()
        _, busy = await asyncio.wait(
            self._loops, timeout=STOP_GRACE_S if deadline is None else max(0.0, min(STOP_GRACE_S, (deadline - now) / 2))
        )
        for loop in busy:
            # Every job may be cut short: the next process does the rest.
            loop.cancel()
        await asyncio.gather(*busy, return_exceptions=True)
        if not self._parts.is_shared:
            try:
                async with asyncio.timeout_at(deadline):
                    await self._checkpointing.run(self._checkpoints.run, self._parts.clock())
            except TimeoutError:
                log.warning("the last checkpoint was interrupted: the next start reads more events instead")

    async def _look_after(self, tasks: list[JobTask]) -> None:
        time = asyncio.get_running_loop().time
        while not self._stopping.is_set():
            for task in tasks:
                if self._stopping.is_set():
                    return
                if task.due <= time() and (not task.job.for_leader or await self._lead()):
                    told = await task.run(task.job.look, self._parts.clock())
                    await self.keep_status(task, told)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), LOOK_EVERY_S)

    async def _lead(self) -> bool:
        """Return whether this process is the leader, which does the jobs of all."""
        time = asyncio.get_running_loop().time()
        if self._leads or self._lead_due <= time:
            self._lead_due = time + LEAD_EVERY_S
            try:
                leads = await self._parts.ledger.leadership.lead()
            except KeepscoreError:
                # Then there is nothing to do for the one that leads, either; the other jobs tell.
                leads = False
            if leads and not self._leads and self._parts.is_shared:
                log.info("this process is the leader: it runs the keeper's jobs")
            self._leads = leads
        return self._leads

    async def keep_status(self, task: JobTask, told: bool) -> None:
        """Keep what became of a job in the ledger."""
        time = asyncio.get_running_loop().time()
        if task.job.for_leader and (told or time - task.kept >= KEEP_STATUS_S):
            try:
                if task.status.result is None:
                    # What it did before this process began is worth telling still.
                    task.status = await self._status(task)
                await self._parts.ledger.marks.put(job_status(task.job.name), task.status)
                task.kept = time
            except KeepscoreError as exc:
                log.debug("the status of the job %r was not stored: %s", task.job.name, exc)

    # -- on demand ------------------------------------------------------------------------------------------------------

    async def status(self) -> KeeperStatus:
        """Return all jobs: when they ran, when they run next, and what became of them."""
        jobs = [await self._status(task) for task in self.tasks]
        watch = self._parts.watch
        return KeeperStatus(self._leads, text_of(self._parts.clock()), jobs, watch.boards_found, watch.events_lost)

    async def _status(self, task: JobTask) -> JobStatus:
        if not task.job.for_leader:
            return task.status
        try:
            told = await self._parts.ledger.marks.get(job_status(task.job.name))
        except LedgerUnavailable:
            # Then this process tells what it knows itself.
            return task.status
        if told is None or (task.status.last_run or "") < (told.last_run or ""):
            return told or task.status
        return msgspec.structs.replace(task.status, result=task.status.result or told.result)

    async def run_once(self, now: datetime | str | None = None) -> KeeperRun:
        """Do all jobs of the one that leads, as they are due at a moment that has passed (default: now)."""
        moment = self._moment(now)
        ran = []
        # What the others work out is worth nothing while rankings have events that the ledger has lost.
        await self._compare.run(self._compare.job.run, moment)
        for task in self.tasks:
            if task.job.for_leader:
                await task.run(task.job.run, moment)
                ran.append(msgspec.structs.replace(task.status, result=task.done))
                await self.keep_status(task, told=True)
        return KeeperRun(text_of(moment), ran)

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
            raise InvalidTime(f"now = {str(given)!r} is before 1970 or in the future, when nothing can be closed yet")
        return ms

    async def revise(self, board: str, wanted: RevisionRequest, keep: Keep) -> Revision:
        """Correct the standings of a closed window: they are archived again from the ledger, as the next revision."""
        async with self._parts.ledger.identity.pinned():
            return await revise_window(self._parts, self._parts.catalog[board], wanted, self._parts.clock(), keep)
