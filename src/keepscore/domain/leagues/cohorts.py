"""Who is put into which cohort of a season, which cohorts are merged, and what becomes of their players. Pure.

A season is one window of a league. A cohort is named by its tier, its band (0, unless players of similar activity are put together) and
its number in these: `bronze-3`, or `bronze-2-3` in band 2. Numbers count in order of arrival.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from keepscore.domain.leagues.definition import COHORT, League

__all__ = [
    "Cohort",
    "Home",
    "PastSeason",
    "Placement",
    "Result",
    "SeasonBefore",
    "SeasonOutcome",
    "cohort_named",
    "merges",
    "outcomes",
]

#: Bands of activity, the lowest left out.
MAX_BAND = 8
#: What became of a player when a season was decided.
Result = Literal["promoted", "demoted", "stayed"]


class Home(NamedTuple):
    """Where a player belongs: a tier, and a band of similar activity in it."""

    tier: str
    band: int


class Cohort(NamedTuple):
    """A cohort of a season."""

    tier: str
    band: int
    number: int

    @property
    def label(self) -> str:
        """Its name, as readers write it behind `cohort:`."""
        return f"{self.tier}-{self.band}-{self.number}" if self.band else f"{self.tier}-{self.number}"

    @property
    def segment(self) -> str:
        """The segment that it is."""
        return f"{COHORT}:{self.label}"

    @property
    def home(self) -> Home:
        """What its players have in common."""
        return Home(self.tier, self.band)


def cohort_named(label: str) -> Cohort | None:
    """Return the cohort of a name; None: it names none.

    >>> cohort_named("bronze-3"), cohort_named("bronze-2-3").band, cohort_named("bronze")
    (Cohort(tier='bronze', band=0, number=3), 2, None)
    """
    tier, *numbers = label.split("-")
    if not tier or len(numbers) not in (1, 2) or not all(one.isascii() and one.isdigit() and len(one) < 10 for one in numbers):
        return None
    found = Cohort(tier, int(numbers[0]) if len(numbers) == 2 else 0, int(numbers[-1]))
    return found if found.label == label else None


class SeasonBefore(NamedTuple):
    """A season before the present one: when it began, and whether it is decided."""

    starts: int
    is_decided: bool


class PastSeason(NamedTuple):
    """The last season in which a player took part: the tier afterwards, and how many of the player's scores counted in it."""

    starts: int
    tier: str
    plays: int


class Placement:
    """Puts players into the cohorts of one season. `before` are all seasons before it."""

    def __init__(self, league: League, before: Sequence[SeasonBefore]) -> None:
        self.league = league
        self._decided = [season.starts for season in before if season.is_decided]
        #: Whether tiers may still change: an earlier season is not decided.
        self.is_open = len(self._decided) < len(before)

    def tier(self, past: PastSeason | None) -> str:
        """Return a player's tier: that of the last season, and one less for each season since without a score, where the league says so."""
        if past is None:
            return self.league.tiers[0]
        return self.league.moved(past.tier, -self._missed(past) if self.league.idle == "demote" else 0)

    def home(self, past: PastSeason | None) -> Home | None:
        """Return where a player belongs; None: that is not known before the earlier season is decided."""
        if past is None:
            return Home(self.league.tiers[0], 0)
        if self.is_open:
            return None
        by_activity = self.league.cohort.by == "activity" and not self._missed(past)
        return Home(self.tier(past), min(past.plays.bit_length(), MAX_BAND) if by_activity else 0)

    def _missed(self, past: PastSeason) -> int:
        return len([starts for starts in self._decided if starts > past.starts])

    def fill(self, homes: Iterable[Home], last: Mapping[Home, tuple[int, int]]) -> list[Cohort]:
        """Return a cohort for each of some players, in order. `last` has the number and the size of the last one of each home."""
        filled = dict(last)
        found = []
        for home in homes:
            number, size = filled.get(home, (1, 0))
            if size >= self.league.cohort.target:
                number, size = number + 1, 0
            filled[home] = number, size + 1
            found.append(Cohort(*home, number))
        return found


def merges(least: int, sizes: Mapping[Cohort, int]) -> list[tuple[Cohort, Cohort]]:
    """Return which cohorts are put into which others of their tier, one after the other, so that none has fewer players than `least`.

    The smallest goes first, into the one of the nearest band and, of these, the smallest. A tier's only cohort stays as it is.

    >>> merges(2, {Cohort("bronze", 0, 1): 3, Cohort("bronze", 0, 2): 1})
    [(Cohort(tier='bronze', band=0, number=2), Cohort(tier='bronze', band=0, number=1))]
    """
    found = []
    for tier in sorted({cohort.tier for cohort in sizes}):
        left = {cohort: size for cohort, size in sizes.items() if cohort.tier == tier and size}
        while len(left) > 1:
            small = min(left, key=lambda cohort: (left[cohort], -cohort.band, -cohort.number))
            if left[small] >= least:
                break
            size = left.pop(small)
            into = min(left, key=lambda cohort: (abs(cohort.band - small.band), left[cohort], cohort.band, cohort.number))
            left[into] += size
            found.append((small, into))
    return found


class SeasonOutcome(NamedTuple):
    """What became of a player of a cohort: the final rank (None: no score counted), and the tier afterwards."""

    player: str
    rank: int | None
    result: Result
    tier: str


def outcomes(league: League, tier: str, ranked: Sequence[str], idle: Sequence[str]) -> list[SeasonOutcome]:
    """Return what becomes of a cohort: of players in the order of their ranks, and of those without a score that counts.

    Ranks are unique: where scores are equal at a cut, the order of the ranking decides.
    """
    cuts, size = league.cuts(tier, len(ranked)), len(ranked)
    found = []
    for rank, player in enumerate(ranked, 1):
        steps = {"promotion": 1, "safe": 0, "demotion": -1}[cuts.zone(rank, size)]
        found.append(_outcome(league, tier, player, rank, steps))
    return found + [_outcome(league, tier, player, None, -1 if league.idle == "demote" else 0) for player in idle]


def _outcome(league: League, tier: str, player: str, rank: int | None, steps: int) -> SeasonOutcome:
    after = league.moved(tier, steps)
    change = league.place(after) - league.place(tier)
    return SeasonOutcome(player, rank, "promoted" if change > 0 else "demoted" if change < 0 else "stayed", after)
