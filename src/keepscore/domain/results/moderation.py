"""What callers get from moderation: what a void changes, and the voids there are."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec

from keepscore.domain.boards import Score
from keepscore.domain.results.plain import Result

__all__ = [
    "ArchivedRank",
    "BoardExport",
    "Erasure",
    "ExportedEvent",
    "Merge",
    "MergedBoard",
    "PlayerDecision",
    "PlayerExport",
    "RestrictedPlayer",
    "RestrictedPlayers",
    "ScoreAndRank",
    "StoredAppeal",
    "StoredRestriction",
    "StoredReward",
    "StoredScore",
    "StoredSeason",
    "Void",
    "VoidChange",
    "VoidList",
    "VoidReport",
    "VoidState",
]

#: How far a void is: its verdicts are being recorded, stand, are being taken back, or are taken back.
VoidState = Literal["applying", "standing", "undoing", "undone"]


class ScoreAndRank(Result):
    """Where a player stands in one window. `rank` is null in a dry run where it cannot be told beforehand (dense ranks)."""

    score: Score
    rank: int | None


class VoidChange(Result):
    """What a void changes for one player in one open window; null: the player is not ranked there."""

    player_id: str
    window: str
    window_id: str
    before: ScoreAndRank | None
    after: ScoreAndRank | None


class VoidReport(Result, omit_defaults=True):
    """What a void does, or would do in a dry run. `void_id` is null where nothing was recorded."""

    void_id: str | None
    board: str
    dry_run: bool
    #: The events that no longer count, and whose they are.
    events: int
    players: int
    changes: list[VoidChange]
    next_cursor: str | None
    #: Closed windows that were archived again.
    revised: list[str] = msgspec.field(default_factory=list)
    replayed: bool | msgspec.UnsetType = msgspec.UNSET


class Void(Result, omit_defaults=True):
    """A decision that some events no longer count."""

    void_id: str
    board: str
    reason: str
    #: Which events it is about, as it was asked for.
    selection: dict[str, Any]
    at: datetime
    state: VoidState
    events: int
    players: int
    undo_reason: str | None = None
    undone_at: datetime | None = None
    #: How many events it has recorded in their place, where it sets a score.
    added: int = 0
    replayed: bool | msgspec.UnsetType = msgspec.UNSET


class VoidList(Result):
    """The voids of a service, the newest first."""

    voids: list[Void]


class PlayerDecision(Result, omit_defaults=True):
    """What was decided about a player. `boards` is null where it is about all boards."""

    decision_id: str
    action: Literal["hide", "shadow", "restore"]
    player_id: str
    boards: list[str] | None
    until: datetime | None
    reason: str
    at: datetime
    replayed: bool | msgspec.UnsetType = msgspec.UNSET


class RestrictedPlayer(Result):
    """A player who is hidden or shadowed now. `boards` is null where that is so on all boards but those where they are `restored`."""

    decision_id: str
    state: Literal["hidden", "shadowed"]
    player_id: str
    boards: list[str] | None
    restored: list[str]
    since: datetime
    until: datetime | None
    reason: str


class RestrictedPlayers(Result):
    """The players who are hidden or shadowed now, the latest decisions first."""

    players: list[RestrictedPlayer]


class MergedBoard(Result):
    """How many events of a guest count as an account's on a board."""

    board: str
    events: int


class Merge(Result, omit_defaults=True, rename={"guest": "from"}):
    """A guest who was merged into an account, or split from it. `merge_id` is null in a dry run."""

    merge_id: str | None
    dry_run: bool
    guest: str
    into: str
    boards: list[MergedBoard]
    reason: str
    at: datetime
    replayed: bool | msgspec.UnsetType = msgspec.UNSET


class Erasure(Result):
    """A player who was erased; events and archived ranks stay under the `pseudonym`. Where nothing was stored, `erase_id` is null."""

    erase_id: str | None
    player_id: str
    pseudonym: str | None
    at: datetime
    events: int = 0
    boards: int = 0
    archived: int = 0
    friends: int = 0
    groups: int = 0
    had_profile: bool = False
    replayed: bool | msgspec.UnsetType = msgspec.UNSET


class ExportedEvent(Result):
    """An event of a player, with all that is kept with it."""

    kind: str
    amount: Score
    at: datetime
    received: datetime
    segments: dict[str, str] | None
    game_id: str | None
    metadata: Any
    build: str | None
    #: The mark of the address that it came from.
    address: str | None


class ArchivedRank(Result):
    """A rank of a player in an archived ranking."""

    window: str
    window_id: str
    segment: str | None
    rank: int
    score: Score


class BoardExport(Result):
    """What is stored about a player on one board."""

    board: str
    events: list[ExportedEvent]
    archived: list[ArchivedRank]


class StoredRestriction(Result):
    """A decision that a player is hidden, shadowed or merged."""

    kind: str
    reason: str
    since: datetime
    into: str | None


class StoredAppeal(Result):
    """What a player has said against a decision."""

    appeal_id: str
    text: str
    at: datetime
    state: str
    reply: str | None


class StoredReward(Result):
    """What a player has won."""

    board: str
    window: str
    window_id: str
    rank: int
    reward: str
    reward_state: str


class StoredScore(Result):
    """A score of a player that was put in the queue."""

    queue_id: str
    board: str
    score: Score
    at: datetime
    state: str
    reason: str | None


class StoredSeason(Result):
    """A season of a league in which a player took part. Without a cohort, it is not found yet; without a result, it is not decided."""

    board: str
    window: str
    starts: datetime
    tier: str
    cohort: str | None
    rank: int | None
    result: str | None


class PlayerExport(Result):
    """Everything that is stored about a player."""

    player_id: str
    at: datetime
    profile: dict[str, Any]
    friend_ids: list[str]
    groups: list[str]
    boards: list[BoardExport]
    restrictions: list[StoredRestriction]
    appeals: list[StoredAppeal]
    rewards: list[StoredReward]
    queue: list[StoredScore]
    seasons: list[StoredSeason]
