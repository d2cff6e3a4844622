import asyncio
import functools
import time
from unittest.mock import patch

import pytest

from keepscore import Board, Entry
from keepscore.errors import InvalidBoard, InvalidScore, KeepscoreError
from keepscore.storage.engines.redis.engine import RedisEngine
from keepscore.storage.ledgers.sqlite.ledger import SqliteLedger
from keepscore.writing.writer import WORTHWHILE_SUBMISSIONS
from tests.contract.both import own_redis
from tests.contract.opened import DAY, NOON, SECOND, CountingLedger, at, differences, opened, recorded, standings
from tests.support.wrapping import wrap


class GatedLedger(SqliteLedger):
    """Waits before each append until the gate is open."""

    def __init__(self, path):
        super().__init__(path)
        self.gate = asyncio.Event()
        self.reached = asyncio.Event()
        self.gate.set()
        wrap(self.events, "append", self._append)

    async def _append(self, append, *args):
        self.reached.set()
        await self.gate.wait()
        return await append(*args)


# -- group commit -------------------------------------------------------------------------------------------------------


async def test_many_at_once_become_few_transactions(run):
    async with run(Board("b"), ledger=CountingLedger) as lb:
        receipts = await asyncio.gather(*[lb.submit("b", f"p{n}", n) for n in range(2500)])
        assert len(lb.runtime.ledger.appended) <= 5
        assert sum(lb.runtime.ledger.appended) == 2500
        assert max(lb.runtime.ledger.appended) <= 1000
        assert [receipt.score for receipt in receipts] == list(range(2500))
        assert [e.n for e in await recorded(lb, "b")] == list(range(1, 2501))
        assert await standings(lb, "b", limit=2) == [(1, "p2499", 2499), (2, "p2498", 2498)]
        assert await differences(lb) == []


async def test_clients_that_come_back_together_share_a_transaction(run):
    async def client(number):
        for score in range(20):
            await lb.submit("b", f"p{number}", score)
            # They come back one after the other, not in the same moment.
            await asyncio.sleep(0.0001 * number)

    async with run(Board("b"), ledger=CountingLedger) as lb:
        await asyncio.gather(*[client(number) for number in range(8)])
        assert sum(lb.runtime.ledger.appended) == 8 * 20
        assert len(lb.runtime.ledger.appended) < 8 * 20 / 3


async def test_nobody_waits_long_for_clients_that_do_not_come_back(run):
    async with run(Board("b"), ledger=CountingLedger) as lb:
        with patch("keepscore.writing.queue.LINGER_S", 1.0):
            await asyncio.gather(*[lb.submit("b", f"p{n}", n) for n in range(10)])
            begun = time.perf_counter()
            await lb.submit("b", "alone", 1)
            assert time.perf_counter() - begun >= 0.99
            begun = time.perf_counter()
            await asyncio.gather(*[lb.submit("b", "alone", n) for n in range(2, 4)])
            assert time.perf_counter() - begun < 0.9
        assert lb.runtime.ledger.appended == [10, 1, 2]


async def test_what_is_recorded_while_the_engine_is_at_work_is_a_large_group(tmp_path, clock, monkeypatch):
    async with opened(
        tmp_path / "b.db", clock, Board("b"), ledger=CountingLedger, engine=functools.partial(RedisEngine, own_redis())
    ) as lb:
        gate, reached, apply = asyncio.Event(), asyncio.Event(), lb.runtime.engine.apply

        async def slow(batches):
            reached.set()
            await gate.wait()
            return await apply(batches)

        monkeypatch.setattr(lb.runtime.engine, "apply", slow)
        calls = [asyncio.create_task(lb.submit("b", "first", 1))]
        await reached.wait()
        calls += [asyncio.create_task(lb.submit("b", f"p{n}", n)) for n in range(WORTHWHILE_SUBMISSIONS - 1)]
        await asyncio.sleep(0.1)
        assert lb.runtime.ledger.appended == [1], "a few wait for those before them"
        calls.append(asyncio.create_task(lb.submit("b", "last", 99)))
        for _ in range(200):
            if len(lb.runtime.ledger.appended) == 1:
                await asyncio.sleep(0.05)
        assert lb.runtime.ledger.appended == [1, WORTHWHILE_SUBMISSIONS]
        assert not any(call.done() for call in calls)
        gate.set()
        assert [receipt.score for receipt in await asyncio.gather(*calls)] == [1, *range(WORTHWHILE_SUBMISSIONS - 1), 99]
        assert await differences(lb) == []


async def test_one_that_is_refused_does_not_spoil_its_group(run):
    async with run(Board("b", operator="sum", max_score=10), ledger=CountingLedger) as lb:
        calls = [lb.increment("b", "p", 6), lb.increment("b", "p", 6), lb.increment("b", "p", 4), lb.increment("b", "q", 1)]
        found = await asyncio.gather(*calls, return_exceptions=True)
        assert isinstance(found[1], InvalidScore)
        assert [found[i].score for i in (0, 2, 3)] == [6, 10, 1]
        assert sum(lb.runtime.ledger.appended) == 3
        assert await differences(lb) == []


async def test_a_cancelled_caller_does_not_lose_the_write(run):
    async with run(Board("b"), ledger=GatedLedger) as lb:
        lb.runtime.ledger.gate.clear()
        calls = [asyncio.create_task(lb.submit("b", f"p{n}", n)) for n in range(3)]
        await lb.runtime.ledger.reached.wait()
        calls[1].cancel()
        with pytest.raises(asyncio.CancelledError):
            await calls[1]
        lb.runtime.ledger.gate.set()
        assert [(await calls[i]).score for i in (0, 2)] == [0, 2]
        await lb.submit("b", "after", 9)
        assert {e.player for e in await recorded(lb, "b")} == {"p0", "p1", "p2", "after"}
        assert await differences(lb) == []


async def test_what_is_waiting_when_it_closes_is_recorded(run):
    async with run(Board("b")) as lb:
        calls = [asyncio.create_task(lb.submit("b", f"p{n}", n)) for n in range(50)]
        await asyncio.sleep(0)
    assert len(await asyncio.gather(*calls)) == 50
    async with run() as lb:
        assert len(await recorded(lb, "b")) == 50


async def test_answers_carry_ranks_in_every_window(run, clock):
    async with run(Board("b", operator="sum", windows=["daily", "all_time"], rank="standard")) as lb:
        await lb.increment("b", "a", 5)
        await lb.increment("b", "b", 9)
        clock.now += DAY
        await lb.increment("b", "b", 1)
        receipt = await lb.increment("b", "a", 4)
        assert (receipt.score, receipt.rank, receipt.previous_rank, receipt.rank_change) == (4, 1, None, 0)
        whole = receipt.windows["all_time"]
        assert (whole.score, whole.rank, whole.previous_rank, whole.rank_change, whole.total_players) == (9, 2, 2, 0, 2)
        receipt = await lb.increment("b", "a", 1)
        whole = receipt.windows["all_time"]
        assert (whole.score, whole.rank, whole.previous_rank, whole.rank_change) == (10, 1, 2, 1)
        assert receipt.windows["daily"].id == "2026-11-16"


# -- linked boards ------------------------------------------------------------------------------------------------------


async def test_linked_boards_get_it_in_the_same_transaction(run):
    async with run(
        Board("day", also=["xp", "latest"]), Board("xp", operator="sum"), Board("latest", operator="last"), ledger=CountingLedger
    ) as lb:
        for score in (5, 3, 4):
            await lb.submit("day", "p", score)
        assert lb.runtime.ledger.appended == [3, 3, 3]
        assert [await standings(lb, name) for name in ("day", "xp", "latest")] == [[(1, "p", 5)], [(1, "p", 12)], [(1, "p", 4)]]
        assert await differences(lb) == []


async def test_what_a_linked_board_refuses_is_on_no_board(run):
    async with run(Board("day", also=["xp"]), Board("xp", operator="sum", max_score=10)) as lb:
        await lb.submit("day", "p", 6)
        with pytest.raises(InvalidScore, match="xp"):
            await lb.submit("day", "p", 7)
        assert [len(await recorded(lb, name)) for name in ("day", "xp")] == [1, 1]
        assert await standings(lb, "day") == [(1, "p", 6)]


async def test_what_a_linked_board_refuses_has_no_part_in_what_follows_in_the_group(run):
    """8 is taken, 5 more is refused by xp: the correction to 2 has to start from 8."""
    async with run(Board("game", operator="sum", also=["xp"]), Board("xp", operator="sum", max_score=10)) as lb:
        entries = [Entry(player_id="p", amount=8), Entry(player_id="p", amount=5), Entry(player_id="p", score=2)]
        answer = await lb.submit_many("game", entries)
        assert (answer.accepted, [r.index for r in answer.rejected]) == (2, [1])
        assert await standings(lb, "game") == [(1, "p", 2)]
        assert await standings(lb, "xp") == [(1, "p", 10)]
        assert await differences(lb) == []


async def test_chains_of_links_may_be_given_in_any_order(run):
    async with run(Board("a", also=["b"]), Board("b", also=["c"]), Board("c", operator="sum")) as lb:
        await lb.submit("a", "p", 3)
        assert [await standings(lb, name) for name in "ab"] == [[(1, "p", 3)]] * 2


async def test_a_board_that_others_link_to_keeps_what_they_need(run):
    """Increments are sent on to xp, so that it cannot become a board that takes none."""
    async with run(Board("game", operator="sum", also=["xp"]), Board("xp", operator="sum")) as lb:
        await lb.increment("game", "p", 5)
        with pytest.raises(InvalidBoard):
            await lb.admin.put_board(Board("xp", operator="best"), confirm=True)
        await lb.increment("game", "p", 5)
        assert await standings(lb, "xp") == [(1, "p", 10)]


# -- corrections, bounds, late events -----------------------------------------------------------------------------------


async def test_a_score_on_a_sum_board_is_a_correction(run, clock):
    async with run(Board("b", operator="sum", windows=["daily", "all_time"])) as lb:
        await lb.increment("b", "p", 10)
        assert (await lb.submit("b", "p", 4)).score == 4
        await asyncio.gather(lb.increment("b", "p", 3), lb.submit("b", "p", 20), lb.increment("b", "p", 1), lb.submit("b", "new", 7))
        assert await standings(lb, "b") == [(1, "p", 21), (2, "new", 7)]
        clock.now += DAY
        assert (await lb.submit("b", "p", 5)).score == 5
        assert await standings(lb, "b", window="all_time") == [(1, "p", 14)]
        kinds = {(e.kind, e.amount) for e in await recorded(lb, "b")}
        assert {("increment", 10), ("correction", -6), ("correction", 13), ("correction", 7), ("correction", 5)} <= kinds
        assert await differences(lb) == []


async def test_bounds_hold_for_results(run):
    async with run(Board("s", operator="sum", min_score=-5, max_score=10), Board("l", operator="last", max_score=10)) as lb:
        await lb.submit("l", "p", 9)
        for name in ("s", "l"):
            for amount in (11, 2**53 - 1):
                with pytest.raises(InvalidScore):
                    await lb.increment(name, "p", amount)
        with pytest.raises(InvalidScore):
            await lb.submit("l", "p", 11)
        with pytest.raises(InvalidScore):
            await lb.increment("s", "p", -6)
        assert (await lb.increment("l", "p", 1)).score == 10
        batch = await lb.submit_many("s", [Entry(player_id="p", amount=n) for n in (10, 1, -15, -1, 15)])
        assert (batch.accepted, [r.index for r in batch.rejected]) == (3, [1, 3])
        assert await standings(lb, "s") == [(1, "p", 10)]
        assert await differences(lb) == []


async def test_late_events_on_a_last_board_are_restated(run, clock):
    async with run(Board("b", operator="last", windows=["all_time", "daily"], segments=["region"])) as lb:
        eu = {"region": "eu"}
        clock.now = NOON + 60 * SECOND
        await lb.submit("b", "p", 10, at=at(NOON), segments=eu)
        await lb.increment("b", "p", 5, at=at(NOON + 10 * SECOND), segments=eu)
        late = await lb.submit("b", "p", 100, at=at(NOON + 5 * SECOND), segments=eu)
        assert (late.score, late.windows["daily"].score, late.rank) == (105, 105, 1)
        assert (await lb.submit("b", "p", 1, at=at(NOON - SECOND), segments=eu)).score == 105
        batch = [Entry(player_id="p", amount=2, at=at(NOON + t * SECOND)) for t in (30, 7, 31, 3)]
        await lb.submit_many("b", batch)
        # 100 set at 5 s; then 2 at 7 s, 5 at 10 s, 2 at 30 s, 2 at 31 s. What was at 3 s is overruled.
        assert await standings(lb, "b") == [(1, "p", 111)]
        assert await standings(lb, "b", segment="region:eu") == [(1, "p", 105)]
        place = await lb.rank("b", "p")
        assert place.since == at(NOON + 31 * SECOND)
        assert await differences(lb) == []


async def test_bad_entries_of_a_batch_leave_nothing(run):
    async with run(Board("b", segments=["region"])) as lb:
        entries = [
            Entry(player_id="", score=1),
            Entry(player_id="p", score=1),
            Entry(player_id="p", amount=1),
            Entry(player_id="p", score=1, segments={"no": "x"}),
            Entry(player_id="q", score=2**53),
            Entry(player_id="q", score=2, at=at(NOON + 61 * SECOND)),
        ]
        answer = await lb.submit_many("b", entries, results=True)
        assert (answer.accepted, [r.index for r in answer.rejected]) == (1, [0, 2, 3, 4, 5])
        assert len(answer.results) == 1
        assert [e.player for e in await recorded(lb, "b")] == ["p"]
        with pytest.raises(KeepscoreError):
            await lb.submit_many("b", [])
