"""What callers get from a test of rules over the past."""

from __future__ import annotations

from datetime import datetime

from keepscore.domain.boards import Score
from keepscore.domain.results.moderation import VoidChange
from keepscore.domain.results.plain import Result
from keepscore.domain.results.review import Reason

__all__ = ["CaughtScore", "RuleTest"]


class CaughtScore(Result):
    """A submission that the rules would have caught."""

    #: As a void names it.
    event_id: str
    player_id: str
    score: Score
    at: datetime
    reasons: list[Reason]
    #: Whether it counts today.
    counts: bool


class RuleTest(Result):
    """What rules would have caught of all that was sent to a board, and how that compares with what moderators decided.

    Nothing is changed.
    """

    board: str
    submissions: int
    #: Submissions that the rules would have caught, of how many players, and how many by each rule.
    caught: int
    players: int
    by_rule: dict[str, int]
    #: Of these, those that moderators have let no longer count, too; those that count; and those that moderators have approved.
    agreed: int
    counting: int
    approved: int
    #: Those that moderators have let no longer count, and the rules would have let pass.
    missed: int
    #: The first of those that would have been caught, up to 100.
    examples: list[CaughtScore]
    #: What would change for players in open windows, up to 1,000, and how many changes there are.
    changes: list[VoidChange]
    total_changes: int
