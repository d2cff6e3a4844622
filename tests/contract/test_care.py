"""Rankings made anew from the ledger, compared with it, and put right, on engines that somebody else has written to."""

import asyncio
import secrets
from contextlib import asynccontextmanager

import msgspec
import pytest
import redis

from keepscore import Board, Leaderboards
from keepscore.answers import PlayerPlace
from keepscore.boards import MAX_SCORE
from keepscore.engines.base import Ranking
from keepscore.errors import BadInput, EngineUnavailable, NotFound
from keepscore.scoring import State
from tests.contract.backends import redis_url
from tests.contract.opened import DAY, NOON, Clock, KeeperByHand, opened, standings

ENGINES = ["embedded", "redis"]


@pytest.fixture(params=ENGINES)
def run(request, tmp_path, monkeypatch):
    """Leaderboards on an engine; `lb.bare` is a client of its Redis, if it has one."""

    @asynccontextmanager
    async def embedded(*boards):
        async with opened(tmp_path / "care.db", Clock(NOON), *boards) as lb:
            lb.bare = None
            yield lb

    @asynccontextmanager
    async def on_redis(*boards):
        monkeypatch.setattr("keepscore.leaderboards.Keeper", KeeperByHand)
        with redis.Redis.from_url(redis_url()) as bare:
            bare.flushall()
            async with Leaderboards.open(f"sqlite:///{tmp_path / 'care.db'}", redis_url(), boards, clock=Clock(NOON - DAY)) as lb:
                lb.engine, lb.bare = lb._engine, bare
                yield lb

    return embedded if request.param == "embedded" else on_redis


def board(**options):
    """A board of a name of its own."""
    return Board(f"b{secrets.token_hex(4)}", windows=["all_time", "daily"], segments=["region"], **options)


async def filled(lb, name):
    """The whole and all-time ranking of a board with ten players."""
    for n in range(10):
        await lb.submit(name, f"p{n}", 10 * n, segments={"region": "eu"})
    await lb.top(name)
    live = lb._catalog[name]
    return Ranking(live.id, "all_time", "all_time", "")


def problems(found):
    return sorted((one.player_id, one.problem) for one in found)


async def repaired(lb, name):
    """What a repair finds, which leaves nothing."""
    before = await lb.verify(name)
    report = await lb.verify(name, repair=True)
    assert report.ok, report
    assert problems(report.repaired) == problems(before.differences)
    assert (await lb.verify(name)).ok
    assert [row[1:] for row in await standings(lb, name)] == [(f"p{n}", 10 * n) for n in reversed(range(10))]
    return report


async def damage(lb, name, ranking, what):
    """Change something behind the library's back."""
    (state,) = await lb.engine.states(ranking, ["p5"])
    if what == "score":
        await lb.engine.restate(ranking, "p5", State(7, state.since))
    elif what == "since":
        await lb.engine.restate(ranking, "p5", State(50, state.since + 3))
    elif what == "missing":
        await lb.engine.restate(ranking, "p5", None)
    elif what == "extra":
        await lb.engine.restate(ranking, "ghost", state)
    elif what == "extra ranking":
        await lb.engine.restate(ranking._replace(window="daily", window_id="2026-01-01"), "p5", state)
    elif what == "missing ranking" and lb.bare:
        lb.bare.delete(lb.engine._boards.at(lb.engine._boards.get(ranking.board), ranking).key)
    elif what == "missing ranking":
        del lb.engine._boards[ranking.board].rankings[ranking]
    elif lb.bare:
        marks = lb.engine._boards.get(ranking.board).marks
        (writer,) = [field for field in lb.bare.hkeys(marks) if field != b"epoch"]
        lb.bare.hincrby(marks, writer, -3 if what == "behind" else 3)
    else:
        applied = lb.engine._boards[ranking.board].applied
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
async def test_what_differs_is_found_and_put_right(run, what, expected, rebuilt):
    made = board()
    async with run(made) as lb:
        ranking = await filled(lb, made.name)
        assert (await lb.verify(made.name)).ok
        await damage(lb, made.name, ranking, what)
        report = await repaired(lb, made.name)
        assert (problems(report.repaired), report.rebuilt) == (expected, rebuilt)
        await lb.submit(made.name, "p5", 1000)
        assert (await standings(lb, made.name))[0] == (1, "p5", 1000)
        assert (await lb.verify(made.name)).ok


async def test_events_that_are_not_applied_are_found_and_put_right(run):
    made = board(operator="sum")
    async with run(made) as lb:
        ranking = await filled(lb, made.name)
        await damage(lb, made.name, ranking, "behind")
        report = await repaired(lb, made.name)
        assert ("", "watermark") in problems(report.repaired)
        assert report.rebuilt


@pytest.mark.parametrize("run", ["redis"], indirect=True)
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
        ("a ranking that is not listed", "missing ranking"),
        ("the epoch", "watermark"),
    ],
)
async def test_what_a_bare_client_has_changed_is_found_and_put_right(run, what, problem):
    made = board()
    async with run(made) as lb:
        ranking = await filled(lb, made.name)
        known = lb.engine._boards.get(ranking.board)
        keys = lb.engine._boards.at(known, ranking)
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
        elif what == "bytes that are no text":
            lb.bare.zadd(keys.key, {b"\xff" * 9: 50})
        elif what == "a ranking that is not listed":
            lb.bare.hdel(known.listed, keys.field)
        else:
            lb.bare.hset(known.marks, "epoch", "another")
        found = {one.problem for one in (await lb.verify(made.name)).differences}
        assert problem in found, found
        report = await lb.verify(made.name, repair=True)
        assert report.ok, report
        assert report.repaired
        await lb.submit(made.name, "p5", 1000)
        assert (await lb.verify(made.name)).ok


LAST = {"operator": "last", "ties": "player"}


@pytest.mark.parametrize("run", ["redis"], indirect=True)
@pytest.mark.parametrize(
    ("what", "options", "expected"),
    [
        ("a member without a time", LAST, ("carol", "extra")),
        ("a member without a time", {**LAST, "operator": "first"}, ("carol", "extra")),
        ("no times", LAST, ("p5", "since")),
        ("a time that is none", LAST, ("p5", "since")),
        ("a time beyond all", LAST, ("p5", "since")),
        ("a time that is no number", LAST, ("p5", "since")),
        ("a member without a time", {}, ("", "index")),
        ("a member without a time", {"order": "asc"}, ("", "index")),
        ("a longer member without a time", {"ties": "last"}, ("", "index")),
        ("a member with a time beyond all", {}, ("", "index")),
        ("no times", {}, ("p5", "missing")),
    ],
)
async def test_without_a_time_reads_and_writes_go_on(run, tmp_path, what, options, expected):
    made = board(**options)
    async with run(made) as lb:
        ranking = await filled(lb, made.name)
        keys = lb.engine._boards.at(lb.engine._boards.get(ranking.board), ranking)
        if what == "a member without a time":
            lb.bare.zadd(keys.key, {"carol": 99, "c": 45, "caroli": -1})
        elif what == "a longer member without a time":
            lb.bare.zadd(keys.key, {"carolina": 45})
        elif what == "a member with a time beyond all":
            lb.bare.zadd(keys.key, {b"\0" * 6 + b"carol": 45})
        elif what == "no times":
            lb.bare.delete(keys.times)
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
        found = await lb.verify(made.name)
        assert expected in problems(found.differences)
        receipt = await lb.submit(made.name, "carol", 3)
        assert not receipt.pending
    # Another start applies what is left, and has nothing against what lies there.
    async with Leaderboards.open(f"sqlite:///{tmp_path / 'care.db'}", redis_url(), [made], clock=Clock(NOON)) as lb:
        await lb.submit(made.name, "carol", 4)
        assert not (await lb.verify(made.name)).ok
        assert (await lb.verify(made.name, repair=True)).ok
        rest = [f"p{n}" for n in reversed(range(10))]
        assert sorted(row[1] for row in await standings(lb, made.name)) == sorted([*rest, "carol"])


SUMS = {"operator": "sum", "ties": "player"}
COMPOSITE = {"max_score": 1000, "resolution": "1s"}


@pytest.mark.parametrize("run", ["redis"], indirect=True)
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
async def test_what_no_event_can_have_made_is_shown_somehow_and_put_right(run, tmp_path, what, options):
    made = board(**options)
    async with run(made) as lb:
        ranking = await filled(lb, made.name)
        known = lb.engine._boards.get(ranking.board)
        keys = lb.engine._boards.at(known, ranking)
        (member,) = [member for member in lb.bare.zrange(keys.key, 0, -1) if member.endswith(b"p5")]
        number = lb.bare.zscore(keys.key, member)
        if what == b"zzz":
            lb.bare.hset(known.marks, mapping={"zzz": "1", "7": "zzz", b"\xff": b"\xff"})
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
            page, seen = await lb.engine.page(ranking, 0, 1), 0
            while page.rows:
                seen += 1
                page = await lb.engine.page_after(ranking, page.rows[-1], 1)
            assert seen == total
            await lb.rank(made.name, "p5", around=3)
            await lb.count(made.name)
        assert (await lb.verify(made.name)).ok == (what == b"zzz")
        await lb.submit(made.name, "p6", 60)
    async with Leaderboards.open(f"sqlite:///{tmp_path / 'care.db'}", redis_url(), [made], clock=Clock(NOON)) as lb:
        await lb.submit(made.name, "p6", 60)
        assert (await lb.verify(made.name)).ok == (what == b"zzz")
        assert (await lb.verify(made.name, repair=True)).ok
        assert sorted(row[1] for row in await standings(lb, made.name)) == [f"p{n}" for n in range(10)]


@pytest.mark.parametrize("run", ["redis"], indirect=True)
async def test_watermarks_of_nobody_do_not_keep_players_from_being_restated(run):
    made = board(**LAST)
    async with run(made) as lb:
        ranking = await filled(lb, made.name)
        known = lb.engine._boards.get(ranking.board)
        lb.bare.hset(known.marks, "zzz", "1")
        await damage(lb, made.name, ranking, "score")
        report = await repaired(lb, made.name)
        assert (problems(report.repaired), report.rebuilt) == ([("p5", "score")], False)


@pytest.mark.parametrize("options", [{}, {"operator": "sum"}, {"operator": "last"}, {"ties": "player"}, {"rank": "dense"}])
async def test_a_rebuild_makes_the_same_rankings_and_loses_nothing_that_comes_meanwhile(run, options):
    made = board(**options)
    async with run(made) as lb:
        await filled(lb, made.name)
        told = []
        submit = lb.increment if made.operator in ("sum", "last") else lb.submit
        writes = [submit(made.name, f"q{n % 20}", n, segments={"region": "us"}) for n in range(200)]
        done, *_ = await asyncio.gather(lb.rebuild(made.name, progress=lambda *step: told.append(step)), *writes)
        assert (done.board, done.players >= 10, done.events >= 10, done.seconds > 0) == (made.name, True, True, True)
        assert {what for what, _, _ in told} == {"folding events", "filling rankings"}
        assert all(0 < part <= total for _, part, total in told)
        assert (await lb.verify(made.name)).ok
        again = await lb.rebuild(made.name)
        assert (again.events, again.players, again.rankings) == (210, 30, 6)
        assert (await lb.verify(made.name)).ok


async def test_a_rebuild_leaves_out_rankings_whose_time_is_over(run):
    made = Board("days", windows={"daily": {"ttl": "1d"}, "all_time": {}})
    async with run(made) as lb:
        await lb.submit("days", "old", 1)
        lb.clock.now += 3 * DAY
        await lb.submit("days", "new", 2)
        await lb.rebuild("days")
        rankings = await lb.engine.rankings(lb._catalog["days"].id)
        assert sorted(ranking.window for ranking in rankings) == ["all_time", "daily"]
        assert (await lb.verify("days")).ok


@pytest.mark.parametrize("run", ["embedded"], indirect=True)
async def test_what_a_rebuild_has_made_is_what_the_next_start_has(run):
    made = board()
    async with run(made) as lb:
        ranking = await filled(lb, made.name)
        await lb.checkpoint()
        await lb.engine.restate(ranking, "p5", None)
        await lb.checkpoint()
        await lb.rebuild(made.name)
        await lb.checkpoint()
    async with run(made) as lb:
        assert (await lb.verify(made.name)).ok


@pytest.mark.parametrize("run", ["redis"], indirect=True)
async def test_a_rebuild_of_which_redis_has_lost_a_part_does_not_take_effect(run):
    made = board()
    async with run(made) as lb:
        await filled(lb, made.name)

        def lose(what, done, total):
            for key in lb.bare.keys("keepscore:new:*"):
                lb.bare.delete(key)

        before = await standings(lb, made.name)
        with pytest.raises(EngineUnavailable, match="lost something"):
            await lb.rebuild(made.name, progress=lose)
        assert await standings(lb, made.name) == before
        await lb.rebuild(made.name)
        assert (await lb.verify(made.name)).ok
