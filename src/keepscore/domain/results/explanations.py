"""What callers get of a submission that explains itself, of the score that a rank needs, and of what counts and why."""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET, UnsetType

from keepscore.domain.boards import Score
from keepscore.domain.explanations import Reason
from keepscore.domain.results.plain import Result
from keepscore.domain.scoring import Scope

__all__ = ["ExplainedEvent", "Explanation", "Needs", "NextPlayer", "TierAhead", "Why"]


class NextPlayer(Result, gc=False):
    """The player just ahead, and how far ahead."""

    rank: int
    player_id: str
    name: str | None
    score: Score
    #: The difference to that score.
    gap: Score
    avatar_url: str | UnsetType = UNSET


class TierAhead(Result, gc=False):
    """The tier above, and how far it is."""

    name: str
    #: The score that takes the player there now; null where nobody can tell.
    score: Score | None
    #: The difference to that score.
    gap: Score | None


class Explanation(Result):
    """What a submission did in the board's first window."""

    #: Null for the first player.
    next_player: NextPlayer | None
    #: Who was ahead, or had a better rank before, and is behind now: up to 10, the best first.
    overtaken: list[str]
    #: How many there are.
    overtaken_count: int
    #: Whether it is better than all that the player has sent to the board before.
    personal_best: bool
    #: The tier that the player is in, on a board with tiers, and the one above, if there is one.
    tier: str | UnsetType | None = UNSET
    next_tier: TierAhead | UnsetType = UNSET


class Needs(Result):
    """The score with which a player reaches a rank."""

    board: str
    window: str
    window_id: str
    segment: str | None
    player_id: str
    #: Null for a player who is not ranked.
    rank: int | None
    score: Score | None
    target_rank: int
    total_players: int
    #: Whether the player has the rank already.
    reached: bool
    #: The score that is enough, if it comes now; null if any score is.
    needed_score: Score | None
    #: The difference to the player's score.
    gap: Score | None


class ExplainedEvent(Result, gc=False):
    """An event, and whether it counts in the ranking."""

    event_id: str
    kind: str
    amount: Score
    at: datetime
    received: datetime
    segments: dict[str, str] | None
    game_id: str | None
    counts: bool
    #: Why it does not count; null: it does.
    reason: Reason | None
    #: The void, for an event that is voided.
    void_id: str | UnsetType = UNSET
    #: Where it counts, where that is not in all windows of its time.
    scope: Scope | UnsetType = UNSET


class Why(Result):
    """A player's events on a board, newest first, and what of them counts in one ranking. `total` counts all of them."""

    board: str
    window: str
    window_id: str
    segment: str | None
    player_id: str
    #: Null for a player who is not ranked.
    rank: int | None
    score: Score | None
    total: int
    events: list[ExplainedEvent]
    #: Events before this moment were dropped.
    complete_from: datetime | UnsetType = UNSET
