"""The write path: group commit.

All that is waiting becomes one group: one ledger transaction, one engine call; what arrives meanwhile is the next. Answers go out
when both are done. While a group is recorded in the ledger, the one before it is applied to the engine. A caller that goes away takes
nothing with it: the group belongs to the writer's own task.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from keepscore.domain.scoring import Event
from keepscore.errors import EngineUnavailable, KeepscoreError, LedgerUnavailable, UnknownBoard
from keepscore.projection.live_boards import LiveBoard
from keepscore.storage.feeds.base import Feed
from keepscore.writing.applier import Applied, Applier
from keepscore.writing.groups import Group, PendingRequest, fail, split_needs_restate, unknown_outcome
from keepscore.writing.parts import WriteParts
from keepscore.writing.plan import Plan
from keepscore.writing.receipts import Receipts
from keepscore.writing.recorder import Recorder
from keepscore.writing.under_way import BoardTurns

__all__ = ["Writer"]

#: Submissions with which a group is begun beside another: for fewer, what a group takes by itself is more than what is gained.
WORTHWHILE_SUBMISSIONS = 50

log = logging.getLogger(__name__)


class Writer:
    """Writes all submissions of this process."""

    def __init__(self, parts: WriteParts, recorder: Recorder, applier: Applier, receipts: Receipts, feed: Feed) -> None:
        self._ledger = parts.stores.ledger
        self._restater = parts.restater
        self._behind = parts.behind
        self._write_pause = parts.write_pause
        self._retries = parts.retries
        self._recorder = recorder
        self._queue = recorder.queue
        self._numbers = recorder.numbers
        self._under_way = recorder.under_way
        self._engine_checks = recorder.engine_checks
        self._applier = applier
        self._receipts = receipts
        self._feed = feed
        self.announcer = parts.announcer
        self._arrivals = parts.arrivals
        #: The numbers of boards with a league.
        self._leagues = parts.stores.catalog.leagues
        #: Whether the engine works while this process does something else.
        self._overlaps = parts.stores.engine.is_shared
        #: One group after the other is applied on each board.
        self._turns = BoardTurns()
        self._stopping = False
        self._task: asyncio.Task[None] | None = None
        #: Makes the future of a request's answer. To ask for the running loop each time would cost a system call.
        self.answer: Callable[[], asyncio.Future[Any]] = asyncio.Future

    @property
    def recorded(self) -> int:
        """How many events were recorded since the process started."""
        return self._recorder.recorded

    @property
    def is_behind(self) -> bool:
        """Whether there are recorded events that the engine could not take yet."""
        return bool(self._behind.since)

    def start(self) -> None:
        """Begin to take submissions."""
        loop = asyncio.get_running_loop()
        self.answer = loop.create_future
        self._task = loop.create_task(self._run(), name="keepscore-writer")

    async def stop(self, deadline: float | None = None) -> None:
        """Finish what is waiting, then stop, by a `deadline` of the loop's clock."""
        if self._task is not None:
            self._stopping = True
            self._queue.wake()
            try:
                async with asyncio.timeout_at(deadline):
                    await self._task
                    await self._write_pause.settled()
            except TimeoutError:
                log.error("the process stops while %d unacknowledged submissions wait", self._queue.size)

    def submit(self, request: PendingRequest) -> asyncio.Future[Any]:
        """Put a request in line; the future becomes its Receipt or BatchReceipt, or the error."""
        self._queue.join(request)
        return request.answer

    async def flush(self) -> None:
        """Wait until all that was submitted before is recorded, and applied where the engine answers."""
        if self._task is not None and not self._task.done():
            await self.submit(PendingRequest([], [], None, False, True, self.answer()))
            await self._under_way.applied()
            await self._write_pause.settled()

    async def _run(self) -> None:
        while True:
            if not self._queue:
                await self._retries.save()
            if not self._queue:
                if self._stopping:
                    return
                await self._queue.wait()
                continue
            await self._queue.gather()
            async with self._write_pause.lock:
                await self._write()

    async def _write(self) -> None:
        """Write a group and, where that is worth it, all further ones, each recorded while the ones before it are applied."""
        recorded = await self._recorder.record(self._queue.take())
        while recorded is not None and not self._numbers.unsure and not recorded.spooled and self._goes_on_beside(recorded):
            await self._under_way.begin(self._finish(recorded), recorded)
            recorded = await self._record_beside()
        await self._under_way.applied()
        if recorded is not None:
            await self._finish(recorded)

    def _goes_on_beside(self, recorded: Group) -> bool:
        """Return whether the next group need not wait until this one is applied."""
        return self._overlaps or recorded.is_large or bool(self._under_way.large)

    async def _record_beside(self) -> Group | None:
        """Record the next group while those before it are applied, if it is worth it, and else after that."""
        wanted = 1 if self._under_way.large else WORTHWHILE_SUBMISSIONS
        if self._queue.size < wanted:
            waking = asyncio.ensure_future(self._queue.wait(wanted))
            applied = asyncio.ensure_future(self._under_way.applied())
            await asyncio.wait((applied, waking), return_when=asyncio.FIRST_COMPLETED)
            waking.cancel()
            applied.cancel()
        # Who just got an answer may have more.
        await asyncio.sleep(0)
        may_take = not self._write_pause.wanted and self._ledger.identity.is_confirmed
        requests = self._queue.take(self._under_way.keys, self._under_way.large) if may_take else []
        if self._engine_checks.needed(requests):
            # They may hold the same boards.
            await self._under_way.applied()
        return await self._recorder.record(requests, is_alone=False) if requests else None

    # -- one group ------------------------------------------------------------------------------------------------------

    async def _finish(self, group: Group) -> None:
        """Apply a recorded group to the engine, tell the feed, and answer."""
        requests, plans = group.requests, group.plans
        #: Whether the ledger has it, or the engine keeps it for the ledger.
        is_kept = not group.spooled
        try:
            async with self._turns.turn(group.boards):
                applied = await self._applier.apply(plans, group.seq)
            is_kept = True
            if self._overlaps:
                # The engine gets what waits for it first: those who are answered come back with more work for this process.
                await asyncio.sleep(0)
            # Nearly all updates share one tuple of rankings.
            routes = {id(update.rankings): update.rankings for plan in plans.values() for update in plan.updates}
            await self._feed.publish({ranking for rankings in routes.values() for ranking in rankings} | applied.rolled_up)
            self.announcer.ranks_changed(plans, applied.outcomes)
            if not self._leagues.isdisjoint(group.boards):
                await self._arrivals.arrived(_counting(plans.values()))
            if applied.redefined:
                plans = {key: plan.on(applied.redefined.get(plan.boards[0].id, plan.boards[0])) for key, plan in plans.items()}
            if applied.failed:
                requests = self._settle_failed(group, applied.failed)
            needs_restate, requests = split_needs_restate(requests, plans, applied.needs_restate)
            if applied.needs_restate:
                self._write_pause.beside(self._finish_late(needs_restate, plans, applied, group.spooled))
            await self._receipts.reply(requests, plans, applied.outcomes, group.spooled)
        except Exception as exc:
            self._give_up(requests, plans, is_kept, group.spooled, exc)
        await self._engine_checks.release(group.held)

    async def _finish_late(self, requests: list[PendingRequest], plans: dict[int, Plan], applied: Applied, spooled: bool) -> None:
        """Restate players whose events came late, and answer, while other groups go on."""
        try:
            for live, needs_restate in applied.needs_restate.items():
                try:
                    await self._restater.restate(live, needs_restate)
                except LedgerUnavailable as exc:
                    # The engine knows who is left.
                    log.warning("restated when the ledger is back: %s", exc)
                await self._feed.publish(set(needs_restate))
            await self._receipts.reply(requests, plans, applied.outcomes, spooled)
        except Exception as exc:
            self._postpone(requests, plans, spooled, exc)

    def _give_up(self, requests: list[PendingRequest], plans: dict[int, Plan], is_kept: bool, spooled: bool, error: Exception) -> None:
        """Answer requests after an error. What is kept counts, whatever has happened: the watermark says what is missing."""
        if is_kept:
            self._postpone(requests, plans, spooled, error)
        else:
            self._numbers.spent = True
            fail(requests, unknown_outcome(error))

    def _settle_failed(self, group: Group, failed: dict[int, KeepscoreError]) -> list[PendingRequest]:
        """Answer the requests to boards that could not take theirs; give the others."""
        self._numbers.spent |= group.spooled
        left = []
        for request in group.requests:
            boards = {live.id for _, submission in request.submissions for live in group.plans[id(submission)].boards}
            error = next((failed[board] for board in boards if board in failed), None)
            if error is None:
                left.append(request)
            elif all(isinstance(failed.get(board), UnknownBoard) for board in boards):
                # What is recorded of a board that is gone counts nowhere.
                request.settle(error)
            elif group.spooled:
                is_unknown = isinstance(error, EngineUnavailable) and not error.nothing_kept
                request.settle(unknown_outcome(error) if is_unknown else error)
            else:
                # It is recorded, on all of its boards.
                self._postpone([request], group.plans, False, error)
        return left

    def _postpone(self, requests: list[PendingRequest], plans: dict[int, Plan], spooled: bool, error: Exception) -> None:
        if not isinstance(error, KeepscoreError):
            log.error("submissions are recorded, and could not be ranked", exc_info=error)
        elif not self.is_behind:
            log.warning("submissions are recorded, and ranked later: %s", error)
        for request in requests:
            for _, submission in request.submissions:
                for live in plans[id(submission)].boards:
                    self._behind.add(live, submission.received)
            self._receipts.postpone(request, plans, spooled)


def _counting(plans: Iterable[Plan]) -> Iterator[tuple[LiveBoard, Event]]:
    """Yield the events of plans that count now, with their boards."""
    for plan in plans:
        if not plan.submission.is_held:
            yield from zip(plan.boards, plan.events, strict=True)
