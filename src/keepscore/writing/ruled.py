"""Submissions that break a rule of their board: refused before their group is planned, unless they are retries of what was taken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from keepscore.errors import KeepscoreError
from keepscore.storage.ledgers.base import Ledger
from keepscore.writing.groups import PendingRequest
from keepscore.writing.protocols import SubmissionRules
from keepscore.writing.receipts import Receipts
from keepscore.writing.scopes import Submission

__all__ = ["refuse_broken"]


class _Ruled(NamedTuple):
    """A submission that has to keep rules, and its place in its request."""

    request: PendingRequest
    place: int
    submission: Submission

    @property
    def whose(self) -> tuple[int, str]:
        return self.submission.live.id, self.submission.player


async def refuse_broken(requests: list[PendingRequest], rules: SubmissionRules, ledger: Ledger, receipts: Receipts) -> None:
    """Refuse submissions of a group that break a rule. The others of their requests go on; retries get their first answer, and leave."""
    while True:
        ruled = [_Ruled(request, *one) for request in requests if request.is_ruled for one in request.submissions]
        errors = await rules.broken([one.submission for one in ruled])
        if not errors:
            return
        if not await _replay_known(requests, ruled, errors, ledger, receipts):
            break
    await rules.note_refused([(ruled[place].submission, error) for place, error in errors.items()])
    refused = {id(ruled[place].submission) for place in errors}
    for request in requests:
        if request.is_ruled:
            request.submissions = [one for one in request.submissions if id(one[1]) not in refused]
    for place, error in errors.items():
        ruled[place].request.refuse(ruled[place].place, error)


async def _replay_known(
    requests: list[PendingRequest], ruled: list[_Ruled], errors: Mapping[int, KeepscoreError], ledger: Ledger, receipts: Receipts
) -> bool:
    """Answer retries of what is recorded, and take them out of the group; return whether there were any.

    A retry counts already: it may break a rule itself, or let others of its player break one.
    """
    players = {ruled[place].whose for place in errors}
    suspects = {id(one.request): one.request for one in ruled if one.request.claim is not None and one.whose in players}
    is_any = False
    for request in suspects.values():
        if request.claim is not None and (known := await ledger.claims.find(request.claim)) is not None:
            requests[:] = [other for other in requests if other is not request]
            await receipts.replay(request, request.claim, known)
            is_any = True
    return is_any
