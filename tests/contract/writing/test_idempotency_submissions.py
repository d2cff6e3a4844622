import asyncio

import pytest
from msgspec import UNSET

from keepscore import Board, Entry
from keepscore.errors import IdempotencyKeyReused, InvalidScore
from keepscore.storage.ledgers.sqlite.ledger import SqliteLedger
from tests.contract.opened import DAY, NOON, CountingLedger, at, differences, killed, opened, recorded, standings
from tests.support.wrapping import wrap


class AnswerlessLedger(SqliteLedger):
    """Keeps no answers, as where the process stops between recording and answering."""

    def __init__(self, path):
        super().__init__(path)
        wrap(self.events, "append", self._append)
        wrap(self.claims, "save_answers", self._save_answers)

    async def _append(self, append, events, claims, answers, queued=()):
        return await append(events, claims, {})

    async def _save_answers(self, save_answers, answers):
        pass


SUM = Board("b", operator="sum")


async def test_a_retry_gets_the_first_answer(run):
    async with run(SUM) as lb:
        first = await lb.increment("b", "p", 5, idempotency_key="k")
        await lb.increment("b", "q", 50)
        await lb.increment("b", "p", 1)
        again = await lb.increment("b", "p", 5, idempotency_key="k")
        assert first.replayed is UNSET
        assert again.replayed is True
        again.replayed = UNSET
        assert again == first
        assert await standings(lb, "b") == [(1, "q", 50), (2, "p", 6)]
        assert len(await recorded(lb, "b")) == 3


@pytest.mark.parametrize("how", ["closed", "killed"])
async def test_a_retry_after_a_restart_gets_the_first_answer(run, clock, how):
    async with run(SUM) as lb:
        first = await lb.increment("b", "p", 5, idempotency_key="k")
        await lb.increment("b", "q", 50)
        path = lb.path
        if how == "killed":
            path = killed(lb)
    async with opened(path, clock) as lb:
        again = await lb.increment("b", "p", 5, idempotency_key="k")
        assert (again.replayed, again.rank, again.score) == (True, first.rank, first.score)
        assert len(await recorded(lb, "b")) == 2


@pytest.mark.parametrize("change", ["amount", "player", "kind", "at"])
async def test_a_key_belongs_to_one_request(run, change):
    async with run(SUM) as lb:
        await lb.increment("b", "p", 5, idempotency_key="k")
        other = {
            "amount": lambda: lb.increment("b", "p", 6, idempotency_key="k"),
            "player": lambda: lb.increment("b", "q", 5, idempotency_key="k"),
            "kind": lambda: lb.submit("b", "p", 5, idempotency_key="k"),
            "at": lambda: lb.increment("b", "p", 5, at=at(NOON - 1), idempotency_key="k"),
        }[change]
        with pytest.raises(IdempotencyKeyReused):
            await other()
        assert await standings(lb, "b") == [(1, "p", 5)]
        assert len(await recorded(lb, "b")) == 1


async def test_keys_of_two_boards_are_two_keys(run):
    async with run(SUM, Board("c", operator="sum")) as lb:
        for name in "bc":
            assert (await lb.increment(name, "p", 5, idempotency_key="k")).replayed is UNSET


async def test_twins_at_the_same_time(run):
    async with run(SUM, ledger=CountingLedger) as lb:
        calls = [lb.increment("b", "p", 5, idempotency_key="k") for _ in range(20)]
        others = [lb.increment("b", f"o{n}", 1) for n in range(20)]
        found = (await asyncio.gather(*calls, *others))[:20]
        assert sorted(receipt.replayed is True for receipt in found) == [False] + [True] * 19
        assert {(receipt.score, receipt.rank) for receipt in found} == {(5, 1)}
        assert sum(lb.runtime.ledger.appended) <= 21 + 20
        assert len(await recorded(lb, "b")) == 21
        assert await differences(lb) == []


async def test_twins_that_differ_at_the_same_time(run):
    async with run(SUM) as lb:
        calls = [lb.increment("b", "p", amount, idempotency_key="k") for amount in (5, 6, 5, 6)]
        found = await asyncio.gather(*calls, return_exceptions=True)
        assert [isinstance(answer, IdempotencyKeyReused) for answer in found] == [False, True, False, True]
        assert await standings(lb, "b") == [(1, "p", 5)]


async def test_a_refused_request_does_not_use_its_key_up(run):
    async with run(Board("b", operator="sum", max_score=10)) as lb:
        with pytest.raises(InvalidScore):
            await lb.increment("b", "p", 11, idempotency_key="k")
        assert (await lb.increment("b", "p", 3, idempotency_key="k")).replayed is UNSET


async def test_a_crash_between_recording_and_answering(run, clock):
    async with run(SUM, ledger=AnswerlessLedger) as lb:
        await lb.increment("b", "p", 5, idempotency_key="k")
        await lb.submit_many("b", [Entry(player_id="p", amount=1), Entry(player_id="q", amount=9)], idempotency_key="batch")
        left = killed(lb)
    async with opened(left, clock) as lb:
        again = await lb.increment("b", "p", 5, idempotency_key="k")
        assert (again.replayed, again.score, again.rank) == (True, 6, 2)
        entries = [Entry(player_id="p", amount=1), Entry(player_id="q", amount=9)]
        batch = await lb.submit_many("b", entries, idempotency_key="batch", results=False)
        assert (batch.replayed, batch.accepted) == (True, 2)
        assert await standings(lb, "b") == [(1, "q", 9), (2, "p", 6)]
        with pytest.raises(IdempotencyKeyReused):
            await lb.increment("b", "p", 4, idempotency_key="k")
        assert await differences(lb) == []


@pytest.mark.parametrize("ledger", [SqliteLedger, AnswerlessLedger])
async def test_a_retry_that_would_not_be_taken_a_second_time(run, clock, ledger):
    """6 more would be beyond the bounds; but nothing more is meant, and whoever is in the same group has no part in it."""
    async with run(Board("b", operator="sum", max_score=10), ledger=ledger) as lb:
        await lb.increment("b", "p", 6, idempotency_key="k")
        left = killed(lb) if ledger is AnswerlessLedger else None
        if left is None:
            assert (await lb.increment("b", "p", 6, idempotency_key="k")).replayed is True
    if left is not None:
        async with opened(left, clock) as lb:
            calls = [lb.increment("b", "p", 6, idempotency_key="k"), lb.increment("b", "q", 1)]
            again, other = await asyncio.gather(*calls, return_exceptions=True)
            assert other.score == 1
            assert (again.replayed, again.score) == (True, 6)


async def test_a_retry_of_something_unanswered_has_no_part_in_what_others_of_its_group_do(run, clock):
    """After the score of 0, 6 more would be taken; without it, which is how the retry is looked at, it would not."""
    async with run(Board("b", operator="sum", max_score=10), ledger=AnswerlessLedger) as lb:
        await lb.increment("b", "p", 6, idempotency_key="k")
        left = killed(lb)
    async with opened(left, clock) as lb:
        calls = [lb.increment("b", "q", 1), lb.submit("b", "p", 0), lb.increment("b", "p", 6, idempotency_key="k")]
        one, zero, again = await asyncio.gather(*calls, return_exceptions=True)
        assert (one.score, zero.score, again.replayed) == (1, 0, True)
        assert await standings(lb, "b") == [(1, "q", 1), (2, "p", 0)]


async def test_a_retry_after_the_window_has_closed(run, clock):
    async with run(Board("b", operator="sum", windows=["daily"])) as lb:
        first = await lb.increment("b", "p", 6, at=at(NOON), idempotency_key="k")
        clock.now += 3 * DAY
        again = await lb.increment("b", "p", 6, at=at(NOON), idempotency_key="k")
        assert (again.replayed, again.score) == (True, first.score)


async def test_a_retry_whose_answer_is_saved_while_the_ledger_is_asked(run, clock):
    async with run(Board("b", operator="sum", windows=["daily"])) as lb:
        released, retries, claims = asyncio.Event(), lb.runtime.retries, lb.runtime.ledger.claims

        async def save(save_answers, answers):
            await released.wait()
            await save_answers(answers)

        async def find(find, claim):
            found = await find(claim)
            released.set()
            while retries.unsaved():  # noqa: ASYNC110 (nobody tells)
                await asyncio.sleep(0)
            return found

        wrap(claims, "save_answers", save)
        wrap(claims, "find", find)
        first = await lb.increment("b", "p", 6, at=at(NOON), idempotency_key="k")
        clock.now += 3 * DAY
        again = await lb.increment("b", "p", 6, at=at(NOON), idempotency_key="k")
        assert (again.replayed, again.score) == (True, first.score)


async def test_a_retry_of_a_batch_after_the_window_has_closed(run, clock):
    async with run(Board("b", operator="sum", windows=["daily"])) as lb:
        entries = [Entry(player_id="p", amount=6, at=at(NOON))]
        await lb.submit_many("b", entries, idempotency_key="k")
        clock.now += 3 * DAY
        again = await lb.submit_many("b", entries, idempotency_key="k")
        assert (again.replayed, again.accepted, again.rejected) == (True, 1, [])
        assert (await lb.submit_many("b", entries, idempotency_key="other")).accepted == 0


# -- batches ------------------------------------------------------------------------------------------------------------


async def test_a_batch_with_a_key(run):
    async with run(SUM) as lb:
        entries = [Entry(player_id="p", amount=1), Entry(player_id="", amount=1), Entry(player_id="q", amount=2)]
        first = await lb.submit_many("b", entries, results=True, idempotency_key="k")
        again = await lb.submit_many("b", entries, results=True, idempotency_key="k")
        assert (first.accepted, [r.index for r in first.rejected], first.replayed) == (2, [1], UNSET)
        assert (again.accepted, [r.index for r in again.rejected], again.replayed) == (2, [1], True)
        assert again.results == first.results
        with pytest.raises(IdempotencyKeyReused):
            await lb.submit_many("b", entries[:1], idempotency_key="k")
        assert len(await recorded(lb, "b")) == 2


async def test_entries_with_keys_of_their_own(run):
    async with run(SUM) as lb:
        entries = [Entry(player_id="p", amount=n, idempotency_key=f"k{n}") for n in (1, 2)]
        assert (await lb.submit_many("b", entries)).accepted == 2
        more = [*entries, Entry(player_id="p", amount=4, idempotency_key="k4"), Entry(player_id="q", amount=1)]
        answer = await lb.submit_many("b", more)
        assert (answer.accepted, answer.duplicates) == (4, 2)
        assert await standings(lb, "b") == [(1, "p", 7), (2, "q", 1)]
        wrong = await lb.submit_many("b", [Entry(player_id="p", amount=9, idempotency_key="k1"), Entry(player_id="q", amount=1)])
        assert (wrong.accepted, [(r.index, r.type) for r in wrong.rejected]) == (1, [(0, IdempotencyKeyReused("").type)])
        assert await differences(lb) == []


async def test_the_same_key_twice_in_one_batch(run):
    async with run(SUM) as lb:
        entries = [Entry(player_id="p", amount=1, idempotency_key="k")] * 3
        answer = await lb.submit_many("b", entries)
        assert (answer.accepted, answer.duplicates) == (3, 2)
        assert await standings(lb, "b") == [(1, "p", 1)]


async def test_a_batch_that_would_not_be_taken_a_second_time_leaves_no_part_of_it(run):
    """The first entry would be taken once more, and the second not."""
    async with run(Board("b", operator="sum", max_score=10)) as lb:
        entries = [Entry(player_id="p", amount=3), Entry(player_id="p", amount=3)]
        await lb.submit_many("b", entries, idempotency_key="k")
        again, other = await asyncio.gather(lb.submit_many("b", entries, idempotency_key="k"), lb.increment("b", "q", 1))
        assert (again.accepted, again.replayed, other.score) == (2, True, 1)
        assert [event.n for event in await recorded(lb, "b")] == [1, 2, 3]
        assert await standings(lb, "b") == [(1, "p", 6), (2, "q", 1)]
        assert await differences(lb) == []
