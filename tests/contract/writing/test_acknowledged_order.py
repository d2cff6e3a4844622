"""A player's scores count in the order in which they were acknowledged, whatever the hosts' clocks say and times are cut to."""

import asyncio
import random
from contextlib import asynccontextmanager

import pytest

from keepscore import Board
from keepscore.writing.spooled import packed
from tests.contract.both import own_redis
from tests.contract.driving import NOON, all_time, batch, event
from tests.contract.opened import at, differences, live_of, recorded
from tests.support import oracle
from tests.support.opening import leaderboards
from tests.support.postgres_servers import shared_postgres
from tests.support.wrapping import wrap

PLAYERS = [f"p{n}" for n in range(20)]


class Clock:
    """The clocks of several hosts: one time that goes on a little with every look, and how far each host is off."""

    def __init__(self):
        self.now = NOON

    def ahead_by(self, ms):
        def clock():
            self.now += 1
            return self.now + ms

        return clock


def ledger_url(kind, folder):
    return f"sqlite:///{folder / 'scores.db'}" if kind == "sqlite" else shared_postgres().new_database()


@asynccontextmanager
async def hosts(url, clocks, *boards):
    """A process on each host, with one ledger and one Redis."""
    redis = own_redis()
    async with leaderboards(url, redis, boards, clocks[0]) as one, leaderboards(url, redis, (), clocks[1]) as other:
        yield one, other


async def shown(lb, board):
    return {standing.player_id: standing.score for standing in (await lb.top(board, limit=100)).standings}


@pytest.mark.parametrize("ledger", ["sqlite", "postgres"])
@pytest.mark.parametrize(("resolution", "apart"), [("1s", 0), ("1ms", 50), ("1ms", 3_600_000), ("1s", -3_600_000)])
async def test_requests_to_two_hosts_count_in_their_order(tmp_path, ledger, resolution, apart):
    clock = Clock()
    clocks = clock.ahead_by(apart), clock.ahead_by(0)
    last = Board("last", operator="last", resolution=resolution, consistency="strong")
    first = Board("first", operator="first", resolution=resolution)
    async with hosts(ledger_url(ledger, tmp_path), clocks, last, first) as (one, other):
        for player in PLAYERS:
            assert (await one.submit("last", player, 100)).score == 100
            assert (await other.increment("last", player, 5)).score == 105
            assert (await one.submit("last", player, 50)).score == 50
            assert (await other.increment("last", player, 7)).score == 57
            await one.submit("first", player, 1)
            await other.submit("first", player, 2)
        assert await shown(one, "last") == dict.fromkeys(PLAYERS, 57)
        assert await shown(one, "first") == dict.fromkeys(PLAYERS, 1)
        assert await differences(one) == []
        for lb in (one, other):
            await lb.admin.rebuild("last")
            await lb.admin.rebuild("first")
        assert await shown(one, "last") == dict.fromkeys(PLAYERS, 57)
        assert await shown(one, "first") == dict.fromkeys(PLAYERS, 1)


@pytest.mark.parametrize("ledger", ["sqlite", "postgres"])
@pytest.mark.parametrize("resolution", ["1ms", "1s"])
async def test_times_of_clients_and_of_hosts_and_requests_at_once(tmp_path, ledger, resolution):
    """Engine, rebuild, verification and the past agree with the naive fold of what is recorded."""
    dice, clock = random.Random(7), Clock()
    boards = [Board(operator, operator=operator, resolution=resolution) for operator in ("last", "first")]
    async with hosts(ledger_url(ledger, tmp_path), (clock.ahead_by(40), clock.ahead_by(0)), *boards) as both:

        async def send():
            board, player = dice.choice(boards).name, dice.choice("abc")
            lb, amount = dice.choice(both), dice.randrange(100)
            when = dice.choice([None, None, at(clock.now - dice.randrange(300))])
            call = lb.increment if board == "last" and dice.random() < 0.5 else lb.submit
            await call(board, player, amount, at=when)

        for _ in range(25):
            await asyncio.gather(*(send() for _ in range(dice.choice((1, 1, 6)))))
        one = both[0]
        for board in boards:
            live = await live_of(one, board.name)
            expected = {p: s.score for p, s in oracle.fold(live, await recorded(one, board.name))[all_time(live)].items()}
            assert await shown(one, board.name) == expected
            past = await one.history.as_of(board.name, at(clock.now + 40))
            assert {standing.player_id: standing.score for standing in past.standings} == expected
        assert await differences(one) == []
        for board in boards:
            await one.admin.rebuild(board.name)
        assert await differences(both[1]) == []


@pytest.mark.parametrize("ledger", ["sqlite", "postgres"])
async def test_what_was_kept_for_the_ledger_counts_in_the_order_in_which_it_was_kept(tmp_path, ledger):
    """Two hosts in turn while the ledger was away: the writer with the lower number came last."""
    board = Board("b", operator="last", resolution="1h")
    async with leaderboards(ledger_url(ledger, tmp_path), own_redis(), [board], lambda: NOON + 60_000) as lb:
        live = await live_of(lb, "b")
        for one in (event(1, "p", 5, 2, writer=900_002), event(1, "p", 7, 1, writer=900_001)):
            await lb.runtime.engine.apply([batch(live, one)._replace(spool=packed([one]))])
        await lb.runtime.spool.drain()
        await lb.runtime.restater.restate_late(live)
        assert await shown(lb, "b") == {"p": 7}
        assert await differences(lb) == []


@pytest.mark.parametrize("ledger", ["sqlite", "postgres"])
async def test_what_is_kept_for_the_ledger_while_a_player_is_restated_is_not_lost(tmp_path, ledger):
    async with leaderboards(ledger_url(ledger, tmp_path), own_redis(), [Board("b", operator="sum")], lambda: NOON + 60_000) as lb:
        for amount in (5, 7):
            await lb.increment("b", "p", amount, game_id=f"g{amount}")
        live, engine = await live_of(lb, "b"), lb.runtime.engine
        kept = [event(1, "p", 100, kind="increment", writer=900_001)]

        async def meanwhile(restate_all, *given):
            if kept:
                one = kept.pop()
                await engine.apply([batch(live, one)._replace(spool=packed([one]))])
            return await restate_all(*given)

        wrap(engine, "restate_all", meanwhile)
        await lb.moderation.void("b", "a bot", game_id="g5")
        await lb.runtime.spool.drain()
        await lb.runtime.restater.restate_late(live)
        assert await shown(lb, "b") == {"p": 107}
        assert await differences(lb) == []
