"""Requests with an idempotency key that are no submissions: one effect and one answer, whatever happens to the first of them."""

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from msgspec import UNSET

from keepscore import Board, Entry
from keepscore.domain.imports import NewPart
from keepscore.errors import EngineUnavailable, IdempotencyKeyReused, InProgress, InvalidBoard, InvalidField, LedgerUnavailable
from keepscore.service.app import make_app
from keepscore.writing import idempotency as claims
from tests.contract.both import own_redis
from tests.contract.opened import DAY, SECOND, differences, killed, opened, standings
from tests.support.opening import leaderboards
from tests.support.postgres_servers import shared_postgres

BOARD = Board("b", operator="sum")


@asynccontextmanager
async def two(clock, *boards):
    """Two processes' worth of leaderboards on one PostgreSQL and one Redis."""
    places = shared_postgres().new_database(), own_redis()
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(leaderboards(*places, boards, clock)) for _ in range(2)]


class Held:
    """A call that waits until a test lets it go on."""

    def __init__(self, of, name):
        self.began, self.go_on = asyncio.Event(), asyncio.Event()
        self.error = None
        self._call = getattr(of, name)
        setattr(of, name, self)

    async def __call__(self, *args):
        self.began.set()
        await self.go_on.wait()
        if self.error is not None:
            raise self.error
        return await self._call(*args)


async def test_who_asks_again_while_the_first_works_waits(lbs):
    async with lbs(BOARD) as lb:
        held = Held(lb.runtime.ledger.boards, "put")
        first = asyncio.create_task(lb.admin.reset("b", idempotency_key="k"))
        await held.began.wait()
        others = [asyncio.create_task(lb.admin.reset("b", idempotency_key="k")) for _ in range(5)]
        with pytest.raises(IdempotencyKeyReused, match="'k'"):
            await lb.admin.undo_reset("b", idempotency_key="k")
        assert not any(task.done() for task in (first, *others))
        held.go_on.set()
        answers = await asyncio.gather(first, *others)
        assert [answer.replayed for answer in answers] == [UNSET] + [True] * 5
        assert len({answer.at for answer in answers}) == 1
        assert len((await lb.admin.board("b")).board.resets) == 1


async def test_work_goes_on_when_the_client_is_gone(lbs):
    async with lbs(BOARD) as lb:
        held = Held(lb.runtime.ledger.boards, "put")
        first = asyncio.create_task(lb.admin.reset("b", idempotency_key="k"))
        await held.began.wait()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        second = asyncio.create_task(lb.admin.reset("b", idempotency_key="k"))
        held.go_on.set()
        assert (await second).replayed is True
        assert len((await lb.admin.board("b")).board.resets) == 1


async def test_a_process_that_stops_finishes_its_work(run):
    async with run(BOARD) as lb:
        held = Held(lb.runtime.engine, "load")
        task = asyncio.create_task(lb.admin.reset("b", idempotency_key="k"))
        await held.began.wait()
        asyncio.get_running_loop().call_later(0.05, held.go_on.set)
    assert (await task).replayed is UNSET


async def test_waiting_has_an_end(lbs, monkeypatch):
    async with lbs(BOARD) as lb:
        held = Held(lb.runtime.ledger.boards, "put")
        first = asyncio.create_task(lb.admin.reset("b", idempotency_key="k"))
        await held.began.wait()
        monkeypatch.setattr(claims, "WAIT_S", 0.05)
        with pytest.raises(InProgress, match="send it again"):
            await lb.admin.reset("b", idempotency_key="k")
        sent = []
        scope = {
            "type": "http",
            "method": "POST",
            "path": "/v1/boards/b/reset",
            "query_string": b"",
            "headers": [(b"idempotency-key", b"k")],
        }
        await make_app(lb, "b")(scope, None, lambda message: asyncio.sleep(0, sent.append(message)))
        assert (sent[0]["status"], dict(sent[0]["headers"])[b"retry-after"]) == (503, b"5")
        held.go_on.set()
        await first


async def test_what_is_refused_does_not_use_its_key_up(lbs):
    async with lbs(BOARD) as lb:
        bad = Board("b", operator="sum", decimals=2)
        tries = [lb.admin.put_board(bad, idempotency_key="k", confirm=True) for _ in range(3)]
        assert [type(error) for error in await asyncio.gather(*tries, return_exceptions=True)] == [InvalidBoard] * 3
        assert (await lb.admin.put_board(Board("b", operator="sum", max_score=9), idempotency_key="k", confirm=True)).version == 2


async def test_a_definition_that_is_sent_again_after_others_changes_nothing(lbs):
    async with lbs() as lb:
        first = await lb.admin.put_board(BOARD, idempotency_key="made", confirm=True)
        changed = await lb.admin.put_board(Board("b", operator="last"), version=1, idempotency_key="changed")
        await lb.admin.put_board(Board("b", operator="best"), confirm=True)
        for one, again in (
            (first, await lb.admin.put_board(BOARD, idempotency_key="made", confirm=True)),
            (changed, await lb.admin.put_board(Board("b", operator="last"), version=1, idempotency_key="changed")),
        ):
            assert (again.version, again.board, again.created, again.replayed) == (one.version, one.board, one.created, True)
        assert (await lb.admin.board("b")).version == 3
        await lb.admin.delete_board("b", idempotency_key="gone")
        assert (await lb.admin.delete_board("b", idempotency_key="gone")).replayed is True


async def test_keys_are_forgotten_after_a_week(run, clock):
    async with run(BOARD) as lb:
        await lb.admin.reset("b", idempotency_key="k")
        await lb.players.name("p", "Pat", idempotency_key="k")
        await lb.increment("b", "p", 1, idempotency_key="k")
        clock.now += 7 * DAY - SECOND
        await lb.admin.run_keeper()
        assert (await lb.admin.reset("b", idempotency_key="k")).replayed is True
        clock.now += 2 * SECOND
        await lb.admin.run_keeper()
        for answer in (
            await lb.admin.reset("b", idempotency_key="k"),
            await lb.players.name("p", "Pat", idempotency_key="k"),
            await lb.increment("b", "p", 1, idempotency_key="k"),
        ):
            assert answer.replayed is UNSET


# -- one that does not come to an end ------------------------------------------------------------------------------------


async def test_a_name_that_was_killed_on_its_way_is_given_once(run, clock):
    async with run() as lb:
        put, left = lb.runtime.ledger.players.change, []

        async def killed_around(*args):
            left.append(killed(lb, "before.db"))
            await put(*args)
            left.append(killed(lb, "after.db"))

        lb.runtime.ledger.players.change = killed_around
        await lb.players.name("p", "Pat", idempotency_key="k")
    for path, replayed in zip(left, (UNSET, True), strict=True):
        async with opened(path, clock) as lb:
            if replayed is True:
                await lb.players.name("p", "Paul")
            assert (await lb.players.name("p", "Pat", idempotency_key="k")).replayed is replayed
            assert (await lb.players.profile("p")).name == ("Paul" if replayed is True else "Pat")


async def test_a_revision_that_was_killed_on_its_way_is_made_once(run, clock):
    async with run(Board("b", windows=["daily"], segments=["region"])) as lb:
        await lb.submit("b", "p", 1, segments={"region": "eu"})
        clock.now += 3 * DAY
        await lb.admin.run_keeper()
        finish, left = lb.runtime.ledger.archives.finish, []

        async def killed_around(*args):
            left.append(killed(lb, f"{len(left)}.db"))
            await finish(*args)
            left.append(killed(lb, f"{len(left)}.db"))

        lb.runtime.ledger.archives.finish = killed_around
        first = await lb.admin.revise("b", "daily", "2026-11-15", "why", idempotency_key="k")
    assert len(left) == 4, "the segment, then the whole"
    for path, replayed in zip(left, (UNSET, UNSET, UNSET, True), strict=True):
        async with opened(path, clock) as lb:
            again = await lb.admin.revise("b", "daily", "2026-11-15", "why", idempotency_key="k")
            assert (again.number, again.digest, again.replayed) == (2, first.digest, replayed)
            assert (await lb.admin.revise("b", "daily", "2026-11-15", "why")).number == 3


async def test_the_ledger_goes_away_before_and_after_the_effect(lbs):
    async with lbs(BOARD) as lb:
        put, finish = lb.runtime.ledger.boards.put, lb.runtime.ledger.claims.finish

        async def away(*_):
            raise LedgerUnavailable("away")

        async def reply_lost(*args):
            await put(*args)
            raise LedgerUnavailable("the reply was lost")

        lb.runtime.ledger.boards.put = away
        with pytest.raises(LedgerUnavailable):
            await lb.admin.reset("b", idempotency_key="before")
        lb.runtime.ledger.boards.put = put
        assert (await lb.admin.reset("b", idempotency_key="before")).replayed is UNSET
        lb.runtime.ledger.boards.put = reply_lost
        with pytest.raises(LedgerUnavailable):
            await lb.admin.reset("b", idempotency_key="after")
        lb.runtime.ledger.boards.put = put
        assert ((await lb.admin.reset("b", idempotency_key="after")).version, (await lb.admin.board("b")).version) == (2, 3)
        lb.runtime.ledger.claims.finish = away
        assert (await lb.admin.reset("b", idempotency_key="finishing")).replayed is UNSET
        lb.runtime.ledger.claims.finish = finish
        assert (await lb.admin.reset("b", idempotency_key="finishing")).replayed is True
        assert len((await lb.admin.board("b")).board.resets) == 3
        assert await differences(lb) == []


async def test_a_process_that_is_stuck_is_taken_over_and_has_no_effect(clock, monkeypatch):
    monkeypatch.setattr(claims, "STALL_S", 0.3)
    async with two(clock, BOARD) as (stuck, other):
        await other.increment("b", "p", 5)
        clock.now += SECOND
        held = Held(stuck.runtime.ledger.boards, "put")
        first = asyncio.create_task(stuck.admin.reset("b", idempotency_key="k"))
        await held.began.wait()
        again = await other.admin.reset("b", idempotency_key="k")
        assert (again.version, again.replayed) == (1, UNSET)
        held.go_on.set()
        with pytest.raises(InProgress):
            await first
        assert (await stuck.admin.reset("b", idempotency_key="k")).at == again.at
        assert len((await other.admin.board("b")).board.resets) == 1


async def test_one_that_is_alive_is_waited_for(clock, monkeypatch):
    monkeypatch.setattr(claims, "STALL_S", 0.4)
    monkeypatch.setattr(claims, "BEAT_S", 0.1)
    async with two(clock, BOARD) as (one, other):
        held = Held(one.runtime.ledger.boards, "put")
        first = asyncio.create_task(one.admin.reset("b", idempotency_key="k"))
        await held.began.wait()
        second = asyncio.create_task(other.admin.reset("b", idempotency_key="k"))
        await asyncio.wait([second], timeout=1)
        assert not second.done()
        held.go_on.set()
        assert (await first).at == (await second).at
        assert (await second).replayed is True


async def test_what_is_recorded_and_not_in_effect_is_brought_into_effect(clock, monkeypatch):
    """The engine fails when the reset is recorded already, and the process is gone."""
    monkeypatch.setattr(claims, "STALL_S", 0.3)
    async with two(clock, BOARD) as (failing, other):
        await other.increment("b", "p", 5)
        clock.now += SECOND

        async def fail(*_):
            raise EngineUnavailable("gone")

        failing.runtime.engine.promote = fail
        with pytest.raises(EngineUnavailable):
            await failing.admin.reset("b", idempotency_key="k")
        again = await other.admin.reset("b", idempotency_key="k")
        assert (again.version, again.replayed) == (1, True)
        clock.now += SECOND
        assert await standings(other, "b") == []
        assert await standings(other, "b", window_id="all_time.v1") == [(1, "p", 5)]


# -- imports -------------------------------------------------------------------------------------------------------------


async def test_imports_are_remembered_when_keys_are_forgotten(run, clock):
    async with run(BOARD) as lb:
        part = NewPart("a" * 32, "0" * 32, 2, [], ["b" * 32, "c" * 32], "scores.csv")
        entries = [Entry(player_id="p", amount=1), Entry(player_id="q", amount=2)]
        first = await lb.admin.import_scores("b", entries, part=part)
        await lb.admin.import_scores("b", entries[:1], keys=["d" * 32])
        clock.now += 400 * DAY
        await lb.admin.run_keeper()
        again = await lb.admin.import_scores("b", entries, part=part)
        assert (again.accepted, again.replayed, again.part) == (2, True, first.part)
        assert (await lb.admin.import_scores("b", entries[:1], keys=["d" * 32])).duplicates == 1
        assert await lb.admin.imported_parts("b") == [first.part]
        assert await lb.admin.imported_parts("b", after=first.part.key) == []
        assert await standings(lb, "b") == [(1, "q", 2), (2, "p", 2)]


@pytest.mark.parametrize(
    ("part", "keys", "word"),
    [
        (NewPart("a" * 32, "0" * 32, 1, [], [], "x"), (), "1 scores"),
        (NewPart("a", "0" * 32, 1, [], ["b" * 32], "x"), (), "'a'"),
        (NewPart("a" * 32, "0" * 32, 0, [], ["b" * 32], "x"), (), "rows = 0"),
        (NewPart("a" * 32, "0" * 32, 3, [4], ["b" * 32], "x"), (), "rows = 3"),
        (None, (), "1 scores"),
        (None, ("short",), "short"),
    ],
)
async def test_a_part_that_makes_no_sense_is_refused(run, part, keys, word):
    async with run(BOARD) as lb:
        with pytest.raises(InvalidField, match=word):
            await lb.admin.import_scores("b", [Entry(player_id="p", amount=1)], part=part, keys=keys)
        assert await standings(lb, "b") == []
