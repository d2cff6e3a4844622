"""What the fields of matches and ratings mean."""

from __future__ import annotations

__all__ = ["MATCH_MEANINGS"]

MATCH_MEANINGS = {
    "a": "The first player's id.",
    "b": "The second player's id.",
    "MatchBody.result": "1 if `a` won, 0.5 for a draw, 0 if `b` won.",
    "PlayedMatch.result": "1 for a win, 0.5 for a draw, 0 for a loss; against several teams, the mean.",
    "MatchesBody.matches": "The matches, each with the fields of a single one.",
    "MatchBatch.matches": "The answers to the matches that are recorded, in their order.",
    "MatchBatch.accepted": "How many matches are recorded.",
    "MatchBatch.duplicates": "How many of the accepted were recorded before.",
    "MatchBatch.rejected": "The matches that are not, each with its place in the batch and the error.",
    "teams": "On a board rated by openskill: the players of each team, in the place of `a` and `b`.",
    "ranks": "The place of each team, 1 being the first; equal places are a draw. Default: teams are in the order of their places.",
    "place": "Of a match of teams, the place of the player's team.",
    "allies": "Of a match of teams, who else was in the player's team.",
    "deviation": "Only with deviations: how uncertain the rating is.",
    "mean": "Only with deviations: how strong the player is taken to be. The rating is `z` deviations below it.",
    "provisional": "Whether the player is not ranked yet, because of `ranked_from`.",
    "PlayerRatings.rating": "The rating now, in the board's first window; null: there is none.",
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
    "MatchReceipt.players": "The players, `a` first, or team by team.",
    "MatchReceipt.replayed": "Whether it was recorded before, and this is the first answer.",
    "PlayerMatches.total": "How many matches there are.",
    "HeadToHead.total": "How many matches of both count.",
    "PlayerRatings.total": "How many matches count.",
}
