"""What callers get of leagues: a player's cohort, past seasons, and what a proposed league would have done."""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET, UnsetType

from keepscore.domain.boards import Score
from keepscore.domain.leagues.cohorts import Result as SeasonResult
from keepscore.domain.leagues.definition import Zone
from keepscore.domain.results.plain import Result

__all__ = ["LeagueHistory", "LeagueSeason", "LeagueSimulation", "LeagueStanding", "PlayerLeague", "SimulatedSeason"]


class LeagueStanding(Result, gc=False):
    """One player of a cohort."""

    rank: int
    player_id: str
    name: str | None
    score: Score
    zone: Zone
    is_current_player: bool
    #: The player's picture, where the profile has one.
    avatar_url: str | UnsetType = UNSET


class PlayerLeague(Result):
    """A player's cohort in the present season. Without a score in it, there is a tier, and no cohort yet."""

    board: str
    window: str
    window_id: str | None
    player_id: str
    tier: str
    cohort: str | None
    #: Null for a player who is not ranked.
    zone: Zone | None
    rank: int | None
    #: How many players of the cohort are ranked.
    players: int
    standings: list[LeagueStanding]
    #: What is missing to the promotion zone; 0: nothing; null: there is none, or the player is not ranked.
    to_promotion: Score | None
    #: What is missing to leave the demotion zone; 0: nothing; null: nobody is safe, or the player is not ranked.
    to_safety: Score | None
    #: When the season ends; null: there is none now.
    ends: datetime | None
    #: True where scores that came after `as_of` may be missing: the engine is away, or takes none.
    stale: bool | UnsetType = UNSET
    #: True where the window is closed, and these are its final standings, archived at the moment `as_of`.
    archived: bool | UnsetType = UNSET
    as_of: datetime | UnsetType = UNSET


class LeagueSeason(Result):
    """A season in which a player took part. What became of it is null until it is decided."""

    window: str
    window_id: str
    ends: datetime
    tier: str
    cohort: str | None
    rank: int | None
    #: The best rank that the player had in the cohort.
    peak: int | None
    score: Score | None
    result: SeasonResult | None
    #: The tier afterwards.
    next_tier: str | None


class LeagueHistory(Result):
    """The seasons in which a player took part, the newest first, and the highest tier of all."""

    board: str
    player_id: str
    peak_tier: str | None
    seasons: list[LeagueSeason]


class SimulatedSeason(Result):
    """What a proposed league would have made of one past window."""

    window_id: str
    players: int
    #: How many players each cohort has, the smallest first; at most the first 1,000 of them.
    cohort_sizes: list[int]
    cohorts: int
    #: How many players began the window in each tier.
    tiers: dict[str, int]
    promoted: int
    demoted: int
    #: How many had not played in the window before, and how many of those who had did not come back.
    new: int
    lost: int


class LeagueSimulation(Result):
    """What a proposed league would have made of the past windows of a board, the earliest first."""

    board: str
    window: str
    seasons: list[SimulatedSeason]
    #: How many players are in each tier after the last one.
    tiers: dict[str, int]
    #: The share of players, over all windows, who changed their tier; and who did not come back in the next window.
    moved_share: float
    lost_share: float
