"""One group into the ledger: checked against the engine, planned, and recorded; or planned for the engine to keep meanwhile."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from keepscore.errors import EngineUnavailable, KeepscoreError, LedgerReplaced, LedgerUnavailable
from keepscore.projection.live_boards import LiveBoard
from keepscore.storage.ledgers.claims import AppendRefused, DuplicateKeys
from keepscore.storage.ledgers.players import StaleProfiles
from keepscore.storage.pace import Turns
from keepscore.telemetry.counters import SPOOLED_EVENTS
from keepscore.writing.engine_checks import EngineChecks
from keepscore.writing.groups import Group, PendingRequest, fail, unknown_outcome
from keepscore.writing.held import held_answers, queued_by
from keepscore.writing.numbers import Numbers
from keepscore.writing.parts import WriteParts
from keepscore.writing.plan import Plan, Planner
from keepscore.writing.plays import once_claims, refuse_used
from keepscore.writing.queue import RequestQueue
from keepscore.writing.receipts import Receipts
from keepscore.writing.ruled import refuse_broken
from keepscore.writing.scores import Scores
from keepscore.writing.segment_cap import SegmentCap
from keepscore.writing.under_way import UnderWay

__all__ = ["Recorder"]

#: Milliseconds after which a submission that has waited is checked once more.
RECHECK_AFTER_MS = 2000


class _OutcomeUnknown(Exception):
    """A group was sent to the ledger, and nobody knows whether it is recorded: it must not be sent again under other numbers."""

    def __init__(self, error: LedgerUnavailable) -> None:
        super().__init__(str(error))
        self.error = error


class Recorder:
    """Records the groups of one writer, one after the other."""

    def __init__(
        self,
        parts: WriteParts,
        numbers: Numbers,
        engine_checks: EngineChecks,
        receipts: Receipts,
        segment_cap: SegmentCap,
    ) -> None:
        #: Events recorded since the process started.
        self.recorded = 0
        self._catalog, self._ledger, self._engine, self._clock = parts.stores
        self._identity = parts.identity
        self._healing = parts.healing
        self._behind = parts.behind
        self._spool = parts.spool
        self._watch = parts.watch
        self._retries = parts.retries
        self._rules = parts.rules
        self.queue = RequestQueue(parts.stores.engine.is_shared)
        self._origins = parts.origins
        self._segments = parts.segments
        self.numbers = numbers
        self.under_way = UnderWay()
        self.engine_checks = engine_checks
        self._receipts = receipts
        self._segment_cap = segment_cap
        self._is_elsewhere = parts.stores.engine.is_shared
        self._scores = Scores(parts.stores.engine, parts.stores.ledger, parts.stores.clock, self._settle_scores)

    async def record(self, requests: list[PendingRequest], is_alone: bool = True) -> Group | None:
        """Record a group in the ledger. Requests that cannot be recorded get their answer here.

        `is_alone`: no other group is being applied.
        """
        held: dict[int, str] = {}
        try:
            if self._is_elsewhere:
                requests = await self.engine_checks.refuse(requests)
                held = await self.engine_checks.hold(requests)
                requests = self.engine_checks.refuse_unheld(requests, held)
            if self._spool.reason is not None:
                raise self._spool.reason
            if self.numbers.spent:
                self._spool.renew()
                self.numbers.restart()
            await self.numbers.meet_ledger(is_alone)
            if self._is_elsewhere:
                await self._catalog.restrictions.refresh(self._ledger, self._clock())
            if self._watch.has_doubts:
                requests = self.engine_checks.refuse_doubtful(requests)
            while requests:
                refuse_used(requests)
                if any(request.is_ruled for request in requests):
                    await refuse_broken(requests, self._rules, self._ledger, self._receipts)
                plans = await self._plan(requests)
                try:
                    seq = await self._append(requests, plans)
                except DuplicateKeys as duplicates:
                    for request in requests:
                        if request.claim is not None and request.claim in duplicates.answered:
                            await self._receipts.replay(request, request.claim, duplicates.answered[request.claim])
                    requests = [request for request in requests if request.claim not in duplicates.answered]
                    refuse_used(requests, duplicates.answered)
                except StaleProfiles as stale:
                    self._segments.forget(stale.players)
                else:
                    return Group(requests, plans, held, seq)
        except _OutcomeUnknown as exc:
            fail(requests, unknown_outcome(exc.error))
        except LedgerReplaced:
            # Nothing of it is recorded. It comes next, after the ledger is compared.
            self.queue.put_back(requests)
        except LedgerUnavailable as exc:
            kept = await self._keep_in_spool(requests, held, exc)
            if kept is not None:
                return kept
        except Exception as exc:
            fail(requests, exc)
        await self.engine_checks.release(held)
        return None

    async def _keep_in_spool(self, requests: list[PendingRequest], held: dict[int, str], error: LedgerUnavailable) -> Group | None:
        """Plan a group that the ledger cannot take now, for the engine to keep. Requests that need the ledger get the error."""
        refused = [request for request in requests if request.needs_ledger or any(self._needs_ledger(live) for live in request.boards)]
        fail(refused, error)
        requests = [request for request in requests if request not in refused]
        if not requests:
            return None
        try:
            if self._spool.reason is None:
                self._spool.begin(error)
                self.numbers.restart()
            elif self.numbers.spent:
                await self.engine_checks.check(requests)
                self._spool.renew()
                self.numbers.restart()
            plans = await self._plan(requests)
        except Exception as exc:
            fail(requests, exc)
            return None
        events = [event for plan in plans.values() for event in plan.events]
        self.numbers.count(events)
        SPOOLED_EVENTS.add(n=len(events))
        return Group(requests, plans, held, None)

    def _needs_ledger(self, live: LiveBoard) -> bool:
        """Return whether the engine cannot keep submissions to a board for the ledger: all boards that they go to take them, or none."""
        return self._catalog.is_strong(live) or (bool(live.board.also) and not self._engine.is_one_step)

    async def _plan(self, requests: list[PendingRequest]) -> dict[int, Plan]:
        """Return plans by the identity of their submission, in order; what cannot be planned is answered or rejected."""
        while (plans := await self._try_to_plan(requests)) is None:
            pass
        return plans

    async def _try_to_plan(self, requests: list[PendingRequest]) -> dict[int, Plan] | None:
        """Do the same, or return None where a request is a retry of what is recorded.

        It has its answer then, and the others are planned without it.
        """
        await self._follow(requests)
        planner = Planner(self._catalog, self._scores, self._identity.number, self.numbers.counts)
        await planner.prepare(submission for request in requests for _, submission in request.submissions)
        await self._segment_cap.prepare(submission for request in requests for _, submission in request.submissions)
        plans: dict[int, Plan] = {}
        now = self._clock()
        turns = Turns()
        for request in requests:
            given, request.submissions = request.submissions, []
            for index, submission in given:
                if turns.is_over():
                    await turns.pass_on()
                try:
                    if now - submission.received > RECHECK_AFTER_MS and not submission.backfill:
                        # It has waited so long that its window may have been closed.
                        submission.find_rankings(now)
                    if submission.live.is_filled:
                        self._segments.fill(submission)
                    self._segment_cap.check(submission)
                    plans[id(submission)] = planner.plan_alone(submission) or planner.plan(submission)
                    request.submissions.append((index, submission))
                except KeepscoreError as exc:
                    if request.claim is not None and (known := await self._ledger.claims.find(request.claim)):
                        # It is a retry: that it could not be taken a second time does not matter.
                        request.submissions = given
                        # It keeps its submissions: where the answer is yet to be kept, it comes again.
                        requests[:] = [other for other in requests if other is not request]
                        await self._receipts.replay(request, request.claim, known)
                        return None
                    request.refuse(index, exc)
        return plans

    async def _follow(self, requests: list[PendingRequest]) -> None:
        """Fill in the values of segments that submissions do not name. Those that cannot be known are refused when they are planned."""
        waiting = [submission for request in requests for _, submission in request.submissions if submission.live.is_filled]
        if waiting:
            await self._segments.prepare(waiting)
            for submission in waiting:
                with suppress(KeepscoreError):
                    self._segments.fill(submission)

    async def _append(self, requests: list[PendingRequest], plans: dict[int, Plan]) -> int:
        """Record the events of a group; return the ledger's number of it."""
        events = [event for plan in plans.values() for event in plan.events]
        if not events:
            return 0
        claims = [request.claim for request in requests if request.claim is not None and request.submissions] + once_claims(requests)
        answers = self._retries.unsaved()
        records = {t.claim: t.record(t.rejected) for t in requests if t.record is not None and t.claim is not None and t.submissions}
        queued = [queued_by(plan) for plan in plans.values() if plan.submission.suspicion is not None]
        if queued:
            records |= held_answers(requests, plans)
        profiles = _profiles_of(plans.values()) if self._is_elsewhere else None
        try:
            more = () if not profiles else (profiles,)
            seq = await self._ledger.events.append(events, claims, answers | records if records else answers, queued, *more)
        except AppendRefused:
            raise
        except LedgerUnavailable as exc:
            if exc.nothing_recorded:
                raise
            self.numbers.unsure = True
            raise _OutcomeUnknown(exc) from exc
        except BaseException:
            self.numbers.unsure = True
            raise
        self._retries.saved(answers)
        if not self._rules.remembers_nothing:
            self._rules.recorded(events)
        self._origins.recorded(events)
        self.numbers.count(events)
        self.recorded += len(events)
        return seq

    async def _settle_scores(self, boards: Iterable[LiveBoard]) -> None:
        """Bring boards up to date whose scores are about to be read."""
        # What these change is seen only then.
        await self.under_way.applied()
        for live in boards if self._spool.reason is None else ():
            try:
                if live.board.rating is not None and self._is_elsewhere:
                    # A process that died may have recorded a match, and not applied it.
                    await self._healing.catch_up(live)
                else:
                    await self._healing.ensure(live, self.numbers.counts.get(live.id, 0))
            except EngineUnavailable:
                # The ledger is asked then.
                self._behind.add(live, self._clock())


def _profiles_of(plans: Iterable[Plan]) -> dict[str, int]:
    """Return the versions of the profiles that plans depend on, the earlier one where one changed between two of them."""
    found: dict[str, int] = {}
    for plan in plans:
        for side in plan.submission.sides:
            if side.profile_version is not None:
                found[side.player] = min(side.profile_version, found.get(side.player, side.profile_version))
    return found
