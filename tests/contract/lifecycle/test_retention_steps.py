"""The job that drops events: cut short at every step, done by two at once, and what it waits for."""

import asyncio

import asyncpg
import pytest

from keepscore import Board
from keepscore.domain.inputs import Entry
from tests.contract.driving import start
from tests.contract.opened import DAY, HOUR, at
from tests.contract.twins import BOARDS, KEEP, START, Place, Twins, covered_month

#: What the job writes, in the order in which it does, and which of the calls of each is cut short.
STEPS = [
    *(("openings.announce", 1), ("openings.begin", 1), ("openings.write", 1), ("openings.write", 2), ("audit.note", 1)),
    *(("openings.finish", 1), ("retention.remove", 1), ("openings.trim", 2), ("retention.finish", 1)),
]


class Killed(Exception):
    """The process was killed."""


def dropping(lb):
    return lb.runtime.keeper.job("drop events")


def kill(monkeypatch, lb, method, call, before):
    """Let a call of a method of a role of the ledger be the last that is made; `before` it does anything, or after."""
    made = 0
    role, _, name = method.partition(".")
    part = getattr(lb.runtime.ledger, role)
    real = getattr(part, name)

    async def dying(*args):
        nonlocal made
        made += 1
        if made == call and before:
            raise Killed
        answer = await real(*args)
        if made == call:
            raise Killed
        return answer

    async def dying_between(*args):
        async for count in real(*args):
            if before:
                raise Killed
            yield count
            break
        raise Killed

    monkeypatch.setattr(part, name, dying_between if method == "retention.remove" else dying)


@pytest.mark.parametrize(
    ("ledger", "engine", "kind"),
    [
        ("sqlite", "embedded", "sum"),
        ("sqlite", "redis", "last"),
        ("postgres", "embedded", "last"),
        ("postgres", "redis", "best"),
        ("sqlite", "embedded", "expiry"),
    ],
)
async def test_a_drop_may_be_cut_short_at_every_step(tmp_path, monkeypatch, ledger, engine, kind):
    async with Twins(ledger, engine, tmp_path, BOARDS[kind]) as twins:
        monkeypatch.setattr("keepscore.storage.ledgers.sqlite.retention.REMOVED_EVENTS", 40)
        await twins.live_through(50)
        await twins.keep()
        await twins.live_through(20)
        # The next month's, on top of the one that is there.
        twins.clock.now += 15 * DAY
        for lb in twins.both:
            await lb.admin.run_keeper(at(START))
            await lb.runtime.checkpoints.checkpoint()
        killed = []
        for method, call in STEPS:
            for before in (True, False):
                if method == "openings.trim" and before:
                    continue
                with monkeypatch.context() as patch:
                    kill(patch, twins.one, method, call, before)
                    twins.clock.now += 61_000
                    try:
                        await dropping(twins.one).run(twins.clock.now)
                    except Killed:
                        killed.append((method, call, before))
                        twins.clock.now += 61_000
                    await twins.submit(late=HOUR)
                await twins.restart()
                await twins.compare()
        assert {name for name, _, _ in killed} == {name for name, _ in STEPS}, killed
        for _ in range(2):
            await twins.keep()
        opening = await twins.one.runtime.ledger.openings.current(twins.one.runtime.catalog[twins.board.name].id)
        assert (opening.received, opening.removed) == (covered_month(twins.clock.now), True)
        await twins.compare()


@pytest.mark.parametrize("ledger", ["sqlite", "postgres"])
async def test_a_drop_may_be_cancelled_anywhere(tmp_path, ledger):
    async with Twins(ledger, "embedded", tmp_path, BOARDS["sum"]) as twins:
        await twins.live_through(28)
        twins.clock.now += 45 * DAY
        for lb in twins.both:
            await lb.admin.run_keeper(at(START))
            await lb.runtime.checkpoints.checkpoint()
        for turns in range(0, 4000, 7):
            task = asyncio.create_task(dropping(twins.one).run(twins.clock.now))
            for _ in range(turns):
                await asyncio.sleep(0.0001)
                if task.done():
                    break
            task.cancel()
            done = (await asyncio.gather(task, return_exceptions=True))[0]
            if isinstance(done, str) and "dropped" in done:
                break
        assert turns > 20
        # A run that comes while a cancelled one still commits leaves the rest to the next.
        for _ in range(50):
            # A connection that a cancelled run has lost is made again, and the ledger compared, before anything is written.
            await twins.submit(late=HOUR)
            await asyncio.gather(dropping(twins.one).run(twins.clock.now), return_exceptions=True)
            opening = await twins.one.runtime.ledger.openings.current(twins.one.runtime.catalog["sum"].id)
            if opening is not None and opening.removed:
                break
            await asyncio.sleep(0.1)
        assert opening is not None
        assert opening.removed
        await twins.compare()


@pytest.mark.parametrize("ledger", ["sqlite", "postgres"])
async def test_two_keepers_at_once(tmp_path, ledger):
    async with Twins(ledger, "redis", tmp_path, BOARDS["last"]) as twins, twins.place.opened() as second:
        await twins.live_through(28)
        twins.clock.now += 45 * DAY
        for lb in twins.both:
            await lb.admin.run_keeper(at(START))
            await lb.runtime.checkpoints.checkpoint()
        for _ in range(6):
            jobs = [dropping(lb).run(twins.clock.now) for lb in (twins.one, second)]
            await asyncio.gather(*jobs, return_exceptions=True)
            twins.clock.now += 61_000
        opening = await twins.one.runtime.ledger.openings.current(twins.one.runtime.catalog["last"].id)
        assert (opening.received, opening.removed) == (covered_month(twins.clock.now), True)
        await twins.compare()
        assert (await second.admin.verify("last")).ok


@pytest.mark.parametrize(
    ("ledger", "engine"), [("sqlite", "embedded"), ("postgres", "embedded"), ("sqlite", "redis"), ("postgres", "redis")]
)
async def test_scores_and_reads_go_on_meanwhile(tmp_path, monkeypatch, ledger, engine):
    async with Twins(ledger, engine, tmp_path, BOARDS["last"]) as twins:
        monkeypatch.setattr("keepscore.storage.ledgers.sqlite.retention.REMOVED_EVENTS", 20)
        await twins.live_through(28)
        twins.clock.now += 45 * DAY
        for lb in twins.both:
            await lb.runtime.checkpoints.checkpoint()
            await lb.admin.run_keeper(at(START))
        told = []
        for _ in range(2):
            twins.clock.now += 61_000
            job = asyncio.create_task(dropping(twins.one).run(twins.clock.now))
            while not job.done():
                await twins.submit(late=3 * DAY)
                assert (await twins.one.admin.verify("last")).ok
            told.append(await job)
        assert any("dropped" in one for one in told)
        await twins.compare()


@pytest.mark.parametrize("engine", ["embedded", "redis"])
async def test_an_engine_from_before_what_was_dropped_is_reloaded(tmp_path, engine):
    async with Twins("sqlite", engine, tmp_path, BOARDS["first, and a roll-up"]) as twins:
        await twins.live_through(20)
        lb, saved = twins.one, {}
        for board in twins.boards:
            live = lb.runtime.catalog[board.name]
            rankings = await lb.runtime.engine.rankings(live.id)
            pages = {ranking: (await lb.runtime.engine.page(ranking, 0, 1000)).rows for ranking in rankings}
            saved[live] = {r: {row.player: row[1:] for row in rows} for r, rows in pages.items()}, await lb.runtime.engine.applied(live.id)
        told = await twins.live_through(60)
        assert any("dropped" in one for one in told)
        for live, (states, applied) in saved.items():
            await start(lb.runtime.engine, live, states, applied)
        await twins.submit()
        await lb.runtime.catch_up.run()
        await twins.compare()


async def test_the_partitions_are_gone_and_what_has_to_stay_is_there(tmp_path):
    async with Twins("postgres", "embedded", tmp_path, Board("all", operator="last")) as twins:
        # It takes scores of any time: one that came in March is of January.
        for days, ago in ((0, 0), (20, 1), (40, 0), (70, 45), (71, 0), (100, 0)):
            twins.clock.now = START + days * DAY
            for lb in twins.both:
                await lb.submit("all", f"p{days}", days, at=at(twins.clock.now - ago * DAY))
                await lb.increment("all", "everybody", days + 1, at=at(twins.clock.now - ago * DAY))
        assert (await partitions(twins))[0] == "events_2027_01"
        twins.clock.now = START + 80 * DAY
        # One that came in March is of 2027-01-30: only what is earlier than that goes.
        told = await twins.keep()
        assert told == ["dropped 4 events from before 2027-02"]
        assert (await partitions(twins))[0] == "events_2027_02"
        await twins.compare()
        twins.clock.now = START + 120 * DAY
        told = await twins.keep()
        assert told == ["dropped 6 events from before 2027-04"]
        assert (await partitions(twins))[0] == "events_2027_04"
        await twins.compare()


async def partitions(twins):
    connection = await asyncpg.connect(twins.place.ledger)
    try:
        rows = await connection.fetch("SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'events'::regclass ORDER BY 1")
        return [row[0] for row in rows]
    finally:
        await connection.close()


@pytest.mark.parametrize("ledger", ["sqlite", "postgres"])
async def test_what_came_late_stays_beside_what_goes(tmp_path, ledger):
    """Of a month, the events that are not earlier than all that came later stay, in a partition of the same name."""
    async with Twins(ledger, "embedded", tmp_path, Board("all", operator="last")) as twins:
        month = covered_month(START + 60 * DAY)
        for moment, when in ((month - 9, month - 9), (month - 5, month - 5), (month - 2, month - 2), (month + 5, month - 4)):
            twins.clock.now = moment
            for lb in twins.both:
                await lb.submit("all", f"p{moment - month}", 1, at=at(when))
                await lb.increment("all", "everybody", 1, at=at(when))
        twins.clock.now = START + 60 * DAY
        assert await twins.keep() == [f"dropped 4 events from before {at(month):%Y-%m}"]
        live = twins.one.runtime.catalog["all"]
        events = [event async for chunk in twins.one.runtime.ledger.events.read(live.id, {}) for event in chunk]
        assert {event.received - month for event in events} == {-2, 5}
        opening = await twins.one.runtime.ledger.openings.current(live.id)
        assert (opening.at - month, opening.received - month, opening.events) == (-4, 0, 4)
        await twins.compare()


@pytest.mark.parametrize("ledger", ["sqlite", "postgres"])
async def test_events_of_deleted_boards_go(tmp_path, ledger):
    async with Twins(ledger, "embedded", tmp_path, BOARDS["sum"]) as twins:
        await twins.one.admin.put_board(Board("gone"))
        await twins.one.submit("gone", "p", 1)
        number = twins.one.runtime.catalog["gone"].id
        await twins.one.admin.delete_board("gone")
        await twins.live_through(10)
        assert (await twins.one.runtime.ledger.retention.count(number, 0, twins.clock.now, None)) == (1, 0)
        told = await twins.live_through(60)
        assert any("dropped" in one for one in told)
        # SQLite keeps the last event of each writer.
        assert (
            await twins.one.runtime.ledger.retention.count(
                number, 0, twins.clock.now, await twins.one.runtime.ledger.openings.current(number)
            )
        ) == (0, 0)
        await twins.compare()


# -- what it waits for --------------------------------------------------------------------------------------------------


async def filled(tmp_path, clock_at, *boards):
    """Leaderboards whose events of January are due at `clock_at`."""
    from tests.contract.opened import Clock

    clock = Clock(START)
    place = Place("sqlite", "embedded", tmp_path, clock, "31d")
    async with place.opened(*boards) as lb:
        for board in boards:
            if board.rollup is None:
                await lb.submit_many(board.name, [Entry(player_id=f"p{n}", score=n, at=at(START - n)) for n in range(10)])
    clock.now = clock_at
    return place


async def test_it_waits_until_windows_are_closed_and_checkpoints_taken(tmp_path):
    place = await filled(tmp_path, START + 70 * DAY, Board("b", windows=["daily", "yearly"]))
    async with place.opened() as lb:
        job = dropping(lb)
        assert await job.run(lb.runtime.clock()) == "b waits: its daily windows are not all closed up to 2027-02-01T00:00:00+00:00"
        assert await lb.runtime.ledger.openings.accepts_from() == {}
        await lb.admin.run_keeper()
        assert (await lb.runtime.ledger.openings.current(1)).events == 10
    other = tmp_path / "other"
    other.mkdir()
    place = await filled(other, START + 70 * DAY, Board("b"))
    async with place.opened() as lb:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(lb.runtime.checkpoints, "checkpoint_in_turn", lambda: asyncio.sleep(0))
            assert await dropping(lb).run(lb.runtime.clock()) == "b waits: there is no checkpoint yet that includes the events"
            assert await lb.runtime.ledger.openings.accepts_from() == {}
        async with lb.runtime.definitions.defining:
            assert await dropping(lb).run(lb.runtime.clock()) == "b waits: a definition is being changed"
        assert await dropping(lb).run(lb.runtime.clock()) == "dropped 9 events from before 2027-02"
        assert (await lb.runtime.ledger.openings.current(1)).events == 10


async def test_it_waits_for_good_where_a_roll_up_needs_what_expires(tmp_path):
    rollup = {"of": ["b"], "window": "daily", "into": "weekly"}
    boards = Board("b", windows={"daily": {"ttl": "2d"}}), Board("w", windows=["weekly"], rollup=rollup)
    place = await filled(tmp_path, START + 70 * DAY, *boards)
    async with place.opened() as lb:
        ran = {job.name: job.result for job in (await lb.admin.run_keeper()).jobs}
        assert ran["drop events"] == "b waits: its daily rankings expire, and w is made from their events"
        assert await lb.runtime.ledger.openings.current(1) is None


async def test_an_import_of_old_history_is_waited_for_until_its_month_is_due(tmp_path):
    async with Twins("sqlite", "embedded", tmp_path, Board("all", operator="sum")) as twins:
        await twins.submit()
        twins.clock.now = START + 40 * DAY
        old = [Entry(player_id=f"old{n}", amount=n, at=at(START - 2000 * DAY + n)) for n in range(20)]
        for lb in twins.both:
            await lb.submit_many("all", old, backfill=True)
        twins.clock.now = START + 65 * DAY
        assert await twins.keep() == []
        assert await twins.one.runtime.ledger.openings.accepts_from() == {}
        twins.clock.now = START + 100 * DAY
        (told,) = await twins.keep()
        assert told.startswith("dropped 31 events")
        await twins.compare()


async def test_nothing_is_dropped_unless_somebody_wants_it(tmp_path):
    async with Twins("sqlite", "embedded", tmp_path, BOARDS["sum"]) as twins:
        await twins.live_through(80)
        assert await twins.other.runtime.ledger.openings.current(1) is None
        assert dropping(twins.other).parts.keep_events_ms is None
        assert dropping(twins.one).parts.keep_events_ms == KEEP
