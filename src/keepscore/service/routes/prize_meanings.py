"""What the fields of prizes and webhooks mean, for the description of the API. `meanings` has the others."""

from __future__ import annotations

__all__ = ["PRIZE_MEANINGS"]

PRIZE_MEANINGS = {
    # Prizes.
    "signed_receipt": "Only on a board with a prize: a signed statement that the submission was accepted, a JWS.",
    "CloseBody.reason": "Why it is closed now.",
    "FinalizeBody.reason": "Why now.",
    "HoldBody.reason": "Why.",
    "HoldBody.player_id": "Whose reward.",
    "Winners.state": "`open`, `closing`, `provisional`, `final` or `paid`.",
    "PrizeStatus.state": "`open`, `closing`, `provisional`, `final` or `paid`.",
    "closed_at": "When the window was closed; null: not yet.",
    "review_until": "Until when the winners are provisional.",
    "final_at": "When the winners were decided; null: not yet.",
    "total_winners": "How many have won.",
    "Winners.winners": "The winners, the first first.",
    "statement": "The signed statement of the final list; null: the winners are not decided.",
    "reward": "What the rank gets; null: nothing but the place.",
    "reward_state": "`provisional`, `held`, `pending`, `paid` or `claimed`.",
    "reward_id": "The id of the reward, which never changes.",
    "settled_at": "When it was paid or claimed; null: not yet.",
    "PrizeStatus.rewards": "How many rewards are decided.",
    "settled": "How many of them are paid or claimed.",
    "certificate": "The signed statement, a JWS.",
    "Winner.rank": "The rank, each of one winner.",
    "WinnersCheck.winners": "How many winners were compared.",
    "WinnersCheck.ok": "Whether the list is the one that was signed.",
    "WinnersCheck.problem": "What is wrong; null: nothing.",
    "kid": "The id of the key.",
    "jwk": "The key as a JWK (RFC 8037).",
    "pem": "The key as PEM.",
    # Webhooks.
    "RetryBody.delivery_id": "Which one; null: all that wait.",
    "is_configured": "Whether webhooks are configured; else deliveries wait.",
    "Deliveries.pending": "How many wait to be acknowledged.",
    "failing": "How many of them were refused when they were tried last.",
    "Deliveries.deliveries": "The deliveries, the newest first.",
    "Retried.deliveries": "How many are tried again.",
    "Delivery.id": "The `webhook-id`, which never changes.",
    "Delivery.type": "What it is about.",
    "Delivery.state": "`pending`, `failing` or `delivered`.",
    "created_at": "When it was created.",
    "attempts": "How often it was tried.",
    "next_attempt_at": "When it is tried next; null: it is delivered.",
    "delivered_at": "When it was acknowledged; null: not yet.",
    "Delivery.error": "Why the last try failed.",
}
