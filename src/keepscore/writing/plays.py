"""Plays that are redeemed: a claim in the transaction of the score's events, so that each counts once, whatever crashes."""

from __future__ import annotations

from collections.abc import Collection

from keepscore.domain.results.standings import Rejection
from keepscore.errors import PlayTokenUsed
from keepscore.storage.ledgers.claims import Claim
from keepscore.writing.groups import PendingRequest
from keepscore.writing.scopes import Submission

__all__ = ["PLAY", "play_claims", "refuse_played"]

#: The kind of the claims of plays; the target is the number of the board.
PLAY = "play"


def claim_of(submission: Submission) -> Claim | None:
    """Return what a submission claims beside the key of its request."""
    return None if submission.play is None else Claim(PLAY, str(submission.live.id), submission.play.id, b"")


def play_claims(requests: list[PendingRequest]) -> list[Claim]:
    """Return the claims of all plays of a group."""
    return [claim for request in requests for _, submission in request.submissions if (claim := claim_of(submission)) is not None]


def refuse_played(requests: list[PendingRequest], used: Collection[Claim] = ()) -> None:
    """Refuse submissions whose play is `used`, or comes in the group before them. The others of their requests go on.

    It is done before a group is planned: the numbers of events have no gaps.
    """
    seen: set[Claim] = set(used)
    for request in requests:
        if not any(submission.play is not None for _, submission in request.submissions):
            continue
        given, request.submissions = request.submissions, []
        for index, submission in given:
            claim = claim_of(submission)
            if claim is None or claim not in seen:
                request.submissions.append((index, submission))
                if claim is not None:
                    seen.add(claim)
                continue
            error = PlayTokenUsed("play_token was used before: each play counts once. Begin another with POST …/plays")
            if request.batch:
                request.rejected.append(Rejection(index, error.type, error.detail))
            else:
                request.settle(error)
