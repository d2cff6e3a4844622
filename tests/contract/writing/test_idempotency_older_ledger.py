"""Idempotency keys of which a ledger that came back older knows nothing: their requests are done again, and answered as they are now."""

import asyncio

import pytest
from msgspec import UNSET

from keepscore import Board
from keepscore.errors import InProgress
from tests.contract.opened import differences, recorded, standings
from tests.contract.writing.test_idempotency import Held
from tests.contract.writing.test_older_ledger import back_up, job, put_back

COINS = Board("coins", operator="sum")


async def kept_nothing():
    """Stands for `Retries.save` where no moment is quiet."""


async def test_an_answer_to_what_is_lost_is_not_recorded_with_its_retry(lbs, tmp_path):
    path = tmp_path / "scores.db"
    async with lbs(COINS) as lb:
        lb.runtime.retries.save = kept_nothing
        await back_up(lb, tmp_path / "backup.db")
        await lb.increment("coins", "rival", 100)
        assert (await lb.increment("coins", "alice", 5, idempotency_key="k")).rank == 2
        put_back(tmp_path / "backup.db", path)
        await job(lb, "compare")
        again = await lb.increment("coins", "alice", 5, idempotency_key="k")
        assert (again.replayed, again.rank) == (UNSET, 1)
        assert [event.player for event in await recorded(lb, "coins")] == ["alice"]
        # It stops before it has recorded the new answer.
    async with lbs(COINS) as lb:
        again = await lb.increment("coins", "alice", 5, idempotency_key="k")
        assert (again.replayed, again.rank) == (True, 1)


async def test_changes_that_are_lost_are_made_again_by_a_process_that_has_another_number(lbs, clock, tmp_path):
    path = tmp_path / "scores.db"
    async with lbs(COINS) as lb:
        await lb.increment("coins", "alice", 1)
        await back_up(lb, tmp_path / "backup.db")
        await lb.increment("coins", "alice", 1)
        before = lb.runtime.identity.number
        for _ in range(2):
            await lb.admin.put_board(Board("new"), idempotency_key="p")
            await lb.admin.reset("coins", idempotency_key="r")
        put_back(tmp_path / "backup.db", path)
        await job(lb, "compare")
        assert lb.runtime.identity.number > before
        answers = [
            (await lb.admin.put_board(Board("new"), idempotency_key="p"), await lb.admin.reset("coins", idempotency_key="r"))
            for _ in range(2)
        ]
        assert [(put.created, put.replayed, reset.version, reset.replayed) for put, reset in answers] == [
            (True, UNSET, 1, UNSET),
            (True, True, 1, True),
        ]
        clock.now += 1
        assert await standings(lb, "coins") == []
        assert await differences(lb) == []


async def test_work_whose_claim_is_lost_has_no_effect(lbs, tmp_path):
    path = tmp_path / "scores.db"
    async with lbs(COINS) as lb:
        await back_up(lb, tmp_path / "backup.db")
        await lb.increment("coins", "alice", 1)
        held = Held(lb.runtime.ledger.players, "change")
        naming = asyncio.create_task(lb.players.name("alice", "Ann", idempotency_key="k"))
        await held.began.wait()
        put_back(tmp_path / "backup.db", path)
        await job(lb, "compare")
        held.go_on.set()
        with pytest.raises(InProgress, match="'k'"):
            await naming
        assert await lb.runtime.ledger.players.find(["alice"]) == []
        named = [await lb.players.name("alice", "Ann", idempotency_key="k") for _ in range(2)]
        assert [(profile.name, profile.replayed) for profile in named] == [("Ann", UNSET), ("Ann", True)]
