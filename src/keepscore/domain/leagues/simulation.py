"""What a league would have made of past windows. Pure; the same rules as for the present."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from keepscore.domain.leagues.cohorts import Cohort, Home, PastSeason, Placement, SeasonBefore, merges, outcomes
from keepscore.domain.leagues.definition import League
from keepscore.domain.results.leagues import SimulatedSeason

__all__ = ["PlayedWindow", "Simulation"]

#: Sizes of cohorts in one answer.
MAX_SIZES = 1000


class PlayedWindow(NamedTuple):
    """A past window: its players in order of arrival and of rank, and how many scores each of them had."""

    window_id: str
    starts: int
    arrivals: Sequence[str]
    ranking: Sequence[str]
    plays: Mapping[str, int]


class Simulation:
    """Plays past windows, one after the other."""

    def __init__(self, league: League) -> None:
        self._league = league
        self._before: list[SeasonBefore] = []
        self._pasts: dict[str, PastSeason] = {}
        self._last: set[str] = set()

    def play(self, window: PlayedWindow) -> SimulatedSeason:
        """Return what becomes of the players of the next window."""
        league = self._league
        placement = Placement(league, self._before)
        homes = [placement.home(self._pasts.get(player)) or Home(league.tiers[0], 0) for player in window.arrivals]
        cohorts = dict(zip(window.arrivals, placement.fill(homes, {}), strict=True))
        moved: dict[Cohort, Cohort] = {}
        for source, into in merges(league.cohort.min, Counter(cohorts.values())):
            moved = {one: into if other == source else other for one, other in moved.items()} | {source: into}
        ranked: dict[Cohort, list[str]] = {}
        for player in window.ranking:
            ranked.setdefault(moved.get(cohorts[player], cohorts[player]), []).append(player)
        results: Counter[str] = Counter()
        for cohort, players in ranked.items():
            for outcome in outcomes(league, cohort.tier, players, ()):
                results[outcome.result] += 1
                self._pasts[outcome.player] = PastSeason(window.starts, outcome.tier, window.plays.get(outcome.player, 0))
        self._before.append(SeasonBefore(window.starts, True))
        playing, before = set(window.arrivals), self._last
        self._last = playing
        tiers = Counter(home.tier for home in homes)
        return SimulatedSeason(
            window.window_id,
            len(playing),
            sorted(map(len, ranked.values()))[:MAX_SIZES],
            len(ranked),
            {tier: tiers[tier] for tier in league.tiers},
            results["promoted"],
            results["demoted"],
            len(playing - before),
            len(before - playing),
        )

    def tiers(self) -> dict[str, int]:
        """Return how many of all players are in each tier by now."""
        placement = Placement(self._league, self._before)
        found = Counter(placement.tier(past) for past in self._pasts.values())
        return {tier: found[tier] for tier in self._league.tiers}
