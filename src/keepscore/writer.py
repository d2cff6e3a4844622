"""The write path: group commit.

All that is waiting becomes one group: one ledger transaction, one engine call; what arrives meanwhile is the next. Answers go out
when both are done. While a group is recorded in the ledger, the one before it is applied to the engine. A caller that goes away takes
nothing with it: the group belongs to the writer's own task.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Set
from types import TracebackType
from typing import Any

import msgspec

from keepscore.answers import BatchReceipt, Receipt, Rejection, encode
from keepscore.applier import Applier
from keepscore.catalog import Catalog
from keepscore.engines.base import InProcessEngine, Outcome, RankingEngine
from keepscore.errors import EngineUnavailable, IdempotencyKeyReused, KeepscoreError, Overloaded
from keepscore.feeds.base import Feed
from keepscore.ledgers.base import Answered, Claim, DuplicateKeys, Ledger
from keepscore.planner import Plan, Planner
from keepscore.receipts import pending_receipt, present_receipt, receipt
from keepscore.tickets import Group, Ticket

__all__ = ["Quiet", "Writer"]

#: Submissions that one group takes up, unless a single request brings more.
GROUP = 1000
#: Submissions that may wait; more are refused.
MAX_WAITING = 100_000
#: Bytes of an answer that are kept for retries; of a larger one only the counts are.
MAX_ANSWER = 1 << 20

log = logging.getLogger(__name__)


class Quiet:
    """Held while groups are on their way; whoever else holds it finds ledger and engine at rest."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        #: How many wait for it, or hold it.
        self.wanted = 0

    async def __aenter__(self) -> None:
        self.wanted += 1
        try:
            await self.lock.acquire()
        except BaseException:
            self.wanted -= 1
            raise

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.wanted -= 1
        self.lock.release()


class Writer:
    """Writes all submissions of this process."""

    def __init__(self, catalog: Catalog, ledger: Ledger, engine: RankingEngine, feed: Feed, applier: Applier) -> None:
        self.quiet = Quiet()
        #: Events recorded since the process started.
        self.recorded = 0
        self._catalog = catalog
        self._ledger = ledger
        self._engine = engine
        self._feed = feed
        self._applier = applier
        #: Whether the engine works while this process does something else.
        self._overlaps = not isinstance(engine, InProcessEngine)
        #: Whether there are recorded events that the engine could not take yet.
        self.is_behind = False
        self._waiting: deque[Ticket] = deque()
        self._size = 0
        self._wake = asyncio.Event()
        #: The number of this writer's last recorded event on each board.
        self._counts: dict[int, int] = {}
        #: Whether it is not known if the last group was recorded.
        self._unsure = False
        #: Answers that the next transaction records.
        self._answers: dict[Claim, bytes] = {}
        self._stopping = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to take submissions."""
        self._task = asyncio.get_running_loop().create_task(self._run(), name="keepscore-writer")

    async def stop(self) -> None:
        """Finish what is waiting, then stop."""
        if self._task is not None:
            self._stopping = True
            self._wake.set()
            await self._task

    def submit(self, ticket: Ticket) -> asyncio.Future[Any]:
        """Put a request in line; the future becomes its Receipt or BatchReceipt, or the error."""
        if self._size >= MAX_WAITING:
            raise Overloaded(f"{self._size} submissions are waiting, the most that this service takes on: try again later")
        self._waiting.append(ticket)
        self._size += len(ticket.submissions)
        self._wake.set()
        return ticket.answer

    async def _run(self) -> None:
        while True:
            if not self._waiting:
                await self._save_answers()
            if not self._waiting:
                if self._stopping:
                    return
                self._wake.clear()
                await self._wake.wait()
                continue
            # Requests that are being read now come along: the fewer groups, the less there is to do for each submission.
            await asyncio.sleep(0)
            async with self.quiet.lock:
                await self._write()

    async def _write(self) -> None:
        """Write a group and, where the engine works elsewhere, all further ones, each recorded while the one before it is applied."""
        recorded = await self._record(self._take(set()))
        while recorded is not None:
            overlap = self._overlaps and not self._unsure and not self.quiet.wanted
            tickets = self._take(recorded.keys) if overlap else []
            recording = None
            if tickets and not any(self._looks(ticket) for ticket in tickets):
                recording = asyncio.ensure_future(self._record(tickets))
                # Until it waits for the ledger.
                await asyncio.sleep(0)
            await self._finish(recorded)
            if tickets and recording is None:
                # They depend on the scores, which are known only now.
                recorded = await self._record(tickets)
            else:
                recorded = await recording if recording else None

    def _take(self, busy: Set[tuple[int, str]]) -> list[Ticket]:
        """The next group. Of several requests with one key, the later ones wait until the first has its answer."""
        group: list[Ticket] = []
        later: list[Ticket] = []
        keys = set(busy)
        size = 0
        while self._waiting and (not group or size + len(self._waiting[0].submissions) <= GROUP):
            ticket = self._waiting.popleft()
            if ticket.claim is not None:
                if ticket.claim[:2] in keys:
                    later.append(ticket)
                    continue
                keys.add(ticket.claim[:2])
            size += len(ticket.submissions)
            group.append(ticket)
        self._waiting.extendleft(reversed(later))
        self._size -= size
        return group

    async def _save_answers(self) -> None:
        if self._answers:
            answers, self._answers = self._answers, {}
            try:
                await self._ledger.save_answers(answers)
            except KeepscoreError as exc:
                # A retry then gets where the player stands by then, not the first answer.
                log.warning("answers for retries were not kept: %s", exc)

    # -- one group ------------------------------------------------------------------------------------------------------

    async def _record(self, tickets: list[Ticket]) -> Group | None:
        """Record a group in the ledger. Requests that cannot be recorded get their answer here."""
        try:
            if self._unsure:
                await self._settle_outcome()
            if self._overlaps:
                tickets = await self._refuse_without_engine(tickets)
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
                    return Group(tickets, plans)
        except Exception as exc:
            _fail(tickets, exc)
        return None

    async def _finish(self, group: Group) -> None:
        """Apply a recorded group to the engine, tell the feed, and answer."""
        tickets, plans = group
        try:
            outcomes = await self._applier.apply(plans)
            # Nearly all updates share one tuple of rankings.
            routes = {id(update.rankings): update.rankings for plan in plans.values() for update in plan.updates}
            await self._feed.publish({ranking for rankings in routes.values() for ranking in rankings})
            await self._reply(tickets, plans, outcomes)
        except EngineUnavailable as exc:
            # It is recorded; the watermark says what is missing when the engine is back.
            self._postpone(tickets, plans, exc)
        except Exception as exc:
            _fail(tickets, exc)

    def _postpone(self, tickets: list[Ticket], plans: dict[int, Plan], error: EngineUnavailable) -> None:
        if not self.is_behind:
            log.warning("submissions are recorded, and ranked later: %s", error)
        self.is_behind = True
        for ticket in tickets:
            receipts = [pending_receipt(plans[id(submission)]) for _, submission in ticket.submissions if ticket.ranked]
            if ticket.batch:
                answer = BatchReceipt(len(ticket.submissions), sorted(ticket.rejected, key=lambda rejection: rejection.index), pending=True)
                answer.results = receipts if ticket.ranked else msgspec.UNSET
                ticket.settle(answer)
            elif receipts:
                ticket.settle(receipts[0])

    async def catch_up(self) -> None:
        """Apply what is recorded and could not be applied, and bring back what the engine has lost, if there is something."""
        for live in self._catalog:
            applied = await self._engine.applied(live.id)
            if self.is_behind or applied is None or applied.get(self._applier.number, 0) != self._counts.get(live.id, 0):
                async with self.quiet:
                    await self._applier.ensure(live, self._counts.get(live.id, 0))
        await self._applier.restate_doubtful()
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
        looking = dict.fromkeys(submission.live for ticket in tickets if self._looks(ticket) for _, submission in ticket.submissions)
        for live in dict.fromkeys(linked for board in looking for linked in (board, *self._catalog.links(board))):
            try:
                await self._applier.ensure(live, self._counts.get(live.id, 0))
            except EngineUnavailable:
                # The planner asks the ledger then.
                self.is_behind = True

    async def _refuse_without_engine(self, tickets: list[Ticket]) -> list[Ticket]:
        """Answer those whose board takes nothing while the engine is away; give the others."""
        strong = dict.fromkeys(submission.live for ticket in tickets for _, submission in ticket.submissions if submission.live.is_strong)
        for live in strong:
            try:
                await self._engine.applied(live.id)
            except EngineUnavailable as exc:
                refused = [ticket for ticket in tickets if any(submission.live is live for _, submission in ticket.submissions)]
                _fail(refused, exc)
                tickets = [ticket for ticket in tickets if ticket not in refused]
        return tickets

    async def _plan(self, tickets: list[Ticket]) -> dict[int, Plan]:
        """Plans by the identity of their submission, in order; what cannot be planned is answered or rejected."""
        increments = any(submission.kind != "score" for ticket in tickets for _, submission in ticket.submissions)
        planner = Planner(self._catalog, self._engine, self._ledger, self._applier.number, self._counts, increments)
        plans: dict[int, Plan] = {}
        for ticket in tickets:
            for index, submission in list(ticket.submissions):
                try:
                    plans[id(submission)] = await planner.plan(submission, ticket.ranked)
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

    async def _append(self, tickets: list[Ticket], plans: dict[int, Plan]) -> None:
        events = [event for plan in plans.values() for event in plan.events]
        if not events:
            return
        claims = [ticket.claim for ticket in tickets if ticket.claim is not None and ticket.submissions]
        answers = dict(self._answers)
        try:
            await self._ledger.append(events, claims, answers)
        except DuplicateKeys:
            raise
        except BaseException:
            self._unsure = True
            raise
        for claim in answers:
            del self._answers[claim]
        for event in events:
            self._counts[event.board] = event.n
        self.recorded += len(events)

    async def _replay(self, ticket: Ticket, claim: Claim, known: Answered) -> None:
        """Answer a request whose key was claimed before, from its first answer or from where the player stands."""
        if known.fingerprint != claim.fingerprint:
            ticket.settle(IdempotencyKeyReused(f"idempotency key {claim.key!r} was used on this board for another request"))
            return
        answer = self._first_answer(claim, known, ticket.batch)
        if answer is None:
            # It was recorded, and the process stopped before it answered.
            plans = {id(submission): Plan(submission, [submission.live], [], []) for _, submission in ticket.submissions}
            answer = await self._answer(ticket, plans, {})
        answer.replayed = True
        ticket.settle(answer)

    def _first_answer(self, claim: Claim, known: Answered, batch: bool) -> Receipt | BatchReceipt | None:
        text = known.answer or self._answers.get(claim)
        if text is None:
            return None
        return msgspec.json.decode(text, type=BatchReceipt) if batch else msgspec.json.decode(text, type=Receipt)

    async def first_answer(self, claim: Claim, batch: bool) -> Receipt | BatchReceipt | None:
        """The answer that a request with this key got before, if it did."""
        known = await self._ledger.claimed(claim)
        if known is None or known.fingerprint != claim.fingerprint:
            return None
        answer = self._first_answer(claim, known, batch)
        if answer is not None:
            answer.replayed = True
        return answer

    # -- answers --------------------------------------------------------------------------------------------------------

    async def _reply(self, tickets: list[Ticket], plans: dict[int, Plan], outcomes: dict[int, Outcome]) -> None:
        for ticket in tickets:
            if not ticket.submissions and not ticket.batch:
                continue
            answer = await self._answer(ticket, plans, outcomes)
            if ticket.claim is not None and ticket.submissions and answer.pending is not True:
                self._answers[ticket.claim] = _kept(answer)
            ticket.settle(answer)

    async def _answer(self, ticket: Ticket, plans: dict[int, Plan], outcomes: dict[int, Outcome]) -> Receipt | BatchReceipt:
        receipts = []
        for _, submission in ticket.submissions if ticket.ranked else ():
            plan, outcome = plans[id(submission)], outcomes.get(id(submission))
            if outcome is None or outcome.restate:
                receipts.append(await present_receipt(plan, self._engine, outcome.changes if outcome else []))
            else:
                receipts.append(receipt(plan, outcome.changes))
        if not ticket.batch:
            return receipts[0]
        answer = BatchReceipt(len(ticket.submissions), sorted(ticket.rejected, key=lambda rejection: rejection.index))
        if ticket.ranked:
            answer.results = receipts
        if any(receipt.pending is True for receipt in receipts):
            answer.pending = True
        return answer


def _fail(tickets: list[Ticket], error: Exception) -> None:
    if not isinstance(error, KeepscoreError):
        log.exception("a group of submissions failed", exc_info=error)
    for ticket in tickets:
        ticket.settle(error)


def _kept(answer: Receipt | BatchReceipt) -> bytes:
    text = encode(answer)
    if len(text) > MAX_ANSWER and isinstance(answer, BatchReceipt):
        return encode(BatchReceipt(answer.accepted, answer.rejected))
    return text
