"""Rankings compared with the ledger and put right, on engines that somebody else has written to."""

import asyncio
import itertools

import msgspec
import pytest

from keepscore import Leaderboards
from keepscore.domain.boards import MAX_SCORE
from keepscore.domain.results.standings import PlayerPlace
from keepscore.domain.scoring import State
from keepscore.errors import BadInput, NotFound
from tests.contract.backends import redis_url
from tests.contract.driving import restate
from tests.contract.lifecycle.ten_players import board, filled
from tests.contract.opened import NOON, Clock, standings


def problems(found):
    return sorted((one.player_id, one.problem) for one in found)


async def repaired(lb, name):
    """What a repair finds, which leaves nothing."""
    before = await lb.admin.verify(name)
    report = await lb.admin.verify(name, repair=True)
    assert report.ok, report
    assert problems(report.repaired) == problems(before.differences)
    assert (await lb.admin.verify(name)).ok
    assert [row[1:] for row in await standings(lb, name)] == [(f"p{n}", 10 * n) for n in reversed(range(10))]
    return report


async def damage(lb, name, ranking, what):
    """Change something behind the library's back."""
    (state,) = await lb.runtime.engine.states(ranking, ["p5"])
    if what == "score":
        await restate(lb.runtime.engine, ranking, "p5", State(7, state.since))
    elif what == "since":
        await restate(lb.runtime.engine, ranking, "p5", State(50, state.since + 3))
    elif what == "missing":
        await restate(lb.runtime.engine, ranking, "p5", None)
    elif what == "extra":
        await restate(lb.runtime.engine, ranking, "ghost", state)
    elif what == "extra ranking":
        await restate(lb.runtime.engine, ranking._replace(window="daily", window_id="2026-01-01"), "p5", state)
    elif what == "missing ranking" and lb.bare:
        known = lb.runtime.engine._boards.get(ranking.board)
        keys = lb.runtime.engine._boards.at(known, ranking)
        lb.bare.hdel(known.listed, keys.field)
        lb.bare.delete(keys.key, keys.times, keys.dense)
    elif what == "missing ranking":
        del lb.runtime.engine._boards[ranking.board].rankings[ranking]
    elif lb.bare:
        marks = lb.runtime.engine._boards.get(ranking.board).watermarks
        (writer,) = [field for field in lb.bare.hkeys(marks) if field != b"epoch"]
        lb.bare.hincrby(marks, writer, -3 if what == "behind" else 3)
    else:
        applied = lb.runtime.engine._boards[ranking.board].applied
        for writer in applied:
            applied[writer] += -3 if what == "behind" else 3


@pytest.mark.parametrize(
    ("what", "expected", "rebuilt"),
    [
        ("score", [("p5", "score")], False),
        ("since", [("p5", "since")], False),
        ("missing", [("p5", "missing")], False),
        ("extra", [("ghost", "extra")], False),
        ("extra ranking", [("p5", "extra ranking")], True),
        ("missing ranking", [(f"p{n}", "missing ranking") for n in range(10)], True),
        ("ahead", [("", "watermark")], True),
    ],
)
async def test_what_differs_is_found_and_put_right(on_each_engine, what, expected, rebuilt):
    made = board()
    async with on_each_engine(made) as lb:
        ranking = await filled(lb, made.name)
        assert (await lb.admin.verify(made.name)).ok
        await damage(lb, made.name, ranking, what)
        report = await repaired(lb, made.name)
        assert (problems(report.repaired), report.rebuilt) == (expected, rebuilt)
        await lb.submit(made.name, "p5", 1000)
        assert (await standings(lb, made.name))[0] == (1, "p5", 1000)
        assert (await lb.admin.verify(made.name)).ok


async def test_events_that_are_not_applied_are_found_and_put_right(on_each_engine):
    made = board(operator="sum")
    async with on_each_engine(made) as lb:
        ranking = await filled(lb, made.name)
        await damage(lb, made.name, ranking, "behind")
        report = await repaired(lb, made.name)
        assert ("", "watermark") in problems(report.repaired)
        assert report.rebuilt


@pytest.mark.parametrize("on_each_engine", ["redis"], indirect=True)
@pytest.mark.parametrize(
    ("what", "problem"),
    [
        ("a member with another time", "missing"),
        ("a player twice", "index"),
        ("a time too many", "index"),
        ("a time of another", "missing"),
        ("a score too many in the index", "index"),
        ("a score missing in the index", "index"),
        ("a half score", "score"),
        ("bytes that are no text", "index"),
    ],
)
async def test_what_a_bare_client_has_changed_is_found_and_put_right(on_each_engine, what, problem):
    made = board()
    async with on_each_engine(made) as lb:
        ranking = await filled(lb, made.name)
        await lb.top(made.name, rank="dense")
        known = lb.runtime.engine._boards.get(ranking.board)
        keys = lb.runtime.engine._boards.at(known, ranking)
        assert keys.form[0] == "timed"
        (member,) = [member for member in lb.bare.zrange(keys.key, 0, -1) if member.endswith(b"p5")]
        if what == "a member with another time":
            lb.bare.zrem(keys.key, member)
            lb.bare.zadd(keys.key, {b"\0" * 6 + b"p5": 50})
        elif what == "a player twice":
            lb.bare.zadd(keys.key, {b"\0" * 6 + b"p5": 40})
        elif what == "a time too many":
            lb.bare.hset(keys.times, "ghost", b"\0" * 6)
        elif what == "a time of another":
            lb.bare.hset(keys.times, "p5", b"\0" * 6)
        elif what == "a score too many in the index":
            lb.bare.zadd(keys.dense, {"55": 55})
        elif what == "a score missing in the index":
            lb.bare.zrem(keys.dense, "90")
        elif what == "a half score":
            lb.bare.zadd(keys.key, {member: 50.5})
        else:
            lb.bare.zadd(keys.key, {b"\xff" * 9: 50})
        found = {one.problem for one in (await lb.admin.verify(made.name)).differences}
        assert problem in found, found
        report = await lb.admin.verify(made.name, repair=True)
        assert report.ok, report
        assert report.repaired
        await lb.submit(made.name, "p5", 1000)
        assert (await lb.admin.verify(made.name)).ok


@pytest.mark.parametrize("on_each_engine", ["redis"], indirect=True)
@pytest.mark.parametrize(
    ("what", "finder"),
    [
        *itertools.product(["deleted", "cut", "expired", "renamed", "its times"], ["verify", "the hourly look"]),
        ("not listed", "verify"),
        ("the epoch", "verify"),
    ],
)
async def test_what_is_lost_and_nobody_reads_is_rebuilt(on_each_engine, what, finder, caplog):
    made = board()
    async with on_each_engine(made) as lb:
        whole = await filled(lb, made.name)
        known = lb.runtime.engine._boards.get(whole.board)
        (ranking,) = [one for one in await lb.runtime.engine.rankings(whole.board) if (one.window, one.segment) == ("daily", "region:eu")]
        keys = lb.runtime.engine._boards.at(known, ranking)
        if what == "deleted":
            lb.bare.delete(keys.key)
        elif what == "cut":
            lb.bare.zpopmin(keys.key)
        elif what == "expired":
            lb.bare.pexpireat(keys.key, 1)
        elif what == "renamed":
            lb.bare.rename(keys.key, "away")
        elif what == "its times":
            lb.bare.delete(keys.times)
        elif what == "not listed":
            lb.bare.hdel(known.listed, keys.field)
        else:
            lb.bare.hset(known.watermarks, "epoch", "another")
        if finder == "verify":
            assert (await lb.admin.verify(made.name)).ok
        else:
            (job,) = [job for job in (await lb.admin.run_keeper()).jobs if job.name == "verify"]
            assert (job.error, job.result) == (None, f"rebuilt board {made.name!r}, which had lost something")
        assert f"has lost something of board {made.name!r}" in caplog.text
        assert lb.bare.zcard(lb.runtime.engine._boards.at(lb.runtime.engine._boards.get(ranking.board), ranking).key) == 10
        assert (await lb.admin.verify(made.name)).ok


LAST = {"operator": "last", "ties": "player"}


@pytest.mark.parametrize("on_each_engine", ["redis"], indirect=True)
@pytest.mark.parametrize(
    ("what", "options", "expected"),
    [
        ("a member without a time", LAST, ("carol", "extra")),
        ("a member without a time", {**LAST, "operator": "first"}, ("carol", "extra")),
        ("a time that is none", LAST, ("p5", "since")),
        ("a time beyond all", LAST, ("p5", "since")),
        ("a time that is no number", LAST, ("p5", "since")),
        ("a member without a time", {}, ("", "index")),
        ("a member without a time", {"order": "asc"}, ("", "index")),
        ("a longer member without a time", {"ties": "last"}, ("", "index")),
        ("a member with a time beyond all", {}, ("", "index")),
    ],
)
async def test_without_a_time_reads_and_writes_go_on(on_each_engine, tmp_path, what, options, expected):
    made = board(**options)
    async with on_each_engine(made) as lb:
        ranking = await filled(lb, made.name)
        keys = lb.runtime.engine._boards.at(lb.runtime.engine._boards.get(ranking.board), ranking)
        if what == "a member without a time":
            lb.bare.zadd(keys.key, {"carol": 99, "c": 45, "caroli": -1})
        elif what == "a longer member without a time":
            lb.bare.zadd(keys.key, {"carolina": 45})
        elif what == "a member with a time beyond all":
            lb.bare.zadd(keys.key, {b"\0" * 6 + b"carol": 45})
        else:
            lb.bare.hset(keys.times, "p5", {"a time that is none": "soon", "a time beyond all": "1e400"}.get(what, "nan"))
        async with asyncio.timeout(5):
            total = lb.bare.zcard(keys.key)
            shown, cursor = [], None
            while not shown or cursor:
                top = await lb.top(made.name, limit=1, cursor=cursor)
                shown, cursor = [*shown, *top.standings], top.next_cursor
            assert len(shown) == total
            asked = await asyncio.gather(*(lb.rank(made.name, one.player_id) for one in shown), return_exceptions=True)
            # Whom the times do not know is not ranked where members have times.
            allowed = (NotFound, BadInput) if keys.form[0] == "timed" else ()
            assert all(isinstance(one, (PlayerPlace, *allowed)) for one in asked), asked
        found = await lb.admin.verify(made.name)
        assert expected in problems(found.differences)
        receipt = await lb.submit(made.name, "carol", 3)
        assert not receipt.pending
    # Another start applies what is left, and has nothing against what lies there.
    async with Leaderboards.open(f"sqlite:///{tmp_path / 'scores.db'}", redis_url(), [made], clock=Clock(NOON)) as lb:
        await lb.submit(made.name, "carol", 4)
        assert not (await lb.admin.verify(made.name)).ok
        assert (await lb.admin.verify(made.name, repair=True)).ok
        rest = [f"p{n}" for n in reversed(range(10))]
        assert sorted(row[1] for row in await standings(lb, made.name)) == sorted([*rest, "carol"])


SUMS = {"operator": "sum", "ties": "player"}

COMPOSITE = {"max_score": 1000, "resolution": "1s"}


@pytest.mark.parametrize("on_each_engine", ["redis"], indirect=True)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"order": "asc"},
        LAST,
        SUMS,
        {**SUMS, "order": "asc"},
        {"rank": "dense"},
        COMPOSITE,
        {**COMPOSITE, "order": "asc"},
        {"decay": {"half_life": "7d"}},
    ],
)
@pytest.mark.parametrize("what", [b"inf", b"-inf", b"1e300", b"0.5", b"\x80", b"\xff\xfe", b"zzz"])
async def test_what_no_event_can_have_made_is_shown_somehow_and_put_right(on_each_engine, tmp_path, what, options):
    made = board(**options)
    async with on_each_engine(made) as lb:
        ranking = await filled(lb, made.name)
        known = lb.runtime.engine._boards.get(ranking.board)
        keys = lb.runtime.engine._boards.at(known, ranking)
        (member,) = [member for member in lb.bare.zrange(keys.key, 0, -1) if member.endswith(b"p5")]
        number = lb.bare.zscore(keys.key, member)
        if what == b"zzz":
            lb.bare.hset(known.watermarks, mapping={"zzz": "1", "7": "zzz", b"\xff": b"\xff"})
        elif what == b"0.5":
            lb.bare.zadd(keys.key, {member: number + 0.5})
        elif what[:1] in b"\x80\xff":
            prefix = member[:6] if keys.form[0] == "timed" else b""
            for n, other in enumerate((number, -5, 10**6)):
                lb.bare.zadd(keys.key, {prefix + bytes([97 + n]) + what: other, prefix + what: other})
        else:
            lb.bare.zadd(keys.key, {member: what})
        async with asyncio.timeout(5):
            total = lb.bare.zcard(keys.key)
            top = await lb.top(made.name)
            assert len(top.standings) == total
            assert all(abs(one.score) <= MAX_SCORE for one in top.standings)
            msgspec.json.encode(top)
            page, seen = await lb.runtime.engine.page(ranking, 0, 1), 0
            while page.rows:
                seen += 1
                page = await lb.runtime.engine.page_after(ranking, page.rows[-1], 1)
            assert seen == total
            await lb.rank(made.name, "p5", around=3)
            await lb.count(made.name)
        assert (await lb.admin.verify(made.name)).ok == (what == b"zzz")
        await lb.submit(made.name, "p6", 60)
    async with Leaderboards.open(f"sqlite:///{tmp_path / 'scores.db'}", redis_url(), [made], clock=Clock(NOON)) as lb:
        await lb.submit(made.name, "p6", 60)
        assert (await lb.admin.verify(made.name)).ok == (what == b"zzz")
        assert (await lb.admin.verify(made.name, repair=True)).ok
        assert sorted(row[1] for row in await standings(lb, made.name)) == [f"p{n}" for n in range(10)]


@pytest.mark.parametrize("on_each_engine", ["redis"], indirect=True)
async def test_watermarks_of_nobody_do_not_keep_players_from_being_restated(on_each_engine):
    made = board(**LAST)
    async with on_each_engine(made) as lb:
        ranking = await filled(lb, made.name)
        known = lb.runtime.engine._boards.get(ranking.board)
        lb.bare.hset(known.watermarks, "zzz", "1")
        await damage(lb, made.name, ranking, "score")
        report = await repaired(lb, made.name)
        assert (problems(report.repaired), report.rebuilt) == ([("p5", "score")], False)
