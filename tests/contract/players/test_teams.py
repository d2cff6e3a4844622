"""Boards that rank teams: each team is its members, filtered, grouped and sorted, whatever happens in between."""

import asyncio
import random
from datetime import UTC, datetime

import pytest

from keepscore import Board
from keepscore.errors import BadInput, InvalidBoard, InvalidField, RolledUp, UnknownBoard, UnknownPlayer, UnknownTeam
from tests.contract.both import own_redis
from tests.contract.opened import DAY, HOUR, MINUTE, NOON, Clock, differences
from tests.support.opening import leaderboards
from tests.support.postgres_servers import shared_postgres

WINDOWS = ["daily", "all_time"]
BOARDS = [
    Board("sum_stay", by="team", operator="sum", windows=WINDOWS),
    Board("sum_follow", by="team", operator="sum", windows=WINDOWS, transfers="follow"),
    Board("best_stay", by="team", windows=WINDOWS, ties="player"),
    Board("mean_follow", by="team", windows=WINDOWS, members={"mean_of_best": 2}, transfers="follow"),
    Board("low_stay", by="team", order="asc", windows=WINDOWS, members={"mean_of_best": 3}, decimals=1),
    Board("last_follow", by="team", operator="last", windows=WINDOWS, transfers="follow"),
]
PLACES = {
    "embedded": (lambda folder: f"sqlite:///{folder / 'scores.db'}", lambda: "embedded://"),
    "redis": (lambda folder: f"sqlite:///{folder / 'scores.db'}", own_redis),
    "postgres": (lambda folder: shared_postgres().new_database(), own_redis),
}
TEAMS = ("red", "blue", "p1", None)


@pytest.fixture(params=PLACES)
def place(request, tmp_path):
    ledger, engine = PLACES[request.param]
    return ledger(tmp_path), engine()


class World:
    """What was sent for which team, and who is where."""

    def __init__(self, seed, clock):
        self.dice = random.Random(seed)
        self.clock = clock
        self.team = {}
        self.hidden = set()
        self.scores = []

    def members(self, board, window):
        """The obvious: filter and group."""
        found = {}
        for at, player, on, amount, earned_for in self.scores:
            if on != board.name or player in self.hidden or (window == "daily" and at // DAY != self.clock.now // DAY):
                continue
            team = self.team.get(player) if board.transfers == "follow" else earned_for
            if team is not None:
                found.setdefault(team, {}).setdefault(player, []).append((at, amount))
        fold = {"sum": sum, "best": max if board.order == "desc" else min, "last": lambda own: own[-1]}[board.operator]
        return {team: {p: fold([amount for _, amount in sorted(own)]) for p, own in players.items()} for team, players in found.items()}

    def teams(self, board, window):
        """The obvious: sort and add up. Scores as the board stores them."""
        found = {}
        for team, players in self.members(board, window).items():
            best = sorted(players.values(), reverse=board.order == "desc")
            if board.members == "best":
                best = best[:1]
            elif isinstance(board.members, dict):
                best = best[: board.members["mean_of_best"]]
                best = [(2 * sum(best) + len(best)) // (2 * len(best))]
            found[team] = sum(best)
        return found


async def shown(lb, board, **view):
    top = await lb.top(board.name, limit=100, **view)
    rows = [(s.player_id, board.stored(s.score)) for s in top.standings]
    assert [score for _, score in rows] == sorted((score for _, score in rows), reverse=board.order == "desc")
    assert (len(rows), top.board, [s.name for s in top.standings if s.name]) == (top.total_players, board.name, [])
    return dict(rows)


async def check(lb, world):
    for board in BOARDS:
        for window in WINDOWS:
            assert await shown(lb, board, window=window) == world.teams(board, window), (board.name, window)
            for team, players in world.members(board, window).items():
                found = await lb.players.team(board.name, team, window=window)
                assert {one.player_id: board.stored(one.score) for one in found.members} == players
                assert (board.stored(found.score), found.total_members) == (world.teams(board, window)[team], len(players))
                best = {"sum": 100, "best": 1}.get(board.members) if isinstance(board.members, str) else board.members["mean_of_best"]
                assert [one.counts for one in found.members] == [n < best for n in range(len(players))]


async def step(lb, world):
    dice, clock = world.dice, world.clock
    clock.now += dice.randrange(1, MINUTE)
    board, player, kind = dice.choice(BOARDS), f"p{dice.randrange(7)}", dice.random()
    if kind < 0.6:
        amount = dice.randrange(1, 100)
        await (lb.increment if board.operator == "sum" else lb.submit)(board.name, player, board.shown(amount))
        world.scores.append((clock.now, player, board.name, amount, world.team.get(player)))
    elif kind < 0.85:
        world.team[player] = team = dice.choice(TEAMS)
        await lb.players.put(player, {"name": player.upper(), "team": team})
    elif kind < 0.92:
        done = await lb.moderation.void(board.name, "a bot", player_id=player)
        if done.void_id is not None and dice.random() < 0.5:
            await lb.moderation.undo(done.void_id, "no bot")
        else:
            world.scores = [one for one in world.scores if one[1:3] != (player, board.name)]
    elif kind < 0.95:
        if player in world.hidden:
            await lb.moderation.restore(player, "back")
            world.hidden.remove(player)
        else:
            await lb.moderation.hide(player, "a bot")
            world.hidden.add(player)
    elif kind < 0.975:
        await lb.admin.rebuild(board.name)
    else:
        await lb.admin.run_keeper()


@pytest.mark.parametrize("seed", range(2))
async def test_teams_are_their_members_filtered_grouped_and_sorted(place, seed):
    clock = Clock(NOON)
    world = World(seed, clock)
    for start in range(3):
        async with leaderboards(*place, BOARDS, clock, "manual") as lb:
            for n in range(40):
                await step(lb, world)
                if n % 13 == 0:
                    await check(lb, world)
            await check(lb, world)
            assert await differences(lb) == []
        clock.now += DAY if start == 1 else HOUR


async def test_a_day_that_is_over_stays_as_it_was(place):
    clock = Clock(NOON)
    async with leaderboards(*place, BOARDS[:2], clock, "manual") as lb:
        for player, team in (("a", "red"), ("b", "red"), ("c", "blue")):
            await lb.players.put(player, {"team": team})
            for board in BOARDS[:2]:
                await lb.increment(board.name, player, 5)
        clock.now += 12 * HOUR + MINUTE
        await lb.players.put("a", {"team": "blue"})
        # A late score of the day before counts for the team of now where points stay, and for that of then where they follow.
        for board in BOARDS[:2]:
            await lb.increment(board.name, "a", 1, at=datetime.fromtimestamp((NOON + 1) / 1000, UTC))
        clock.now += 3 * HOUR
        await lb.admin.run_keeper()
        await lb.players.put("b", {"team": "blue"})
        for _ in range(2):
            past = {"window": "daily", "window_id": "2026-11-15"}
            assert await shown(lb, BOARDS[0], **past) == {"red": 10, "blue": 6}
            assert await shown(lb, BOARDS[1], **past) == {"red": 11, "blue": 5}
            assert await shown(lb, BOARDS[0], window="all_time") == {"red": 10, "blue": 6}
            assert await shown(lb, BOARDS[1], window="all_time") == {"blue": 16}
            for board in BOARDS[:2]:
                await lb.admin.rebuild(board.name)
        (day,) = [one for one in (await lb.history.windows("sum_stay", window="daily")).windows if one.window_id == "2026-11-15"]
        assert day.players == 2
        history = await lb.history.of("sum_stay", "red", window="daily")
        assert (history.board, [int(one.score) for one in history.history]) == ("sum_stay", [10])
        with pytest.raises(InvalidField, match="segment=team"):
            await lb.history.as_of("sum_stay", datetime.fromtimestamp(NOON / 1000, UTC))
        assert await differences(lb) == []


async def test_scores_and_transfers_at_once_from_two_processes():
    places, clock = (shared_postgres().new_database(), own_redis()), Clock(NOON)
    boards = [BOARDS[0], BOARDS[1], BOARDS[3]]
    async with leaderboards(*places, boards, clock, "manual") as here, leaderboards(*places, boards, clock, "manual") as there:
        dice = random.Random(5)
        earned = {}

        async def score(lb, player):
            for _ in range(8):
                for board in boards[:2]:
                    await lb.increment(board.name, player, 1)
                await lb.submit("mean_follow", player, dice.randrange(100))

        async def transfer(lb, player):
            for _ in range(4):
                await lb.players.put(player, {"team": dice.choice(TEAMS[:3])})
                await asyncio.sleep(0.01)

        players = [f"p{n}" for n in range(4)]
        everything = [work(lb, player) for player in players for work in (score, transfer) for lb in (here, there)]
        await asyncio.gather(*everything)
        clock.now += 10_000
        for lb in (here, there):
            await lb.admin.run_keeper()
        teams = {player: (await here.players.profile(player)).team for player in players}
        for player in players:
            earned[teams[player]] = earned.get(teams[player], 0) + 16
        assert await shown(here, BOARDS[1]) == earned
        # Where points stay, each was earned for the team that the recorded event says.
        stayed = {}
        for one in (await here.history.all_events("sum_stay", limit=1000)).events:
            team = (one.segments or {}).get("team")
            stayed[team] = stayed.get(team, 0) + int(one.amount)
        stayed.pop(None, None)
        assert await shown(here, BOARDS[0]) == stayed
        assert await differences(here) == []


async def test_how_teams_are_read(place):
    async with leaderboards(*place, [BOARDS[0], Board("plain")], Clock(NOON)) as lb:
        for player, team, amount in (("a", "red", 5), ("b", "red", 4), ("c", "blue", 7), ("d", None, 100)):
            await lb.players.put(player, {"name": player.upper(), "team": team})
            await lb.increment("sum_stay", player, amount)
        # A player of the same name as a team has nothing to do with it.
        await lb.players.put("red", {"name": "Red Hot", "visibility": "hidden"})
        place_of_red = await lb.rank("sum_stay", "red", around=1)
        assert (place_of_red.board, place_of_red.rank, int(place_of_red.score), place_of_red.name) == ("sum_stay", 1, 9, None)
        assert [one.player_id for one in place_of_red.around] == ["red", "blue"]
        assert [one.player_id for one in (await lb.around("sum_stay", 2, around=0)).standings] == ["blue"]
        assert (await lb.count("sum_stay")).count == 2
        assert (await lb.lookup("sum_stay", ["red", "a"])).missing == ["a"]
        first = await lb.players.team("sum_stay", "red", limit=1)
        assert [(one.rank, one.player_id, one.name, int(one.score)) for one in first.members] == [(1, "a", "A", 5)]
        second = await lb.players.team("sum_stay", "red", limit=1, cursor=first.next_cursor)
        assert ([one.player_id for one in second.members], second.next_cursor, second.total_members) == (["b"], None, 2)
        assert [info.board.name for info in await lb.admin.boards()] == ["plain", "sum_stay"]
        for team in ("green", "", "d"):
            with pytest.raises((UnknownTeam, BadInput)):
                await lb.players.team("sum_stay", team)
        with pytest.raises(UnknownPlayer):
            await lb.rank("sum_stay", "a")
        with pytest.raises(InvalidField, match="ranks players"):
            await lb.players.team("plain", "red")
        with pytest.raises(InvalidField, match="ranks teams"):
            await lb.friends.ranking("sum_stay", "a", friend_ids=["b"])
        with pytest.raises(BadInput, match="profile"):
            await lb.increment("sum_stay", "a", 1, segments={"team": "blue"})


async def test_a_board_of_teams_comes_changes_and_goes_with_its_board(place):
    board = Board("clans", operator="sum", windows=["all_time"])
    async with leaderboards(*place, [], Clock(NOON), "manual") as lb:
        await lb.admin.put_board(Board("clans", operator="sum", by="team"))
        for player, team, amount in (("a", "red", 5), ("b", "red", 4), ("c", "blue", 7)):
            await lb.players.put(player, {"team": team})
            await lb.increment("clans", player, amount)
        assert await shown(lb, board) == {"red": 9, "blue": 7}
        await lb.admin.change_board("clans", {"members": "best"}, confirm=True)
        assert await shown(lb, board) == {"red": 5, "blue": 7}
        await lb.admin.change_board("clans", {"transfers": "follow", "members": {"mean_of_best": 2}, "rank": "dense"}, confirm=True)
        await lb.players.put("a", {"team": "blue"})
        assert await shown(lb, board) == {"red": 4, "blue": 6}
        for refused in (lambda: lb.increment("clans~teams", "red", 1), lambda: lb.admin.delete_board("clans~teams")):
            with pytest.raises((RolledUp, InvalidBoard)):
                await refused()
        with pytest.raises(InvalidBoard):
            await lb.admin.put_board(Board("x~teams", by="team"))
    # Whoever defines it may be cut short: the next start finds that out.
    async with leaderboards(*place, [], Clock(NOON), "manual") as lb:
        await lb.runtime.ledger.boards.delete("clans~teams", NOON)
    clock = Clock(NOON)
    async with leaderboards(*place, [], clock, "manual") as lb:
        assert await shown(lb, board) == {"red": 4, "blue": 6}
        await lb.admin.reset("clans")
        clock.now += 1
        assert await shown(lb, board) == {}
        await lb.increment("clans", "a", 2)
        assert await shown(lb, board) == {"blue": 2}
        await lb.admin.change_board("clans", {"by": None, "members": None, "transfers": None}, confirm=True)
        assert await shown(lb, board) == {"a": 2}
        await lb.admin.change_board("clans", {"by": "team"}, confirm=True)
        assert await shown(lb, board) == {"blue": 2}
        await lb.admin.delete_board("clans")
        with pytest.raises(UnknownBoard):
            await lb.top("clans~teams")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"members": "sum"}, "add up"),
        ({"operator": "first", "members": "sum"}, "add up"),
        ({"members": "median"}, "mean_of_best"),
        ({"members": {"mean_of_best": 0}}, "1 to"),
        ({"members": {"mean_of_best": 2.5}}, "1 to"),
        ({"members": {"mean_of_worst": 2}}, "mean_of_best"),
        ({"transfers": "sell"}, "stay, follow"),
        ({"by": "planet"}, "player, team"),
        ({"by": "player", "members": "best"}, "by = 'team'"),
        ({"by": "player", "transfers": "stay"}, "by = 'team'"),
        ({"segments": ["region"]}, "has none"),
        ({"decay": {"half_life": "7d"}}, "has none"),
        ({"keep_top": 5}, "has none"),
        ({"rating": {"system": "elo"}}, "has none"),
        ({"windows": {"daily": {"ttl": "9d"}}}, "ttl"),
    ],
)
def test_boards_of_teams_that_cannot_be(fields, words):
    with pytest.raises(InvalidBoard, match=words):
        Board("clans", **{"by": "team", **fields})


async def test_nothing_is_rolled_up_from_teams(tmp_path):
    rollup = Board("weeks", windows=["weekly"], rollup={"of": ["sum_stay"], "window": "daily", "into": "weekly"})
    with pytest.raises(InvalidBoard, match="ranks teams"):
        async with leaderboards(f"sqlite:///{tmp_path / 'scores.db'}", "embedded://", [BOARDS[0], rollup], Clock(NOON)):
            pass
