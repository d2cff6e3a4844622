"""Three weeks of a weekly league, as language apps have it, with a clock that is set by hand.

It prints a player's cohort, what each week made of the player, and what another league would have made of the same weeks.
"""

from __future__ import annotations

import asyncio
import random
from datetime import UTC, datetime, timedelta

from keepscore import Board, Leaderboards
from keepscore.domain.results.leagues import PlayerLeague

#: Cohorts of ten: the first three go up, the last three go down, and so do players who stay away.
LEAGUE = {
    "tiers": ["bronze", "silver", "gold"],
    "cohort": {"target": 10, "min": 4},
    "promote": [3, 3],
    "demote": [3, 3],
    "idle": "demote",
    "window": "weekly",
}
PLAYERS = [f"player{i:02}" for i in range(24)]
#: A Monday.
START = datetime(2026, 11, 16, 8, tzinfo=UTC)
OTHER = {"tiers": ["bronze", "silver", "gold"], "cohort": {"target": 24}, "promote": ["10%", "10%"], "demote": ["10%", "10%"]}


class Clock:
    """A clock that is set by hand."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> int:
        return round(self.now.timestamp() * 1000)


def show(league: PlayerLeague) -> None:
    """Print a cohort."""
    print(f"{league.player_id}: {league.tier}, cohort {league.cohort}, until {league.ends:%A %H:%M} UTC")
    for one in league.standings:
        print(f"{one.rank:>4}  {one.player_id:<10} {one.score:>4}  {one.zone}{' <' if one.is_current_player else ''}")
    print(f"to promotion: {league.to_promotion} points, to safety: {league.to_safety}\n")


async def main() -> None:
    """Play three weeks."""
    clock, dice = Clock(START), random.Random(11)
    # A week takes no more points once it is over.
    board = Board("league", operator="sum", windows=["weekly", "all_time"], grace="0s", league=LEAGUE)
    async with Leaderboards.open(ledger="sqlite:///:memory:", engine="embedded://", boards=[board], clock=clock) as lb:
        for week in range(3):
            clock.now = START + timedelta(weeks=week)
            for _ in range(150):
                clock.now += timedelta(minutes=dice.randrange(1, 30))
                await lb.increment("league", dice.choice(PLAYERS[: 24 - 3 * week]), dice.randrange(5, 20))
            if week == 0:
                show(await lb.leagues.of("league", "player07"))
            # The week ends, and the keeper closes it.
            clock.now = START + timedelta(weeks=week + 1)
            await lb.admin.run_keeper()
        for season in reversed((await lb.leagues.history("league", "player07")).seasons):
            print(f"{season.window_id}: {season.tier}, rank {season.rank} (best {season.peak}), {season.result} to {season.next_tier}")
        found = await lb.leagues.simulate("league", OTHER)
        print("\nwith one cohort, and shares of 10 %:")
        for one in found.seasons:
            moved = f"{one.promoted} up, {one.demoted} down, {one.lost} lost"
            print(f"{one.window_id}: {one.players} players in cohorts of {one.cohort_sizes}, {moved}")
        print(", ".join(f"{tier} {number}" for tier, number in found.tiers.items()), f"· {found.moved_share:.0%} change their tier")


if __name__ == "__main__":
    asyncio.run(main())
