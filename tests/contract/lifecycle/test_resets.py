"""Resets on demand, over the engine in the process and the one in Redis."""

import asyncio
import functools
import json
import sqlite3
from datetime import timedelta

import pytest

from keepscore import Board, Window
from keepscore.errors import InvalidBoard, NothingToUndo, Unavailable, UnknownBoard, UnknownWindow, WindowClosed
from tests.contract.both import over_redis, own_redis
from tests.contract.opened import DAY, HOUR, NOON, SECOND, at, differences, killed, opened, standings

BOARD = Board("b", operator="sum", windows=["all_time", "daily"], segments=["region"])


async def test_a_reset_ends_a_version_and_starts_over(lbs, clock):
    async with lbs(BOARD) as lb:
        await lb.increment("b", "a", 5, segments={"region": "eu"})
        await lb.increment("b", "c", 7)
        clock.now += SECOND
        ended = await lb.admin.reset("b")
        assert (ended.board, ended.version, ended.window_ids) == ("b", 1, {"all_time": "all_time.v1", "daily": "2026-11-15.v1"})
        clock.now += SECOND
        for window in ("all_time", "daily"):
            assert await standings(lb, "b", window=window) == []
            assert await standings(lb, "b", window=window, window_id=ended.window_ids[window]) == [(1, "c", 7), (2, "a", 5)]
        assert await standings(lb, "b", window_id="all_time.v1", segment="region:eu") == [(1, "a", 5)]
        receipt = await lb.increment("b", "a", 1, segments={"region": "eu"})
        assert (receipt.score, receipt.rank, receipt.previous_rank, receipt.total_players) == (1, 1, None, 1)
        assert await standings(lb, "b", segment="region:eu") == [(1, "a", 1)]
        assert await standings(lb, "b", window_id="all_time.v1", segment="region:eu") == [(1, "a", 5)]
        again = await lb.admin.reset("b")
        assert (again.version, again.window_ids) == (2, {"all_time": "all_time.v2", "daily": "2026-11-15.v2"})
        clock.now += SECOND
        assert await standings(lb, "b", window_id="all_time.v2") == [(1, "a", 1)]
        with pytest.raises(UnknownWindow):
            await lb.top("b", window_id="all_time.v3")
        assert await differences(lb) == []
        with pytest.raises(UnknownBoard):
            await lb.admin.reset("other")


@pytest.mark.parametrize("fields", [{"operator": "best", "max_score": 1000}, {"operator": "last"}, {"operator": "first", "ties": "player"}])
@pytest.mark.parametrize("consistency", ["eventual", "strong"])
async def test_boards_of_every_kind_are_reset(lbs, clock, fields, consistency):
    async with lbs(Board("b", consistency=consistency, resolution="1s", **fields)) as lb:
        for player, score in (("a", 3), ("c", 3), ("d", 9)):
            clock.now += 2 * SECOND
            await lb.submit("b", player, score)
        before = [player for _, player, _ in await standings(lb, "b")]
        await lb.admin.reset("b")
        clock.now += 300
        await lb.submit("b", "a", 1)
        assert [player for _, player, _ in await standings(lb, "b", window_id="all_time.v1")] == before
        assert await standings(lb, "b") == [(1, "a", 1)]
        assert await differences(lb) == []


async def test_a_late_score_counts_in_the_version_of_its_time_within_the_grace(lbs, clock):
    async with lbs(BOARD) as lb:
        await lb.admin.reset("b")
        clock.now += HOUR - 1
        await lb.increment("b", "late", 5, at=at(NOON))
        clock.now += 2
        with pytest.raises(WindowClosed, match=r"all_time\.v1"):
            await lb.increment("b", "late", 5, at=at(NOON))
        assert await standings(lb, "b") == []
        assert await standings(lb, "b", window_id="all_time.v1") == [(1, "late", 5)]
        assert await differences(lb) == []


async def test_a_reset_is_undone_within_the_grace(lbs, clock):
    async with lbs(BOARD) as lb:
        with pytest.raises(NothingToUndo, match="no reset to undo"):
            await lb.admin.undo_reset("b")
        await lb.increment("b", "a", 5)
        clock.now += SECOND
        await lb.admin.reset("b")
        clock.now += SECOND
        await lb.increment("b", "a", 2)
        undone = await lb.admin.undo_reset("b")
        assert (undone.version, undone.undone, undone.window_ids) == (1, True, {"all_time": "all_time", "daily": "2026-11-15"})
        assert await standings(lb, "b") == await standings(lb, "b", window="daily") == [(1, "a", 7)]
        with pytest.raises(UnknownWindow):
            await lb.top("b", window_id="all_time.v1")
        assert (await lb.admin.board("b")).board.resets == []
        assert await differences(lb) == []
        await lb.admin.reset("b")
        clock.now += HOUR + 1
        with pytest.raises(NothingToUndo, match="only within its grace, 1h"):
            await lb.admin.undo_reset("b")
    async with lbs() as lb:
        assert await standings(lb, "b", window_id="all_time.v1") == [(1, "a", 7)]


async def test_a_restart_and_changes_of_the_definition_keep_resets(lbs, clock):
    async with lbs(BOARD) as lb:
        await lb.increment("b", "a", 5)
        await lb.admin.reset("b")
        clock.now += SECOND
        await lb.increment("b", "a", 1)
        resets = (await lb.admin.board("b")).board.resets
        assert resets == ["2026-11-15T12:00:00.001000Z"]
    # The file says nothing of resets, and has changed.
    async with lbs(Board("b", operator="sum", windows=["all_time", "daily"], max_score=100)) as lb:
        assert (await lb.admin.board("b")).board.resets == resets
        assert await standings(lb, "b") == [(1, "a", 1)]
        await lb.admin.put_board(Board("b", operator="sum", windows=["daily", "all_time", "monthly"]), confirm=True)
        assert (await lb.admin.board("b")).board.resets == resets
        assert await standings(lb, "b", window="monthly", window_id="2026-11.v1") == [(1, "a", 5)]
        await lb.admin.put_board(Board("b", operator="sum", windows=["daily"], resets=resets), confirm=True)
        for other in (["2026-11-15T12:00:00.002Z"], [*resets, "2026-11-16T12:00:00Z"]):
            with pytest.raises(InvalidBoard, match=r"resets = .* cannot be set"):
                await lb.admin.put_board(Board("b", operator="sum", windows=["daily"], resets=other), confirm=True)
        with pytest.raises(InvalidBoard, match="cannot be set"):
            await lb.admin.put_board(Board("new", resets=resets), confirm=True)
        assert await differences(lb) == []


async def test_a_request_that_is_sent_again_counts_once(lbs, clock):
    async with lbs(BOARD) as lb:
        first = await lb.admin.reset("b", idempotency_key="k")
        clock.now += SECOND
        again = await lb.admin.reset("b", idempotency_key="k")
        assert (again.version, again.at, again.replayed) == (1, first.at, True)
        await lb.admin.reset("b")
        for _ in range(3):
            assert (await lb.admin.undo_reset("b", idempotency_key="u")).version == 2
        assert (await lb.admin.reset("b", idempotency_key="k")).version == 1
        assert len((await lb.admin.board("b")).board.resets) == 1


async def test_each_submission_under_load_counts_in_exactly_one_version(lbs, clock):
    async with lbs(Board("b", operator="sum")) as lb:
        taken = [0] * 4

        async def client(number):
            for _ in range(60):
                clock.now += 1
                await lb.increment("b", f"p{number}", 1)
                taken[number] += 1
                await asyncio.sleep(0)

        clients = [asyncio.create_task(client(number)) for number in range(4)]
        for resets in range(3):
            for _ in range(100_000):
                if sum(taken) >= 10 * (resets + 1):
                    break
                await asyncio.sleep(0)
            await lb.admin.reset("b")
            clock.now += 2
        await asyncio.gather(*clients)
        found = [dict.fromkeys(range(4), 0) for _ in range(4)]
        for version, window_id in enumerate(["all_time.v1", "all_time.v2", "all_time.v3", "all_time"]):
            for _, player, score in await standings(lb, "b", window_id=window_id):
                found[version][int(player[1:])] = score
        assert [sum(version[number] for version in found) for number in range(4)] == taken == [60] * 4
        assert await differences(lb) == []


async def test_an_absolute_score_is_not_the_difference_to_one_of_before(lbs, clock):
    """While a sum board is reset, it is refused; amounts are taken."""
    async with lbs(Board("b", operator="sum")) as lb:
        await lb.increment("b", "a", 500)
        clock.now += SECOND
        promote, answers = lb.runtime.engine.promote, []

        async def slow(board_id, *rest):
            lb.runtime.engine.promote = promote
            clock.now += SECOND
            answers.extend(asyncio.create_task(send("b", "a", 100)) for send in (lb.submit, lb.increment))
            await promote(board_id)

        lb.runtime.engine.promote = slow
        await lb.admin.reset("b")
        results = await asyncio.gather(*answers, return_exceptions=True)
        if isinstance(results[0], Unavailable):
            results[0] = await lb.submit("b", "a", 100)
        assert (await lb.rank("b", "a")).score in (100, 200)
        assert await standings(lb, "b", window_id="all_time.v1") == [(1, "a", 500)]
        assert await differences(lb) == []


async def test_who_is_killed_in_the_middle_leaves_a_reset_or_none(tmp_path, clock):
    async with opened(tmp_path / "scores.db", clock, BOARD) as lb:
        await lb.increment("b", "a", 5)
        clock.now += SECOND
        places = []
        load, promote = lb.runtime.engine.load, lb.runtime.engine.promote
        put_board = lb.runtime.ledger.boards.put

        async def before(*args):
            places.append(killed(lb, "before.db"))
            return await put_board(*args)

        async def after(*args):
            places.append(killed(lb, "after.db"))
            await load(*args)

        async def swapping(*args):
            places.append(killed(lb, "swapping.db"))
            await promote(*args)

        lb.runtime.ledger.boards.put, lb.runtime.engine.load, lb.runtime.engine.promote = before, after, swapping
        await lb.admin.reset("b", idempotency_key="k")
    clock.now += SECOND
    for path, resets in zip(places, (0, 1, 1), strict=True):
        async with opened(path, clock) as lb:
            assert len((await lb.admin.board("b")).board.resets) == resets
            # Who asks again is answered as if nothing had happened.
            assert (await lb.admin.reset("b", idempotency_key="k")).version == 1
            clock.now += SECOND
            assert await standings(lb, "b") == []
            assert await standings(lb, "b", window_id="all_time.v1") == [(1, "a", 5)]
            assert await differences(lb) == []


async def test_resets_are_noted(run, clock, tmp_path):
    async with run(BOARD) as lb:
        await lb.admin.reset("b")
        await lb.admin.undo_reset("b")
    with sqlite3.connect(tmp_path / "scores.db") as connection:
        rows = connection.execute("SELECT action, detail FROM audit ORDER BY id").fetchall()
    connection.close()
    assert [(action, json.loads(detail)["version"]) for action, detail in rows] == [("put_board", 1), ("reset", 2), ("undo_reset", 3)]


async def test_rankings_with_a_ttl_are_dropped_by_the_end_of_their_version(lbs, clock):
    async with lbs(Board("b", windows={"all_time": Window(ttl="1d"), "daily": Window(ttl="2h")})) as lb:
        await lb.submit("b", "a", 5)
        await lb.admin.reset("b")
        clock.now += SECOND
        await lb.submit("b", "a", 6)
        clock.now += DAY - 2 * SECOND
        await lb.runtime.engine.expire(clock.now)
        assert await standings(lb, "b", window_id="all_time.v1") == [(1, "a", 5)]
        assert await standings(lb, "b", window="daily", window_id="2026-11-15.v1") == []
        clock.now += 3 * SECOND
        await lb.runtime.engine.expire(clock.now)
        assert await standings(lb, "b", window_id="all_time.v1") == []
        assert await differences(lb) == []


@pytest.mark.parametrize("ttl", [None, "20s"])
async def test_versions_of_all_time_are_closed_when_the_grace_has_passed(lbs, clock, ttl):
    windows = {"all_time": Window(ttl=ttl), "daily": Window()}
    async with lbs(Board("b", operator="sum", windows=windows, segments=["region"], grace="1m")) as lb:
        await lb.increment("b", "a", 5, segments={"region": "eu"})
        await lb.increment("b", "c", 7)
        clock.now += SECOND
        first = await lb.admin.reset("b")
        clock.now += SECOND
        await lb.increment("b", "a", 1)
        # Within the grace nothing is closed, so that it can be undone.
        await lb.admin.run_keeper()
        assert (await lb.admin.undo_reset("b")).undone
        clock.now += SECOND
        again = await lb.admin.reset("b")
        assert again.window_ids == first.window_ids
        clock.now += 30 * SECOND
        await lb.increment("b", "late", 1, at=again.at - timedelta(milliseconds=1))
        await lb.increment("b", "d", 2)
        await lb.admin.run_keeper()
        assert [(one.window_id, one.state) for one in (await lb.history.windows("b", window="all_time")).windows] == [
            ("all_time", "open"),
            ("all_time.v1", "closing"),
        ]
        clock.now += 45 * SECOND
        # With a ttl, the engine drops the ranking before it is archived.
        await lb.runtime.engine.expire(clock.now)
        closed = {job.name: job.result for job in (await lb.admin.run_keeper()).jobs}["close"]
        assert closed == "closed 2 windows: b all_time.v1, b 2026-11-15.v1"
        assert {job.name: job.result for job in (await lb.admin.run_keeper()).jobs}["close"] is None
        (version,) = [one for one in (await lb.history.windows("b", window="all_time")).windows if one.window_id == "all_time.v1"]
        assert (version.state, version.players, version.start, version.end) == ("closed", 3, None, again.at)
        top = await lb.top("b", window_id="all_time.v1")
        assert [(one.player_id, one.score) for one in top.standings] == [("c", 7), ("a", 6), ("late", 1)]
        assert top.archived is True
        assert await standings(lb, "b", window_id="all_time.v1", segment="region:eu") == [(1, "a", 5)]
        assert (await lb.rank("b", "a", window_id="all_time.v1")).rank == 2
        with pytest.raises(NothingToUndo, match="only within its grace"):
            await lb.admin.undo_reset("b")
        # The next version follows the first, and a start changes nothing.
        await lb.increment("b", "e", 3)
        await lb.admin.reset("b")
        clock.now += 90 * SECOND
    async with lbs() as lb:
        await lb.runtime.engine.expire(clock.now)
        await lb.admin.run_keeper()
        found = {one.window_id: one.state for one in (await lb.history.windows("b", window="all_time")).windows}
        assert found == {"all_time.v1": "closed", "all_time.v2": "closed"}
        assert [player for _, player, _ in await standings(lb, "b", window_id="all_time.v1")] == ["c", "a", "late"]
        assert "e" in [player for _, player, _ in await standings(lb, "b", window_id="all_time.v2")]
        assert await differences(lb) == []


# -- Redis --------------------------------------------------------------------------------------------------------------


async def test_the_present_keeps_its_key_and_versions_have_theirs(tmp_path, clock):
    windows = {"daily": Window(key="lb:{board}:{start:%Y-%m-%d}", segment_key="lb:{board}:{start:%Y-%m-%d}:{segment}:{value}")}
    url = own_redis()
    async with over_redis(tmp_path / "scores.db", url, clock, Board("b", ties="player", windows=windows, segments=["region"])) as lb:
        await lb.submit("b", "a", 5, segments={"region": "eu"})
        await lb.admin.reset("b")
        clock.now += SECOND
        await lb.submit("b", "a", 1, segments={"region": "eu"})
        read = lb.runtime.engine._client.command
        for key, score in (
            ("lb:b:2026-11-15", 1),
            ("lb:b:2026-11-15:v1", 5),
            ("lb:b:2026-11-15:region:eu", 1),
            ("keepscore:v1:lb:b:2026-11-15:region:eu", 5),
        ):
            assert float(await read("ZSCORE", key, "a")) == score, key
        await lb.admin.undo_reset("b")
        assert float(await read("ZSCORE", "lb:b:2026-11-15", "a")) == 5
        assert not await read("EXISTS", "lb:b:2026-11-15:v1")
        assert await differences(lb) == []


async def test_a_reset_is_refused_where_a_version_would_have_the_key_of_a_segment(tmp_path, clock):
    windows = {"all_time": Window(key="lb:{board}", segment_key="lb:{board}:{value}")}
    url = own_redis()
    async with over_redis(tmp_path / "scores.db", url, clock, Board("b", windows=windows, segments=["build"])) as lb:
        await lb.submit("b", "a", 5, segments={"build": "v1"})
        with pytest.raises(InvalidBoard, match="lb:b:v1"):
            await lb.admin.reset("b")
        assert await standings(lb, "b", segment="build:v1") == [(1, "a", 5)]
        assert await differences(lb) == []


async def test_two_processes_reset_one_board(tmp_path, clock):
    url = own_redis()
    place = functools.partial(over_redis, tmp_path / "scores.db", url, clock)
    async with place(Board("b", operator="sum")) as one, place() as other:
        await one.increment("b", "a", 1)
        await other.increment("b", "a", 2)
        clock.now += SECOND
        await one.admin.reset("b")
        clock.now += SECOND
        # The other does not know yet, and its score counts in the new ranking all the same.
        await other.increment("b", "a", 4)
        assert await standings(one, "b") == await standings(other, "b") == [(1, "a", 4)]
        clock.now += SECOND
        both = await asyncio.gather(one.admin.reset("b"), other.admin.reset("b"))
        assert sorted(ended.version for ended in both) == [2, 3]
        clock.now += SECOND
        for lb in (one, other):
            await lb.admin.refresh()
            assert len((await lb.admin.board("b")).board.resets) == 3
            assert await standings(lb, "b", window_id="all_time.v1") == [(1, "a", 3)]
            assert await standings(lb, "b", window_id="all_time.v2") == [(1, "a", 4)]
            assert await differences(lb) == []
        # A definition that the other sends meanwhile keeps the reset that it does not know.
        await one.admin.reset("b")
        await other.admin.put_board(Board("b", operator="sum", max_score=1000), confirm=True)
        assert len((await other.admin.board("b")).board.resets) == 4
