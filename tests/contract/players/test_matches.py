"""Matches: both ratings change together, once, whatever happens in between; a plain dict of ratings is the oracle."""

import asyncio
import random
from contextlib import AsyncExitStack
from decimal import Decimal

import pytest

from keepscore import Board
from keepscore.errors import (
    EngineUnavailable,
    EventsDropped,
    InvalidBoard,
    InvalidField,
    InvalidPage,
    InvalidPlayer,
    InvalidTime,
    MatchRecorded,
    NotRated,
    TakesMatches,
    UnknownMatch,
    WindowClosed,
)
from tests.contract.both import own_redis
from tests.contract.opened import DAY, MINUTE, NOON, Clock, at, differences, standings
from tests.support.opening import leaderboards
from tests.support.postgres_servers import shared_postgres
from tests.support.wrapping import wrap

ELO = {"system": "elo", "k": 32, "initial": 1000}
DUELS = Board("duels", rating=ELO)
PLACES = {
    "embedded": (lambda folder: f"sqlite:///{folder / 'scores.db'}", lambda: "embedded://"),
    "redis": (lambda folder: f"sqlite:///{folder / 'scores.db'}", own_redis),
    "postgres": (lambda folder: shared_postgres().new_database(), own_redis),
}


@pytest.fixture(params=PLACES)
def place(request, tmp_path):
    ledger, engine = PLACES[request.param]
    return ledger(tmp_path), engine()


class Oracle:
    """Elo as a page of a book has it, on a dict, in the points of a board."""

    def __init__(self, scale=1, k=32, initial=1000):
        self.scale, self.k, self.initial = scale, k, initial
        self.points = {}

    def match(self, a, b, result):
        own, other = (self.points.setdefault(player, self.initial * self.scale) for player in (a, b))
        expected = 1 / (1 + 10 ** ((other - own) / self.scale / 400))
        change = round(self.k * (result - expected) * self.scale)
        self.points[a] += change
        self.points[b] -= change
        return change

    def shown(self):
        return {player: points if self.scale == 1 else Decimal(points) / self.scale for player, points in self.points.items()}


async def ratings(lb, board, **view):
    return {player: score for _, player, score in await standings(lb, board, limit=1000, **view)}


@pytest.mark.parametrize("decimals", [0, 2])
async def test_ratings_are_those_of_the_oracle(place, decimals):
    board = Board("duels", rating=ELO, decimals=decimals, windows=["all_time", "daily"], ties="player")
    clock, dice, whole, day = Clock(NOON), random.Random(decimals), Oracle(10**decimals), {}
    async with leaderboards(*place, [board], clock) as lb:
        for n in range(60):
            if n == 40:
                # A new day starts from the initial rating, and its changes are those of the whole.
                clock.now += DAY
                day = {}
            clock.now += dice.randrange(0, MINUTE)
            a, b = dice.sample([f"p{n}" for n in range(6)], 2)
            result = dice.choice([1, 0.5, 0])
            change = whole.match(a, b, result)
            for player, gain in ((a, change), (b, -change)):
                day[player] = day.get(player, 1000 * whole.scale) + gain
            receipt = await lb.matches.record("duels", a, b, result, match_id=f"m{n}")
            assert [(p.player_id, p.rating) for p in receipt.players] == [(player, whole.shown()[player]) for player in (a, b)]
            assert sum(p.change for p in receipt.players) == 0
            assert {p.player_id: p.rank for p in receipt.players} == {p: r for r, p, _ in await standings(lb, "duels") if p in (a, b)}
        assert await ratings(lb, "duels") == whole.shown()
        assert await ratings(lb, "duels", window="daily") == {player: Decimal(points) / whole.scale for player, points in day.items()}
        assert await differences(lb) == []
        await lb.admin.rebuild("duels")
        assert await ratings(lb, "duels") == whole.shown()
        # Nothing of it needs an order or a system: another start folds what is recorded.
    async with leaderboards(*place, [], clock) as lb:
        assert await ratings(lb, "duels") == whole.shown()
        assert await differences(lb) == []


async def test_a_match_counts_once(place):
    clock = Clock(NOON)
    async with leaderboards(*place, [DUELS], clock) as lb:
        first = await lb.matches.record("duels", "ada", "bo", 1, match_id="m")
        await lb.matches.record("duels", "bo", "cy", 1)
        many = await asyncio.gather(*(lb.matches.record("duels", "ada", "bo", 1, match_id="m") for _ in range(20)))
        for again in many:
            assert (again.replayed, again.players, again.at) == (True, first.players, first.at)
        for other in (("ada", "bo", 0), ("bo", "ada", 1), ("ada", "cy", 1)):
            with pytest.raises(MatchRecorded, match="another match"):
                await lb.matches.record("duels", *other, match_id="m")
        with pytest.raises(MatchRecorded):
            await lb.matches.record("duels", "ada", "bo", 1, match_id="m", at=at(NOON))
        assert (await lb.matches.get("duels", "m")).players == first.players
        with pytest.raises(UnknownMatch):
            await lb.matches.get("duels", "n")
        # After weeks, when other keys are forgotten.
        clock.now += 30 * DAY
        await lb.admin.run_keeper()
        assert (await lb.matches.record("duels", "ada", "bo", 1, match_id="m")).replayed
        assert sum((await ratings(lb, "duels")).values()) == 3000


async def test_the_same_match_at_once_counts_once(place):
    async with leaderboards(*place, [DUELS], Clock(NOON)) as lb:
        many = await asyncio.gather(*(lb.matches.record("duels", "ada", "bo", 1, match_id="m") for _ in range(30)))
        assert sum(not receipt.replayed for receipt in many) == 1
        assert {(player.player_id, player.rating) for receipt in many for player in receipt.players} == {("ada", 1016), ("bo", 984)}


@pytest.mark.parametrize("ledger", ["sqlite", "postgres"])
async def test_hosts_never_use_the_same_old_rating(tmp_path, ledger):
    url, dice = own_redis(), random.Random(7)
    where = f"sqlite:///{tmp_path / 'scores.db'}" if ledger == "sqlite" else shared_postgres().new_database()
    async with AsyncExitStack() as stack:
        lbs = [await stack.enter_async_context(leaderboards(where, url, [DUELS])) for _ in range(2)]
        matches = [(*dice.sample("abcd", 2), dice.choice([1, 0.5, 0])) for _ in range(120)]
        await asyncio.gather(*(lb.matches.record("duels", *match) for lb, match in zip(lbs * 60, matches, strict=True)))
        found = await ratings(lbs[0], "duels")
        assert sum(found.values()) == 4000
        assert await differences(lbs[1]) == []
        for player in "abcd":
            # Each match begins with the rating that the one before has left.
            played = (await lbs[0].matches.of_player("duels", player, limit=1000)).matches[::-1]
            assert [one.rating - one.change for one in played] == [1000, *(one.rating for one in played[:-1])]
            assert played[-1].rating == found[player]


async def test_a_dead_host_leaves_no_rating_behind(tmp_path):
    """What was recorded and never applied counts before the next match is rated."""
    url = own_redis()
    async with AsyncExitStack() as stack:
        dead, other = [await stack.enter_async_context(leaderboards(f"sqlite:///{tmp_path / 'scores.db'}", url, [DUELS])) for _ in range(2)]

        async def die(apply, *args, **kwargs):
            raise EngineUnavailable("gone")

        wrap(dead.runtime.engine, "apply", die)
        assert (await dead.matches.record("duels", "ada", "bo", 1)).pending is True
        receipt = await other.matches.record("duels", "ada", "bo", 1)
        assert [player.rating for player in receipt.players] == [1031, 969]


async def test_a_board_that_cannot_be_locked_rates_nothing(tmp_path):
    async with leaderboards(f"sqlite:///{tmp_path / 'scores.db'}", own_redis(), [DUELS]) as lb:
        await lb.matches.record("duels", "ada", "bo", 1)

        async def fail(hold, board_id):
            raise EngineUnavailable("gone")

        wrap(lb.runtime.engine.locks, "hold", fail)
        with pytest.raises(EngineUnavailable, match="rates no match"):
            await lb.matches.record("duels", "ada", "bo", 1)
        assert (await lb.matches.of_player("duels", "ada")).total == 1


@pytest.mark.parametrize(
    ("a", "b", "result", "error"),
    [
        ("ada", "ada", 1, InvalidPlayer),
        ("ada", "bo", 2, InvalidField),
        ("ada", "bo", "1", InvalidField),
        ("ada", "bo", True, InvalidField),
        ("ada", "bo", float("nan"), InvalidField),
        ("ada", "", 1, InvalidPlayer),
        ("ada", 7, 1, InvalidPlayer),
    ],
)
async def test_bad_matches_are_refused(tmp_path, a, b, result, error):
    async with leaderboards(f"sqlite:///{tmp_path / 'scores.db'}", boards=[DUELS]) as lb:
        with pytest.raises(error):
            await lb.matches.record("duels", a, b, result)
        assert await ratings(lb, "duels") == {}


async def test_what_else_is_refused(tmp_path):
    clock = Clock(NOON)
    boards = [DUELS, Board("scores"), Board("days", rating=ELO, windows=["daily"])]
    async with leaderboards(f"sqlite:///{tmp_path / 'scores.db'}", boards=boards, clock=clock) as lb:
        for act in (lb.submit, lb.increment):
            with pytest.raises(TakesMatches):
                await act("duels", "ada", 5, game_id="inactivity:1")
        with pytest.raises(NotRated):
            await lb.matches.record("scores", "ada", "bo", 1)
        assert (await lb.matches.of_player("scores", "ada")).matches == []
        with pytest.raises(InvalidTime):
            await lb.matches.record("duels", "ada", "bo", 1, at=at(NOON + DAY))
        await lb.matches.record("days", "ada", "bo", 1, match_id="m", at=at(NOON))
        clock.now += 2 * DAY
        with pytest.raises(WindowClosed):
            await lb.matches.record("days", "ada", "bo", 1, at=at(NOON))
        # A retry of what was taken in time is a retry.
        assert (await lb.matches.record("days", "ada", "bo", 1, match_id="m", at=at(NOON))).replayed
        with pytest.raises(InvalidField):
            await lb.matches.record("duels", "ada", "bo", 1, match_id="x" * 129)
        for limit, cursor in ((0, None), (1001, None), (10, "x")):
            with pytest.raises(InvalidPage):
                await lb.matches.of_player("duels", "ada", limit=limit, cursor=cursor)


@pytest.mark.parametrize(
    "fields",
    [
        {"rating": {}},
        {"rating": {"system": "chess"}},
        {"rating": {**ELO, "k": 0}},
        {"rating": {**ELO, "k": []}},
        {"rating": {**ELO, "k": [{"below": 2000, "k": 3}]}},
        {"rating": {**ELO, "k": [{"below": 2000, "k": 3}, {"below": 1000, "k": 3}, {"k": 1}]}},
        {"rating": {**ELO, "k": [{"games": 0, "k": 3}, {"k": 1}]}},
        {"rating": {**ELO, "initial": 0.5}},
        {"rating": ELO, "operator": "last"},
        {"rating": ELO, "order": "asc"},
        {"rating": ELO, "also": ["other"]},
        {"rating": ELO, "max_score": 500},
        {"rating": ELO, "rules": {"max_increase": 5}},
        {"rating": ELO, "decay": {"half_life": "1d"}},
    ],
)
def test_ratings_that_cannot_be_used(fields):
    with pytest.raises(InvalidBoard):
        Board("duels", **fields)


async def test_k_depends_on_games_and_rating(tmp_path):
    steps = [{"games": 2, "k": 40}, {"below": 1100, "k": 20}, {"k": 10}]
    async with leaderboards(f"sqlite:///{tmp_path / 'scores.db'}", boards=[Board("duels", rating={**ELO, "k": steps})]) as lb:
        changes = [(await lb.matches.record("duels", "ada", f"p{n}", 1)).players[0].change for n in range(4)]
        # Of the two Ks the mean: 40 and 40, twice, then 20 and 40.
        assert changes[:3] == [20, 19, 13]
        await lb.matches.record("duels", "ada", "p0", 0.5)
        many = await asyncio.gather(*(lb.matches.record("duels", "new", "p9", 1) for _ in range(3)))
        assert sorted(receipt.players[0].change for receipt in many) == [8, 18, 20]


async def test_nobody_leaves_the_bounds(place):
    board = Board("duels", rating={**ELO, "k": 100}, min_score=950, max_score=1200)
    async with leaderboards(*place, [board]) as lb:
        for _ in range(3):
            await lb.matches.record("duels", "ada", "bo", 1)
        assert await ratings(lb, "duels") == {"ada": 1050, "bo": 950}


async def test_looking_back(place):
    clock = Clock(NOON)
    async with leaderboards(*place, [DUELS], clock) as lb:
        for n, (b, result) in enumerate([("bo", 1), ("cy", 0), ("bo", 0.5), ("bo", 0)]):
            clock.now = NOON + n * MINUTE
            await lb.matches.record("duels", "ada", b, result, match_id=f"m{n}")
        found = await lb.matches.of_player("duels", "ada", limit=3)
        assert [(one.match_id, one.against, one.result) for one in found.matches] == [
            ("m3", ["bo"], 0),
            ("m2", ["bo"], 0.5),
            ("m1", ["cy"], 0),
        ]
        assert (found.total, found.matches[0].at) == (4, at(NOON + 3 * MINUTE))
        rest = await lb.matches.of_player("duels", "ada", limit=3, cursor=found.next_cursor)
        assert ([one.match_id for one in rest.matches], rest.next_cursor) == (["m0"], None)
        versus = await lb.matches.head_to_head("duels", "ada", "bo")
        assert (versus.total, versus.wins, versus.draws, versus.losses) == (3, 1, 1, 1)
        other = await lb.matches.head_to_head("duels", "bo", "ada")
        assert other.change == -versus.change == -sum(one.change for one in versus.matches)
        assert (await lb.matches.of_player("duels", "ada", opponent_id="cy")).total == 1
        points = await lb.matches.ratings("duels", "ada")
        assert [point.rating for point in points.points[::-1]] == [one.rating for one in (*rest.matches, *found.matches[::-1])]
        assert (points.peak.rating, points.peak.match_id) == (1016, "m0")
        assert (await lb.matches.ratings("duels", "nobody")).points == []


async def test_a_void_takes_the_changes_back_and_leaves_the_start(place):
    async with leaderboards(*place, [DUELS]) as lb:
        await lb.matches.record("duels", "ada", "bo", 1, match_id="m")
        await lb.matches.record("duels", "ada", "cy", 1, match_id="n")
        before = await ratings(lb, "duels")
        void = await lb.moderation.void("duels", "a bug", game_id="m")
        assert await ratings(lb, "duels") == {"ada": before["ada"] - 16, "bo": 1000, "cy": before["cy"]}
        assert [one.void for one in (await lb.matches.of_player("duels", "ada")).matches] == [False, True]
        assert (await lb.matches.head_to_head("duels", "ada", "bo")).total == 0
        await lb.moderation.undo(void.void_id, "no bug")
        assert await ratings(lb, "duels") == before
        assert await differences(lb) == []


async def test_a_removed_player_starts_over(place):
    async with leaderboards(*place, [DUELS]) as lb:
        await lb.matches.record("duels", "ada", "bo", 1)
        await lb.moderation.remove("duels", "ada", "a bot")
        assert await ratings(lb, "duels") == {"bo": 984}
        receipt = await lb.matches.record("duels", "ada", "cy", 1)
        assert receipt.players[0].rating == 1016
        assert await differences(lb) == []


class Replayed:
    """What was played, and what ratings are if some of it had not been, from the start."""

    def __init__(self):
        self.played = []

    def ratings(self, void=()):
        oracle = Oracle()
        for match_id, a, b, result in self.played:
            if match_id in void:
                # Whoever has played stays, with the rating of the start.
                oracle.points.setdefault(a, 1000)
                oracle.points.setdefault(b, 1000)
            else:
                oracle.match(a, b, result)
        return oracle.shown()


@pytest.mark.parametrize("seed", range(3))
async def test_a_replay_rates_everybody_whom_it_reaches_again(place, seed):
    dice, clock, history = random.Random(seed), Clock(NOON), Replayed()
    async with leaderboards(*place, [Board("duels", rating=ELO, windows=["all_time", "daily"])], clock) as lb:
        voids = {}
        for n in range(50):
            clock.now += dice.randrange(1, MINUTE)
            if n % 10 == 9:
                match_id = dice.choice(history.played)[0]
                if match_id not in voids:
                    expected = history.ratings({*voids, match_id})
                    before = await ratings(lb, "duels")
                    tried = await lb.moderation.void("duels", "a bug", match_id=match_id, mode="replay", dry_run=True)
                    assert await ratings(lb, "duels") == before
                    changes = {c.player_id: (c.before.score, c.after.score) for c in tried.changes if c.window == "all_time"}
                    assert changes == {p: (before[p], expected[p]) for p in before if before[p] != expected[p]}
                    done = await lb.moderation.void("duels", "a bug", match_id=match_id, mode="replay")
                    assert done.changes == tried.changes
                    voids[match_id] = done.void_id
                    assert await ratings(lb, "duels") == expected
            if n == 45 and voids:
                # Only the last one can be taken back without those that built on it.
                match_id, void_id = voids.popitem()
                await lb.moderation.undo(void_id, "no bug")
            a, b = dice.sample([f"p{n}" for n in range(7)], 2)
            history.played.append((f"m{n}", a, b, dice.choice([1, 0.5, 0])))
            await lb.matches.record("duels", a, b, history.played[-1][3], match_id=f"m{n}")
        assert sum((await ratings(lb, "duels")).values()) == 1000 * len(await ratings(lb, "duels"))
        found = await ratings(lb, "duels")
        assert await differences(lb) == []
        await lb.admin.rebuild("duels")
        assert await ratings(lb, "duels") == found
        for player in found:
            assert (await lb.matches.ratings("duels", player)).points[0].rating == found[player]


async def test_a_replay_is_undone(place):
    clock = Clock(NOON)
    async with leaderboards(*place, [DUELS], clock) as lb:
        for n in range(20):
            await lb.matches.record("duels", f"p{n % 5}", f"p{(n * 3 + 1) % 5}" if n % 5 != (n * 3 + 1) % 5 else "x", 1, match_id=f"m{n}")
        before = await ratings(lb, "duels")
        done = await lb.moderation.void("duels", "a bug", match_id="m0", mode="replay")
        assert done.changes
        assert await ratings(lb, "duels") != before
        await lb.moderation.undo(done.void_id, "no bug")
        assert await ratings(lb, "duels") == before
        assert await differences(lb) == []
        refund = await lb.moderation.void("duels", "a bug", match_id="m0", mode="refund")
        assert {change.player_id for change in refund.changes} == {"p0", "p1"}
        assert refund.events == 2


async def test_modes_that_cannot_be_used(tmp_path):
    async with leaderboards(f"sqlite:///{tmp_path / 'scores.db'}", boards=[DUELS, Board("scores")]) as lb:
        await lb.submit("scores", "ada", 5, game_id="g")
        await lb.matches.record("duels", "ada", "bo", 1, match_id="m")
        with pytest.raises(NotRated):
            await lb.moderation.void("scores", "a bug", game_id="g", mode="refund")
        for fields in ({"mode": "undo", "match_id": "m"}, {"mode": "replay"}, {"match_id": "m", "game_id": "m"}, {"match_id": ""}):
            with pytest.raises(InvalidField):
                await lb.moderation.void("duels", "a bug", **fields)
        assert (await lb.moderation.void("duels", "a bug", match_id="n", mode="replay")).void_id is None


async def test_the_undo_of_a_removal_does_not_start_twice(place):
    async with leaderboards(*place, [DUELS]) as lb:
        await lb.matches.record("duels", "ada", "bo", 1)
        removed = await lb.moderation.remove("duels", "ada", "a bot")
        await lb.matches.record("duels", "ada", "cy", 1)
        await lb.moderation.undo(removed.void_id, "no bot")
        assert (await ratings(lb, "duels"))["ada"] == 1000 + 16 + 16
        assert await differences(lb) == []


async def test_matches_of_a_merged_guest(place):
    async with leaderboards(*place, [DUELS]) as lb:
        await lb.matches.record("duels", "guest", "bo", 1, match_id="m")
        await lb.matches.record("duels", "ada", "bo", 1, match_id="n")
        await lb.moderation.merge("guest", "ada", "the same player")
        found = await lb.matches.of_player("duels", "ada")
        assert {one.match_id for one in found.matches} == {"m", "n"}
        assert (await lb.matches.head_to_head("duels", "ada", "bo")).wins == 2
        tried = await lb.moderation.void("duels", "a bug", match_id="m", mode="replay", dry_run=True)
        assert {change.player_id for change in tried.changes} >= {"ada", "bo"}


async def test_no_board_sends_its_scores_on_to_ratings(tmp_path):
    async with leaderboards(f"sqlite:///{tmp_path / 'scores.db'}", boards=[DUELS, Board("ranked", operator="sum")]) as lb:
        with pytest.raises(InvalidBoard, match="takes matches"):
            await lb.admin.put_board(Board("scores", operator="sum", also=["duels"]))
        await lb.admin.put_board(Board("scores", operator="sum", also=["ranked"]))
        with pytest.raises(InvalidBoard, match="takes matches"):
            await lb.admin.put_board(Board("ranked", rating=ELO), confirm=True)


async def test_the_past_and_what_follows_a_reset(place):
    clock = Clock(NOON)
    async with leaderboards(*place, [DUELS], clock) as lb:
        await lb.matches.record("duels", "ada", "bo", 1)
        then = clock.now
        clock.now += MINUTE
        await lb.matches.record("duels", "ada", "bo", 0)
        past = await lb.history.as_of("duels", at(then))
        assert {one.player_id: one.score for one in past.standings} == {"ada": 1016, "bo": 984}
        clock.now += MINUTE
        await lb.admin.reset("duels")
        clock.now += MINUTE
        receipt = await lb.matches.record("duels", "ada", "bo", 1)
        assert [player.rating for player in receipt.players] == [1016, 984]
        assert await ratings(lb, "duels") == {"ada": 1016, "bo": 984}
        assert await differences(lb) == []


async def test_folded_events_leave_their_ratings(tmp_path):
    clock = Clock(NOON)
    where = f"sqlite:///{tmp_path / 'scores.db'}"
    async with leaderboards(where, boards=[DUELS], clock=clock, keep_events="30d") as lb:
        await lb.matches.record("duels", "ada", "bo", 1, match_id="m")
        clock.now += 90 * DAY
        for _ in range(3):
            await lb.admin.run_keeper()
            clock.now += DAY
        assert (await lb.matches.of_player("duels", "ada")).total == 0
        receipt = await lb.matches.record("duels", "ada", "bo", 1)
        assert [player.rating for player in receipt.players] == [1031, 969]
        assert (await lb.matches.ratings("duels", "ada")).points[0].rating == 1031
        assert (await lb.matches.record("duels", "ada", "bo", 1, match_id="m")).replayed
        with pytest.raises(EventsDropped):
            await lb.moderation.void("duels", "a bug", match_id="m", mode="replay")
        assert await differences(lb) == []
