"""Ratings with deviations: exact in every ranking, and void, replayed and undone as Elo is; plain floats on a dict are the oracle."""

import random
from contextlib import AsyncExitStack

import pytest
from openskill.models import PlackettLuce

from keepscore import Board
from keepscore.domain.ratings.glicko2 import Glicko, rated
from keepscore.errors import InvalidBoard, InvalidField, InvalidPlayer
from tests.contract.both import own_redis
from tests.contract.opened import DAY, MINUTE, NOON, Clock, differences, standings
from tests.contract.players.test_matches import PLACES
from tests.support.opening import leaderboards

GLICKO2 = {"system": "glicko2", "idle_per_day": 1}
OPENSKILL = {"system": "openskill", "initial": 1500, "idle_per_day": 1}


@pytest.fixture(params=PLACES)
def place(request, tmp_path):
    ledger, engine = PLACES[request.param]
    return ledger(tmp_path), engine()


class Oracle:
    """Players as a page of a book has them: mean, deviation and volatility, and since when."""

    def __init__(self, system):
        self.system = system
        self.z, self.first = (2, (1500.0, 350.0, 0.06)) if system == "glicko2" else (3, (1500.0, 500.0, 0.0))
        self.players, self.games = {}, {}
        self.model = PlackettLuce(mu=1500, sigma=500, beta=250, tau=5)

    def now(self, player, now, cap=True):
        mean, deviation, volatility, since = self.players.get(player, (*self.first, now))
        grown = deviation + (now - since) / DAY
        return mean, min(grown, self.first[1]) if cap else grown, volatility

    def match(self, teams, ranks, now):
        own = {player: self.now(player, now) for team in teams for player in team}
        if self.system == "glicko2":
            (a,), (b,) = teams
            result = 0.5 if ranks[0] == ranks[1] else float(ranks[0] < ranks[1])
            new = {
                a: rated(Glicko(*own[a]), [(Glicko(*own[b]), result)], 0.5),
                b: rated(Glicko(*own[b]), [(Glicko(*own[a]), 1 - result)], 0.5),
            }
        else:
            made = self.model.rate([[self.model.rating(mu=own[p][0], sigma=own[p][1]) for p in team] for team in teams], ranks=ranks)
            new = {
                player: (one.mu, one.sigma, 0.0)
                for team, ones in zip(teams, made, strict=True)
                for player, one in zip(team, ones, strict=True)
            }
        for player, numbers in new.items():
            self.players[player] = (*numbers, now)
            self.games[player] = self.games.get(player, 0) + 1

    def shown(self, now):
        return {p: self.now(p, now, cap=False)[0] - self.z * self.now(p, now, cap=False)[1] for p in self.players}


async def ratings(lb, board="duels", **view):
    return {player: score for _, player, score in await standings(lb, board, limit=1000, **view)}


def near(found, expected, by=2):
    """Levels are rounded to points, once for each rating and once for the time."""
    assert found.keys() == expected.keys()
    assert all(abs(found[player] - expected[player]) <= by for player in found), (found, expected)


def drawn(dice, system, players="abcdef"):
    sizes = [1, 1] if system == "glicko2" else dice.choice([[1, 1], [2, 1], [2, 2], [1, 1, 2]])
    left = dice.sample(players, sum(sizes))
    teams = [[left.pop() for _ in range(size)] for size in sizes]
    return teams, [dice.randrange(1, len(teams) + 1) for _ in teams]


@pytest.mark.parametrize("system", [GLICKO2, OPENSKILL], ids=["glicko2", "openskill"])
async def test_ratings_are_those_of_the_oracle(place, system):
    board = Board("duels", rating=system, windows=["all_time", "daily"])
    clock, dice, oracle = Clock(NOON), random.Random(4), Oracle(system["system"])
    async with leaderboards(*place, [board], clock) as lb:
        for n in range(40):
            clock.now += dice.choice([MINUTE, DAY, 400 * DAY if n == 30 else MINUTE])
            teams, ranks = drawn(dice, system["system"])
            before = await ratings(lb)
            oracle.match(teams, ranks, clock.now)
            receipt = await lb.matches.record_teams("duels", teams, ranks, match_id=f"m{n}")
            found = await ratings(lb)
            near(found, oracle.shown(clock.now))
            for player in receipt.players:
                assert player.rating == found[player.player_id]
                if player.player_id in before:
                    assert player.rating - player.change == before[player.player_id]
        # Idleness takes the same from everybody: who is ahead of whom stays.
        order = [player for _, player, _ in await standings(lb, "duels")]
        clock.now += 100 * DAY
        assert [player for _, player, _ in await standings(lb, "duels")] == order
        near(await ratings(lb), oracle.shown(clock.now))
        one = await lb.matches.ratings("duels", "a")
        assert (one.rating, one.provisional) == ((await ratings(lb))["a"], False)
        assert one.deviation == pytest.approx(oracle.now("a", clock.now, cap=False)[1], abs=0.01)
        assert one.mean == pytest.approx(oracle.now("a", clock.now)[0], abs=0.01)
        assert await differences(lb) == []
        found = await ratings(lb)
        await lb.admin.rebuild("duels")
        assert await ratings(lb) == found
        top = await lb.top("duels", min=sorted(found.values())[-2])
        assert len(top.standings) == 2


@pytest.mark.parametrize("system", ["elo", "glicko2", "openskill"])
@pytest.mark.parametrize("seed", range(2))
async def test_voids_by_replay_and_their_undo_equal_a_plain_rating(place, system, seed):
    """Whatever was void and counts again: ratings are those of all matches that count, rated in order."""
    rating = {"elo": {"system": "elo"}, "glicko2": GLICKO2, "openskill": OPENSKILL}[system]
    boards = [Board("duels", rating=rating), Board("plain", rating=rating)]
    clock, dice = Clock(NOON), random.Random(seed)
    played, voids = [], {}
    async with leaderboards(*place, boards, clock) as lb:
        for n in range(36):
            clock.now += MINUTE
            if n % 6 == 5:
                if voids and dice.random() < 0.5:
                    match_id = dice.choice(list(voids))
                    await lb.moderation.undo(voids.pop(match_id), "no bug")
                else:
                    match_id = dice.choice([name for name, _, _ in played if name not in voids])
                    voids[match_id] = (await lb.moderation.void("duels", "a bug", match_id=match_id, mode="replay")).void_id
                continue
            teams, ranks = drawn(dice, "glicko2" if system == "elo" else system)
            played.append((f"m{n}", teams, ranks))
            await lb.matches.record_teams("duels", teams, ranks, match_id=f"m{n}")
        for void_id in [voids.pop(match_id) for match_id in list(voids)[::2]]:
            await lb.moderation.undo(void_id, "no bug")
        assert await differences(lb) == []
        found = await ratings(lb)
        for match_id, teams, ranks in played:
            if match_id not in voids:
                await lb.matches.record_teams("plain", teams, ranks)
        # Whoever has played stays, with the rating of the start.
        start, plain = {"elo": 1000, "glicko2": 800, "openskill": 0}[system], await ratings(lb, "plain")
        expected = {player: plain.get(player, start) for _, teams, _ in played for team in teams for player in team}
        near(found, expected, by=0 if system == "elo" else 3)
        await lb.admin.rebuild("duels")
        assert await ratings(lb) == found


async def test_a_refund_takes_the_change_and_the_strength_back(place):
    clock = Clock(NOON)
    async with leaderboards(*place, [Board("duels", rating=GLICKO2)], clock) as lb:
        await lb.matches.record("duels", "ada", "bo", 1, match_id="m")
        await lb.matches.record("duels", "ada", "cy", 1, match_id="n")
        before, strength = await ratings(lb), await lb.matches.ratings("duels", "bo")
        tried = await lb.moderation.void("duels", "a bug", match_id="m", mode="refund", dry_run=True)
        done = await lb.moderation.void("duels", "a bug", match_id="m", mode="refund")
        assert done.changes == tried.changes
        assert {change.player_id for change in done.changes} == {"ada", "bo"}
        assert (await ratings(lb))["bo"] == 800
        bo = await lb.matches.ratings("duels", "bo")
        assert (bo.mean, bo.deviation, bo.points) == (1500, 350, [])
        await lb.moderation.undo(done.void_id, "no bug")
        assert await ratings(lb) == before
        assert (await lb.matches.ratings("duels", "bo")).deviation == strength.deviation
        assert await differences(lb) == []


@pytest.mark.parametrize("rule", [{"games": 3}, {"deviation": 230}])
async def test_unproven_players_are_not_ranked(place, rule):
    clock, dice, oracle = Clock(NOON), random.Random(8), Oracle("glicko2")
    board = Board("duels", rating={**GLICKO2, "ranked_from": rule}, windows=["all_time", "daily"])
    async with leaderboards(*place, [board], clock) as lb:
        ranked = set()
        for n in range(30):
            clock.now += MINUTE if n != 9 else DAY
            teams, ranks = drawn(dice, "glicko2", "abcdefgh")
            oracle.match(teams, ranks, clock.now)
            receipt = await lb.matches.record_teams("duels", teams, ranks, match_id=f"m{n}")
            proven = {p for p, games in oracle.games.items() if games >= 3} if "games" in rule else ranked
            ranked |= proven | {p for p in oracle.players if "deviation" in rule and oracle.players[p][1] <= 230}
            near(await ratings(lb), {p: score for p, score in oracle.shown(clock.now).items() if p in ranked})
            for player in receipt.players:
                assert (player.rank is None, player.provisional is True) == (player.player_id not in ranked,) * 2
                seen = await lb.matches.ratings("duels", player.player_id)
                assert (seen.rating, seen.provisional) == (player.rating, player.player_id not in ranked)
                assert seen.points[0].rating == player.rating
        assert ranked
        found, day = await ratings(lb), await ratings(lb, window="daily")
        assert await differences(lb) == []
        await lb.admin.rebuild("duels")
        assert (await ratings(lb), await ratings(lb, window="daily")) == (found, day)
        # A match of before a player was ranked is refunded, replayed and undone as any other.
        for mode in ("refund", "replay"):
            void = await lb.moderation.void("duels", "a bug", match_id="m0", mode=mode)
            assert await ratings(lb) != found
            assert (await ratings(lb)).keys() == found.keys()
            await lb.moderation.undo(void.void_id, "no bug")
            near(await ratings(lb), found, by=1)
        assert await differences(lb) == []


async def test_two_hosts_rate_one_after_the_other(tmp_path):
    url, where = own_redis(), f"sqlite:///{tmp_path / 'scores.db'}"
    board = Board("duels", rating=GLICKO2)
    async with AsyncExitStack() as stack:
        lbs = [await stack.enter_async_context(leaderboards(where, url, [board])) for _ in range(2)]
        for n in range(20):
            await lbs[n % 2].matches.record("duels", "ada", "bo", (n % 3 > 0 and 1) or 0, match_id=f"m{n}")
        played = (await lbs[0].matches.of_player("duels", "ada", limit=100)).matches[::-1]
        assert [one.rating - one.change for one in played] == [800, *(one.rating for one in played[:-1])]


async def test_looking_back_at_teams(place):
    async with leaderboards(*place, [Board("duels", rating=OPENSKILL)], Clock(NOON)) as lb:
        await lb.matches.record_teams("duels", [["ada", "bo"], ["cy"], ["di"]], [2, 1, 3], match_id="m")
        (one,) = (await lb.matches.of_player("duels", "ada")).matches
        assert (one.against, one.allies, one.place, one.result) == (["cy", "di"], ["bo"], 2, 0.5)
        assert (await lb.matches.head_to_head("duels", "ada", "cy")).losses == 1
        assert (await lb.matches.head_to_head("duels", "ada", "di")).wins == 1
        assert (await lb.matches.head_to_head("duels", "ada", "bo")).total == 0
        again = await lb.matches.record_teams("duels", [["ada", "bo"], ["cy"], ["di"]], [2, 1, 3], match_id="m")
        assert again.replayed
        event = next(e for e in (await lb.runtime.ledger.events.of_players(1, ["ada"]))["ada"] if e.kind == "match")
        assert event.metadata["system"] == "openskill"
        assert event.metadata["version"].startswith("PlackettLuce ")
        assert event.metadata["parameters"] == {"initial": 1500, "deviation": 500.0, "z": 3, "idle_per_day": 1}


async def test_teams_that_cannot_be_used(tmp_path):
    boards = [Board("duels", rating=GLICKO2), Board("teams", rating=OPENSKILL)]
    async with leaderboards(f"sqlite:///{tmp_path / 'scores.db'}", boards=boards) as lb:
        for teams, ranks, error in [
            ([["a", "b"]], None, InvalidField),
            ([["a"], []], None, InvalidField),
            ([["a"], ["a"]], None, InvalidPlayer),
            ([["a"], [""]], None, InvalidPlayer),
            ([["a"], ["b"]], [1], InvalidField),
            ([["a"], ["b"]], [0, 1], InvalidField),
            ([["a"], ["b"]], [1, 1.5], InvalidField),
            ([[f"p{n}" for n in range(64)], ["b"]], None, InvalidField),
        ]:
            with pytest.raises(error):
                await lb.matches.record_teams("teams", teams, ranks)
        with pytest.raises(InvalidField, match="openskill takes teams"):
            await lb.matches.record_teams("duels", [["a", "b"], ["c"]])
        with pytest.raises(InvalidBoard, match="create a new board"):
            await lb.admin.put_board(Board("duels", rating={**GLICKO2, "z": 3}), confirm=True)
        with pytest.raises(InvalidBoard, match="create a new board"):
            await lb.admin.put_board(Board("duels", rating={"system": "elo"}), confirm=True)


@pytest.mark.parametrize(
    "fields",
    [
        {"rating": {"system": "glicko2", "k": 32}},
        {"rating": {"system": "elo", "deviation": 3}},
        {"rating": {"system": "glicko2", "deviation": 0}},
        {"rating": {"system": "glicko2", "tau": -1}},
        {"rating": {"system": "glicko2", "z": 11}},
        {"rating": {"system": "glicko2", "idle_per_day": 351}},
        {"rating": {"system": "openskill", "initial": 0}},
        {"rating": {"system": "openskill", "volatility": 1}},
        {"rating": {"system": "glicko2", "ranked_from": {}}},
        {"rating": {"system": "glicko2", "ranked_from": {"games": 0}}},
        {"rating": {"system": "glicko2", "ranked_from": {"deviation": 350}}},
        {"rating": {"system": "elo", "ranked_from": {"deviation": 50}}},
        {"rating": GLICKO2, "max_score": 5000},
        {"rating": {"system": "glicko2", "initial": 1_000_000, "deviation": 1_000_000, "idle_per_day": 1_000_000}, "decimals": 9},
    ],
)
def test_ratings_that_cannot_be_used(fields):
    with pytest.raises(InvalidBoard):
        Board("duels", **fields)
