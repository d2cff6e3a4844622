"""What the fields of matches and ratings mean."""

from __future__ import annotations

__all__ = ["MATCH_MEANINGS"]

MATCH_MEANINGS = {
    "a": "The first player's id.",
    "b": "The second player's id.",
    "MatchBody.result": "1 if `a` won, 0.5 for a draw, 0 if `b` won.",
    "PlayedMatch.result": "1 for a win, 0.5 for a draw, 0 for a loss.",
    "match_id": "The match's id, which counts once. Default: a new one.",
    "VoidBody.match_id": "The match whose changes no longer count.",
    "mode": "On a board with a rating: `refund` takes the changes back; `replay` also rates the later matches again of everybody whom "
    "that reaches.",
    "tier": "Only on a board with `tiers`: the player's tier; null: none.",
    "next_tier": "Only on a board with `tiers`: the tier above, and the score that takes the player there now.",
    "NextTier.name": "The tier.",
    "NextTier.score": "The score needed now; null: not known.",
    "rating": "The rating afterwards.",
    "change": "What the match, or all of them, changed.",
    "against": "The other players.",
    "void": "Whether it no longer counts.",
    "matches": "The matches, the newest first.",
    "opponent_id": "The other player's id.",
    "wins": "Matches won.",
    "draws": "Matches drawn.",
    "losses": "Matches lost.",
    "peak": "The highest rating after a match; null: there was none.",
    "points": "The rating after each match, the newest first.",
    "MatchReceipt.players": "Both players, `a` first.",
    "MatchReceipt.replayed": "Whether it was recorded before, and this is the first answer.",
    "PlayerMatches.total": "How many matches there are.",
    "HeadToHead.total": "How many matches of both count.",
    "PlayerRatings.total": "How many matches count.",
}
