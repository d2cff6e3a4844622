"""What may be recorded, or not, says so; every other refusal promises that nothing is."""

from contextlib import contextmanager
from unittest.mock import patch

import pytest

from keepscore import Board, Entry
from keepscore.errors import EngineUnavailable, LedgerAway, LedgerUnavailable, OutcomeUnknown, Unavailable
from keepscore.service.http.problems import status_of
from tests.contract.both import over_redis, own_redis
from tests.contract.opened import differences, recorded, standings
from tests.contract.writing.test_linked_boards import ledger_away, settle
from tests.support.redis_servers import single

BOARDS = (Board("coins", operator="sum"), Board("prize", operator="sum", consistency="strong"))


@contextmanager
def reply_lost(role, method, error, arrives):
    """A call that gets no answer, whether it has arrived or not."""
    real = getattr(role, method)

    async def lost(*args):
        if arrives:
            await real(*args)
        raise error

    with patch.object(role, method, lost):
        yield


@pytest.mark.parametrize("arrives", [True, False])
@pytest.mark.parametrize("board", ["coins", "prize"])
async def test_a_reply_of_the_ledger_is_lost(lbs, board, arrives):
    async with lbs(*BOARDS) as lb:
        with reply_lost(lb.runtime.ledger.events, "append", LedgerUnavailable("gone away"), arrives):
            with pytest.raises(OutcomeUnknown, match=r"gone away.*is recorded is not known") as told:
                await lb.increment(board, "p", 1)
            assert status_of(told.value) == 504
        assert len(await recorded(lb, board)) == arrives
        assert (await lb.increment(board, "p", 1)).score == 1 + arrives


async def test_a_ledger_that_is_not_reached_takes_nothing(run):
    async with run(*BOARDS) as lb:
        with reply_lost(lb.runtime.ledger.events, "append", LedgerAway("away"), False):
            with pytest.raises(LedgerAway) as told:
                await lb.submit_many("coins", [Entry(player_id="p", amount=1)])
            assert status_of(told.value) == 503
        assert await recorded(lb, "coins") == []


@pytest.mark.parametrize("arrives", [True, False])
async def test_redis_may_have_kept_it(tmp_path, clock, arrives):
    async with over_redis(tmp_path / "scores.db", own_redis(), clock, *BOARDS) as lb:
        await lb.increment("coins", "p", 1)
        error = EngineUnavailable("no answer")
        error.nothing_kept = False
        with ledger_away(lb):
            assert (await lb.increment("coins", "p", 1)).spooled
            with reply_lost(lb.runtime.engine, "apply", error, arrives), pytest.raises(OutcomeUnknown, match="no answer"):
                await lb.increment("coins", "p", 1)
        await settle(lb)
        assert await standings(lb, "coins") == [(1, "p", 2 + arrives)]
        assert await differences(lb) == []


@pytest.mark.parametrize("how", ["killed", "paused"])
async def test_both_are_away(tmp_path, clock, how):
    with single() as server:
        async with over_redis(tmp_path / "scores.db", f"{server.url}?deadline=0.5", clock, *BOARDS) as lb:
            await lb.increment("coins", "p", 1)
            with ledger_away(lb):
                assert (await lb.increment("coins", "p", 1)).spooled
                (server.kill if how == "killed" else server.pause)()
                told = []
                for _ in range(3):
                    with pytest.raises(Unavailable) as error:
                        await lb.increment("coins", "p", 1)
                    told.append(error.type)
                # The first one was on its way to a server that stands still. To one that is down, nothing is sent.
                assert OutcomeUnknown not in told[1:]
                assert (told[0] is OutcomeUnknown) or how == "killed"
                if how == "paused":
                    server.resume()
