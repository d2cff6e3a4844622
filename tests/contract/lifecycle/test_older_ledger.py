"""What the keeper works out is never written into a ledger that came back older, in which it is wrong."""

from contextlib import suppress

import pytest

from keepscore import Board
from keepscore.domain.boards import Window
from keepscore.errors import KeepscoreError, LedgerReplaced
from keepscore.storage.ledgers.sqlite.ledger import SqliteLedger
from tests.contract.opened import DAY, differences, standings
from tests.contract.writing.test_older_ledger import back_up, fill, job, postgres, put_back
from tests.contract.writing.test_writer_postgres import CUT
from tests.support.wrapping import wrap

COINS = Board("coins", operator="sum")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "scores.db"


@pytest.mark.parametrize("noticed", [False, True])
async def test_no_checkpoint_of_rankings_that_are_wrong(run, path, tmp_path, noticed):
    async with run(COINS) as lb:
        await fill(lb, 6, "coins")
        await back_up(lb, tmp_path / "backup.db")
        await fill(lb, 30, "coins")
        put_back(tmp_path / "backup.db", path)
        if noticed:
            await lb.increment("coins", "new", 4)
        with suppress(LedgerReplaced):
            await lb.runtime.checkpoints.checkpoint()
    async with run(COINS) as lb:
        assert sum(score for _, _, score in await standings(lb, "coins")) == (10 if noticed else 6)
        assert await differences(lb) == []


class ExchangedLedger(SqliteLedger):
    """Is exchanged for an older one, and confirmed, while a checkpoint is written."""

    exchange = None

    def __init__(self, path):
        super().__init__(path)
        wrap(self.checkpoints, "write", self._write)

    async def _write(self, write, *args):
        exchange, self.exchange = self.exchange, None
        if exchange is not None:
            await exchange()
        await write(*args)


async def test_a_checkpoint_is_not_finished_in_another_ledger(run, path, tmp_path):
    async with run(COINS, ledger=ExchangedLedger) as lb:
        await fill(lb, 6, "coins")
        await back_up(lb, tmp_path / "backup.db")
        await fill(lb, 30, "coins")

        async def exchange():
            put_back(tmp_path / "backup.db", path)
            assert "coins" in await job(lb, "compare")

        lb.runtime.ledger.exchange = exchange
        with pytest.raises(LedgerReplaced):
            await lb.runtime.checkpoints.checkpoint()
        assert await lb.runtime.ledger.checkpoints.latest(1) == []
        await lb.runtime.checkpoints.checkpoint()
    async with run(COINS) as lb:
        assert sum(score for _, _, score in await standings(lb, "coins")) == 6
        assert await differences(lb) == []


async def test_what_was_rebuilt_from_a_ledger_that_is_gone_is_not_trusted(run, path, tmp_path):
    async with run(COINS) as lb:
        await fill(lb, 6, "coins")
        await back_up(lb, tmp_path / "older.db")
        await fill(lb, 3, "coins")
        await back_up(lb, tmp_path / "newer.db")
        put_back(tmp_path / "older.db", path)
        definitions = lb.runtime.definitions
        refill = definitions.refill

        async def exchange(name):
            await refill(name)
            definitions.refill = refill
            put_back(tmp_path / "newer.db", path)
            await lb.increment("coins", "new", 1)

        definitions.refill = exchange
        await job(lb, "compare")
        await job(lb, "compare")
        assert sum(score for _, _, score in await standings(lb, "coins")) == 10
        assert await differences(lb) == []


async def test_archives_and_baselines_are_those_of_the_ledger(run, clock, path, tmp_path):
    daily = Board("daily", windows={"daily": Window(archive="all", snapshot="hourly")}, operator="sum", movement="1d")
    async with run(daily) as lb:
        await fill(lb, 6, "daily")
        await back_up(lb, tmp_path / "backup.db")
        await fill(lb, 30, "daily")
        clock.now += DAY
        assert (await lb.admin.run_keeper()).jobs
        put_back(tmp_path / "backup.db", path)
        await lb.increment("daily", "new", 4)
        for name in ("close", "snapshot", "baselines"):
            with suppress(KeepscoreError):
                await job(lb, name)
        assert await lb.runtime.ledger.archives.find(1) == []
        await job(lb, "compare")
        await lb.admin.run_keeper()
        (closed,) = await lb.runtime.ledger.archives.find(1, kind="closed")
        assert sum(row.score for row in await lb.runtime.ledger.archives.rows(closed.id, 0, 10)) == 6
        assert await differences(lb) == []


async def test_a_run_on_demand_puts_rankings_right_that_an_older_ledger_made_wrong(run, path, tmp_path):
    async with run(COINS) as lb:
        await fill(lb, 6, "coins")
        await back_up(lb, tmp_path / "backup.db")
        await fill(lb, 30, "coins")
        put_back(tmp_path / "backup.db", path)
        ran = await lb.admin.run_keeper()
        assert [job.error for job in ran.jobs if job.error] == []
        assert sum(score for _, _, score in await standings(lb, "coins")) == 6
        assert await differences(lb) == []


async def test_a_job_whose_connection_was_lost_has_the_ledger_compared_and_goes_on():
    async with postgres(None) as (lb, connection):
        await fill(lb, 6)
        before = lb.runtime.ledger.identity.incarnation
        await connection.execute(CUT)
        with suppress(KeepscoreError):
            # Who is cut off may notice it only now.
            await lb.increment("game", "p0", 1)
        (closing,) = [task for task in lb.runtime.keeper.tasks if task.job.name == "close"]
        await closing.run(closing.job.run, lb.runtime.clock())
        assert closing.status.error is None
        assert before < lb.runtime.ledger.identity.incarnation == lb.runtime.ledger.identity.confirmed
