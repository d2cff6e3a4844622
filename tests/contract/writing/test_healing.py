import asyncio

import pytest
from msgspec import UNSET

from keepscore import Board, Entry
from keepscore.errors import EngineUnavailable, IdempotencyKeyReused, LedgerUnavailable, Unavailable
from keepscore.storage.engines.embedded.engine import EmbeddedEngine
from keepscore.storage.ledgers.sqlite.ledger import SqliteLedger
from tests.contract.driving import restate
from tests.contract.opened import at, differences, killed, live_of, opened, recorded, restore, snapshot, standings
from tests.support.wrapping import wrap

BOARDS = (Board("game", also=["xp"], segments=["region"]), Board("xp", operator="sum"), Board("run", operator="last"))


class FailingEngine(EmbeddedEngine):
    """Fails while it is told to, before or after it has applied."""

    fail = None

    async def apply(self, batches):
        if self.fail == "before":
            raise EngineUnavailable("gone away")
        answers = await super().apply(batches)
        if self.fail == "after":
            raise EngineUnavailable("the reply was lost")
        return answers


class UnsureLedger(SqliteLedger):
    """Fails once, before or after it has recorded."""

    fail = None

    def __init__(self, path):
        super().__init__(path)
        wrap(self.events, "append", self._append)

    async def _append(self, append, events, claims, answers, queued=()):
        fail, self.fail = self.fail, None
        if fail == "before":
            raise LedgerUnavailable("gone away")
        seq = await append(events, claims, answers, queued)
        if fail == "after":
            raise LedgerUnavailable("the reply was lost")
        return seq


async def recorded_or_refused(call):
    """An honest answer: an error, or a receipt that claims no rank."""
    try:
        receipt = await call
    except Unavailable:
        return
    assert receipt.rank is None


@pytest.mark.parametrize("lost", [1, 3])
async def test_an_engine_that_forgot_its_last_batches(run, lost):
    async with run(*BOARDS) as lb:
        saved = {}
        for n in range(6):
            if n == 6 - lost:
                saved = {board.name: await snapshot(lb, board.name) for board in BOARDS}
            await lb.submit("game", f"p{n % 2}", n, segments={"region": "eu"})
            await lb.increment("run", "p", n)
        for name, state in saved.items():
            await restore(lb, name, state)
        assert await differences(lb) != []
        receipt = await lb.submit("game", "p0", 100)
        assert (receipt.score, receipt.rank, receipt.total_players) == (100, 1, 2)
        await lb.increment("run", "p", 10)
        assert await standings(lb, "xp") == [(1, "p0", 106), (2, "p1", 9)]
        assert await standings(lb, "run") == [(1, "p", 25)]
        assert await differences(lb) == []


async def test_an_engine_that_forgot_a_board(run):
    async with run(*BOARDS) as lb:
        for n in range(5):
            await lb.submit("game", f"p{n}", n, segments={"region": "eu"})
        for board in BOARDS[:2]:
            await lb.runtime.engine.forget((await live_of(lb, board.name)).id)
        receipt = await lb.submit("game", "p0", 100)
        assert (receipt.rank, receipt.total_players) == (1, 5)
        assert await standings(lb, "xp", limit=2) == [(1, "p0", 100), (2, "p4", 4)]
        assert await differences(lb) == []


async def test_the_events_of_a_dead_writer_are_replayed_too(run):
    async with run(*BOARDS) as lb:
        for n in range(3):
            await lb.submit("game", "old", n)
    async with run() as lb:
        await lb.submit("game", "new", 5)
        for name in ("game", "xp"):
            await restore(lb, name, ({}, {}))
        await lb.submit("game", "new", 5)
        assert await standings(lb, "xp") == [(1, "new", 10), (2, "old", 3)]
        assert await differences(lb) == []


@pytest.mark.parametrize("fail", ["before", "after"])
async def test_an_engine_that_fails_once(run, fail):
    async with run(*BOARDS, engine=FailingEngine) as lb:
        await lb.submit("game", "p", 1)
        lb.runtime.engine.fail = fail
        await recorded_or_refused(lb.submit("game", "p", 2, idempotency_key="k"))
        lb.runtime.engine.fail = None
        assert (await lb.submit("game", "p", 2, idempotency_key="k")).replayed is True
        receipt = await lb.submit("game", "p", 4)
        assert (receipt.score, receipt.rank) == (4, 1)
        assert await standings(lb, "xp") == [(1, "p", 7)]
        assert len(await recorded(lb, "xp")) == 3
        assert await differences(lb) == []


async def test_late_events_among_what_is_replayed_are_restated(run, clock):
    async with run(Board("run", operator="last"), engine=FailingEngine) as lb:
        await lb.submit("run", "p", 10)
        clock.now += 1000
        await lb.increment("run", "p", 1)
        lb.runtime.engine.fail = "before"
        before = clock.now - 500
        await recorded_or_refused(lb.submit("run", "p", 50, at=at(before)))
        lb.runtime.engine.fail = None
        await lb.submit("run", "q", 1)
        assert await standings(lb, "run") == [(1, "p", 51), (2, "q", 1)]
        assert await differences(lb) == []


async def test_a_late_event_whose_reply_was_lost_is_restated(run, clock):
    """The engine applied it, as far as it could, and asked for a restatement; nobody heard that."""
    async with run(Board("run", operator="last"), engine=FailingEngine) as lb:
        await lb.submit("run", "p", 10)
        clock.now += 1000
        await lb.increment("run", "p", 1)
        lb.runtime.engine.fail = "after"
        await recorded_or_refused(lb.submit("run", "p", 50, at=at(clock.now - 500)))
        lb.runtime.engine.fail = None
        await lb.submit("run", "q", 1)
        assert await standings(lb, "run") == [(1, "p", 51), (2, "q", 1)]
        assert await differences(lb) == []


async def test_a_correction_starts_from_what_the_ledger_says(run):
    """The engine lost 10 of 15: to get to 20, 5 are missing, not 15."""
    async with run(Board("xp", operator="sum")) as lb:
        await lb.increment("xp", "p", 5)
        saved = await snapshot(lb, "xp")
        await lb.increment("xp", "p", 10)
        await restore(lb, "xp", saved)
        await lb.submit("xp", "p", 20)
        assert await standings(lb, "xp") == [(1, "p", 20)]
        assert await differences(lb) == []


@pytest.mark.parametrize("fail", ["before", "after"])
async def test_a_ledger_whose_outcome_is_unknown(run, clock, fail):
    async with run(*BOARDS, ledger=UnsureLedger) as lb:
        await lb.submit("game", "p", 1)
        lb.runtime.ledger.fail = fail
        with pytest.raises(Unavailable):
            await lb.submit("game", "p", 2)
        await asyncio.gather(*[lb.submit("game", "p", 4) for _ in range(3)])
        amounts = [e.amount for e in await recorded(lb, "xp")]
        assert amounts == [1, 4, 4, 4] if fail == "before" else [1, 2, 4, 4, 4]
        assert await standings(lb, "xp") == [(1, "p", sum(amounts))]
        assert await differences(lb) == []


@pytest.mark.parametrize("fail", ["before", "after"])
async def test_a_retry_where_the_outcome_was_unknown(run, fail):
    async with run(*BOARDS, ledger=UnsureLedger) as lb:
        await lb.submit("game", "p", 1)
        lb.runtime.ledger.fail = fail
        with pytest.raises(Unavailable):
            await lb.submit("game", "p", 2, idempotency_key="k")
        assert (await lb.submit("game", "p", 2, idempotency_key="k")).score == 2
        assert [e.amount for e in await recorded(lb, "xp")] == [1, 2]
        assert await standings(lb, "xp") == [(1, "p", 3)]
        assert await differences(lb) == []


async def test_a_process_that_is_killed_at_any_moment(run, clock):
    """A copy of the file after every append is what a kill at that moment leaves."""
    copies = []

    class CopyingLedger(SqliteLedger):
        def __init__(self, path):
            super().__init__(path)
            wrap(self.events, "append", self._append)

        async def _append(self, append, events, claims, answers, queued=()):
            seq = await append(events, claims, answers, queued)
            copies.append((killed(lb, f"killed{len(copies)}.db"), len(events)))
            return seq

    async with run(*BOARDS, ledger=CopyingLedger) as lb:
        for n in range(4):
            await lb.submit_many("game", [Entry(player_id=f"p{i}", score=n) for i in range(n + 1)])
            await lb.increment("run", "p", n, idempotency_key=str(n))
    for i, (path, _) in enumerate(copies):
        async with opened(path, clock) as lb:
            counts = [len(await recorded(lb, name)) for name in ("game", "xp", "run")]
            assert sum(counts) == sum(size for _, size in copies[: i + 1])
            assert await differences(lb) == []


# -- verify -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("segment", ["", "region:eu"])
async def test_verify_finds_what_differs(run, segment):
    async with run(Board("b", segments=["region"])) as lb:
        for n in range(4):
            await lb.submit("b", f"p{n}", n, segments={"region": "eu"})
        assert await differences(lb) == []
        live = await live_of(lb, "b")
        (ranking,) = [r for r in await lb.runtime.engine.rankings(live.id) if r.segment == segment]
        states = await lb.runtime.engine.states(ranking, ["p0", "p1", "p2"])
        await restate(lb.runtime.engine, ranking, "p0", states[0]._replace(score=7))
        await restate(lb.runtime.engine, ranking, "p1", states[1]._replace(since=states[1].since + 1))
        await restate(lb.runtime.engine, ranking, "p2", None)
        await restate(lb.runtime.engine, ranking, "ghost", states[0])
        report = await lb.admin.verify("b")
        assert not report.ok
        assert {d.player_id for d in report.differences} == {"p0", "p1", "p2", "ghost"}
        assert {(d.window, d.window_id, d.segment) for d in report.differences} == {("all_time", "all_time", segment or None)}
        found = {d.player_id: (d.ledger is None, d.engine is None) for d in report.differences}
        assert found == {"p0": (False, False), "p1": (False, False), "p2": (False, True), "ghost": (True, False)}
        assert (report.events, report.rankings, report.players) == (4, 2, 4)


async def test_verify_finds_events_that_were_not_applied_and_rankings_that_should_not_be(run):
    async with run(Board("b"), Board("c", windows=["daily"])) as lb:
        await lb.submit("b", "p", 1)
        saved = await snapshot(lb, "b")
        await lb.submit("b", "p", 1)
        await restore(lb, "b", saved)
        assert len((await lb.admin.verify("b")).differences) == 1
        await lb.submit("c", "p", 1)
        (ranking,) = await lb.runtime.engine.rankings((await live_of(lb, "c")).id)
        (state,) = await lb.runtime.engine.states(ranking, ["p"])
        await restate(lb.runtime.engine, ranking._replace(window_id="2026-11-14"), "p", state)
        assert [(d.window_id, d.player_id) for d in (await lb.admin.verify("c")).differences] == [("2026-11-14", "p")]


async def test_verify_beside_writes_finds_nothing(run):
    async with run(Board("b", operator="sum")) as lb:
        writes = [lb.increment("b", f"p{n % 50}", 1) for n in range(2000)]
        *_, first, second = await asyncio.gather(*writes, lb.admin.verify("b"), lb.admin.verify("b"))
        assert first.ok
        assert second.ok
        assert await differences(lb) == []


class AwayEngine(EmbeddedEngine):
    """Does nothing for a while."""

    away = False

    async def apply(self, batches):
        if self.away:
            raise EngineUnavailable("gone away")
        return await super().apply(batches)

    async def applied(self, board_id, shadow=False):
        if self.away:
            raise EngineUnavailable("gone away")
        return await super().applied(board_id, shadow)


async def test_a_retry_while_the_engine_is_away(run):
    async with run(Board("b", operator="sum"), engine=AwayEngine) as lb:
        lb.runtime.engine.away = True
        entries = [Entry(player_id="p", amount=1), Entry(player_id="q", amount=9)]
        first = await lb.increment("b", "p", 5, idempotency_key="k")
        batch = await lb.submit_many("b", entries, idempotency_key="batch", results=True)
        assert (first.pending, first.replayed, first.rank, batch.pending) == (True, UNSET, None, True)
        again = await lb.increment("b", "p", 5, idempotency_key="k")
        assert (again.pending, again.replayed, again.rank) == (True, True, None)
        batch = await lb.submit_many("b", entries, idempotency_key="batch", results=True)
        assert (batch.pending, batch.replayed, batch.accepted, len(batch.results)) == (True, True, 2, 2)
        with pytest.raises(IdempotencyKeyReused):
            await lb.increment("b", "p", 6, idempotency_key="k")
        lb.runtime.engine.away = False
        again = await lb.increment("b", "p", 5, idempotency_key="k")
        assert (again.pending, again.replayed, again.score, again.rank) == (UNSET, True, 6, 2)
        assert await standings(lb, "b") == [(1, "q", 9), (2, "p", 6)]
        assert await differences(lb) == []
