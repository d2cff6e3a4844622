"""What the fields mean that are about the review of scores, for the API's description."""

from __future__ import annotations

__all__ = ["REVIEW_MEANINGS"]

REVIEW_MEANINGS = {
    "quarantined": "`true`: the score is recorded, and is ranked only if a moderator approves it.",
    "queue_id": "Only in quarantine: what the score is known by in the queue.",
    "Receipt.reasons": "Only in quarantine: why.",
    "BatchReceipt.quarantined": "How many of the accepted are recorded, and ranked only if a moderator approves them.",
    "DecisionBody.reason": "Why, for the record and the audit.",
    "Reason.rule": "The rule that was broken.",
    "Reason.limit": "What it allows.",
    "Reason.value": "What was found; null: something is missing.",
    "Reason.detail": "All of it in a sentence.",
    "QueuePage.items": "The scores, the oldest first.",
    "QueueItem.id": "What the score is known by in the queue.",
    "QueueItem.score": "The score or amount that was sent.",
    "QueueItem.at": "When it happened.",
    "QueueItem.reasons": "Why it is doubted.",
    "QueueItem.state": "`open`, `approved` or `rejected`.",
    "QueueItem.quarantined": "Whether it does not count unless it is approved; else it counts unless it is rejected.",
    "QueueItem.event_ids": "Its events on the board, as a void names them.",
    "QueueItem.evidence": "What helps to decide; null: it is decided.",
    "QueueItem.decided_at": "When it was approved or rejected.",
    "QueueItem.reason": "Why it was approved or rejected.",
    "Evidence.history": "What the player has sent to the board before that counts.",
    "Evidence.distribution": "Where the player would stand in the board's first window.",
    "Evidence.address": "Who else has sent scores to the board from the same address.",
    "HistoryEvidence.submissions": "How many.",
    "HistoryEvidence.best": "The best of them; null: none.",
    "HistoryEvidence.median": "The one in the middle; null: none.",
    "HistoryEvidence.latest": "The latest ten.",
    "PastScore.at": "When it happened.",
    "BoardEvidence.players": "How many players are ranked.",
    "BoardEvidence.ahead": "How many of them would be ahead.",
    "BoardEvidence.first": "The score of the first.",
    "BoardEvidence.median": "The score of the player in the middle.",
    "BoardEvidence.last": "The score of the last.",
    "AddressEvidence.address": "The address; null: not known.",
    "AddressEvidence.accounts": "How many other players have sent scores from it.",
    "AddressEvidence.player_ids": "Up to 20 of them.",
}
