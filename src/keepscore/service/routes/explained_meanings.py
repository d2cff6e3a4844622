"""What the fields of explanations mean."""

from __future__ import annotations

__all__ = ["EXPLAINED_FIELDS", "EXPLAINED_PARAMETERS"]

EXPLAINED_PARAMETERS = {"explain": "`true`: the receipt says who is next, who was overtaken, and whether it is a personal best."}

EXPLAINED_FIELDS = {
    "explanation": "Only with `explain`: what the submission did in the board's first window.",
    "next_player": "The player just ahead; null for the first.",
    "NextPlayer.gap": "The difference to that player's score.",
    "TierAhead.score": "The score that takes the player there now; null where that is not known.",
    "TierAhead.gap": "The difference to that score.",
    "overtaken": "Players whom the submission has put behind: up to 10, the best first.",
    "overtaken_count": "How many were overtaken.",
    "personal_best": "Whether it is better than all that the player has sent to the board before.",
    "Needs.rank": "The player's rank; null: not ranked.",
    "Needs.score": "The player's score; null: not ranked.",
    "target_rank": "The rank to reach.",
    "reached": "Whether the player has that rank already.",
    "needed_score": "The score that is enough, if it comes now; null if any is.",
    "gap": "The difference to the player's score.",
    "Why.rank": "The player's rank; null: not ranked.",
    "Why.score": "The player's score; null: not ranked.",
    "event_id": "The event, as `writer-n`.",
    "counts": "Whether it counts in this ranking.",
    "ExplainedEvent.reason": "Why it does not count: `worse_score`, `not_first`, `replaced`, `other_window`, `other_segment`, `late` or "
    "`voided`; null: it does.",
    "ExplainedEvent.amount": "The score or amount.",
    "ExplainedEvent.at": "When it happened.",
}
