"""A submission goes to several boards: all of them take it, or none does, whatever happens to one of them."""

from contextlib import contextmanager
from unittest.mock import patch

import pytest
import redis

from keepscore import Board
from keepscore.errors import EngineUnavailable, KeyTaken, LedgerAway, Unavailable
from tests.contract.backends import cluster_url
from tests.contract.both import over_redis, own_redis
from tests.contract.opened import differences, standings
from tests.contract.writing.test_redefined_elsewhere import two
from tests.support.opening import leaderboards

BOARDS = (Board("b", also=["xp"]), Board("xp", operator="sum"), Board("alone"))


@contextmanager
def ledger_away(lb):
    """Nothing can be recorded; definitions are still learned, as by a process whose writes alone are cut off."""

    async def refuse(*_):
        raise LedgerAway("the ledger is away")

    with patch.object(lb.runtime.ledger.events, "append", refuse), patch.object(lb.runtime.ledger, "probe", refuse):
        yield


async def settle(lb):
    """Have everything recorded and ranked, also that of writers that are no more."""
    await lb.runtime.catch_up.run()
    with patch("keepscore.lifecycle.jobs.dead_writers.GAP_MS", 0):
        job = lb.runtime.keeper.job("close gaps")
        await job.run(lb.runtime.clock())


async def xp(lb):
    return sum(score for _, _, score in await standings(lb, "xp"))


@contextmanager
def taken_key(url, key):
    """Something else lies where a ranking is to be."""
    with redis.Redis.from_url(url) as client:
        client.rename(key, "moved")
        client.set(key, "something else")
        yield
        client.delete(key)


async def test_a_board_that_is_redefined_while_its_submissions_are_kept(tmp_path):
    async with two(tmp_path, *BOARDS) as (one, other):
        await other.submit("b", "p", 1)
        with ledger_away(other):
            assert (await other.submit("b", "p", 1)).spooled
            for order in ("asc", "desc", "asc"):
                await one.admin.put_board(Board("b", order=order, also=["xp"]), confirm=True)
                before = await xp(one)
                with pytest.raises(Unavailable, match="redefined in the meantime"):
                    await other.submit("b", "p", 1)
                assert await xp(one) == before, "what is to be sent again counts nowhere"
                assert (await other.submit("b", "p", 1)).spooled
        await settle(other)
        assert await xp(one) == await xp(other) == 5
        assert await differences(one) == []


async def test_a_key_of_one_board_that_is_taken(tmp_path, clock):
    url = own_redis()
    async with over_redis(tmp_path / "scores.db", url, clock, *BOARDS) as lb:
        await lb.submit("b", "p", 1)
        await lb.submit("alone", "p", 1)
        (ranking,) = await lb.runtime.engine.rankings(1)
        key = lb.runtime.engine._boards.at(lb.runtime.engine._boards.get(1), ranking).key
        with taken_key(url, key):
            receipt = await lb.submit("b", "p", 2)
            assert (receipt.pending, receipt.rank) == (True, None), "it is recorded"
            with ledger_away(lb):
                with pytest.raises(KeyTaken):
                    await lb.submit("b", "p", 3)
                assert (await lb.submit("alone", "p", 4)).spooled, "who has nothing to do with it is served"
                assert await xp(lb) == 3
        await settle(lb)
        assert await standings(lb, "b") == [(1, "p", 2)]
        assert await xp(lb) == 3
        assert await differences(lb) == []


async def test_a_cluster_keeps_no_submissions_to_several_boards(tmp_path):
    async with leaderboards(f"sqlite:///{tmp_path / 'scores.db'}", cluster_url(), BOARDS) as lb:
        await lb.submit("b", "p", 1)
        with ledger_away(lb):
            with pytest.raises(LedgerAway):
                await lb.submit("b", "p", 2)
            assert (await lb.submit("alone", "p", 2)).spooled
            assert await xp(lb) == 1
        await settle(lb)
        assert await differences(lb) == []


async def test_a_reply_is_kept_though_the_engine_goes_away_before_it_is_told(tmp_path, clock):
    async with over_redis(tmp_path / "scores.db", own_redis(), clock, *BOARDS) as lb:
        await lb.submit("b", "p", 1)

        async def gone(*_):
            raise EngineUnavailable("gone away")

        with ledger_away(lb):
            with patch.object(lb.runtime.receipts, "reply", gone):
                receipt = await lb.submit("b", "p", 2)
            assert receipt.pending, "the engine keeps it: it must not be sent again"
        await settle(lb)
        assert await xp(lb) == 3
        assert await differences(lb) == []
