"""Requests on their way through the writer."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

import msgspec

from keepscore.answers import BatchReceipt, Receipt, Rejection
from keepscore.catalog import LiveBoard
from keepscore.guard import Submission
from keepscore.ledgers.base import Claim
from keepscore.planner import Plan

__all__ = ["Group", "Ticket"]


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

    @property
    def boards(self) -> list[LiveBoard]:
        """The boards that it is sent to, each once."""
        return list(dict.fromkeys(submission.live for _, submission in self.submissions))

    def settle(self, answer: Receipt | BatchReceipt | Exception) -> None:
        """Give the answer, unless whoever asked is gone."""
        if self.answer.done():
            return
        if isinstance(answer, Exception):
            self.answer.set_exception(answer)
        else:
            self.answer.set_result(answer)


class Group(NamedTuple):
    """Requests that are recorded, and what they became, by the identity of the submission."""

    tickets: list[Ticket]
    plans: dict[int, Plan]
    #: Boards that are held until they are applied, with the tokens.
    held: dict[int, str]
    #: Whether the engine keeps them for the ledger, which does not have them yet.
    spooled: bool = False

    @property
    def keys(self) -> set[tuple[int, str]]:
        """The idempotency keys of the requests, each with its board."""
        return {ticket.claim[:2] for ticket in self.tickets if ticket.claim is not None}
