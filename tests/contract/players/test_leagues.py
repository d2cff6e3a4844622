"""Leagues: cohorts of one tier, beside the obvious way to group and sort; window closes, voids, rebuilds and restarts in between."""

import asyncio
import random
from collections import Counter
from datetime import UTC, datetime

import pytest

from keepscore import Board
from keepscore.errors import InvalidBoard, InvalidField, InvalidPage, LedgerUnavailable, UnknownLeague, UnknownSegment
from tests.contract.both import own_redis
from tests.contract.opened import DAY, HOUR, MINUTE, NOON, Clock
from tests.support.opening import leaderboards
from tests.support.postgres_servers import shared_postgres
from tests.support.wrapping import wrap

TIERS = ["bronze", "silver", "gold"]
LEAGUE = {"tiers": TIERS, "cohort": {"target": 4, "min": 2}, "promote": [2, 1], "demote": [1, 1], "idle": "demote", "window": "weekly"}
LADDER = Board("ladder", operator="sum", windows=["all_time", "weekly"], ties="player", league=LEAGUE)
#: 2026-11-16T12:00:00Z, a Monday.
MONDAY = NOON + DAY
WEEK = 7 * DAY
PLACES = {
    "embedded": (lambda folder: f"sqlite:///{folder / 'scores.db'}", lambda: "embedded://"),
    "redis": (lambda folder: f"sqlite:///{folder / 'scores.db'}", own_redis),
    "postgres": (lambda folder: shared_postgres().new_database(), own_redis),
}


@pytest.fixture(params=PLACES)
def place(request, tmp_path):
    ledger, engine = PLACES[request.param]
    return ledger(tmp_path), engine()


@pytest.fixture
def clock():
    return Clock(MONDAY)


class World:
    """The obvious league: lists of players in order of arrival, and `sorted`."""

    def __init__(self, seed, clock):
        self.dice = random.Random(seed)
        self.clock = clock
        self.tiers = {}
        self.cohorts = {tier: [] for tier in TIERS}
        self.scores = {}

    def score(self, player, amount):
        if not any(player in cohort for own in self.cohorts.values() for cohort in own):
            own = self.cohorts[self.tiers.setdefault(player, "bronze")]
            if not own or len(own[-1]) == LEAGUE["cohort"]["target"]:
                own.append([])
            own[-1].append(player)
        self.scores[player] = self.scores.get(player, 0) + amount

    def ranked(self, cohort):
        return sorted((player for player in cohort if player in self.scores), key=lambda p: (self.scores[p], p), reverse=True)

    def zones(self, tier, size):
        up = LEAGUE["promote"][TIERS.index(tier)] if tier != "gold" else 0
        down = LEAGUE["demote"][TIERS.index(tier) - 1] if tier != "bronze" else 0
        return ["promotion" if i < up else "demotion" if i >= max(size - down, up) else "safe" for i in range(size)]

    def close(self):
        """Merge, promote and demote; return what became of everybody who took part."""
        after = {}
        for player, tier in self.tiers.items():
            # Who is idle goes down, unless something else is found.
            after[player] = TIERS[max(TIERS.index(tier) - 1, 0)]
        told = {}
        for tier, own in self.cohorts.items():
            while len(own) > 1 and len(own[-1]) < LEAGUE["cohort"]["min"]:
                small = own.pop()
                min(own, key=len).extend(small)
            for number, cohort in enumerate(own, 1):
                ranked = self.ranked(cohort)
                for rank, (player, zone) in enumerate(zip(ranked, self.zones(tier, len(ranked)), strict=True), 1):
                    steps = {"promotion": 1, "safe": 0, "demotion": -1}[zone]
                    after[player] = TIERS[max(TIERS.index(tier) + steps, 0)]
                    told[player] = (tier, f"{tier}-{number}", rank, self.scores[player], after[player])
                for player in set(cohort) - set(ranked):
                    told[player] = (tier, f"{tier}-{number}", None, None, after[player])
        self.tiers = after
        self.cohorts = {tier: [] for tier in TIERS}
        self.scores = {}
        return told


async def check(lb, world):
    for tier, own in world.cohorts.items():
        for number, cohort in enumerate(own, 1):
            label, ranked = f"{tier}-{number}", world.ranked(cohort)
            zones = world.zones(tier, len(ranked))
            rows = [(rank, p, world.scores[p], zone) for rank, (p, zone) in enumerate(zip(ranked, zones, strict=True), 1)]
            for player in cohort:
                found = await lb.leagues.of("ladder", player)
                assert (found.tier, found.cohort, found.players) == (tier, label, len(ranked))
                assert [(one.rank, one.player_id, one.score, one.zone) for one in found.standings] == rows
                own_row = next((row for row in rows if row[1] == player), (None, player, None, None))
                assert (found.rank, found.zone) == (own_row[0], own_row[3])
            top = await lb.top("ladder", segment=f"cohort:{label}")
            assert [(one.rank, one.player_id, one.score) for one in top.standings] == [row[:3] for row in rows]
            assert (top.window, top.total_players) == ("weekly", len(ranked))
            if ranked:
                assert (await lb.rank("ladder", ranked[-1], segment=f"cohort:{label}", window="weekly")).rank == len(ranked)
    for player, tier in world.tiers.items():
        assert (await lb.leagues.of("ladder", player)).tier == tier


async def step(lb, world):
    dice, kind = world.dice, world.dice.random()
    player = f"p{dice.randrange(14)}"
    if kind < 0.85:
        world.clock.now += dice.randrange(1, 10 * MINUTE)
        amount = dice.randrange(1, 50)
        await lb.increment("ladder", player, amount)
        world.score(player, amount)
    elif kind < 0.9:
        done = await lb.moderation.void("ladder", "a bot", player_id=player)
        if done.void_id is not None and dice.random() < 0.5:
            await lb.moderation.undo(done.void_id, "no bot")
        else:
            world.scores.pop(player, None)
    elif kind < 0.95:
        await lb.admin.rebuild("ladder")
    else:
        await lb.admin.run_keeper()


async def test_cohorts_tiers_and_seasons_are_what_grouping_and_sorting_say(place, clock):
    world, told = World(5, clock), {}
    for week in range(3):
        async with leaderboards(*place, [LADDER], clock) as lb:
            for _ in range(24):
                await step(lb, world)
            await check(lb, world)
        async with leaderboards(*place, [LADDER], clock) as lb:
            clock.now = MONDAY + (week + 1) * WEEK
            told[week] = world.close()
            await asyncio.gather(*(lb.admin.run_keeper() for _ in range(2)))
            await lb.admin.run_keeper()
            await check(lb, world)
            for player in world.tiers:
                seasons = (await lb.leagues.history("ladder", player)).seasons
                shown = [(one.tier, one.cohort, one.rank, one.score, one.next_tier) for one in seasons]
                assert shown == [told[n][player] for n in range(week, -1, -1) if player in told[n]]
                assert all(one.peak is None if one.rank is None else 1 <= one.peak <= one.rank for one in seasons)


async def test_who_comes_before_the_last_season_is_decided_waits(place, clock):
    async with leaderboards(*place, [LADDER], clock) as lb:
        for i in range(3):
            await lb.increment("ladder", f"p{i}", 10 + i)
        # Late scores of the last week are still taken.
        clock.now = MONDAY + WEEK - 12 * HOUR + 5 * MINUTE
        await lb.increment("ladder", "p2", 1)
        await lb.increment("ladder", "new", 1)
        await lb.increment("ladder", "p0", 50, at=datetime.fromtimestamp((MONDAY + DAY) / 1000, UTC))
        await lb.admin.run_keeper()
        waiting = await lb.leagues.of("ladder", "p2")
        assert (waiting.tier, waiting.cohort, waiting.zone, waiting.standings) == ("bronze", None, None, [])
        assert (await lb.leagues.of("ladder", "new")).cohort == "bronze-1"
        (now, before) = (await lb.leagues.history("ladder", "p2")).seasons
        assert (now.cohort, before.cohort, before.result) == (None, "bronze-1", None)
        clock.now += 2 * HOUR
        await lb.admin.run_keeper()
        await lb.admin.run_keeper()
        found = await lb.leagues.of("ladder", "p2")
        assert (found.tier, found.cohort, found.rank, found.to_promotion) == ("silver", "silver-1", 1, 0)
        history = (await lb.leagues.history("ladder", "p0")).seasons
        assert [(one.rank, one.peak, one.result, one.next_tier) for one in history] == [(1, 1, "promoted", "silver")]
        last = await lb.top("ladder", segment="cohort:bronze-1", window="weekly", window_id="2026-W47")
        assert ([one.player_id for one in last.standings], last.archived) == (["p0", "p2", "p1"], True)


async def test_small_cohorts_are_merged_before_the_end(lbs, clock):
    async with lbs(LADDER) as lb:
        for i in range(5):
            await lb.increment("ladder", f"p{i}", 10 + i)
        await lb.admin.run_keeper()
        assert (await lb.leagues.of("ladder", "p4")).cohort == "bronze-2"
        clock.now = MONDAY + WEEK - 12 * HOUR - 2 * HOUR
        await lb.admin.run_keeper()
        found = await lb.leagues.of("ladder", "p4")
        assert (found.cohort, found.rank, found.players) == ("bronze-1", 1, 5)
        assert (await lb.top("ladder", segment="cohort:bronze-2")).standings == []
        await lb.increment("ladder", "p9", 1)
        assert (await lb.leagues.of("ladder", "p9")).cohort == "bronze-2"


@pytest.mark.parametrize("place", ["redis", "postgres"], indirect=True)
async def test_many_first_scores_at_once_on_two_hosts(place, clock):
    async with leaderboards(*place, [LADDER], clock) as one, leaderboards(*place, [LADDER], clock) as other:
        hosts = [one, other]
        await asyncio.gather(*(hosts[i % 2].increment("ladder", f"p{i % 30}", 1) for i in range(60)))
        found = [await one.leagues.of("ladder", f"p{i}") for i in range(30)]
        sizes = Counter(one.cohort for one in found)
        assert sorted(sizes.values()) == [2, 4, 4, 4, 4, 4, 4, 4]
        assert all(one.players == sizes[one.cohort] for one in found)
        clock.now = MONDAY + WEEK
        await asyncio.gather(*(host.admin.run_keeper() for host in hosts))
        tiers = Counter([(await other.leagues.of("ladder", f"p{i}")).tier for i in range(30)])
        assert tiers == {"silver": 16, "bronze": 14}


async def test_what_is_missing_and_who_is_ahead_where_scores_are_equal(lbs, clock):
    league = {"tiers": ["low", "high"], "cohort": {"target": 10}, "promote": ["40%"], "demote": [0.5]}
    async with lbs(Board("best", windows=["daily"], decimals=1, league=league)) as lb:
        for player, score in (("ada", 5), ("bea", 5), ("cleo", 5), ("dora", 3), ("eve", 1)):
            clock.now += 1000
            await lb.submit("best", player, score)
        # 40 % of five are two: of three with equal scores, those who were first.
        found = await lb.leagues.of("best", "cleo")
        assert [one.zone for one in found.standings] == ["promotion", "promotion", "safe", "safe", "safe"]
        assert (found.zone, str(found.to_promotion), str(found.to_safety)) == ("safe", "0.1", "0.0")
        assert str((await lb.leagues.of("best", "eve")).to_promotion) == "4.1"
        clock.now += DAY
        await lb.admin.run_keeper()
        for player, score in (("ada", 1), ("bea", 2), ("cleo", 3)):
            await lb.submit("best", player, score)
        found = await lb.leagues.of("best", "ada")
        assert (found.tier, found.cohort, found.zone) == ("high", "high-1", "demotion")
        assert (found.to_promotion, str(found.to_safety)) == (None, "1.1")
        assert (await lb.leagues.of("best", "dora")).tier == "low"


async def test_players_of_similar_activity_are_together(lbs, clock):
    league = {"tiers": ["low", "high"], "cohort": {"target": 2, "min": 1, "by": "activity"}, "promote": [0]}
    async with lbs(Board("sum", operator="sum", windows=["daily"], league=league)) as lb:
        for player, plays in (("a", 1), ("b", 5), ("c", 1), ("d", 7)):
            for _ in range(plays):
                await lb.increment("sum", player, 1)
        clock.now += DAY
        await lb.admin.run_keeper()
        for player in "abcde":
            await lb.increment("sum", player, 1)
        found = [(await lb.leagues.of("sum", player)).cohort for player in "abcde"]
        assert found == ["low-1-1", "low-3-1", "low-1-1", "low-3-1", "low-1"]


async def test_a_cohort_that_was_not_recorded_is_found_later(lbs, clock):
    async with lbs(LADDER) as lb:
        lost = []

        async def enrol(original, *given):
            lost.append(given)
            raise LedgerUnavailable("away")

        original = lb.runtime.ledger.leagues.enrol
        wrap(lb.runtime.ledger.leagues, "enrol", enrol)
        for i in range(5):
            assert (await lb.increment("ladder", f"p{i}", 5)).score == 5
        assert lost
        lb.runtime.ledger.leagues.enrol = original
        assert (await lb.leagues.of("ladder", "p4")).cohort == "bronze-1"
        await lb.admin.run_keeper()
        await lb.admin.run_keeper()
        assert [len((await lb.top("ladder", segment=f"cohort:bronze-{n}")).standings) for n in (1, 2)] == [4, 1]
        clock.now = MONDAY + WEEK
        await lb.admin.run_keeper()
        assert (await lb.leagues.history("ladder", "p0")).seasons[0].cohort == "bronze-1"


async def test_a_decision_that_is_cut_short_is_made_once(lbs, clock):
    async with lbs(LADDER) as lb:
        for i in range(4):
            await lb.increment("ladder", f"p{i}", 10 + i)
        clock.now = MONDAY + WEEK
        store, cut = lb.runtime.ledger.leagues, []

        async def decide(original, *given):
            cut.append(given)
            raise LedgerUnavailable("away")

        original = store.decide
        wrap(store, "decide", decide)
        await lb.admin.run_keeper()
        assert cut
        assert (await lb.leagues.of("ladder", "p3")).tier == "bronze"
        assert (await lb.leagues.history("ladder", "p3")).seasons[0].result is None
        store.decide = original
        for _ in range(3):
            await lb.admin.run_keeper()
        assert [(await lb.leagues.of("ladder", f"p{i}")).tier for i in range(4)] == ["bronze", "bronze", "silver", "silver"]
        # What is decided stays, whatever is found later.
        await lb.moderation.void("ladder", "a bot", player_id="p3")
        await lb.admin.run_keeper()
        assert (await lb.leagues.history("ladder", "p3")).seasons[0].rank == 1
        assert (await lb.leagues.of("ladder", "p3")).tier == "silver"


async def test_a_new_league_finds_players_who_have_scored_before(lbs, clock):
    async with lbs(Board("ladder", operator="sum", windows=["all_time", "weekly"], ties="player")) as lb:
        for i in range(5):
            await lb.increment("ladder", f"p{i}", 10 + i)
        await lb.admin.put_board(LADDER)
        for _ in range(2):
            await lb.admin.run_keeper()
        sizes = [len((await lb.top("ladder", segment=f"cohort:bronze-{n}")).standings) for n in (1, 2)]
        assert sizes == [4, 1]


async def test_a_reset_ends_a_season(lbs, clock):
    async with lbs(LADDER) as lb:
        for i in range(3):
            await lb.increment("ladder", f"p{i}", 10 + i)
        clock.now += HOUR
        await lb.admin.reset("ladder")
        clock.now += 2 * HOUR
        await lb.admin.run_keeper()
        await lb.increment("ladder", "p0", 1)
        found = await lb.leagues.of("ladder", "p0")
        assert (found.tier, found.cohort, found.standings[0].score) == ("bronze", "bronze-1", 1)
        assert (await lb.leagues.of("ladder", "p2")).tier == "silver"
        history = (await lb.leagues.history("ladder", "p0")).seasons
        assert [(one.window_id, one.rank) for one in history] == [("2026-W47", None), ("2026-W47.v1", 3)]


async def test_people_in_a_cohort(lbs, clock):
    async with lbs(LADDER) as lb:
        for i in range(4):
            await lb.increment("ladder", f"p{i}", 10 + i)
        await lb.players.put("p3", {"name": "Pia", "visibility": "pseudonym"})
        await lb.players.put("p2", {"name": "Quin", "visibility": "hidden"})
        await lb.moderation.shadow("p1", "a doubt")
        found = await lb.leagues.of("ladder", "p0")
        assert (len(found.standings), found.players, found.rank, found.to_promotion) == (2, 3, 3, 3)
        assert "p3" not in str(found.to_dict())
        own = await lb.leagues.of("ladder", "p1")
        assert (own.rank, own.players, own.zone) == (3, 4, "safe")
        exported = (await lb.moderation.export("p3")).seasons
        assert [(one.board, one.tier, one.cohort) for one in exported] == [("ladder", "bronze", "bronze-1")]
        await lb.moderation.erase("p3", "they asked for it")
        assert (await lb.leagues.history("ladder", "p3")).seasons == []
        assert (await lb.leagues.of("ladder", "p0")).players == 3
        await lb.increment("ladder", "p3", 1)
        assert (await lb.leagues.of("ladder", "p3")).cohort == "bronze-2"


async def test_a_simulation_says_what_the_league_did(lbs, clock):
    dice = random.Random(3)
    plain = Board("plain", operator="sum", windows=["all_time", "weekly"], ties="player")
    async with lbs(LADDER, plain) as lb:
        for week in range(4):
            for _ in range(40):
                player, amount = f"p{dice.randrange(16)}", dice.randrange(1, 50)
                clock.now += 1000
                for board in ("ladder", "plain"):
                    await lb.increment(board, player, amount)
            clock.now = MONDAY + (week + 1) * WEEK
            await lb.admin.run_keeper()
        found = await lb.leagues.simulate("plain", LEAGUE)
        tiers = Counter([(await lb.leagues.of("ladder", f"p{i}")).tier for i in range(16)])
        assert (len(found.seasons), found.window, found.tiers) == (4, "weekly", {tier: tiers[tier] for tier in TIERS})
        assert all(sum(one.cohort_sizes) == one.players == sum(one.tiers.values()) for one in found.seasons)
        histories = [(await lb.leagues.history("ladder", f"p{i}")).seasons for i in range(16)]
        results = Counter(season.result for seasons in histories for season in seasons)
        assert sum(one.promoted for one in found.seasons) == results["promoted"]
        assert sum(one.demoted for one in found.seasons) == results["demoted"]
        assert found.seasons[0].new == found.seasons[0].players
        assert 0 < found.moved_share < 1
        assert (await lb.leagues.simulate("plain", LEAGUE, windows=2)).seasons[0].window_id == found.seasons[2].window_id
        for bad in ({"tiers": ["a"], "promote": []}, {"tiers": TIERS}, {}):
            with pytest.raises(InvalidBoard):
                await lb.leagues.simulate("plain", bad)
        with pytest.raises(InvalidPage):
            await lb.leagues.simulate("plain", LEAGUE, windows=0)


async def test_what_cannot_be_asked(lbs, clock):
    async with lbs(LADDER, Board("plain")) as lb:
        nobody = await lb.leagues.of("ladder", "nobody")
        assert (nobody.tier, nobody.cohort, nobody.standings, nobody.to_safety) == ("bronze", None, [], None)
        assert nobody.ends == datetime(2026, 11, 23, tzinfo=UTC)
        assert (await lb.leagues.history("ladder", "nobody")).seasons == []
        for call in (lb.leagues.of, lb.leagues.history):
            with pytest.raises(UnknownLeague, match="'plain' has no league"):
                await call("plain", "ada")
        for segment, window in (("cohort:bronze-1", "all_time"), ("cohort:x", None), ("cohort:", None), ("cohort:a-1-2-3", None)):
            with pytest.raises(UnknownSegment):
                await lb.top("ladder", segment=segment, window=window)
        with pytest.raises(UnknownSegment):
            await lb.top("plain", segment="cohort:bronze-1")
        with pytest.raises(InvalidField, match="past is not known"):
            await lb.history.as_of("ladder", clock_text(clock), window="weekly", segment="cohort:bronze-1")


def clock_text(clock):
    return datetime.fromtimestamp(clock.now / 1000, UTC).isoformat()
