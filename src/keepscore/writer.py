"""The write path: group commit.

All that is waiting becomes one group: one ledger transaction, one engine call; what arrives meanwhile is the next. Answers go out
when both are done. While a group is recorded in the ledger, the one before it is applied to the engine. A caller that goes away takes
nothing with it: the group belongs to the writer's own task.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Set
from typing import Any

from keepscore.answers import Rejection
from keepscore.applier import Applier
from keepscore.catalog import Catalog, LiveBoard
from keepscore.engines.base import InProcessEngine, RankingEngine
from keepscore.errors import EngineUnavailable, KeepscoreError, LedgerUnavailable
from keepscore.feeds.base import Feed
from keepscore.gate import Gate
from keepscore.guard import check_open
from keepscore.ledgers.base import Answered, Claim, DuplicateKeys, Ledger
from keepscore.line import Line
from keepscore.planner import Plan, Planner
from keepscore.quiet import Quiet
from keepscore.replies import Replies
from keepscore.retries import Retries
from keepscore.scoring import Event
from keepscore.spool import Spool
from keepscore.tickets import Group, Ticket

__all__ = ["Writer"]

#: Submissions that one group takes up, unless a single request brings more; and where the engine works on one group while the ledger
#: records the next, for which there have to be two.
GROUP, GROUP_OVERLAPPING = 1000, 400
#: Submissions with which a group is begun beside another: for fewer, what a group takes by itself is more than what is gained.
WORTHWHILE = 50
#: Milliseconds after which a submission that has waited is checked once more.
STALE = 2000

log = logging.getLogger(__name__)


class _OutcomeUnknown(Exception):
    """A group was sent to the ledger, and nobody knows whether it is recorded: it must not be sent again under other numbers."""

    def __init__(self, error: LedgerUnavailable) -> None:
        super().__init__(str(error))
        self.error = error


class Writer:
    """Writes all submissions of this process."""

    def __init__(
        self, catalog: Catalog, ledger: Ledger, engine: RankingEngine, feed: Feed, applier: Applier, spool: Spool, clock: Callable[[], int]
    ) -> None:
        self.quiet = Quiet()
        self.retries = Retries(ledger)
        self._replies = Replies(engine, ledger, self.retries)
        #: Events recorded since the process started.
        self.recorded = 0
        self._catalog = catalog
        self._ledger = ledger
        self._engine = engine
        self._feed = feed
        self._applier = applier
        self._spool = spool
        self._gate = Gate(engine)
        self._clock = clock
        #: Whether the engine works while this process does something else.
        self._overlaps = not isinstance(engine, InProcessEngine)
        self._line = Line(GROUP_OVERLAPPING if self._overlaps else GROUP)
        #: One group after the other is applied.
        self._turn = asyncio.Lock()
        #: Whether there are recorded events that the engine could not take yet.
        self.is_behind = False
        #: The number of this writer's last recorded event on each board.
        self._counts: dict[int, int] = {}
        #: Whether it is not known if the last group was recorded.
        self._unsure = False
        #: Whether the engine may or may not have kept a group under the present number, or may do so yet.
        self._spent = False
        self._stopping = False
        self._task: asyncio.Task[None] | None = None
        #: Makes the future of a ticket's answer. To ask for the running loop each time would cost a system call.
        self.answer: Callable[[], asyncio.Future[Any]] = asyncio.Future

    def start(self) -> None:
        """Begin to take submissions."""
        loop = asyncio.get_running_loop()
        self.answer = loop.create_future
        self._task = loop.create_task(self._run(), name="keepscore-writer")

    async def stop(self) -> None:
        """Finish what is waiting, then stop."""
        if self._task is not None:
            self._stopping = True
            self._line.wake()
            await self._task

    def submit(self, ticket: Ticket) -> asyncio.Future[Any]:
        """Put a request in line; the future becomes its Receipt or BatchReceipt, or the error."""
        self._line.join(ticket)
        return ticket.answer

    async def flush(self) -> None:
        """Wait until all that was submitted before is recorded, and applied where the engine answers."""
        if self._task is not None and not self._task.done():
            await self.submit(Ticket([], [], None, False, True, self.answer()))

    async def _run(self) -> None:
        while True:
            if not self._line:
                await self.retries.save()
            if not self._line:
                if self._stopping:
                    return
                await self._line.wait()
                continue
            await self._line.gather()
            async with self.quiet.lock:
                await self._write()

    async def _write(self) -> None:
        """Write a group and, where the engine works elsewhere, all further ones, each recorded while the one before it is applied."""
        recorded = await self._record(self._line.take())
        finishing: asyncio.Future[None] | None = None
        while recorded is not None and self._overlaps and not self._unsure and not recorded.spooled:
            earlier, finishing = finishing, asyncio.ensure_future(self._finish(recorded))
            if earlier is not None:
                await earlier
            recorded = await self._record_beside(finishing, recorded.keys)
        if finishing is not None:
            await finishing
        if recorded is not None:
            await self._finish(recorded)

    async def _record_beside(self, finishing: asyncio.Future[None], busy: Set[tuple[int, str]]) -> Group | None:
        """Record the next group while the one before it is finished, if it is a large one, and else after that."""
        if self._line.size < WORTHWHILE:
            waking = asyncio.ensure_future(self._line.wait(WORTHWHILE))
            await asyncio.wait((finishing, waking), return_when=asyncio.FIRST_COMPLETED)
            waking.cancel()
        # Who just got an answer may have more.
        await asyncio.sleep(0)
        tickets = [] if self.quiet.wanted else self._line.take(busy)
        if any(self._looks(ticket) for ticket in tickets):
            # They depend on scores that are known only then.
            await finishing
        return await self._record(tickets) if tickets else None

    # -- one group ------------------------------------------------------------------------------------------------------

    async def _record(self, tickets: list[Ticket]) -> Group | None:
        """Record a group in the ledger. Requests that cannot be recorded get their answer here."""
        held: dict[int, str] = {}
        try:
            if self._overlaps:
                tickets = await self._gate.refuse(tickets)
                held = await self._gate.hold(tickets)
            if self._spool.reason is not None:
                raise self._spool.reason
            if self._spent:
                self._renumber(self._spool.renew())
            if self._unsure:
                await self._settle_outcome()
            await self._catch_up_for(tickets)
            while tickets:
                plans = await self._plan(tickets)
                try:
                    await self._append(tickets, plans)
                except DuplicateKeys as duplicates:
                    for ticket in tickets:
                        if ticket.claim is not None and ticket.claim in duplicates.answered:
                            await self._replay(ticket, ticket.claim, duplicates.answered[ticket.claim])
                    tickets = [ticket for ticket in tickets if ticket.claim not in duplicates.answered]
                else:
                    return Group(tickets, plans, held)
        except _OutcomeUnknown as exc:
            _fail(tickets, exc.error)
        except LedgerUnavailable as exc:
            kept = await self._keep_in_spool(tickets, held, exc)
            if kept is not None:
                return kept
        except Exception as exc:
            _fail(tickets, exc)
        await self._gate.release(held)
        return None

    async def _keep_in_spool(self, tickets: list[Ticket], held: dict[int, str], error: LedgerUnavailable) -> Group | None:
        """Plan a group that the ledger cannot take now, for the engine to keep. Requests that need the ledger get the error."""
        refused = [ticket for ticket in tickets if ticket.claim is not None or any(self._is_strong(live) for live in ticket.boards)]
        _fail(refused, error)
        tickets = [ticket for ticket in tickets if ticket not in refused]
        if not tickets:
            return None
        try:
            if self._spool.reason is None:
                self._renumber(self._spool.begin(error))
            elif self._spent:
                await self._gate.check(tickets)
                self._renumber(self._spool.renew())
            plans = await self._plan(tickets)
        except Exception as exc:
            _fail(tickets, exc)
            return None
        self._count(event for plan in plans.values() for event in plan.events)
        return Group(tickets, plans, held, spooled=True)

    def _renumber(self, number: int) -> None:
        """Go on under a number that was never used."""
        self._applier.number = number
        self._counts = {}
        self._unsure = self._spent = False

    def _is_strong(self, live: LiveBoard) -> bool:
        return live.is_strong or any(linked.is_strong for linked in self._catalog.links(live))

    async def _finish(self, group: Group) -> None:
        """Apply a recorded group to the engine, tell the feed, and answer."""
        tickets, plans = group.tickets, group.plans
        try:
            async with self._turn:
                applied = await self._applier.apply(plans, group.spooled)
            if self._overlaps:
                # The engine gets what waits for it first: those who are answered come back with more work for this process.
                await asyncio.sleep(0)
            # Nearly all updates share one tuple of rankings.
            routes = {id(update.rankings): update.rankings for plan in plans.values() for update in plan.updates}
            await self._feed.publish({ranking for rankings in routes.values() for ranking in rankings} | applied.rolled_up)
            if applied.redefined:
                plans = {key: plan.on(applied.redefined.get(plan.boards[0].id, plan.boards[0])) for key, plan in plans.items()}
            if applied.failed:
                tickets = self._settle_failed(group, applied.failed)
            await self._replies.reply(tickets, plans, applied.outcomes, group.spooled)
        except Exception as exc:
            if isinstance(exc, EngineUnavailable | LedgerUnavailable) and not group.spooled:
                # It is recorded; the watermark says what is missing when the engine is back.
                self._postpone(tickets, plans, exc)
            else:
                self._spent |= group.spooled
                _fail(tickets, exc)
        await self._gate.release(group.held)

    def _settle_failed(self, group: Group, failed: dict[int, KeepscoreError]) -> list[Ticket]:
        """Answer the requests to boards that could not take theirs; give the others."""
        self._spent |= group.spooled
        left = []
        for ticket in group.tickets:
            boards = {live.id for _, submission in ticket.submissions for live in group.plans[id(submission)].boards}
            error = next((failed[board] for board in boards if board in failed), None)
            if error is None:
                left.append(ticket)
            elif isinstance(error, EngineUnavailable) and not group.spooled:
                self._postpone([ticket], group.plans, error)
            else:
                ticket.settle(error)
        return left

    def _postpone(self, tickets: list[Ticket], plans: dict[int, Plan], error: KeepscoreError) -> None:
        if not self.is_behind:
            log.warning("submissions are recorded, and ranked later: %s", error)
        self.is_behind = True
        for ticket in tickets:
            self._replies.postpone(ticket, plans)

    async def catch_up(self) -> None:
        """Bring ledger and engine together: what either has and the other lacks, if there is something."""
        if self._spool.reason is not None and not await self._spool.end(self.quiet, self._clock()):
            # What was kept under the present number comes first under it.
            self._spent = True
        await self._spool.drain()
        for live in list(self._catalog):
            if live.board.rollup is not None:
                await self._applier.catch_up(live)
                continue
            await self._applier.restate_late(live)
            applied = await self._engine.applied(live.id)
            if self.is_behind or applied is None or applied.get(self._applier.number, 0) != self._counts.get(live.id, 0):
                async with self.quiet:
                    await self._applier.ensure(live, self._counts.get(live.id, 0))
        self.is_behind = False

    async def _settle_outcome(self) -> None:
        """Find out how far this writer's events are recorded, after an append that ended in an error, and apply those."""
        for live in self._catalog:
            last = (await self._ledger.positions(live.id)).get(self._applier.number, 0)
            if last != self._counts.get(live.id, 0):
                self._counts[live.id] = last
                try:
                    await self._applier.ensure(live, last)
                except EngineUnavailable:
                    # That it is recorded is known, and the watermark says the rest.
                    self.is_behind = True
        self._unsure = False

    @staticmethod
    def _looks(ticket: Ticket) -> bool:
        """Whether what a request becomes depends on scores that there are."""
        return any(
            submission.kind != "score" or submission.live.board.operator == "sum" or submission.live.board.also
            for _, submission in ticket.submissions
        )

    async def _catch_up_for(self, tickets: list[Ticket]) -> None:
        """Bring boards up to date on which a submission depends on the score that there is."""
        looking = dict.fromkeys(live for ticket in tickets if self._looks(ticket) for live in ticket.boards)
        for live in dict.fromkeys(linked for board in looking for linked in (board, *self._catalog.links(board))):
            try:
                await self._applier.ensure(live, self._counts.get(live.id, 0))
            except EngineUnavailable:
                # The planner asks the ledger then.
                self.is_behind = True

    async def _plan(self, tickets: list[Ticket]) -> dict[int, Plan]:
        """Plans by the identity of their submission, in order; what cannot be planned is answered or rejected."""
        increments = any(submission.kind != "score" for ticket in tickets for _, submission in ticket.submissions)
        planner = Planner(self._catalog, self._engine, self._ledger, self._applier.number, self._counts, increments)
        plans: dict[int, Plan] = {}
        now = self._clock()
        for ticket in tickets:
            for index, submission in list(ticket.submissions):
                try:
                    if now - submission.received > STALE and not submission.backfill:
                        # It has waited so long that its window may have been closed.
                        check_open(submission.live, submission.route, submission.at, now)
                    plans[id(submission)] = planner.plan_alone(submission) or await planner.plan(submission)
                except (EngineUnavailable, LedgerUnavailable):
                    # That is no fault of the submission.
                    raise
                except KeepscoreError as exc:
                    if ticket.claim is not None and (known := await self._ledger.claimed(ticket.claim)):
                        # It is a retry: that it could not be taken a second time does not matter.
                        await self._replay(ticket, ticket.claim, known)
                        ticket.submissions.clear()
                        break
                    ticket.submissions.remove((index, submission))
                    if ticket.batch:
                        ticket.rejected.append(Rejection(index, exc.type, exc.detail))
                    else:
                        ticket.settle(exc)
        return plans

    async def _replay(self, ticket: Ticket, claim: Claim, known: Answered) -> None:
        """Answer a request whose key was claimed before."""
        if known.answer is None:
            # Whoever recorded it has not answered, and may not have applied it: it has to count before it is told.
            try:
                for live in ticket.boards:
                    await self._applier.catch_up(live)
            except EngineUnavailable as exc:
                if any(self._is_strong(live) for live in ticket.boards):
                    ticket.settle(exc)
                else:
                    self._replies.postpone_again(ticket, claim, known)
                return
        await self._replies.replay(ticket, claim, known)

    async def _append(self, tickets: list[Ticket], plans: dict[int, Plan]) -> None:
        events = [event for plan in plans.values() for event in plan.events]
        if not events:
            return
        claims = [ticket.claim for ticket in tickets if ticket.claim is not None and ticket.submissions]
        answers = self.retries.unsaved()
        try:
            await self._ledger.append(events, claims, answers)
        except DuplicateKeys:
            raise
        except LedgerUnavailable as exc:
            if exc.nothing_recorded:
                raise
            self._unsure = True
            raise _OutcomeUnknown(exc) from exc
        except BaseException:
            self._unsure = True
            raise
        self.retries.saved(answers)
        self._count(events)
        self.recorded += len(events)

    def _count(self, events: Iterable[Event]) -> None:
        for event in events:
            self._counts[event.board] = event.n


def _fail(tickets: list[Ticket], error: Exception) -> None:
    if not isinstance(error, KeepscoreError):
        log.exception("a group of submissions failed", exc_info=error)
    for ticket in tickets:
        ticket.settle(error)
