"""What callers get from the review of scores: why one is doubted, and what moderators have to decide."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec

from keepscore.domain.boards import Score
from keepscore.domain.results.plain import Result

__all__ = [
    "AddressEvidence",
    "Appeal",
    "AppealPage",
    "AppealState",
    "BoardEvidence",
    "Evidence",
    "HistoryEvidence",
    "PastScore",
    "QueueItem",
    "QueuePage",
    "QueueState",
    "Reason",
]

#: What moderators have decided of a score: nothing yet, that it counts, or that it does not.
QueueState = Literal["open", "approved", "rejected"]


#: What became of an appeal: nothing yet, the decision stands, or it was taken back.
AppealState = Literal["open", "upheld", "granted"]


class Reason(Result):
    """Why a score is doubted: the rule, what it allows, the figure that it found, and a sentence that says it all."""

    rule: str
    limit: str
    #: Null where something is missing.
    value: Any
    detail: str


class PastScore(Result):
    """One of a player's earlier submissions that count."""

    at: datetime
    score: Score


class HistoryEvidence(Result):
    """What the player has sent to the board before that counts: how many, the best, the median, and the latest ones."""

    submissions: int
    best: Score | None
    median: Score | None
    latest: list[PastScore]


class BoardEvidence(Result):
    """Where the score lies among those of the board's first window: how many players there are, and how many of them are ahead of it.

    The scores are those of the players at the top, in the middle and at the end.
    """

    players: int
    ahead: int
    first: Score | None
    median: Score | None
    last: Score | None


class AddressEvidence(Result):
    """Who else has sent scores to the board from the same address, which is told by a mark of it."""

    address: str | None
    accounts: int
    #: Up to 20 of them.
    player_ids: list[str]


class Evidence(Result):
    """What helps to decide: the player's own history, the board's distribution, and accounts from the same address."""

    history: HistoryEvidence
    distribution: BoardEvidence
    address: AddressEvidence


class QueueItem(Result, omit_defaults=True):
    """A score that is to be decided about, or was. `quarantined`: it does not count unless it is approved."""

    id: str
    board: str
    player_id: str
    #: The score, or the amount, that was sent.
    score: Score
    at: datetime
    reasons: list[Reason]
    state: QueueState
    quarantined: bool
    #: Its events, as a void names them.
    event_ids: list[str]
    #: Only in the list of what is open.
    evidence: Evidence | None = None
    decided_at: datetime | None = None
    reason: str | None = None
    replayed: bool | msgspec.UnsetType = msgspec.UNSET


class QueuePage(Result):
    """Scores that moderators have to decide about, the oldest first."""

    items: list[QueueItem]
    next_cursor: str | None


class Appeal(Result, omit_defaults=True):
    """A player's appeal against a decision, and what a moderator has replied."""

    id: str
    #: A void, or a score in the queue.
    decision_id: str
    board: str
    player_id: str
    text: str
    at: datetime
    state: AppealState
    reply: str | None = None
    replied_at: datetime | None = None
    replayed: bool | msgspec.UnsetType = msgspec.UNSET


class AppealPage(Result):
    """Appeals, the oldest first."""

    items: list[Appeal]
    next_cursor: str | None
