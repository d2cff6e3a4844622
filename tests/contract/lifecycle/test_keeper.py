"""The keeper's jobs beside closing: what they say about failures, what they refuse, and what they clean up."""

import asyncio

import pytest

from keepscore import Board
from keepscore.errors import EngineUnavailable, InvalidTime, LedgerUnavailable
from keepscore.storage.ledgers.sqlite.ledger import SqliteLedger
from tests.contract.driving import restate
from tests.contract.lifecycle.closed_windows import MIDNIGHT, archives
from tests.contract.opened import DAY, NOON, at, live_of
from tests.support.wrapping import wrap


async def test_a_snapshot_table_that_is_down_is_tried_again_with_growing_pauses(run, clock, caplog):
    class Down(SqliteLedger):
        down = False

        def __init__(self, path, shared=False):
            super().__init__(path, shared)
            wrap(self.archives, "begin", self._begin)

        async def _begin(self, begin, *args):
            if self.down:
                raise LedgerUnavailable("the snapshots are down")
            return await begin(*args)

    async with run(Board("b", windows=["daily"], grace="0s"), ledger=Down) as lb:
        await lb.submit("b", "p", 1)
        clock.now = MIDNIGHT
        task = next(task for task in lb.runtime.keeper.tasks if task.job.name == "close")
        lb.runtime.ledger.down = True
        pauses = []
        for _ in range(9):
            await task.run(task.job.look, clock.now)
            pauses.append(round(task.due - asyncio.get_running_loop().time()))
        assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]
        assert (task.status.failures, task.status.error) == (9, "the snapshots are down")
        await lb.runtime.keeper.keep_status(task, True)
        found = {job.name: job for job in (await lb.admin.keeper_status()).jobs}
        assert found["close"].error == "the snapshots are down"
        lb.runtime.ledger.down = False
        await task.run(task.job.look, clock.now)
        assert (task.status.failures, task.status.error) == (0, None)
        assert len(await archives(lb)) == 1
        told = [(record.levelname, record.message) for record in caplog.records if record.name == "keepscore.lifecycle.keeper"]
        assert told == [
            ("ERROR", "the keeper's job 'close' failed: the snapshots are down"),
            ("WARNING", "the keeper's job 'close' works again, after 9 failures"),
        ]


async def test_causes_that_take_turns_are_told_once_each(run, clock, caplog):
    async with run(Board("b", windows=["daily"], grace="0s")) as lb:
        task = next(task for task in lb.runtime.keeper.tasks if task.job.name == "close")
        errors = [LedgerUnavailable("it is away"), EngineUnavailable("it does not answer"), LedgerUnavailable("it is still away")]

        async def failing(now):
            raise errors[task.status.failures % 3]

        async def working(now):
            return ""

        for call in (*[failing] * 6, working, failing):
            await task.run(call, clock.now)
        told = [record.message.partition(": ")[2] for record in caplog.records if record.name == "keepscore.lifecycle.keeper"]
        assert told == ["it is away", "it does not answer", "", "it is away"]


async def test_what_jobs_do_is_told_while_the_ledger_is_away(run, clock):
    class Away(SqliteLedger):
        away = False

        def __init__(self, path, shared=False):
            super().__init__(path, shared)
            wrap(self.marks, "read", self._read)

        async def _read(self, read, name):
            if self.away:
                raise LedgerUnavailable("it is away")
            return await read(name)

    async with run(Board("b", windows=["daily"]), ledger=Away) as lb:
        before = await lb.admin.keeper_status()
        lb.runtime.ledger.away = True
        assert [job.name for job in (await lb.admin.keeper_status()).jobs] == [job.name for job in before.jobs]


async def test_now_may_not_lie_in_the_future(run, clock):
    async with run(Board("b")) as lb:
        with pytest.raises(InvalidTime, match="future"):
            await lb.admin.run_keeper(at(clock.now + 1000))
        with pytest.raises(InvalidTime, match="offset"):
            await lb.admin.run_keeper("2026-11-15")
        assert [job.name for job in (await lb.admin.run_keeper(at(clock.now - DAY))).jobs if job.error] == []


async def test_old_keys_are_forgotten(everywhere, clock):
    async with everywhere.open(Board("b", operator="sum")) as lb:
        await lb.increment("b", "p", 1, idempotency_key="old")
        clock.now += 7 * DAY
        await lb.increment("b", "p", 1, idempotency_key="new")
        await lb.admin.run_keeper()
        assert (await lb.increment("b", "p", 1, idempotency_key="old")).replayed
        clock.now += 1
        await lb.admin.run_keeper()
        assert (await lb.increment("b", "p", 1, idempotency_key="new")).replayed
        assert (await lb.increment("b", "p", 1, idempotency_key="old")).score == 3


async def test_a_sample_is_verified_and_repaired(shop, clock, caplog):
    async with shop.open(Board("b", operator="sum")) as lb:
        await lb.increment("b", "p", 5)
        live = await live_of(lb, "b")
        (ranking,) = await lb.runtime.engine.rankings(live.id)
        from keepscore.domain.scoring import State

        await restate(lb.runtime.engine, ranking, "p", State(77, NOON))
        (job,) = [job for job in (await lb.admin.run_keeper()).jobs if job.name == "verify"]
        assert job.result == "repaired 1 of 1 player: b all_time p"
        assert "is repaired" in caplog.text
        assert (await lb.rank("b", "p")).score == 5
        assert (await lb.admin.verify("b")).ok
