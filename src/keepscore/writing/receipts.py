"""Answers to submissions: from what they did, from where players stand, or from the first answer to the same request.

Scores that decay are shown as of the time when the submission arrives.
"""

from __future__ import annotations

import msgspec

from keepscore.domain.boards import Score
from keepscore.domain.ordering import percentile
from keepscore.domain.results.standings import BatchReceipt, Receipt, WindowReceipt
from keepscore.errors import EngineUnavailable, KeepscoreError, LedgerUnavailable, RankingLost
from keepscore.projection.partial_rankings import is_estimated, rankings_of
from keepscore.projection.stores import Stores
from keepscore.projection.viewers import as_seen_by
from keepscore.storage.engines.base import Change, Outcome, Rankings
from keepscore.storage.ledgers.base import Ledger
from keepscore.storage.ledgers.claims import Answered, Claim
from keepscore.storage.pace import Turns
from keepscore.writing.groups import PendingRequest
from keepscore.writing.healing import Healing
from keepscore.writing.idempotency import Retries, Unanswered
from keepscore.writing.plan import Plan
from keepscore.writing.protocols import ReceiptSigner

__all__ = ["Receipts", "pending_receipt"]


class Receipts:
    """Answers the requests of one process."""

    def __init__(self, stores: Stores, healing: Healing, retries: Retries, signer: ReceiptSigner | None = None) -> None:
        self._catalog, self._ledger, self._engine, _ = stores
        self._healing = healing
        self._retries = retries
        self._signer = signer

    def _sign(self, answer: Receipt, plan: Plan) -> Receipt:
        """Sign the answer to a submission that is recorded, where its board has a prize."""
        if self._signer is not None and plan.boards[0].board.prize is not None and not plan.submission.is_held:
            signed = self._signer.signed_receipt(plan.submission, plan.events[0] if plan.events else None)
            answer.signed_receipt = msgspec.UNSET if signed is None else signed
        return answer

    async def reply(self, requests: list[PendingRequest], plans: dict[int, Plan], outcomes: dict[int, Outcome], spooled: bool) -> None:
        """Answer requests that are done, and keep the answers of those with a key."""
        for request in requests:
            if not request.submissions and not request.batch:
                continue
            if request.tell is not None:
                request.settle(request.tell(False))
                continue
            answer = await self._answer(request, plans, outcomes)
            if spooled:
                answer.spooled = True
            is_kept = answer.pending is not True or answer.quarantined is True
            if request.claim is not None and request.submissions and is_kept and request.record is None:
                self._retries.keep(request.claim, answer)
            request.settle(answer)

    def postpone(
        self, request: PendingRequest, plans: dict[int, Plan], spooled: bool, replayed: bool | msgspec.UnsetType = msgspec.UNSET
    ) -> None:
        """Answer a request that is recorded, or kept for the ledger, and ranked later."""
        if request.tell is not None:
            request.settle(request.tell(True))
            return
        own = [plans[id(submission)] for _, submission in request.submissions if request.ranked]
        receipts = [self._sign(pending_receipt(plan), plan) for plan in own]
        if not request.batch and not receipts:
            return
        answer = _batch_receipt(request) if request.batch else receipts[0]
        if isinstance(answer, BatchReceipt):
            answer.results = receipts if request.ranked else msgspec.UNSET
        answer.pending = True
        answer.replayed = replayed
        if spooled:
            answer.spooled = True
        request.settle(answer)

    def _postpone_again(self, request: PendingRequest, claim: Claim, known: Answered) -> None:
        """Answer a request whose key was claimed before, and which is still to be ranked."""
        try:
            self._retries.answer(claim, known, request.batch)
        except KeepscoreError as exc:
            request.settle(exc)
            return
        self.postpone(request, _plans_of(request), spooled=False, replayed=True)

    async def replay(self, request: PendingRequest, claim: Claim, known: Answered) -> None:
        """Answer a request whose key was claimed before, from its first answer or from where the player stands."""
        if request.tell is not None:
            request.settle(Unanswered())
            return
        if not self._retries.is_answered(claim, known):
            if request.patient and self._engine.is_shared:
                # Another process may be about to answer.
                request.settle(Unanswered())
                return
            # The process that recorded it has not answered, and may not have applied it: it has to count before it is shown.
            try:
                for live in request.boards:
                    await self._healing.catch_up(live)
            except EngineUnavailable as exc:
                if any(self._catalog.is_strong(live) for live in request.boards):
                    request.settle(exc)
                else:
                    self._postpone_again(request, claim, known)
                return
        try:
            answer = self._retries.answer(claim, known, request.batch)
        except KeepscoreError as exc:
            request.settle(exc)
            return
        if answer is None:
            # It was recorded, and the process stopped before it answered.
            answer = await self._answer(request, _plans_of(request), {})
            answer.replayed = True
        request.settle(answer)

    async def _answer(self, request: PendingRequest, plans: dict[int, Plan], outcomes: dict[int, Outcome]) -> Receipt | BatchReceipt:
        receipts = []
        turns = Turns()
        for _, submission in request.submissions if request.ranked else ():
            if turns.is_over():
                await turns.pass_on()
            plan, outcome = plans[id(submission)], outcomes.get(id(submission))
            if submission.is_held:
                receipts.append(pending_receipt(plan))
            elif outcome is None or outcome.restate or any(is_estimated(plan.boards[0], change.unique) for change in outcome.changes):
                try:
                    receipts.append(self._placed(await self._present(plan, outcome.changes if outcome else []), plan))
                except LedgerUnavailable:
                    # It counts; where a player stands whom the engine does not keep, the ledger would know.
                    receipts.append(pending_receipt(plan))
            else:
                receipts.append(self._placed(receipt(plan, outcome.changes), plan))
        for made, (_, submission) in zip(receipts, request.submissions, strict=False):
            self._sign(made, plans[id(submission)])
        if not request.batch:
            return receipts[0]
        answer = _batch_receipt(request)
        if request.ranked:
            answer.results = receipts
        if any(receipt.pending is True and receipt.quarantined is not True for receipt in receipts):
            answer.pending = True
        return answer

    def _placed(self, answer: Receipt, plan: Plan) -> Receipt:
        """Return the same answer with the positions of its rankings, which include what it tells."""
        for ranking, window in zip(plan.shown, answer.windows.values(), strict=True):
            position = self._engine.positions.latest(ranking)
            if position is not None:
                window.position = f"{position[0]}:{position[1]}"
        if answer.windows:
            answer.position = next(iter(answer.windows.values())).position
        return answer

    async def _present(self, plan: Plan, changes: list[Change]) -> Receipt:
        """Return where the player stands by now, in an engine that has lost nothing."""
        rankings = rankings_of(self._engine, self._ledger, plan.boards[0])
        if plan.boards[0].hides(plan.submission.player):
            return await unranked_receipt(plan, rankings, self._ledger)
        try:
            return await present_receipt(plan, rankings, changes)
        except RankingLost as exc:
            await self._healing.heal(exc)
        return await present_receipt(plan, rankings, changes)


def _plans_of(request: PendingRequest) -> dict[int, Plan]:
    """Return plans of a request that is recorded already."""
    return {id(submission): Plan(submission, [submission.live], [], []) for _, submission in request.submissions}


def _batch_receipt(request: PendingRequest) -> BatchReceipt:
    answer = BatchReceipt(len(request.submissions), sorted(request.rejected, key=lambda rejection: rejection.index))
    answer.quarantined = sum(submission.is_held for _, submission in request.submissions) or msgspec.UNSET
    return answer


def receipt(plan: Plan, changes: list[Change]) -> Receipt:
    """Return the answer to a submission whose changes are known, one for each window."""
    live = plan.boards[0]
    exact = None if live.is_plain else live.shown_at(plan.submission.received)
    windows: dict[str, WindowReceipt] = {}
    for ranking, change in zip(plan.shown, changes, strict=True):
        previous, rank, total = change.previous, change.rank, change.total
        score = exact(change.score) if exact else change.score
        moved = 0 if previous is None else previous - rank
        windows[ranking.window] = WindowReceipt(ranking.window_id, score, rank, previous, moved, percentile(change.unique, total), total)
    return _with_headline(plan, windows, bool(changes) and changes[0].updated)


async def present_receipt(plan: Plan, rankings: Rankings, changes: list[Change]) -> Receipt:
    """Return the answer to a submission from where the player stands now; what was before comes from `changes`, where there are any."""
    live, submission = plan.boards[0], plan.submission
    shown = live.shown_at(submission.received)
    windows: dict[str, WindowReceipt] = {}
    for i, ranking in enumerate(plan.shown):
        (place,) = await rankings.places(ranking, [submission.player], live.board.rank)
        if place is None:
            windows[ranking.window] = WindowReceipt(ranking.window_id, _given(plan), None, None, None, None, None)
            continue
        # Of a player whom the engine does not keep, nobody knows the dense rank.
        rank: int = getattr(place, live.board.rank) or place.unique
        previous = changes[i].previous if changes else rank
        if is_estimated(live, previous):
            previous = None
        moved = 0 if previous is None else previous - rank
        share = percentile(place.unique, place.total)
        windows[ranking.window] = told = WindowReceipt(ranking.window_id, shown(place.score), rank, previous, moved, share, place.total)
        if place.error is not None:
            told.approximate, told.error = True, place.error
    if not windows:
        return _with_headline(plan, windows, False)
    updated = bool(changes) and (changes[0].updated or shown(changes[0].score) != next(iter(windows.values())).score)
    if (changes and changes[0].previous is None and live.board.is_partial) or (plan.events and not changes):
        # The engine did not have the player, or got the event with others that it lacked, and cannot say what the score was.
        updated = live.board.takes_corrections or next(iter(windows.values())).score == _given(plan)
    answer = _with_headline(plan, windows, updated)
    answer.approximate, answer.error = next((window.approximate, window.error) for window in windows.values())
    if plan.events and any(window.rank is None for window in windows.values()):
        # It was recorded just now, and the engine has lost it since.
        answer.pending = True
    return answer


async def unranked_receipt(plan: Plan, rankings: Rankings, ledger: Ledger) -> Receipt:
    """Return the answer to a submission of a player who is not ranked: with the rank that they see, or with none."""
    live, player, shown = plan.boards[0], plan.submission.player, plan.boards[0].shown_at(plan.submission.received)
    windows: dict[str, WindowReceipt] = {}
    for ranking in plan.shown:
        seen = await as_seen_by(rankings, ledger, live, ranking, player)
        (place,) = await seen.places(ranking, [player], live.board.rank)
        windows[ranking.window] = WindowReceipt(ranking.window_id, _given(plan), None, None, None, None, None)
        if place is not None:
            rank: int = getattr(place, live.board.rank) or place.unique
            share = percentile(place.unique, place.total)
            windows[ranking.window] = WindowReceipt(ranking.window_id, shown(place.score), rank, rank, 0, share, place.total)
    head = next(iter(windows.values()), None)
    return _with_headline(plan, windows, head is not None and (live.board.takes_corrections or head.score == _given(plan)))


def pending_receipt(plan: Plan) -> Receipt:
    """Return the answer to a submission that is recorded and not ranked yet."""
    windows = {ranking.window: WindowReceipt(ranking.window_id, _given(plan), None, None, None, None, None) for ranking in plan.shown}
    receipt = _with_headline(plan, windows, False)
    receipt.pending = True
    suspicion = plan.submission.suspicion
    if suspicion is not None and suspicion.is_held:
        receipt.quarantined, receipt.queue_id, receipt.reasons = True, suspicion.id, list(suspicion.reasons)
    return receipt


def _given(plan: Plan) -> Score | None:
    """Return the score that was submitted, as it is when it comes; None for an amount, which is not the score that it makes."""
    live, given = plan.boards[0], plan.submission
    if given.kind == "increment":
        return None
    return live.shown_at(given.received)(given.amount if live.half_life is None else live.half_life.level(given.amount, given.at))


def _with_headline(plan: Plan, windows: dict[str, WindowReceipt], updated: bool) -> Receipt:
    # A score of windows that have all left the engine is recorded, and ranked nowhere.
    head = next(iter(windows.values()), None) or WindowReceipt("", _given(plan), None, None, None, None, None)
    return Receipt(
        plan.boards[0].name,
        plan.submission.player,
        head.score,
        updated,
        head.rank,
        head.previous_rank,
        head.rank_change,
        head.percentile,
        head.total_players,
        windows,
    )
