"""What counts once, such as a play that is redeemed: a claim in the transaction of the score's events, whatever crashes."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from keepscore.errors import GameCounted, KeepscoreError, PlayTokenUsed
from keepscore.storage.ledgers.claims import Claim
from keepscore.writing.groups import PendingRequest
from keepscore.writing.scopes import Submission

__all__ = ["PLAY", "once_claims", "refuse_used"]

#: The kind of the claims of plays; the target is the number of the board.
PLAY = "play"


def claims_of(submission: Submission) -> Iterator[Claim]:
    """Yield what a submission claims beside the key of its request."""
    if submission.play is not None:
        yield Claim(PLAY, str(submission.live.id), submission.play.id, b"")
    if submission.once is not None:
        yield submission.once


def once_claims(requests: list[PendingRequest]) -> list[Claim]:
    """Return the claims of all that counts once in a group."""
    return [claim for request in requests for _, submission in request.submissions for claim in claims_of(submission)]


def refuse_used(requests: list[PendingRequest], used: Collection[Claim] = ()) -> None:
    """Refuse submissions with something that is `used`, or comes in the group before them. The others of their requests go on.

    It is done before a group is planned: the numbers of events have no gaps.
    """
    seen: set[Claim] = set(used)
    for request in requests:
        if not any(submission.play is not None or submission.once is not None for _, submission in request.submissions):
            continue
        given, request.submissions = request.submissions, []
        for index, submission in given:
            claims = list(claims_of(submission))
            found = next((claim for claim in claims if claim in seen), None)
            if found is None:
                request.submissions.append((index, submission))
                seen.update(claims)
            else:
                request.refuse(index, _error(submission, found))


def _error(submission: Submission, used: Claim) -> KeepscoreError:
    if used.kind == PLAY:
        return PlayTokenUsed("play_token was used before: each play counts once. Begin another with POST …/plays")
    return GameCounted.of(submission.live.name, submission.game_id or "")
