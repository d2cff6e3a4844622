"""Boards of which the engine keeps the first players only: the others stay in the ledger, and get a rank with an error bound."""

import asyncio
import random
import secrets
from contextlib import asynccontextmanager

import pytest
import redis
from msgspec import UNSET

from keepscore import Board
from keepscore.domain.inputs import Entry
from keepscore.domain.ordering import percentile
from keepscore.errors import InvalidField, InvalidPage, LedgerUnavailable, UnknownPlayer
from keepscore.projection import load as loading
from keepscore.projection import partial_rankings as pruning
from keepscore.storage.engines.base import Ranking
from keepscore.storage.engines.embedded import ranking as embedded_ranking
from keepscore.storage.engines.redis import pruning as redis_pruning
from keepscore.storage.ledgers.sqlite import events as sqlite_events
from tests.contract.backends import redis_url
from tests.contract.opened import DAY, NOON, Clock, at, opened, recorded
from tests.support import oracle
from tests.support.opening import leaderboards

KEEP = 20


@pytest.fixture(params=["embedded", "redis"])
def run(request, tmp_path, monkeypatch):
    """Opens leaderboards on one ledger file and an engine, again and again."""
    clock = Clock(NOON - DAY)
    path = tmp_path / "pruned.db"
    # Several steps for what would be one.
    monkeypatch.setattr(embedded_ranking, "PRUNED_AT_ONCE", 30)
    monkeypatch.setattr(redis_pruning, "PRUNED_AT_ONCE", 30)
    monkeypatch.setattr(pruning, "RESTATE_RETRY_S", 0)

    @asynccontextmanager
    async def embedded(*boards):
        async with opened(path, clock, *boards) as lb:
            yield lb

    @asynccontextmanager
    async def on_redis(*boards):
        async with leaderboards(f"sqlite:///{path}", redis_url(), boards, clock=clock) as lb:
            yield lb

    if request.param == "redis":
        with redis.Redis.from_url(redis_url()) as bare:
            bare.flushall()
    return embedded if request.param == "embedded" else on_redis


def board(**options):
    return Board(f"b{secrets.token_hex(4)}", keep_top=KEEP, **options)


async def prune(lb):
    await lb.runtime.checkpoints.checkpoint()
    await lb.runtime.rebuilds.prune()


async def fill(lb, name, seed=1, players=100):
    """One score a player, many of them equal."""
    chance = random.Random(seed)
    entries = [
        Entry(player_id=f"p{n}", score=chance.randrange(40), at=at(lb.runtime.clock.now - chance.randrange(50))) for n in range(players)
    ]
    assert not (await lb.submit_many(name, entries)).rejected


async def truth(lb, name):
    """The rows of the all-time ranking by the ledger."""
    live = lb.runtime.catalog[name]
    states = oracle.fold(live, await recorded(lb, name))
    return oracle.ranked(live.board, states[Ranking(live.id, "all_time", "all_time", "")])


async def compare(lb, name, first=KEEP):
    """All that is told of a board is right: exact for the first, within the bound for the others. Gives the largest error."""
    rows = await truth(lb, name)
    top = await lb.top(name, limit=KEEP)
    shown = [(s.rank, s.player_id, s.score) for s in top.standings]
    assert len(shown) >= first
    assert shown == [(n + 1, *row[:2]) for n, row in enumerate(rows[: len(shown)])]
    assert top.total_players == len(rows)
    worst = 0
    found = await lb.lookup(name, [row.player for row in rows])
    told = {standing.player_id: standing for standing in found.standings}
    assert len(told) == len(rows)
    standard = {one.player_id: one for one in (await lb.lookup(name, [row.player for row in rows], rank="standard")).standings}
    for index, row in enumerate(rows):
        one, other = told[row.player], standard[row.player]
        exact = oracle.ranks(lb.runtime.catalog[name].board, rows, index)
        assert one.score == row.score
        if one.approximate is True:
            assert index >= first
            assert abs(one.rank - exact.unique) <= one.error, (row, exact, one)
            assert abs(other.rank - exact.standard) <= other.error, (row, exact, other)
            worst = max(worst, one.error)
        else:
            assert (one.rank, other.rank) == exact[:2]
    for row in (rows[0], rows[len(rows) // 2], rows[-1]):
        one = await lb.rank(name, row.player)
        assert (one.score, one.rank, one.error) == (row.score, told[row.player].rank, told[row.player].error)
        assert one.percentile == percentile(one.ranks.unique, len(rows)) > 0
        # Where rankings are elsewhere, nobody has asked for dense ranks.
        assert (one.ranks.dense is None) is (one.approximate is True or lb.runtime.engine.is_shared)
    assert (await lb.admin.verify(name)).ok
    return worst


async def kept(lb, name):
    return await lb.runtime.engine.count(Ranking(lb.runtime.catalog[name].id, "all_time", "all_time", ""), None, None)


@pytest.mark.parametrize(
    ("operator", "ties", "order"),
    [
        ("best", "first", "desc"),
        ("best", "last", "asc"),
        ("best", "player", "desc"),
        ("best in a composite", "first", "asc"),
        ("sum", "first", "desc"),
        ("sum", "player", "asc"),
        ("last", "first", "desc"),
        ("last", "last", "asc"),
        ("first", "first", "asc"),
        ("first", "player", "desc"),
    ],
)
async def test_pruned_players_come_back_with_all_that_they_had(run, operator, ties, order):
    small = {"max_score": 1000, "min_score": 0, "resolution": "1s"} if "composite" in operator else {}
    one = board(operator=operator.split()[0], ties=ties, order=order, **small)
    async with run(one) as lb:
        await fill(lb, one.name)
        assert await compare(lb, one.name) == 0
        await prune(lb)
        assert await kept(lb, one.name) == KEEP + 1
        assert await compare(lb, one.name) == 0, "every row is in so small a histogram"
        chance = random.Random(2)
        for _ in range(3):
            for _ in range(12):
                lb.runtime.clock.now += 1
                player = f"p{chance.randrange(110)}"
                if operator in ("sum", "last") and chance.random() < 0.5:
                    await lb.increment(one.name, player, chance.choice([-9, 9]))
                else:
                    await lb.submit(one.name, player, chance.randrange(80))
            # Some of the first may have fallen.
            await compare(lb, one.name, first=0)
            await prune(lb)
            await compare(lb, one.name)
            assert KEEP <= await kept(lb, one.name) <= KEEP + 2


async def test_receipts_of_pruned_players(run):
    one = board(operator="sum")
    async with run(one) as lb:
        for n in range(100):
            await lb.submit(one.name, f"p{n}", n)
        await prune(lb)
        receipt = await lb.increment(one.name, "p3", 2)
        assert (receipt.score, receipt.updated, receipt.approximate, receipt.total_players) == (5, True, True, 100)
        assert abs(receipt.rank - 96) <= receipt.error
        assert receipt.windows["all_time"].approximate is True
        again = await lb.increment(one.name, "p3", 1)
        assert (again.score, again.updated, again.approximate, again.previous_rank) == (6, True, True, None)
        up = await lb.increment(one.name, "p3", 94)
        assert (up.score, up.rank, up.approximate) == (100, 1, up.replayed)
        absolute = await lb.submit(one.name, "p4", 200)
        assert (absolute.score, absolute.rank, absolute.total_players) == (200, 1, 100)
        new = await lb.submit(one.name, "new", 50)
        assert (new.score, new.total_players) == (50, 101)
        await compare(lb, one.name)


async def test_best_keeps_the_better_score(run):
    one = board()
    async with run(one) as lb:
        for n in range(100):
            await lb.submit(one.name, f"p{n}", n)
        await prune(lb)
        lower, higher = await lb.submit(one.name, "p9", 4), await lb.submit(one.name, "p8", 500)
        assert (lower.score, lower.updated, higher.score, higher.updated, higher.rank) == (9, False, 500, True, 1)
        await compare(lb, one.name)


async def test_errors_are_small_with_a_coarse_histogram(run, monkeypatch):
    monkeypatch.setattr(pruning, "SAMPLES", 20)
    one = board()
    async with run(one) as lb:
        await fill(lb, one.name, players=200)
        await lb.runtime.checkpoints.checkpoint()
        # Between the checkpoint and the removal.
        await lb.submit(one.name, "p7", 55)
        await lb.runtime.rebuilds.prune()
        assert 1 <= await compare(lb, one.name) <= 12
        for n in (3, 5, 11):
            await lb.submit(one.name, f"p{n}", 58)
        assert await compare(lb, one.name) <= 15


async def test_nobody_is_removed_before_a_checkpoint_tells_of_them(run, monkeypatch):
    """The last checkpoint is of when the board was empty, and each takes up a few events only."""
    monkeypatch.setattr(loading, "MAX_TAIL", 30)
    monkeypatch.setattr(sqlite_events, "CHUNK_EVENTS", 30)
    one = board(windows=["daily", "all_time"])
    async with run(one) as lb:
        await lb.runtime.checkpoints.checkpoint()
        for part in range(5):
            await lb.submit_many(one.name, [Entry(player_id=f"p{n}", score=n) for n in range(part * 40, part * 40 + 40)])
        await lb.runtime.rebuilds.prune()
        assert await kept(lb, one.name) == KEEP + 1
        assert await compare(lb, one.name) == 0
        for n in (199, 100, 0):
            daily = await lb.rank(one.name, f"p{n}", window="daily")
            assert (daily.rank, daily.error or 0) == (200 - n, 0)


async def test_a_start_and_a_rebuild_bring_everybody_back(run):
    one = board()
    async with run(one) as lb:
        await fill(lb, one.name)
        await prune(lb)
        await lb.submit(one.name, "p5", 1)
        before = await truth(lb, one.name)
    async with run(one) as lb:
        assert await truth(lb, one.name) == before
        await compare(lb, one.name)
        await prune(lb)
        await compare(lb, one.name)
        assert (await lb.admin.rebuild(one.name)).players == 100
        assert await kept(lb, one.name) == 100
        await compare(lb, one.name)
        await prune(lb)
        assert await kept(lb, one.name) == KEEP + 1
        await prune(lb)
        assert await kept(lb, one.name) == KEEP + 1
        # Without keep_top, all are there.
        await lb.admin.put_board(Board(one.name), confirm=True)
        assert await kept(lb, one.name) == 100
        assert (await lb.rank(one.name, before[-1].player)).rank == 100


async def test_a_removal_that_was_cut_short_is_gone_on_with(run):
    one = board()
    async with run(one) as lb:
        await fill(lb, one.name)
        await lb.runtime.checkpoints.checkpoint()
        ranking = Ranking(lb.runtime.catalog[one.name].id, "all_time", "all_time", "")
        assert await lb.runtime.engine.pruning.prune(ranking, KEEP, "cut:1") == 30
        await compare(lb, one.name)
        await lb.submit(one.name, "late", 1)
        await compare(lb, one.name)
        await prune(lb)
        assert await kept(lb, one.name) == KEEP + 1
        await compare(lb, one.name)


async def test_what_lies_beyond_the_kept_rows(run):
    one = board()
    async with run(one) as lb:
        for n in range(100):
            await lb.submit(one.name, f"p{n}", n)
        await prune(lb)
        page = await lb.top(one.name, limit=15)
        rest = await lb.top(one.name, limit=15, cursor=page.next_cursor)
        assert [s.player_id for s in rest.standings] == ["p84", "p83", "p82", "p81", "p80", "p79"]
        assert rest.next_cursor is None
        with pytest.raises(InvalidPage, match="only the first 20 of 100 players are ranked exactly"):
            await lb.top(one.name, offset=50)
        with pytest.raises(InvalidPage, match="only the first 20 of 100"):
            await lb.around(one.name, 70, around=3)
        with pytest.raises(InvalidPage, match="only the first 20 of 100"):
            await lb.rank(one.name, "p5", around=3)
        with pytest.raises(InvalidField, match="rank = 'dense' is known only for"):
            await lb.rank(one.name, "p5", rank="dense")
        assert (await lb.rank(one.name, "p95", rank="dense")).rank == 5
        with pytest.raises(UnknownPlayer):
            await lb.rank(one.name, "nobody")
        assert (await lb.lookup(one.name, ["p5", "nobody", "p99"])).missing == ["nobody"]
        assert (await lb.top(one.name, limit=100)).total_players == 100
        assert (await lb.count(one.name)).count == 100
        for low, high in ((90, None), (10, 20), (None, 30), (70, 85), (30, 10)):
            counted = await lb.count(one.name, low, high)
            exact = sum((low or 0) <= n <= (99 if high is None else high) for n in range(100))
            assert abs(counted.count - exact) <= (counted.error if counted.approximate is True else 0)
        windows = await lb.history.windows(one.name)
        assert windows.windows[0].players == 100


async def test_checkpoints_hold_everybody(run):
    one = board(operator="sum")
    async with run(one) as lb:
        await fill(lb, one.name)
        await prune(lb)
        await lb.increment(one.name, "p1", 5)
        await lb.runtime.checkpoints.checkpoint()
        await lb.runtime.checkpoints.checkpoint()
        live = lb.runtime.catalog[one.name]
        (slot,) = await lb.runtime.ledger.checkpoints.slots(live.id)
        assert await lb.runtime.ledger.checkpoints.count(live.id, slot, -100, 100) == 100


async def test_a_ledger_that_cannot_be_read_delays_pruned_players_only(run, monkeypatch):
    one = board()
    async with run(one) as lb:
        await fill(lb, one.name)
        await prune(lb)
        first, last = (await truth(lb, one.name))[0].player, (await truth(lb, one.name))[-1].player

        async def away(*_):
            raise LedgerUnavailable("it is away")

        with monkeypatch.context() as patch:
            patch.setattr(lb.runtime.ledger.events, "of_players", away)
            pending = await lb.submit(one.name, last, 90)
            assert (pending.pending, pending.rank, pending.score) == (True, None, 90)
            assert (await lb.submit(one.name, first, 91)).rank == 1
        assert (await lb.rank(one.name, last)).score == 90
        await prune(lb)
        assert (await lb.rank(one.name, last)).rank == 2
        await compare(lb, one.name)


@pytest.mark.parametrize("rank", ["standard", "dense"])
async def test_windows_and_segments_are_pruned_one_by_one(run, rank):
    one = board(operator="sum", windows=["daily", "all_time"], segments=["region"], rank=rank)
    async with run(one) as lb:
        for n in range(60):
            await lb.increment(one.name, f"p{n}", n, segments={"region": "eu" if n % 2 else "us"})
        await lb.submit_many(one.name, [Entry(player_id=f"q{n}", amount=1, segments={"region": "small"}) for n in range(5)])
        await prune(lb)
        live = lb.runtime.catalog[one.name]
        sizes = {ranking[1:]: await lb.runtime.engine.count(ranking, None, None) for ranking in await lb.runtime.engine.rankings(live.id)}
        assert {size for (_, _, segment), size in sizes.items() if segment != "region:small"} == {KEEP + 1}
        assert {size for (_, _, segment), size in sizes.items() if segment == "region:small"} == {5}
        receipt = await lb.increment(one.name, "p2", 100, segments={"region": "us"})
        assert {window.score for window in receipt.windows.values()} == {102}
        low = await lb.increment(one.name, "p3", 1, segments={"region": "eu"})
        assert (low.score, low.approximate, low.total_players) == (4, True, 65)
        assert (await lb.top(one.name, segment="region:us")).total_players == 30
        assert (await lb.top(one.name, segment="region:us", limit=1)).standings[0].player_id == "p2"
        assert abs((await lb.rank(one.name, "p5", segment="region:eu", rank="unique")).rank - 28) <= 1
        history = await lb.history.of(one.name, "p7", window="all_time")
        assert (history.history[0].approximate, history.best) == (True, None)
        assert (await lb.admin.verify(one.name)).ok


async def test_scores_pour_in_while_rows_are_removed(run):
    one = board(operator="sum")
    async with run(one) as lb:
        await fill(lb, one.name)
        chance = random.Random(3)

        async def pour():
            for _ in range(60):
                await lb.increment(one.name, f"p{chance.randrange(130)}", chance.choice([-5, 1, 20]))

        async def remove():
            for _ in range(4):
                await prune(lb)
                await asyncio.sleep(0)

        await asyncio.gather(pour(), pour(), remove())
        await compare(lb, one.name, first=0)
        await prune(lb)
        await compare(lb, one.name)


async def test_a_page_is_never_short_when_the_first_fall_back(run):
    """Many of the first fall behind those who were removed: these come back with the read that needs them."""
    one = board(operator="last")
    async with run(one) as lb:
        for n in range(100):
            await lb.submit(one.name, f"p{n}", n)
        await prune(lb)
        for n in range(82, 100):
            await lb.submit(one.name, f"p{n}", -n)
        expected = [f"p{n}" for n in range(81, 61, -1)]
        top = await lb.top(one.name, limit=15)
        assert ([s.player_id for s in top.standings], top.stale) == (expected[:15], UNSET)
        rest = await lb.top(one.name, limit=15, cursor=top.next_cursor)
        assert [s.player_id for s in rest.standings][:5] == expected[15:]
        assert (await lb.rank(one.name, "p81")).rank == 1
        assert (await lb.admin.verify(one.name)).ok
        await prune(lb)
        await compare(lb, one.name)
