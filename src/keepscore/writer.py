"""The write path: group commit, the watermark, healing.

All that is waiting becomes one group: one ledger transaction, one engine call; what arrives meanwhile is the next. Answers go out
when both are done. A caller that goes away takes nothing with it: the group belongs to the writer's own task.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from keepscore.answers import BatchReceipt, Receipt, Rejection, encode
from keepscore.catalog import Catalog, LiveBoard
from keepscore.engines.base import Batch, Gap, Outcome, Ranking, RankingEngine, Update
from keepscore.errors import IdempotencyKeyReused, KeepscoreError, Overloaded
from keepscore.feeds.base import Feed
from keepscore.guard import Submission
from keepscore.ledgers.base import Answered, Checkpoint, Claim, DuplicateKeys, Ledger
from keepscore.planner import Plan, Planner
from keepscore.receipts import present_receipt, receipt
from keepscore.replay import load_engine, restated

__all__ = ["Ticket", "Writer"]

#: Submissions that one group takes up, unless a single request brings more.
GROUP = 1000
#: Submissions that may wait; more are refused.
MAX_WAITING = 100_000
#: How often one engine call is tried after healing: each try gets at least as far as the one before.
MAX_TRIES = 5
#: Bytes of an answer that are kept for retries; of a larger one only the counts are.
MAX_ANSWER = 1 << 20

log = logging.getLogger(__name__)


class Ticket(msgspec.Struct):
    """A request on its way: its submissions, and who waits for the answer."""

    submissions: list[tuple[int, Submission]]
    """Checked submissions, each with its place in the request."""
    rejected: list[Rejection]
    claim: Claim | None
    ranked: bool
    """Whether receipts are wanted."""
    batch: bool
    """Whether the request was a batch, and gets the answer of one."""
    answer: asyncio.Future[Any]

    def settle(self, answer: Receipt | BatchReceipt | Exception) -> None:
        """Give the answer, unless whoever asked is gone."""
        if self.answer.done():
            return
        if isinstance(answer, Exception):
            self.answer.set_exception(answer)
        else:
            self.answer.set_result(answer)


class Writer:
    """Writes all submissions of this process. `quiet` is held while a group is on its way."""

    def __init__(self, number: int, catalog: Catalog, ledger: Ledger, engine: RankingEngine, feed: Feed) -> None:
        self.number = number
        self.quiet = asyncio.Lock()
        #: Events recorded since the process started.
        self.recorded = 0
        #: Called when a board that the engine had lost was loaded again.
        self.reloaded: Callable[[LiveBoard, Checkpoint | None], None] = lambda live, checkpoint: None
        self._catalog = catalog
        self._ledger = ledger
        self._engine = engine
        self._feed = feed
        self._waiting: deque[Ticket] = deque()
        self._size = 0
        self._wake = asyncio.Event()
        #: The number of this writer's last recorded event on each board.
        self._counts: dict[int, int] = {}
        #: Whether it is not known if the last group was recorded.
        self._unsure = False
        #: Updates that the engine may have applied without a word, on boards where a late one would need restating.
        self._doubtful: list[tuple[LiveBoard, Update]] = []
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
            async with self.quiet:
                group = self._take()
                try:
                    await self._commit(group)
                except Exception as exc:
                    if not isinstance(exc, KeepscoreError):
                        log.exception("a group of submissions failed")
                    for ticket in group:
                        ticket.settle(exc)

    def _take(self) -> list[Ticket]:
        """The next group. Of several requests with one key, the later ones wait until the ledger knows the key."""
        group: list[Ticket] = []
        later: list[Ticket] = []
        keys: set[tuple[int, str]] = set()
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

    async def _commit(self, tickets: list[Ticket]) -> None:
        if self._unsure:
            await self._settle_outcome()
        await self._catch_up_for(tickets)
        while tickets:
            plans = await self._plan(tickets)
            try:
                await self._record(tickets, plans)
            except DuplicateKeys as duplicates:
                for ticket in tickets:
                    if ticket.claim is not None and ticket.claim in duplicates.answered:
                        await self._replay(ticket, ticket.claim, duplicates.answered[ticket.claim])
                tickets = [ticket for ticket in tickets if ticket.claim not in duplicates.answered]
                continue
            outcomes = await self._apply(plans)
            # Nearly all updates share one tuple of rankings.
            routes = {id(update.rankings): update.rankings for plan in plans.values() for update in plan.updates}
            await self._feed.publish({ranking for rankings in routes.values() for ranking in rankings})
            await self._reply(tickets, plans, outcomes)
            return

    async def _settle_outcome(self) -> None:
        """Find out how far this writer's events are recorded, after an append that ended in an error, and apply those."""
        for live in self._catalog:
            last = (await self._ledger.positions(live.id)).get(self.number, 0)
            if last != self._counts.get(live.id, 0):
                self._counts[live.id] = last
                await self.catch_up(live)
        self._unsure = False

    async def _catch_up_for(self, tickets: list[Ticket]) -> None:
        """Bring boards up to date on which a submission depends on the score that there is."""
        boards = {
            live
            for ticket in tickets
            for _, submission in ticket.submissions
            if submission.kind != "score" or submission.live.board.operator == "sum" or submission.live.board.also
            for live in (submission.live, *self._catalog.links(submission.live))
        }
        for live in boards:
            applied = await self._engine.applied(live.id)
            if applied is None or applied.get(self.number, 0) != self._counts.get(live.id, 0):
                await self._heal(Gap(live.id, None if applied is None else applied.get(self.number, 0)))

    async def _plan(self, tickets: list[Ticket]) -> dict[int, Plan]:
        """Plans by the identity of their submission, in order; what cannot be planned is answered or rejected."""
        increments = any(submission.kind != "score" for ticket in tickets for _, submission in ticket.submissions)
        planner = Planner(self._catalog, self._engine, self.number, self._counts, increments)
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

    async def _record(self, tickets: list[Ticket], plans: dict[int, Plan]) -> None:
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

    # -- the engine -----------------------------------------------------------------------------------------------------

    async def _apply(self, plans: dict[int, Plan]) -> dict[int, Outcome]:
        """Apply planned events; answer the outcomes on the submissions' own boards that the engine tells."""
        grouped: dict[int, tuple[LiveBoard, list[Update], list[int | None]]] = {}
        first: dict[int, int] = {}
        for key, plan in plans.items():
            for live, event, update in zip(plan.boards, plan.events, plan.updates, strict=True):
                _, updates, names = grouped.setdefault(live.id, (live, [], []))
                updates.append(update)
                names.append(key if live is plan.boards[0] else None)
                first.setdefault(live.id, event.n)
        batches = [
            Batch(board, self.number, first[board] - 1, first[board] - 1 + len(updates), updates, live.board.rank)
            for board, (live, updates, _) in grouped.items()
        ]
        try:
            answers = await self._apply_healing(batches)
        except BaseException:
            self._doubtful += [
                (live, update) for live, updates, _ in grouped.values() for update in updates if live.board.operator == "last"
            ]
            raise
        for live, update in self._doubtful:
            await self._restate(live, update, update.rankings, await self._engine.applied(live.id) or {})
        self._doubtful.clear()
        outcomes: dict[int, Outcome] = {}
        for (live, updates, names), found in zip(grouped.values(), answers, strict=True):
            if not found and live.board.operator == "last":
                # They had been applied already, and nobody told whether one of them came late.
                for update in updates:
                    await self._restate(live, update, update.rankings, await self._engine.applied(live.id) or {})
            for update, name, outcome in zip(updates, names, found, strict=bool(found)):
                if outcome.restate:
                    await self._restate(live, update, outcome.restate, await self._engine.applied(live.id) or {})
                if name is not None:
                    outcomes[name] = outcome
        return outcomes

    async def _apply_healing(self, batches: list[Batch]) -> list[list[Outcome]]:
        for _ in range(MAX_TRIES):
            try:
                return await self._engine.apply(batches)
            except Gap as gap:
                log.warning("healing: %s", gap)
                await self._heal(gap)
        return await self._engine.apply(batches)

    async def _heal(self, gap: Gap) -> None:
        """Close a gap between the ledger and the engine: replay what is missing, or rebuild a board that the engine has lost."""
        live = next((live for live in self._catalog if live.id == gap.board), None)
        if live is None:
            return
        if gap.applied is None:
            checkpoint = await load_engine(self._ledger, self._engine, live)
            await self._engine.promote(live.id)
            self.reloaded(live, checkpoint)
        else:
            await self.catch_up(live)

    async def catch_up(self, live: LiveBoard, shadow: bool = False) -> int:
        """Apply what the ledger has and the engine (or its shadow of the board) has not; answer how many events that were."""
        applied = await self._engine.applied(live.id, shadow) or {}
        done = 0
        async for events in self._ledger.events(live.id, applied):
            for writer in sorted({event.writer for event in events}):
                mine = [event for event in events if event.writer == writer]
                updates = [live.update(event) for event in mine]
                batch = Batch(live.id, writer, applied.get(writer, 0), mine[-1].n, updates, live.board.rank, shadow)
                (outcomes,) = await self._engine.apply([batch])
                applied[writer] = mine[-1].n
                for update, outcome in zip(updates, outcomes, strict=bool(outcomes)):
                    await self._restate(live, update, outcome.restate, applied, shadow)
                done += len(mine)
        return done

    async def _restate(
        self, live: LiveBoard, update: Update, rankings: Iterable[Ranking], upto: Mapping[int, int], shadow: bool = False
    ) -> None:
        """Recompute a player whose event came late."""
        for ranking in rankings:
            state = await restated(self._ledger, live, update.player, ranking, upto)
            await self._engine.restate(ranking, update.player, state, shadow)

    # -- answers --------------------------------------------------------------------------------------------------------

    async def _reply(self, tickets: list[Ticket], plans: dict[int, Plan], outcomes: dict[int, Outcome]) -> None:
        for ticket in tickets:
            if not ticket.submissions and not ticket.batch:
                continue
            answer = await self._answer(ticket, plans, outcomes)
            if ticket.claim is not None and ticket.submissions:
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
        return answer


def _kept(answer: Receipt | BatchReceipt) -> bytes:
    text = encode(answer)
    if len(text) > MAX_ANSWER and isinstance(answer, BatchReceipt):
        return encode(BatchReceipt(answer.accepted, answer.rejected))
    return text
