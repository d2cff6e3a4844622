"""What callers get about prizes: the winners of a window, what became of their rewards, and certificates."""

from __future__ import annotations

from datetime import datetime

import msgspec

from keepscore.domain.boards import Score
from keepscore.domain.prizes import PrizeState, RewardState
from keepscore.domain.results.plain import Result

__all__ = ["Certificate", "PrizeStatus", "RewardStatus", "Winner", "Winners", "WinnersCheck"]


class Winner(Result):
    """One winner of a window. `reward` and `reward_state` are null behind the last rank that gets something."""

    rank: int
    player_id: str
    score: Score
    reward: str | None
    reward_state: RewardState | None


class Winners(Result):
    """A page of the winners of a window; there are none before it is closed.

    Until the winners are final, they may change. `statement` is the signed statement of the final list.
    """

    board: str
    window: str
    window_id: str
    state: PrizeState
    #: When the window was closed, until when its winners are reviewed, and when they were decided.
    closed_at: datetime | None
    review_until: datetime | None
    final_at: datetime | None
    total_winners: int
    winners: list[Winner]
    next_cursor: str | None
    statement: str | None


class PrizeStatus(Result):
    """How far a window with a prize is."""

    board: str
    window: str
    window_id: str
    state: PrizeState
    closed_at: datetime | None
    review_until: datetime | None
    final_at: datetime | None
    total_winners: int
    #: How many rewards are decided, and how many of them are paid or claimed.
    rewards: int
    settled: int
    replayed: bool | msgspec.UnsetType = msgspec.UNSET


class RewardStatus(Result):
    """What a winner gets, and how far that is. `reward_id` never changes."""

    board: str
    window: str
    window_id: str
    player_id: str
    rank: int
    score: Score
    reward: str
    reward_id: str
    reward_state: RewardState
    settled_at: datetime | None
    replayed: bool | msgspec.UnsetType = msgspec.UNSET


class Certificate(Result):
    """A signed statement of a final rank. `certificate` is what to keep: all else is in it, too."""

    board: str
    window: str
    window_id: str
    player_id: str
    rank: int
    score: Score
    reward: str | None
    final_at: datetime
    certificate: str


class WinnersCheck(Result):
    """Whether the final list of a window is what was signed."""

    board: str
    window: str
    window_id: str
    winners: int
    ok: bool
    #: What is wrong.
    problem: str | None
