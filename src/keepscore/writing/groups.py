"""Requests on their way through the writer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from itertools import compress
from typing import Any, NamedTuple

import msgspec

from keepscore.domain.results.standings import Rejection
from keepscore.errors import KeepscoreError, OutcomeUnknown
from keepscore.projection.live_boards import LiveBoard
from keepscore.storage.engines.base import Ranking
from keepscore.storage.ledgers.claims import Claim
from keepscore.writing.plan import Plan
from keepscore.writing.scopes import Submission

__all__ = ["Group", "PendingRequest", "fail", "split_needs_restate", "unknown_outcome"]

#: Submissions with which a group is a large one.
LARGE_SUBMISSIONS = 1000

log = logging.getLogger(__name__)


class PendingRequest(msgspec.Struct):
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
    patient: bool = True
    """Whether it waits for the answer that another process gives to the same request."""
    record: Callable[[list[Rejection]], bytes] | None = None
    """Makes what is recorded with the claim, beside its events, in the place of the answer."""
    is_ruled: bool = False
    """Whether the rules of its board have to be kept."""
    tell: Callable[[bool], object] | None = None
    """Makes the answer, in the place of a receipt, from whether it is ranked later. A retry gets `Unanswered`: whoever sent it looks."""

    @property
    def boards(self) -> list[LiveBoard]:
        """The boards that it is sent to, each once."""
        return list(dict.fromkeys(submission.live for _, submission in self.submissions))

    @property
    def needs_ledger(self) -> bool:
        """Whether something of it counts once, or so often, which only the ledger can tell."""
        return self.claim is not None or self.is_ruled or any(submission.play is not None for _, submission in self.submissions)

    def refuse(self, index: int, error: KeepscoreError) -> None:
        """Give the error as the answer, or reject one entry of a batch with it."""
        if self.batch:
            self.rejected.append(Rejection(index, error.type, error.detail))
        else:
            self.settle(error)

    def settle(self, answer: object) -> None:
        """Give the answer, unless whoever asked is gone."""
        if self.answer.done():
            return
        if isinstance(answer, Exception):
            self.answer.set_exception(answer)
        else:
            self.answer.set_result(answer)


def fail(requests: Iterable[PendingRequest], error: Exception) -> None:
    """Answer requests with an error."""
    if not isinstance(error, KeepscoreError):
        log.exception("a group of submissions failed", exc_info=error)
    for request in requests:
        request.settle(error)


def unknown_outcome(error: Exception) -> Exception:
    """Return the error for submissions that were sent to the ledger, or to the engine to keep, and may be recorded or not."""
    if not isinstance(error, KeepscoreError):
        return error
    unknown = OutcomeUnknown(f"{error}. Whether the submission is recorded is not known: send it again only with its idempotency key")
    unknown.__cause__ = error
    return unknown


def split_needs_restate(
    requests: list[PendingRequest], plans: Mapping[int, Plan], needs_restate: Mapping[LiveBoard, Mapping[Ranking, Iterable[str]]]
) -> tuple[list[PendingRequest], list[PendingRequest]]:
    """Return the requests with players who are left to restate, and the others."""
    if not needs_restate:
        return [], requests
    whom = {(live.id, player) for live, rankings in needs_restate.items() for players in rankings.values() for player in players}

    def waits(request: PendingRequest) -> bool:
        events = (event for _, submission in request.submissions for event in plans[id(submission)].events)
        return any((event.board, event.player) in whom for event in events)

    waiting = [waits(request) for request in requests]
    return list(compress(requests, waiting)), [request for request, is_late in zip(requests, waiting, strict=True) if not is_late]


class Group(NamedTuple):
    """Requests that are recorded, and what they became, by the identity of the submission."""

    requests: list[PendingRequest]
    plans: dict[int, Plan]
    #: Boards that are held until they are applied, with the tokens.
    held: dict[int, str]
    #: The ledger's number of the group; None: the engine keeps it for the ledger, which does not have it yet.
    seq: int | None

    @property
    def spooled(self) -> bool:
        """Whether the engine keeps it for the ledger."""
        return self.seq is None

    @property
    def boards(self) -> set[int]:
        """The numbers of all boards that they change."""
        return {live.id for plan in self.plans.values() for live in plan.boards}

    @property
    def is_large(self) -> bool:
        """Whether others would wait for long if they waited for it."""
        return len(self.plans) >= LARGE_SUBMISSIONS

    @property
    def keys(self) -> set[tuple[str, str, str]]:
        """The idempotency keys of the requests, each with its scope."""
        return {request.claim[:3] for request in self.requests if request.claim is not None}
