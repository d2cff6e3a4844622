"""What callers get about matches: the changes of one, and those of a player's past."""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET, UnsetType

from keepscore.domain.boards import Score
from keepscore.domain.results.plain import Result
from keepscore.domain.results.standings import Rejection

__all__ = ["HeadToHead", "MatchBatch", "MatchPlayer", "MatchReceipt", "PlayedMatch", "PlayerMatches", "PlayerRatings", "RatingPoint"]


class MatchPlayer(Result):
    """A player's rating after a match, in the board's first window."""

    player_id: str
    rating: Score
    change: Score
    #: Null: not ranked yet.
    rank: int | None
    #: Where ratings have deviations, the one afterwards.
    deviation: float | UnsetType = UNSET
    #: Whether the player is not ranked yet, because of `ranked_from`.
    provisional: bool | UnsetType = UNSET


class MatchReceipt(Result):
    """A match that is recorded, and what it changed."""

    match_id: str
    board: str
    at: datetime
    players: list[MatchPlayer]
    replayed: bool = False
    #: Whether it is ranked later: the ranking engine is down.
    pending: bool | UnsetType = UNSET


class MatchBatch(Result):
    """Matches that are recorded, in their order, and those that are not."""

    board: str
    accepted: int
    #: How many of the accepted were recorded before.
    duplicates: int
    rejected: list[Rejection]
    matches: list[MatchReceipt]


class PlayedMatch(Result, omit_defaults=True):
    """A match from one player's side, with the rating that the player had afterwards."""

    match_id: str
    at: datetime
    against: list[str]
    result: float
    rating: Score
    change: Score
    #: Whether it no longer counts.
    void: bool = False
    #: Of a match of teams: the team's place, and who else was in it.
    place: int | None = None
    allies: list[str] | None = None
    #: Where ratings have deviations, the one afterwards.
    deviation: float | None = None
    #: Whether the player was not ranked yet.
    provisional: bool = False


class PlayerMatches(Result):
    """A page of a player's matches, the newest first."""

    board: str
    player_id: str
    total: int
    matches: list[PlayedMatch]
    next_cursor: str | None


class HeadToHead(Result):
    """How the matches of two players ended that count, from the side of the first."""

    board: str
    player_id: str
    opponent_id: str
    total: int
    wins: int
    draws: int
    losses: int
    #: What these matches brought in all.
    change: Score
    #: The last ones, the newest first.
    matches: list[PlayedMatch]


class RatingPoint(Result):
    """A player's rating after a match."""

    at: datetime
    match_id: str
    rating: Score
    change: Score


class PlayerRatings(Result):
    """A player's rating over time, by the matches that count, the newest first; and the highest it was."""

    board: str
    player_id: str
    total: int
    peak: RatingPoint | None
    points: list[RatingPoint]
    #: The rating now; with deviations, it is conservative, and shrinks while the player is idle.
    rating: Score | None = None
    #: Whether the player is not ranked yet.
    provisional: bool = False
    #: Mean and deviation now, where ratings have deviations.
    mean: float | None = None
    deviation: float | None = None
