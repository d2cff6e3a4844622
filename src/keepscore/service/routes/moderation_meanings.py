"""What the fields of decisions about players mean, for the description of the API."""

from __future__ import annotations

__all__ = ["MODERATION_MEANINGS"]

#: By the name of a field, with its struct where that matters.
MODERATION_MEANINGS = {
    "Void.added": "How many events were recorded in their place, where a score was set.",
    "CorrectBody.reason": "Why. It is kept with the decision, up to 1,000 bytes.",
    "CorrectBody.score": "The score that the player has from now on.",
    "CorrectBody.window": "The window in which it counts. Default: the board's first.",
    "CorrectBody.windows": "The windows in which it counts, in the place of `window`.",
    "CorrectBody.dry_run": "Only tell what would change.",
    "MergeBody.into": "The account.",
    "MergeBody.reason": "Why. It is kept with the decision, up to 1,000 bytes.",
    "MergeBody.dry_run": "Only tell what would be merged.",
    "SplitBody.reason": "Why. It is kept with the decision, up to 1,000 bytes.",
    "merge_id": "What the merge is known by; null: nothing was recorded.",
    "Merge.dry_run": "Whether nothing was recorded.",
    "Merge.into": "The account.",
    "Merge.boards": "The boards on which the guest has events.",
    "Merge.reason": "Why.",
    "Merge.at": "When it was decided.",
    "MergedBoard.events": "How many events of the guest count there.",
    "decision_id": "What the decision is known by.",
    "until": "When it ends by itself, a time with an offset; null: never.",
    "RestrictBody.reason": "Why. It is kept with the decision, up to 1,000 bytes.",
    "RestrictBody.boards": "The boards, by name; null: all, those that are defined later included.",
    "PlayerDecision.boards": "The boards, by name; null: all.",
    "PlayerDecision.action": "`hide`, `shadow` or `restore`.",
    "PlayerDecision.reason": "Why.",
    "PlayerDecision.at": "When it was decided.",
    "RestrictedPlayers.players": "The players, by the latest decisions first.",
    "RestrictedPlayer.state": "`hidden` (ranked for nobody) or `shadowed` (ranked for themselves).",
    "RestrictedPlayer.boards": "The boards, by name; null: all but those where the player is `restored`.",
    "RestrictedPlayer.since": "When it was decided.",
    "RestrictedPlayer.reason": "Why.",
    "restored": "Boards on which the player is ranked again.",
    "MergeBody.from": "The guest: the id that the player had before.",
    "SplitBody.from": "The guest: the id that the player had before.",
    "Merge.from": "The guest: the id that the player had before.",
}
