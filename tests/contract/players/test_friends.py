"""Players among friends, and everything at once: what a filter and `sorted` say, in one round trip, on every engine and ledger."""

import random
import secrets
from contextlib import asynccontextmanager

import pytest

from keepscore import Board, Entry
from keepscore.domain.friends import FriendRules
from keepscore.errors import CapReached, InvalidField, InvalidPage, InvalidPlayer, UnknownBoard, UnknownSegment, UnknownWindow
from tests.contract.backends import cluster_url
from tests.contract.both import own_redis
from tests.contract.opened import DAY, NOON, Clock
from tests.support.opening import leaderboards
from tests.support.postgres_servers import shared_postgres
from tests.support.redis_servers import single

BOARDS = [
    Board("best", windows=["all_time", "daily"], segments=["region"]),
    Board("sum", operator="sum", windows=["daily", "all_time"], segments=["region"], ties="player", rank="standard"),
    Board("laps", order="asc", windows=["all_time", "weekly"], max_score=1000, min_score=0, segments=["region"], rank="dense"),
    Board("prize", operator="last", ties="last", consistency="strong", segments=["region"]),
]
PLACES = {
    "embedded": (lambda folder: f"sqlite:///{folder / 'scores.db'}", lambda: "embedded://"),
    "redis": (lambda folder: f"sqlite:///{folder / 'scores.db'}", own_redis),
    "redis+cluster, postgres": (lambda folder: shared_postgres().new_database(), cluster_url),
}


@pytest.fixture(params=PLACES)
def opened(request, tmp_path):
    """Opens leaderboards on one ledger and one engine, with names of boards that nobody else has."""
    ledger, engine = (make(*given) for make, given in zip(PLACES[request.param], ((tmp_path,), ()), strict=True))
    suffix = secrets.token_hex(3)
    boards = [Board(**{**board.to_dict(), "name": board.name + suffix}) for board in BOARDS]

    @asynccontextmanager
    async def opened(clock):
        async with leaderboards(ledger, engine, boards, clock) as lb:
            yield lb, boards

    return opened


def among(top, players):
    """Ranks among some players by the obvious way: filter the whole ranking, which is in order, and number what is left."""
    rows = [standing for standing in top if standing.player_id in players]
    return [(standing.rank, standing.player_id, standing.score) for standing in rows]


def numbered(kind, scores):
    distinct = sorted(set(scores), key=scores.index)
    return [{"unique": i + 1, "standard": scores.index(s) + 1, "dense": distinct.index(s) + 1}[kind] for i, s in enumerate(scores)]


async def test_friends_and_views_are_what_a_filter_and_sorted_say(opened):
    dice, clock = random.Random(18), Clock(NOON)
    players = [f"p{i}" for i in range(14)]
    async with opened(clock) as (lb, _):
        for player in players[:10]:
            await lb.friends.replace(player, dice.sample([*players, "nobody"], dice.randrange(9)))
    # Lists and rankings survive a restart.
    async with opened(clock) as (lb, boards):
        for step in range(12):
            clock.now += dice.randrange(1, DAY // 2)
            for board in boards:
                act = lb.increment if board.operator == "sum" else lb.submit
                for player in dice.sample(players, 3):
                    await act(board.name, player, dice.randrange(1, 6), segments={"region": dice.choice(["eu", "us"])})
            player = dice.choice(players)
            if step % 3 == 0:
                await lb.friends.add(player, dice.sample(players, 2))
            elif step % 3 == 1:
                await lb.friends.remove(player, dice.choice(players))
            else:
                await lb.friends.replace(player, dice.sample(players, 4))
            for board in boards:
                await check(lb, board, dice.choice(players), dice)


async def check(lb, board, player, dice):
    friends = (await lb.friends.of(player)).friend_ids
    limit = dice.choice([None, 1, 3])
    for window in board.periods:
        for segment in (None, "region:eu"):
            top = (await lb.top(board.name, limit=1000, window=window, segment=segment)).standings
            expected = among(top, {player, *friends})
            found = await lb.friends.ranking(board.name, player, limit=limit, window=window, segment=segment)
            ranks = numbered(board.rank, [score for _, _, score in expected])
            rows = [(rank, *one) for rank, one in zip(ranks, expected, strict=True)]
            assert [(s.rank, s.global_rank, s.player_id, s.score) for s in found.standings] == rows[:limit]
            assert [s.player_id for s in found.standings if s.is_current_player] == [p for _, _, p, _ in rows[:limit] if p == player]
            assert found.missing == [friend for friend in friends if friend not in {p for _, p, _ in expected}]
            assert (found.total_friends, found.total_players) == (len(friends), len(top))
            given = await lb.friends.ranking(board.name, player, friend_ids=[*friends, player], limit=limit, window=window, segment=segment)
            assert given == found
    await check_view(lb, board, player, rows_of_friends=3)


async def check_view(lb, board, player, rows_of_friends):
    view = await lb.view(board.name, player, top=3, around=1, friends=rows_of_friends, segment="region:eu")
    assert list(view.windows) == list(board.periods)
    for window, seen in view.windows.items():
        top = await lb.top(board.name, limit=1000, window=window, segment="region:eu")
        assert (seen.window_id, seen.total_players) == (top.window_id, top.total_players)
        assert seen.top == top.standings[:3]
        own = [i for i, standing in enumerate(top.standings) if standing.player_id == player]
        assert seen.around == [one for i in own for one in top.standings[max(0, i - 1) : i + 2]]
        if own:
            place = await lb.rank(board.name, player, window=window, segment="region:eu")
            told = [seen.me.rank, seen.me.player_id, seen.me.score, seen.me.since, seen.me.percentile]
            assert told == [place.rank, place.player_id, place.score, place.since, place.percentile]
        else:
            assert seen.me is None
        friends = await lb.friends.ranking(board.name, player, limit=rows_of_friends, window=window, segment="region:eu")
        assert seen.friends == friends.standings


async def test_past_windows_have_friends_too(opened):
    clock = Clock(NOON)
    async with opened(clock) as (lb, boards):
        board = boards[0].name
        for player, score in (("a", 1), ("b", 3), ("c", 2)):
            await lb.submit(board, player, score)
        today = (await lb.top(board, window="daily")).window_id
        clock.now += DAY
        await lb.submit(board, "a", 9)
        await lb.admin.run_keeper()
        past = await lb.friends.ranking(board, "a", friend_ids=["c", "d"], window="daily", window_id=today)
        assert [(s.rank, s.global_rank, s.player_id) for s in past.standings] == [(1, 2, "c"), (2, 3, "a")]
        assert past.missing == ["d"]
        now = await lb.friends.ranking(board, "a", friend_ids=["c", "d"], window="daily")
        assert [(s.rank, s.player_id, s.score) for s in now.standings] == [(1, "a", 9)]


async def test_bad_input_is_refused_and_nothing_is_recorded(opened):
    async with opened(Clock(NOON)) as (lb, boards):
        board = boards[0].name
        await lb.friends.replace("a", ["b"])
        with pytest.raises(InvalidField, match="5001 entries"):
            await lb.friends.replace("a", [f"f{i}" for i in range(5001)])
        for bad in ("", "x" * 129, "a\nb"):
            with pytest.raises(InvalidPlayer):
                await lb.friends.add("a", ["c", bad])
            with pytest.raises(InvalidPlayer):
                await lb.friends.ranking(board, bad)
        with pytest.raises(InvalidField, match="not a list"):
            await lb.friends.add("a", "c")
        assert (await lb.friends.of("a")).friend_ids == ["b"]
        for limit in (0, 5002):
            with pytest.raises(InvalidPage):
                await lb.friends.ranking(board, "a", limit=limit)
        for parts in ({"top": -1}, {"top": 1001}, {"around": 501}, {"friends": 5002}):
            with pytest.raises(InvalidPage):
                await lb.view(board, "a", **parts)
        with pytest.raises(InvalidField):
            await lb.view(board, "a", windows=[])
        with pytest.raises(UnknownWindow):
            await lb.view(board, "a", windows=["daily", "yearly"])
        with pytest.raises(UnknownSegment):
            await lb.view(board, "a", segment="planet:mars")
        with pytest.raises(UnknownBoard):
            await lb.view("nowhere", "a")
        # Who has no friends, and no score, gets an empty answer.
        empty = await lb.friends.ranking(board, "z")
        assert (empty.total_friends, empty.standings, empty.missing) == (0, [], [])


async def test_five_thousand_friends_take_one_command(tmp_path):
    with single() as server:
        async with leaderboards(f"sqlite:///{tmp_path / 'scores.db'}", server.url, BOARDS, Clock(NOON)) as lb:
            entries = [Entry(player_id=f"p{i}", score=i) for i in range(6000)]
            await lb.submit_many("best", entries)
            friends = [f"p{i}" for i in range(1, 5001)]
            await lb.friends.replace("p0", friends)
            # A script that Redis does not know yet is sent twice.
            await lb.friends.ranking("best", "p0")
            with server.client() as client, client.monitor() as monitor:
                board = await lb.friends.ranking("best", "p0")
                view = await lb.view("best", "p0")
                client.ping()
                sent = []
                for found in monitor.listen():
                    if found["command"] == "PING":
                        break
                    # The client that pings says HELLO first.
                    if found["client_type"] != "lua" and not found["command"].startswith("HELLO"):
                        sent.append(found["command"].split()[0])
            assert sent == ["EVALSHA", "EVALSHA"]
            assert [s.player_id for s in board.standings] == [*reversed(friends), "p0"]
            assert [(s.rank, s.global_rank) for s in board.standings[:2]] == [(1, 1000), (2, 1001)]
            assert [s.player_id for s in view.windows["daily"].friends] == [f"p{i}" for i in range(5000, 4990, -1)]
            with pytest.raises(CapReached):
                await lb.friends.add("p0", ["one more"])


async def test_mutual_friends_are_seen_from_both_sides(tmp_path):
    rules = FriendRules(is_mutual=True)
    async with leaderboards(f"sqlite:///{tmp_path / 'scores.db'}", boards=BOARDS, clock=Clock(NOON), friends=rules) as lb:
        await lb.submit("best", "a", 1)
        await lb.submit("best", "b", 2)
        await lb.friends.add("a", ["b"])
        assert [s.player_id for s in (await lb.friends.ranking("best", "b")).standings] == ["b", "a"]
        await lb.friends.remove("b", "a")
        assert [s.player_id for s in (await lb.friends.ranking("best", "a")).standings] == ["a"]


async def test_a_board_that_keeps_only_the_first_ranks_all_friends(tmp_path):
    board = Board("kept", keep_top=3)
    async with leaderboards(f"sqlite:///{tmp_path / 'scores.db'}", boards=[board], clock=Clock(NOON)) as lb:
        for i in range(12):
            await lb.submit("kept", f"p{i}", 100 - i)
        await lb.admin.run_keeper()
        found = await lb.friends.ranking("kept", "p9", friend_ids=["p11", "p1", "p10", "p4", "nobody"])
        assert [(s.rank, s.player_id, s.score) for s in found.standings] == [
            (1, "p1", 99), (2, "p4", 96), (3, "p9", 91), (4, "p10", 90), (5, "p11", 89)
        ]  # fmt: skip
        assert found.missing == ["nobody"]
        assert found.standings[0].global_rank == 2
        assert found.standings[-1].approximate is True
        assert (await lb.view("kept", "p9", top=2)).windows["all_time"].around == []
