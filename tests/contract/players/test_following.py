"""Segments that follow the player: each is everybody, restricted to those whose profile says so now; closed windows stay."""

import asyncio
import random
from datetime import UTC, datetime

import pytest

from keepscore import Board
from keepscore.errors import BadInput, InvalidBoard
from tests.contract.both import own_redis
from tests.contract.opened import DAY, HOUR, MINUTE, NOON, Clock, differences
from tests.support.opening import leaderboards
from tests.support.postgres_servers import shared_postgres

SEGMENTS = [
    "mode",
    {"name": "country", "from": "profile"},
    {"name": "level", "from": "profile", "brackets": [1, 10, 50]},
    ["country", "level"],
    ["mode", "country"],
]
BOARDS = [
    Board("sum", operator="sum", windows=["daily", "all_time"], segments=SEGMENTS),
    Board("best", windows=["all_time", "daily"], segments=SEGMENTS, ties="player"),
    Board("last", operator="last", windows=["all_time"], segments=SEGMENTS),
]
PLACES = {
    "embedded": (lambda folder: f"sqlite:///{folder / 'scores.db'}", lambda: "embedded://"),
    "redis": (lambda folder: f"sqlite:///{folder / 'scores.db'}", own_redis),
    "postgres": (lambda folder: shared_postgres().new_database(), own_redis),
}
COUNTRIES, MODES, LEVELS = ("BR", "DE", None), ("solo", "duo"), (0, 5, 37, 99, None)
#: What lists are filtered by.
NAMED = [
    {},
    {"country": "BR"},
    {"country": "DE"},
    {"level": "1"},
    {"level": "10"},
    {"level": "50"},
    {"country": "BR", "level": "10"},
    {"mode": "solo"},
    {"mode": "duo", "country": "DE"},
]


@pytest.fixture(params=PLACES)
def place(request, tmp_path):
    ledger, engine = PLACES[request.param]
    return ledger(tmp_path), engine()


def bracket(level):
    return None if level is None or level < 1 else "1" if level < 10 else "10" if level < 50 else "50"


class World:
    """What was sent, and who is what."""

    def __init__(self, seed, clock):
        self.dice = random.Random(seed)
        self.clock = clock
        self.profiles = {}
        self.scores = []

    def rows(self, board, window, named):
        """The obvious: filter, group, sort."""
        day = self.clock.now // DAY
        found = {}
        for at, player, on, amount, mode in self.scores:
            if on == board and (window == "all_time" or at // DAY == day) and named.get("mode") in (None, mode):
                found.setdefault(player, []).append((at, amount))
        rows = []
        for player, scores in found.items():
            profile, amounts = self.profiles.get(player, {}), [amount for _, amount in sorted(scores)]
            if named.get("country") in (None, profile.get("country")) and named.get("level") in (None, bracket(profile.get("level"))):
                rows.append(({"sum": sum, "best": max, "last": lambda found: found[-1]}[board](amounts), player))
        return sorted(rows, key=lambda row: (-row[0], row[1]))


async def check(lb, world):
    for board in BOARDS:
        for window in board.periods:
            for named in NAMED:
                segment = ",".join(f"{name}:{value}" for name, value in named.items()) or None
                top = await lb.top(board.name, window=window, segment=segment, limit=100)
                shown = sorted(((int(s.score), s.player_id) for s in top.standings), key=lambda row: (-row[0], row[1]))
                assert shown == world.rows(board.name, window, named), (board.name, window, segment)
                assert top.segment == segment


async def submit(lb, world):
    dice = world.dice
    board, player, amount, mode = dice.choice(BOARDS).name, f"p{dice.randrange(8)}", dice.randrange(1, 100), dice.choice(MODES)
    world.clock.now += dice.randrange(1, MINUTE)
    await (lb.increment if board == "sum" else lb.submit)(board, player, amount, segments={"mode": mode})
    world.scores.append((world.clock.now, player, board, amount, mode))


async def change(lb, world):
    dice = world.dice
    player = f"p{dice.randrange(8)}"
    profile = {"name": player, "country": dice.choice(COUNTRIES), "level": dice.choice(LEVELS)}
    world.clock.now += 1
    if dice.random() < 0.1:
        await lb.players.delete(player)
        profile = {}
    elif dice.random() < 0.3:
        await lb.players.change_many([{"player_id": player, **profile}])
    else:
        await lb.players.put(player, profile)
    world.profiles[player] = profile


async def void(lb, world):
    board, player = world.dice.choice(BOARDS).name, f"p{world.dice.randrange(8)}"
    done = await lb.moderation.void(board, "a bot", player_id=player)
    if done.void_id is not None and world.dice.random() < 0.5:
        await lb.moderation.undo(done.void_id, "no bot")
    else:
        world.scores = [one for one in world.scores if one[1:3] != (player, board)]


@pytest.mark.parametrize("seed", range(2))
async def test_segments_are_everybody_restricted_by_the_profile(place, seed):
    clock = Clock(NOON)
    world = World(seed, clock)
    for start in range(3):
        async with leaderboards(*place, BOARDS, clock, "manual") as lb:
            for step in range(40):
                kind = world.dice.random()
                if kind < 0.6:
                    await submit(lb, world)
                elif kind < 0.92:
                    await change(lb, world)
                elif kind < 0.96:
                    await void(lb, world)
                elif kind < 0.98:
                    await lb.admin.rebuild(world.dice.choice(BOARDS).name)
                else:
                    await lb.admin.run_keeper()
                if step % 13 == 0:
                    await check(lb, world)
            await check(lb, world)
            assert await differences(lb) == []
        clock.now += DAY if start == 1 else HOUR


async def test_closed_windows_and_past_moments_have_the_profile_of_then(place):
    clock = Clock(NOON)
    async with leaderboards(*place, BOARDS, clock, "manual") as lb:
        await lb.players.put("ann", {"country": "BR"})
        await lb.increment("sum", "ann", 5)
        clock.now += HOUR
        then = datetime.fromtimestamp(clock.now / 1000, UTC)
        clock.now += HOUR
        await lb.players.put("ann", {"country": "DE"})
        await lb.increment("sum", "ann", 2)

        async def scores(**view):
            return [(s.player_id, int(s.score)) for s in (await lb.top("sum", **view)).standings]

        assert await scores(segment="country:BR") == []
        assert await scores(segment="country:DE") == [("ann", 7)]
        # A move is none of the events that a player has sent.
        assert [int(event.amount) for event in (await lb.explain.why("sum", "ann")).events] == [2, 5]
        past = await lb.history.as_of("sum", then, segment="country:BR")
        assert [(s.player_id, int(s.score)) for s in past.standings] == [("ann", 5)]
        assert (await lb.history.as_of("sum", then, segment="country:DE")).standings == []
        clock.now += 2 * DAY
        await lb.admin.run_keeper()
        await lb.players.put("ann", {"country": "BR"})
        for _ in range(2):
            assert await scores(window="daily", window_id="2026-11-15", segment="country:DE") == [("ann", 7)]
            assert await scores(window="daily", window_id="2026-11-15", segment="country:BR") == []
            assert await scores(window="all_time", segment="country:BR") == [("ann", 7)]
            await lb.admin.rebuild("sum")
        assert await differences(lb) == []


async def test_a_late_score_counts_where_the_player_was(place):
    clock = Clock(NOON)
    async with leaderboards(*place, [BOARDS[0]], clock, "manual") as lb:
        await lb.players.put("ann", {"country": "BR"})
        await lb.increment("sum", "ann", 5)
        clock.now = NOON + 12 * HOUR + MINUTE
        await lb.players.put("ann", {"country": "DE"})
        await lb.increment("sum", "ann", 2, at=datetime.fromtimestamp((NOON + 1) / 1000, UTC))

        async def scores(window, segment, **view):
            found = await lb.top("sum", window=window, segment=segment, **view)
            return [(s.player_id, int(s.score)) for s in found.standings]

        assert await scores("daily", "country:BR", window_id="2026-11-15") == [("ann", 7)]
        assert await scores("daily", "country:DE", window_id="2026-11-15") == []
        assert await scores("all_time", "country:DE") == [("ann", 7)]
        assert await differences(lb) == []


async def test_two_processes_change_a_profile_while_scores_come_in():
    places, clock = (shared_postgres().new_database(), own_redis()), Clock(NOON)
    async with leaderboards(*places, [BOARDS[0]], clock, "manual") as here, leaderboards(*places, [BOARDS[0]], clock, "manual") as there:
        await here.increment("sum", "ann", 1)

        async def score(lb):
            for _ in range(10):
                await lb.increment("sum", "ann", 1)

        async def turn(lb, countries):
            for country in countries:
                await lb.players.change("ann", {"country": country})

        await asyncio.gather(score(here), score(there), turn(here, ["BR", "DE", "BR"]), turn(there, ["DE", "BR", "DE"]))
        country = (await here.players.profile("ann")).country
        clock.now += 10_000
        for lb in (here, there):
            await lb.admin.run_keeper()
        shown = {one: [int(s.score) for s in (await here.top("sum", segment=f"country:{one}")).standings] for one in ("BR", "DE")}
        assert shown == {one: [21] if one == country else [] for one in ("BR", "DE")}
        assert await differences(here) == []


async def test_a_score_of_one_who_did_not_know_of_a_change_yet_is_put_right():
    places, clock = (shared_postgres().new_database(), own_redis()), Clock(NOON)
    async with leaderboards(*places, [BOARDS[0]], clock, "manual") as here, leaderboards(*places, [BOARDS[0]], clock, "manual") as there:
        for country in ("BR", "DE"):
            await here.players.put("ann", {"country": country})
            # The other knows the first country only.
            await there.increment("sum", "ann", 1)
        clock.now += 4000
        await here.admin.run_keeper()
        shown = {one: [int(s.score) for s in (await here.top("sum", segment=f"country:{one}")).standings] for one in ("BR", "DE")}
        assert shown == {"BR": [], "DE": [2]}
        assert await differences(here) == []


async def test_a_change_that_was_cut_short_is_finished(place):
    clock = Clock(NOON)
    async with leaderboards(*place, [BOARDS[0]], clock, "manual") as lb:
        await lb.increment("sum", "ann", 1)
        submit = lb.runtime.writer.submit

        def killed(request):
            raise KeyboardInterrupt

        lb.runtime.writer.submit = killed
        with pytest.raises(KeyboardInterrupt):
            await lb.players.put("ann", {"country": "BR"})
        lb.runtime.writer.submit = submit
        assert (await lb.top("sum", segment="country:BR")).standings == []
        clock.now += 4000
        await lb.admin.run_keeper()
        assert [s.player_id for s in (await lb.top("sum", segment="country:BR")).standings] == ["ann"]
        assert await differences(lb) == []


async def test_an_event_that_names_none_counts_in_the_segments_of_the_one_before(place):
    board = Board("b", operator="sum", segments=[{"name": "region", "sticky": True}, "mode"])
    async with leaderboards(*place, [board], Clock(NOON)) as lb:
        await lb.increment("b", "ann", 1)
        await lb.increment("b", "ann", 2, segments={"region": "eu", "mode": "x"})
        await lb.increment("b", "ann", 4)
        await lb.increment("b", "ann", 8, segments={"mode": "x"})
        await lb.increment("b", "ann", 16, segments={"region": "us"})
        await lb.increment("b", "ann", 32)

        async def score(segment):
            return [int(s.score) for s in (await lb.top("b", segment=segment)).standings]

        assert [await score(one) for one in (None, "region:eu", "region:us", "mode:x")] == [[63], [14], [48], [10]]


@pytest.mark.parametrize(
    ("segments", "words"),
    [
        ([{"name": "level", "from": "profile", "brackets": [10, 1]}], "do not ascend"),
        ([{"name": "level", "from": "profile", "brackets": [1, 1]}], "do not ascend"),
        ([{"name": "level", "from": "profile", "brackets": []}], "brackets"),
        ([{"name": "level", "from": "profile", "brackets": ["a"]}], "brackets"),
        ([{"name": "level", "brackets": [1]}], "profile"),
        ([{"name": "level", "from": "nowhere"}], "nowhere"),
        ([{"name": "level", "sticky": True, "from": "profile"}], "sticky"),
        ([{"from": "profile"}], "lower-case"),
        ([{"name": "level", "color": 1}], "color"),
        ([["region"]], "2 to 4"),
        ([["region", "region"]], "each once"),
        (["region", {"name": "region", "from": "profile"}], "each once"),
        ([5], "table"),
    ],
)
def test_segments_that_cannot_be_used(segments, words):
    with pytest.raises(InvalidBoard, match=words):
        Board("b", segments=segments)


async def test_a_value_that_the_profile_gives_cannot_be_sent(tmp_path):
    async with leaderboards(f"sqlite:///{tmp_path / 'scores.db'}", "embedded://", [BOARDS[1]], Clock(NOON)) as lb:
        with pytest.raises(BadInput, match="comes from the player's profile"):
            await lb.submit("best", "ann", 1, segments={"country": "BR"})
        assert (await lb.top("best")).standings == []


async def test_each_player_of_a_match_counts_in_their_own_segments(place):
    clock = Clock(NOON)
    segments = [one for one in SEGMENTS if one != "mode" and "mode" not in one]
    rated = Board("duels", rating={"system": "elo"}, windows=["all_time", "daily"], segments=segments, grace="3h")
    async with leaderboards(*place, [rated], clock, "manual") as lb:
        await lb.players.put("ada", {"country": "BR", "level": 12})
        await lb.players.put("bo", {"country": "DE", "level": 60})
        await lb.matches.record("duels", "ada", "bo", 1)
        await lb.matches.record("duels", "carla", "ada", 1)
        # One of a moment when the day was another one, after which both have moved.
        await lb.players.change("bo", {"country": "BR"})
        clock.now += 13 * HOUR
        await lb.players.change("ada", {"country": None})
        await lb.matches.record("duels", "bo", "carla", 0.5, at=datetime.fromtimestamp((clock.now - 90 * MINUTE) / 1000, UTC))
        for named, players in {"country:BR": ["bo"], "country:DE": [], "country:BR,level:50": ["bo"], "level:10": ["ada"]}.items():
            assert [one.player_id for one in (await lb.top("duels", segment=named)).standings] == players, named
        assert await differences(lb) == []


async def test_a_card_that_is_forgotten_while_its_group_is_planned_is_no_reason_to_refuse(place):
    async with leaderboards(*place, [BOARDS[0]], Clock(NOON), "manual") as lb:
        await lb.players.put("ann", {"country": "BR"})
        cards = lb.runtime.cards
        learn_of = cards.learn_of

        async def learned_and_forgotten(players):
            found = await learn_of(players)
            # As another process has changed the profile.
            cards.forget(["ann"])
            return found

        cards.learn_of = learned_and_forgotten
        await lb.increment("sum", "ann", 1)
        assert [s.player_id for s in (await lb.top("sum", segment="country:BR")).standings] == ["ann"]


@pytest.mark.parametrize("ledger", ["sqlite", "postgres"])
@pytest.mark.parametrize("what", ["a score", "a move"])
async def test_a_host_that_slept_records_nothing_with_a_profile_of_before(tmp_path, ledger, what):
    places = f"sqlite:///{tmp_path / 'scores.db'}" if ledger == "sqlite" else shared_postgres().new_database(), own_redis()
    clock = Clock(NOON)
    async with leaderboards(*places, [BOARDS[0]], clock, "manual") as here, leaderboards(*places, [BOARDS[0]], clock, "manual") as there:
        await here.players.put("ann", {"country": "BR"})
        await there.increment("sum", "ann", 1)
        sleepy, naps = there.runtime.ledger.events, []
        append = sleepy.append

        async def append_after_a_nap(*args):
            if not naps:
                naps.append(clock.now)
                await here.players.put("ann", {"country": "DE"})
                clock.now += HOUR
                await here.admin.run_keeper()
            return await append(*args)

        sleepy.append = append_after_a_nap
        if what == "a score":
            await there.increment("sum", "ann", 2)
        else:
            await there.players.put("ann", {"country": "JP"})
        assert naps
        country = (await here.players.profile("ann")).country
        assert country == "DE"
        score = 3 if what == "a score" else 1
        for _ in range(2):
            shown = {one: [int(s.score) for s in (await here.top("sum", segment=f"country:{one}")).standings] for one in ("BR", "DE", "JP")}
            assert shown == {"BR": [], "DE": [score], "JP": []}
            await here.admin.run_keeper()
        assert await differences(here) == []


async def test_one_who_changes_while_hidden_is_elsewhere_when_shown_again(place):
    clock = Clock(NOON)
    async with leaderboards(*place, [BOARDS[0]], clock, "manual") as lb:
        await lb.players.put("ann", {"country": "BR"})
        await lb.increment("sum", "ann", 5)
        await lb.moderation.hide("ann", "a bot")
        clock.now += MINUTE
        await lb.players.put("ann", {"country": "DE"})
        await lb.increment("sum", "ann", 2)
        await lb.moderation.restore("ann", "no bot")
        for _ in range(2):
            shown = {one: [int(s.score) for s in (await lb.top("sum", segment=f"country:{one}")).standings] for one in ("BR", "DE")}
            assert shown == {"BR": [], "DE": [7]}
            await lb.admin.rebuild("sum")
