"""Tiers: every standing has the label that counting the players ahead gives, and the score of the next tier takes a player there."""

import math
import random
from decimal import Decimal

import pytest

from keepscore import Board
from keepscore.errors import InvalidBoard
from tests.contract.both import own_redis
from tests.contract.opened import DAY, NOON, Clock, at
from tests.support.opening import leaderboards

SHARES = [{"name": "gold", "top": "1%"}, {"name": "silver", "top": "10%"}, {"name": "bronze"}]
RANKS = [{"name": "first", "rank": 1}, {"name": "podium", "top": 3}]
SCORES = [{"name": "master", "score": 90}, {"name": "expert", "score": 50.5}]
MIXED = [{"name": "legend", "top": 2}, {"name": "good", "score": 40}, {"name": "half", "top": "50%"}, {"name": "rest"}]


@pytest.fixture(params=["embedded", "redis"])
def place(request, tmp_path):
    return f"sqlite:///{tmp_path / 'scores.db'}", "embedded://" if request.param == "embedded" else own_redis()


def expected(tiers, order, rank, score, total):
    """The first tier that fits, by counting."""
    for tier in tiers:
        top = tier.get("rank", tier.get("top"))
        if isinstance(top, str):
            top = math.ceil(Decimal(top[:-1]) * total / 100)
        if top is not None and rank <= top:
            return tier["name"]
        if "score" in tier and (score >= tier["score"] if order == "desc" else score <= tier["score"]):
            return tier["name"]
        if top is None and "score" not in tier:
            return tier["name"]
    return None


@pytest.mark.parametrize("tiers", [SHARES, RANKS, SCORES, MIXED], ids=["shares", "ranks", "scores", "mixed"])
@pytest.mark.parametrize("order", ["desc", "asc"])
async def test_labels_are_those_of_counting(place, tiers, order):
    if order == "asc":
        tiers = [{**tier, "score": 100 - tier["score"]} if "score" in tier else tier for tier in tiers]
    board = Board("points", order=order, decimals=1, operator="last", tiers=tiers, windows=["all_time", "daily"])
    dice, clock = random.Random(len(tiers)), Clock(NOON)
    async with leaderboards(*place, [board], clock) as lb:
        for n in range(23):
            clock.now += 1
            await lb.submit("points", f"p{n}", Decimal(dice.randrange(0, 1000)) / 10)
        top = (await lb.top("points", limit=100)).standings
        for one in top:
            assert one.tier == expected(tiers, order, one.rank, one.score, 23)
        names = [tier["name"] for tier in tiers]
        for one in (top[0], top[5], top[-1]):
            place_of = await lb.rank("points", one.player_id, around=1)
            assert (place_of.tier, place_of.next_tier) == (one.tier, one.next_tier)
            assert [near.tier for near in place_of.around] == [s.tier for s in top if abs(s.rank - one.rank) <= 1]
        found = await lb.lookup("points", [top[3].player_id, top[20].player_id])
        assert [(s.tier, s.next_tier) for s in found.standings] == [(s.tier, s.next_tier) for s in (top[3], top[20])]
        # Whoever gets the score of the next tier is in it, and with a step less is not, where ranks decide.
        for player in (top[-1].player_id, top[10].player_id):
            one = await lb.rank("points", player)
            above = names.index(one.tier) - 1 if one.tier is not None else len(names) - 1
            if above < 0:
                continue
            assert one.next_tier.name == names[above]
            step = Decimal("0.1") if order == "desc" else Decimal("-0.1")
            clock.now += 1
            await lb.submit("points", one.player_id, one.next_tier.score - step)
            # A tier above may ask for less.
            assert tiers[0] == MIXED[0] or (await lb.rank("points", one.player_id)).tier != names[above]
            clock.now += 1
            await lb.submit("points", one.player_id, one.next_tier.score)
            assert names.index((await lb.rank("points", one.player_id)).tier) <= above


async def test_labels_of_the_past(place):
    board = Board("points", tiers=SHARES, windows=["daily"], operator="last")
    clock = Clock(NOON)
    async with leaderboards(*place, [board], clock) as lb:
        for n in range(12):
            await lb.submit("points", f"p{n:02}", n)
        then = clock.now
        clock.now += 2 * DAY
        await lb.admin.run_keeper()
        past = (await lb.top("points", window_id="2026-11-15")).standings
        assert [one.tier for one in past] == ["gold", "silver", *["bronze"] * 10]
        assert past[1].next_tier.score == 12
        as_of = (await lb.history.as_of("points", at(then))).standings
        assert [one.tier for one in as_of] == [one.tier for one in past]


async def test_boards_without_tiers_say_nothing_of_them(place):
    async with leaderboards(*place, [Board("points"), Board("none", tiers=[])]) as lb:
        await lb.submit("points", "ada", 5)
        answer = (await lb.top("points")).to_dict()["standings"][0]
        assert "tier" not in answer
        assert "next_tier" not in answer


@pytest.mark.parametrize(
    "tiers",
    [
        {"gold": 1},
        "gold",
        [{"top": "1%"}],
        [{"name": ""}],
        [{"name": "gold", "top": "0%"}],
        [{"name": "gold", "top": "101%"}],
        [{"name": "gold", "top": "one"}],
        [{"name": "gold", "top": 0}],
        [{"name": "gold", "rank": -1}],
        [{"name": "gold", "rank": 1, "score": 5}],
        [{"name": "gold", "colour": "yellow"}],
        [{"name": "gold", "score": 0.5}],
        [{"name": "gold"}, {"name": "silver", "top": 5}],
        [{"name": "gold", "top": 5}, {"name": "gold"}],
        [{"name": "gold", "top": "10%"}, {"name": "silver", "top": "1%"}],
        [{"name": "gold", "top": 10}, {"name": "silver", "rank": 5}],
        [{"name": "gold", "score": 10}, {"name": "silver", "score": 20}],
        [{"name": f"t{n}", "top": n + 1} for n in range(17)],
    ],
)
def test_tiers_that_cannot_be_used(tiers):
    with pytest.raises(InvalidBoard):
        Board("points", tiers=tiers)


async def test_friends_and_views_tell_the_next_tier_and_shares_round_as_tiers_do(place):
    async with leaderboards(*place, [Board("points", operator="last", tiers=SHARES)], Clock(NOON)) as lb:
        for n in range(101):
            await lb.submit("points", f"p{n:03}", n)
        ranked = {one.player_id: one for one in (await lb.top("points", limit=200)).standings}
        players = ["p100", "p099", "p095", "p050"]
        for one in (await lb.friends.ranking("points", players[0], friend_ids=players[1:])).standings:
            assert (one.tier, one.next_tier) == (ranked[one.player_id].tier, ranked[one.player_id].next_tier)
        await lb.friends.replace("p050", players)
        view = (await lb.view("points", "p050", top=1, around=1, friends=4)).windows["all_time"]
        assert view.me.next_tier == ranked["p050"].next_tier
        assert [one.next_tier for one in view.friends] == [ranked[one.player_id].next_tier for one in view.friends]
        # The first percent of 101 players are two, and the second of them is gold.
        assert (await lb.explain.needs("points", "p050", top="1%")).target_rank == 2
        assert [ranked[player].tier for player in ("p099", "p098")] == ["gold", "silver"]
        assert (await lb.explain.needs("points", "p099", top="1%")).reached
