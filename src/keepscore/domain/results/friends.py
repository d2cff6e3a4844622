"""What callers get of friends, and of everything that one screen shows of a player."""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET, UnsetType

from keepscore.domain.boards import Score
from keepscore.domain.results.plain import Result
from keepscore.domain.results.standings import NextTier, Standing

__all__ = ["BoardView", "FriendList", "FriendStanding", "FriendsBoard", "OwnStanding", "WindowView"]


class FriendList(Result):
    """A player's friends, by id."""

    player_id: str
    total_friends: int
    friend_ids: list[str]


class FriendStanding(Result, gc=False):
    """One player among friends. `rank` is the rank among these, `global_rank` the one among all players."""

    rank: int
    global_rank: int
    player_id: str
    name: str | None
    score: Score
    is_current_player: bool
    #: The player's picture, where the profile has one.
    avatar_url: str | UnsetType = UNSET
    #: Only on a board with `tiers`: the player's tier among all players, and the one above it.
    tier: str | UnsetType | None = UNSET
    next_tier: NextTier | UnsetType = UNSET
    #: True where the engine does not keep the player (`keep_top`): the global rank is an estimate, wrong by `error` at most.
    approximate: bool | UnsetType = UNSET
    error: int | UnsetType = UNSET


class FriendsBoard(Result):
    """A player and friends in rank order, or the members of a group; `missing` are not in the ranking."""

    board: str
    window: str
    window_id: str
    segment: str | None
    #: Whose friends they are; null for a group that nobody in particular looks at.
    player_id: str | None
    #: How many friends the player has, ranked or not; members of a group.
    total_friends: int
    #: How many players the whole ranking has.
    total_players: int
    standings: list[FriendStanding]
    missing: list[str]
    group_id: str | UnsetType = UNSET
    #: True where scores that came after `as_of` may be missing: the engine is away, or takes none.
    stale: bool | UnsetType = UNSET
    #: True where the window is closed, and these are its final standings, archived at the moment `as_of`.
    archived: bool | UnsetType = UNSET
    as_of: datetime | UnsetType = UNSET


class OwnStanding(Result, gc=False):
    """Where the player stands who looks."""

    rank: int
    player_id: str
    name: str | None
    score: Score
    since: datetime | None
    percentile: float
    #: The player's picture, where the profile has one.
    avatar_url: str | UnsetType = UNSET
    #: Only on a board with `tiers`: the player's, and the one above it.
    tier: str | UnsetType | None = UNSET
    next_tier: NextTier | UnsetType = UNSET
    #: True where the engine does not keep the player (`keep_top`): the rank is an estimate, wrong by `error` at most.
    approximate: bool | UnsetType = UNSET
    error: int | UnsetType = UNSET


class WindowView(Result):
    """One window as a player sees it."""

    window_id: str
    total_players: int
    top: list[Standing]
    #: Null for a player who is not ranked.
    me: OwnStanding | None
    around: list[Standing]
    friends: list[FriendStanding]


class BoardView(Result):
    """Some windows of a board as a player sees them, by name, all of one moment."""

    board: str
    segment: str | None
    player_id: str | None
    windows: dict[str, WindowView]
    #: True where scores that came after `as_of` may be missing: the engine is away, or takes none.
    stale: bool | UnsetType = UNSET
    as_of: datetime | UnsetType = UNSET
