"""Answers to requests: from what their submissions did, from where players stand, or from the first answer to the same request."""

from __future__ import annotations

import msgspec

from keepscore.answers import BatchReceipt, Receipt
from keepscore.engines.base import Outcome, RankingEngine
from keepscore.errors import KeepscoreError, LedgerUnavailable
from keepscore.ledgers.base import Answered, Claim, Ledger
from keepscore.planner import Plan
from keepscore.pruning import rankings_of
from keepscore.receipts import is_estimated, pending_receipt, present_receipt, receipt
from keepscore.retries import Retries
from keepscore.tickets import Ticket

__all__ = ["Replies"]


class Replies:
    """Answers the requests of one process."""

    def __init__(self, engine: RankingEngine, ledger: Ledger, retries: Retries) -> None:
        self._engine = engine
        self._ledger = ledger
        self._retries = retries

    async def reply(self, tickets: list[Ticket], plans: dict[int, Plan], outcomes: dict[int, Outcome], spooled: bool) -> None:
        """Answer requests that are done, and keep the answers of those with a key."""
        for ticket in tickets:
            if not ticket.submissions and not ticket.batch:
                continue
            answer = await self._answer(ticket, plans, outcomes)
            if spooled:
                answer.spooled = True
            if ticket.claim is not None and ticket.submissions and answer.pending is not True:
                self._retries.keep(ticket.claim, answer)
            ticket.settle(answer)

    def postpone(self, ticket: Ticket, plans: dict[int, Plan], replayed: bool | msgspec.UnsetType = msgspec.UNSET) -> None:
        """Answer a request that is recorded, and ranked later."""
        receipts = [pending_receipt(plans[id(submission)]) for _, submission in ticket.submissions if ticket.ranked]
        if not ticket.batch and not receipts:
            return
        answer = _batch_receipt(ticket) if ticket.batch else receipts[0]
        if isinstance(answer, BatchReceipt):
            answer.results = receipts if ticket.ranked else msgspec.UNSET
        answer.pending = True
        answer.replayed = replayed
        ticket.settle(answer)

    def postpone_again(self, ticket: Ticket, claim: Claim, known: Answered) -> None:
        """Answer a request whose key was claimed before, and which is still to be ranked."""
        try:
            self._retries.answer(claim, known, ticket.batch)
        except KeepscoreError as exc:
            ticket.settle(exc)
            return
        self.postpone(ticket, _plans_of(ticket), replayed=True)

    async def replay(self, ticket: Ticket, claim: Claim, known: Answered) -> None:
        """Answer a request whose key was claimed before, from its first answer or from where the player stands."""
        try:
            answer = self._retries.answer(claim, known, ticket.batch)
        except KeepscoreError as exc:
            ticket.settle(exc)
            return
        if answer is None:
            # It was recorded, and the process stopped before it answered.
            answer = await self._answer(ticket, _plans_of(ticket), {})
            answer.replayed = True
        ticket.settle(answer)

    async def _answer(self, ticket: Ticket, plans: dict[int, Plan], outcomes: dict[int, Outcome]) -> Receipt | BatchReceipt:
        receipts = []
        for _, submission in ticket.submissions if ticket.ranked else ():
            plan, outcome = plans[id(submission)], outcomes.get(id(submission))
            if outcome is None or outcome.restate or any(is_estimated(plan, change.unique) for change in outcome.changes):
                rankings = rankings_of(self._engine, self._ledger, plan.boards[0])
                try:
                    receipts.append(await present_receipt(plan, rankings, outcome.changes if outcome else []))
                except LedgerUnavailable:
                    # It counts; where a player stands whom the engine does not keep, the ledger would know.
                    receipts.append(pending_receipt(plan))
            else:
                receipts.append(receipt(plan, outcome.changes))
        if not ticket.batch:
            return receipts[0]
        answer = _batch_receipt(ticket)
        if ticket.ranked:
            answer.results = receipts
        if any(receipt.pending is True for receipt in receipts):
            answer.pending = True
        return answer


def _plans_of(ticket: Ticket) -> dict[int, Plan]:
    """Plans of a request that is recorded already."""
    return {id(submission): Plan(submission, [submission.live], [], []) for _, submission in ticket.submissions}


def _batch_receipt(ticket: Ticket) -> BatchReceipt:
    return BatchReceipt(len(ticket.submissions), sorted(ticket.rejected, key=lambda rejection: rejection.index))
