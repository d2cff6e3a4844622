"""The role of a ledger that holds the seasons of leagues: who is in which cohort, and what became of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from keepscore.domain.leagues.cohorts import Cohort, Placement, Result, SeasonBefore

__all__ = ["Arrival", "LeagueStore", "Member", "Membership", "SeasonKey", "SeasonRecord", "Settled"]


class SeasonKey(NamedTuple):
    """One season of a board's league: a window by its name, and the moment when it begins (a reset never changes that)."""

    board: int
    window: str
    starts: int


class SeasonRecord(NamedTuple):
    """A season, and when it was decided."""

    key: SeasonKey
    decided_at: int | None


class Arrival(NamedTuple):
    """A player who has scored in a season, and when."""

    player: str
    at: int


class Settled(NamedTuple):
    """What became of a member when the season was decided; without a score that counts there is no rank."""

    player: str
    rank: int | None
    score: int | None
    since: int | None
    #: The best rank that the player had in the cohort.
    peak: int | None
    #: How many of the player's scores counted.
    plays: int
    result: Result
    #: The tier afterwards.
    next_tier: str


class Member(NamedTuple):
    """A player in a season. Without a number, the cohort is yet to be found; what comes behind it is known once it is decided."""

    player: str
    tier: str
    band: int
    number: int | None
    rank: int | None = None
    score: int | None = None
    since: int | None = None
    peak: int | None = None
    plays: int = 0
    result: Result | None = None
    next_tier: str | None = None

    @property
    def cohort(self) -> Cohort | None:
        """The player's cohort."""
        return None if self.number is None else Cohort(self.tier, self.band, self.number)


class Membership(NamedTuple):
    """A season in which a player took part."""

    season: SeasonRecord
    member: Member


class LeagueStore(ABC):
    """Seasons of leagues, durable. Each change is one step, and waits for others of the same season."""

    @abstractmethod
    async def enrol(
        self, season: SeasonKey, arrivals: Sequence[Arrival], placement: Callable[[Sequence[SeasonBefore]], Placement]
    ) -> list[Member]:
        """Put players into cohorts, in order, who have none in a season; return these. A season that is decided takes nobody.

        `placement` says where players belong, given all earlier seasons of the board.
        """

    @abstractmethod
    async def seasons(self, board_id: int) -> list[SeasonRecord]:
        """Return all seasons of a board, the earliest first."""

    @abstractmethod
    async def season(self, season: SeasonKey) -> SeasonRecord | None:
        """Return a season, if somebody has taken part in it."""

    @abstractmethod
    async def roster(self, season: SeasonKey, cohort: Cohort) -> list[Member]:
        """Return the members of a cohort, in order of arrival."""

    @abstractmethod
    async def waiting(self, season: SeasonKey, limit: int) -> list[Arrival]:
        """Return members without a cohort, in order of arrival."""

    @abstractmethod
    async def of_player(self, board_id: int, player: str, limit: int) -> list[Membership]:
        """Return the last seasons in which a player took part, the newest first."""

    @abstractmethod
    async def sizes(self, season: SeasonKey) -> Mapping[Cohort, int]:
        """Return how many members the cohorts of a season have. O(cohorts)."""

    @abstractmethod
    async def merge(self, season: SeasonKey, source: Cohort, into: Cohort) -> None:
        """Move the members of one cohort into another."""

    @abstractmethod
    async def settle(self, season: SeasonKey, settled: Sequence[Settled]) -> bool:
        """Record what becomes of members; return False, and record nothing, where the season is decided already."""

    @abstractmethod
    async def decide(self, season: SeasonKey, now: int) -> bool:
        """Let what is recorded count from now on; return False where it does already."""
