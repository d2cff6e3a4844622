"""How many calls a group of submissions costs: a few, however many entries it has."""

import asyncio
from contextlib import ExitStack, asynccontextmanager, contextmanager
from unittest.mock import patch

import asyncpg
import pytest

from keepscore import Board, Entry
from keepscore.storage.engines.embedded.engine import EmbeddedEngine
from keepscore.storage.ledgers.sqlite.ledger import SqliteLedger
from tests.contract.both import over_redis
from tests.contract.opened import MINUTE, NOON, SECOND, at, differences, standings
from tests.support.opening import leaderboards
from tests.support.postgres_servers import shared_postgres
from tests.support.redis_servers import single
from tests.support.wrapping import wrap

ENTRIES = 1000
#: Redis commands and ledger queries that a batch costs at most: the lock, the watermarks, the scores, the group itself, and what is told.
MOST_COMMANDS = 12
MOST_QUERIES = 8


def amounts(n=ENTRIES, amount=1):
    return [Entry(player_id=f"p{i}", amount=amount) for i in range(n)]


def scores(n=ENTRIES, score=7):
    return [Entry(player_id=f"p{i}", score=score) for i in range(n)]


@pytest.fixture(scope="module")
def server():
    with single() as server:
        yield server


@asynccontextmanager
async def counted(server, most):
    """Fail where more than `most` commands reach Redis within the block. What scripts do is not counted."""
    client = server.client()
    with client.monitor() as monitor:
        yield
        client.ping()
        sent = []
        for found in monitor.listen():
            if found["command"] == "PING":
                break
            if found["client_type"] != "lua":
                sent.append(found["command"][:60])
    client.close()
    assert 0 < len(sent) <= most, sent


BOARDS = {
    "increments": ([Board("b", operator="sum", windows=["daily", "all_time"])], amounts),
    "increments within bounds": ([Board("b", operator="sum", max_score=10**6, windows=["daily", "all_time"])], amounts),
    "corrections": ([Board("b", operator="sum", windows=["daily", "all_time"])], scores),
    "increments of the last": ([Board("b", operator="last", windows=["daily", "all_time"])], amounts),
    "also into a sum": ([Board("b", also=["xp"]), Board("xp", operator="sum", windows=["weekly", "all_time"])], scores),
    "segments": ([Board("b", operator="sum", windows=["daily", "all_time"], segments=["region"])], amounts),
}


@pytest.mark.parametrize("case", BOARDS)
async def test_a_batch_costs_a_few_redis_commands(server, tmp_path, clock, case):
    boards, made = BOARDS[case]
    server.client().flushall()
    async with over_redis(tmp_path / "scores.db", server.url, clock, *boards) as lb:
        entries = made()
        if case == "segments":
            for i, entry in enumerate(entries):
                entry.segments = {"region": f"r{i % 50}"}
        first = await lb.submit_many("b", entries[:10])
        assert (first.accepted, first.rejected) == (10, [])
        await lb.runtime.writer.flush()
        clock.now += MINUTE
        async with counted(server, MOST_COMMANDS):
            assert (await lb.submit_many("b", entries)).accepted == ENTRIES
        assert await differences(lb) == []


async def test_players_who_come_late_cost_a_few_redis_commands(server, tmp_path, clock):
    server.client().flushall()
    board = Board("b", operator="last", resolution="1m", windows=["daily", "all_time"])
    async with over_redis(tmp_path / "scores.db", server.url, clock, board) as lb:
        await lb.submit_many("b", scores(500, 1))
        await lb.runtime.writer.flush()
        async with counted(server, MOST_COMMANDS):
            await lb.submit_many("b", scores(500, 2))
        assert {score for _, _, score in await standings(lb, "b", limit=100)} == {2}
        assert await differences(lb) == []


@contextmanager
def queries_counted():
    """The queries that are sent to PostgreSQL within the block, one by one."""
    sent = []

    def counting(method):
        async def counted(connection, query, *args, **options):
            sent.append(query[:60])
            return await method(connection, query, *args, **options)

        return counted

    with ExitStack() as stack:
        for name in ("fetch", "fetchval", "fetchrow", "execute", "executemany"):
            stack.enter_context(patch.object(asyncpg.Connection, name, counting(getattr(asyncpg.Connection, name))))
        yield sent


@pytest.mark.parametrize("is_away", [False, True], ids=["engine", "no engine"])
@pytest.mark.parametrize("case", BOARDS)
async def test_a_batch_costs_a_few_queries(server, clock, case, is_away):
    boards, made = BOARDS[case]
    server.client().flushall()
    async with leaderboards(shared_postgres().new_database(), server.url + "?deadline=0.3", boards, clock) as lb:
        entries = made(200)
        await lb.submit_many("b", entries)
        await lb.runtime.writer.flush()
        clock.now += MINUTE
        if is_away:
            server.pause()
        try:
            with queries_counted() as sent:
                assert (await lb.submit_many("b", entries)).accepted == 200
        finally:
            server.resume()
        assert 0 < len(sent) <= MOST_QUERIES, sent


class GatedReads(SqliteLedger):
    """Waits before it tells of players until the gate is open."""

    def __init__(self, path):
        super().__init__(path)
        self.gate, self.reached = asyncio.Event(), asyncio.Event()
        self.gate.set()
        wrap(self.events, "of_players", self._of_players)

    async def _of_players(self, of_players, board_id, players):
        self.reached.set()
        await self.gate.wait()
        return await of_players(board_id, players)


async def test_other_requests_do_not_wait_for_late_players(run):
    async with run(Board("b", operator="last"), Board("other"), ledger=GatedReads) as lb:
        await lb.submit("b", "late", 1, at=at(NOON))
        lb.runtime.ledger.gate.clear()
        late = asyncio.ensure_future(lb.submit("b", "late", 2, at=at(NOON - SECOND)))
        await lb.runtime.ledger.reached.wait()
        assert (await lb.submit("other", "p", 5)).rank == 1
        assert (await lb.submit("b", "p", 5)).rank == 1
        quiet = asyncio.ensure_future(lb.runtime.write_pause.__aenter__())
        for _ in range(10):
            await asyncio.sleep(0)
        assert not late.done()
        assert not quiet.done()
        lb.runtime.ledger.gate.set()
        assert (await late).score == 1
        await quiet
        await lb.runtime.write_pause.__aexit__(None, None, None)
        assert await differences(lb) == []


class GatedEngine(EmbeddedEngine):
    """Waits before it applies a large batch until the gate is open."""

    def __init__(self):
        super().__init__()
        self.gate, self.reached = asyncio.Event(), asyncio.Event()

    async def apply(self, batches):
        if any(len(batch.updates) >= ENTRIES for batch in batches):
            self.reached.set()
            await self.gate.wait()
        return await super().apply(batches)


async def test_other_boards_do_not_wait_for_a_large_batch(run):
    async with run(Board("b", operator="sum"), Board("other"), engine=GatedEngine) as lb:
        large = asyncio.ensure_future(lb.submit_many("b", amounts()))
        await lb.runtime.engine.reached.wait()
        for score in range(1, 4):
            assert (await lb.submit("other", "p", score)).score == score
        after = asyncio.ensure_future(lb.increment("b", "p0", 5))
        for score in range(4, 6):
            assert (await lb.submit("other", "p", score)).score == score
        assert not large.done()
        assert not after.done()
        lb.runtime.engine.gate.set()
        assert ((await large).accepted, (await after).score) == (ENTRIES, 6)
        assert await differences(lb) == []


async def test_a_batch_in_parts_is_applied_once(lbs, clock):
    async with lbs(Board("b", operator="sum", windows=["daily", "all_time"]), Board("c", also=["b"])) as lb:
        assert (await lb.submit_many("b", amounts(3001, 2))).accepted == 3001
        answer = await lb.submit_many("c", scores(2500, 3), results=True)
        assert [receipt.score for receipt in answer.results] == [3] * 2500
        assert {score for _, _, score in await standings(lb, "b", limit=100)} == {5}
        assert await differences(lb) == []


async def test_amounts_never_pass_the_largest_number(lbs):
    largest = 2**53 - 1
    async with lbs(Board("b", operator="sum", windows=["daily", "all_time"])) as lb:
        assert (await lb.increment("b", "p", 5)).score == 5
        assert (await lb.submit("b", "p", largest - 10)).score == largest - 10
        answer = await lb.submit_many(
            "b", [Entry(player_id=player, amount=amount) for player, amount in [("p", 4), ("p", 7), ("q", 1), ("p", 6)]]
        )
        assert (answer.accepted, [(rejected.index, rejected.type) for rejected in answer.rejected]) == (
            3,
            [(1, "urn:keepscore:invalid-score")],
        )
        assert (await lb.rank("b", "p")).score == largest
        assert await differences(lb) == []
