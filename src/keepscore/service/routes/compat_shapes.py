"""What the routes of existing clients take and return."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from keepscore.errors import InvalidField
from keepscore.service.routes.stated import AroundCount, NumberField, PageLimit, Region, TextField, Time

__all__ = [
    "CompatAroundQuery",
    "CompatTopQuery",
    "Neighbour",
    "Neighbours",
    "PlayerId",
    "PlayerRank",
    "RankedPlayer",
    "RankedPlayers",
    "ScoreIncrement",
    "ScoreUpdate",
    "Updated",
    "WhichQuery",
]

Type = Literal["global", "regional", "friends"]
Period = Literal["daily", "weekly", "monthly", "all_time"]
PlayerId = int | str


class ScoreUpdate(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A player's score."""

    player_id: PlayerId
    score: NumberField
    leaderboard_type: Type = "global"
    region: Region | None = None
    game_id: TextField | None = None
    timestamp: Time | None = None


class ScoreIncrement(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """An amount to add to a player's score."""

    player_id: PlayerId
    score_delta: NumberField
    leaderboard_type: Type = "global"
    region: Region | None = None
    game_id: TextField | None = None
    timestamp: Time | None = None


class Updated(msgspec.Struct):
    """The player after an update."""

    player_id: PlayerId
    #: None where an amount is recorded, and not added yet.
    score: Any
    rank: int | None
    rank_change: int | None
    percentile: float | None
    #: False where the score stays as it was: it was not better.
    updated: bool | UnsetType = UNSET
    replayed: bool | UnsetType = UNSET
    #: Only where it is recorded, and will be ranked later: ranks are null until then.
    pending: bool | UnsetType = UNSET
    #: Only where the ledger is away, and the engine keeps it for the ledger.
    spooled: bool | UnsetType = UNSET
    #: Only where the engine does not keep the player (`keep_top`): the rank is an estimate, wrong by `error` at most.
    approximate: bool | UnsetType = UNSET
    error: int | UnsetType = UNSET


class WhichQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which ranking: global, of a region, or among friends; of a period. `leaderboard_type`, as in a body, is `type`."""

    type: Type = "global"
    leaderboard_type: Type = "global"
    period: Period = "all_time"
    region: Region | None = None

    @property
    def kind(self) -> Type:
        """Which ranking is meant, by either name."""
        if "global" not in (self.type, self.leaderboard_type) and self.type != self.leaderboard_type:
            raise InvalidField(f"type = {self.type!r} is not leaderboard_type = {self.leaderboard_type!r}: send one of them")
        return self.leaderboard_type if self.type == "global" else self.type


class CompatTopQuery(WhichQuery, forbid_unknown_fields=True, kw_only=True):
    """How many players, and whose friends."""

    n: PageLimit = 100
    player_id: str | None = None


class CompatAroundQuery(WhichQuery, forbid_unknown_fields=True, kw_only=True):
    """How many players above and below, and whose friends."""

    range: AroundCount = 50
    player_id: str | None = None


class RankedPlayer(msgspec.Struct):
    """A player of a list."""

    rank: int
    player_id: PlayerId
    player_name: str | None
    score: Any
    rank_change: int


class RankedPlayers(msgspec.Struct):
    """The top of a leaderboard."""

    leaderboard_type: str
    period: str
    total_players: int
    players: list[RankedPlayer]
    #: Only where scores that came after `as_of` may be missing: the engine is away, or takes none.
    stale: bool | UnsetType = UNSET
    as_of: datetime | UnsetType = UNSET


class PlayerRank(msgspec.Struct):
    """Where a player stands."""

    player_id: PlayerId
    rank: int
    score: Any
    total_players: int
    percentile: float
    #: Only where the engine does not keep the player (`keep_top`): the rank is an estimate, wrong by `error` at most.
    approximate: bool | UnsetType = UNSET
    error: int | UnsetType = UNSET
    #: Only where scores that came after `as_of` may be missing: the engine is away, or takes none.
    stale: bool | UnsetType = UNSET
    as_of: datetime | UnsetType = UNSET


class Neighbour(msgspec.Struct):
    """A player around a rank."""

    rank: int
    player_id: PlayerId
    score: Any


class Neighbours(msgspec.Struct):
    """The players around a rank."""

    center_rank: int
    players: list[Neighbour]
    #: Only where scores that came after `as_of` may be missing: the engine is away, or takes none.
    stale: bool | UnsetType = UNSET
    as_of: datetime | UnsetType = UNSET
