"""What a board with dropped events refuses, and says why: nothing is recorded, and nothing changes."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace

from keepscore import Board
from keepscore.domain.inputs import Entry
from keepscore.errors import EventsDropped, InvalidTime, NotKept
from keepscore.service.http.problems import status_of
from tests.contract.opened import DAY, HOUR, Clock, at, recorded, standings
from tests.contract.twins import START, Place

BOARD = Board("b", operator="sum", windows=["all_time", "monthly", "yearly"], grace="1h")
#: 2027-02-01, from which on the board takes scores.
KEPT = START + 26 * DAY + 12 * HOUR


@pytest.fixture(params=["embedded", "redis"])
def place(request, tmp_path):
    return Place("sqlite", request.param, tmp_path, Clock(START), "31d")


@asynccontextmanager
async def dropped(place, *boards):
    """Leaderboards that have dropped what was before February."""
    async with place.opened(*boards) as lb:
        for day in range(0, 66, 5):
            place.clock.now = START + day * DAY
            await lb.increment(boards[0].name, "alice", day)
        place.clock.now = START + 70 * DAY
        for _ in range(2):
            await lb.admin.run_keeper()
            place.clock.now += 61_000
        opening = await lb.runtime.ledger.openings.current(lb.runtime.catalog[boards[0].name].id)
        assert (opening.at, opening.received, opening.events) == (KEPT, KEPT, 6)
        yield lb


async def test_scores_of_dropped_times(place):
    linked = Board("linked", operator="sum", also=["b"])
    async with dropped(place, BOARD, linked) as lb:
        before = await recorded(lb, "b")
        early, late = at(KEPT - 1), at(KEPT)
        for board in ("b", "linked"):
            (rejected,) = (await lb.submit_many(board, [Entry(player_id="bob", amount=1, at=early)], backfill=True)).rejected
            assert (rejected.index, rejected.type) == (0, InvalidTime.type)
            assert "board 'b' takes scores from 2027-02-01T00:00:00+00:00 on" in rejected.detail
        with pytest.raises(InvalidTime, match="takes scores from") as error:
            await lb.increment("b", "bob", 1, at=early)
        assert status_of(error.value) == 422
        assert await recorded(lb, "b") == before
        assert await recorded(lb, "linked") == []
        answer = await lb.submit_many("b", [Entry(player_id="bob", amount=1, at=late)], backfill=True)
        assert answer.accepted == 1
        assert (await lb.admin.verify("b")).ok


async def test_a_retry_of_what_was_taken_in_time_gets_its_answer(place):
    async with place.opened(BOARD) as lb:
        first = await lb.increment("b", "alice", 5, at=at(START), idempotency_key="k")
        place.clock.now = START + 70 * DAY
        await lb.increment("b", "bob", 1)
        for _ in range(2):
            place.clock.now += 61_000
            for job in lb.runtime.keeper.jobs:
                if job.for_leader and job.name != "forget keys":
                    await job.run(place.clock.now)
        assert (await lb.runtime.ledger.openings.current(1)).events == 1
        again = await lb.increment("b", "alice", 5, at=at(START), idempotency_key="k")
        assert (again.replayed, again.score) == (True, first.score)


async def test_a_score_that_waits_while_it_is_announced_that_its_time_is_dropped(place):
    async with place.opened(BOARD) as lb:
        async with lb.runtime.write_pause:
            waiting = asyncio.ensure_future(lb.submit_many("b", [Entry(player_id="bob", amount=1, at=at(START - 9))], backfill=True))
            await asyncio.sleep(0)
            assert lb.runtime.recorder.queue
            lb.runtime.catalog.accepts_from[1] = START
        answer = await waiting
        assert (answer.accepted, "takes scores from" in answer.rejected[0].detail) == (0, True)
        assert await recorded(lb, "b") == []


@pytest.mark.parametrize(
    "change",
    [
        {"operator": "last"},
        {"order": "asc"},
        {"windows": ["all_time", "monthly", "yearly", "daily"]},
        {"windows": ["all_time"]},
        {"segments": ["region"]},
        {"timezone": "Asia/Tokyo"},
        {"week_start": "sunday"},
        {"resolution": "1s"},
        {"decay": {"half_life": "7d"}},
    ],
)
async def test_another_meaning(tmp_path, change):
    place = Place("sqlite", "embedded", tmp_path, Clock(START), "31d")
    async with dropped(place, BOARD) as lb:
        before = (await lb.admin.board("b"), await standings(lb, "b"))
        with pytest.raises(EventsDropped, match=r"events from before 2027-02-01T00:00:00.00:00 were folded and dropped") as error:
            await lb.admin.put_board(replace(BOARD, **change), confirm=True)
        assert status_of(error.value) == 409
        assert (await lb.admin.board("b"), await standings(lb, "b")) == before


async def test_what_does_not_change_states_is_taken(place):
    async with dropped(place, BOARD) as lb:
        for change in ({"ties": "last"}, {"keep_top": 3}, {"grace": "2h"}, {"max_score": 10_000}, {"keep_top": None}):
            await lb.admin.put_board(replace((await lb.admin.board("b")).board, **change), confirm=True)
            assert (await lb.admin.verify("b")).ok
            assert await standings(lb, "b") == [(1, "alice", sum(range(0, 66, 5)))]


async def test_a_reset_and_its_undo(place):
    async with dropped(place, BOARD) as lb:
        await lb.admin.reset("b")
        place.clock.now += 1
        assert await standings(lb, "b") == []
        assert await standings(lb, "b", window_id="all_time.v1") == [(1, "alice", sum(range(0, 66, 5)))]
        await lb.increment("b", "bob", 7)
        assert (await lb.admin.verify("b")).ok
        await lb.admin.undo_reset("b")
        assert await standings(lb, "b") == [(1, "alice", sum(range(0, 66, 5))), (2, "bob", 7)]
        assert (await lb.admin.verify("b")).ok


async def test_a_roll_up_that_would_need_what_has_expired(tmp_path):
    place = Place("sqlite", "embedded", tmp_path, Clock(START), "31d")
    board = replace(BOARD, windows={"all_time": {}, "monthly": {}, "daily": {"ttl": "2d"}})
    async with dropped(place, board) as lb:
        rollup = {"of": ["b"], "window": "daily", "into": "weekly"}
        with pytest.raises(EventsDropped, match="the daily rankings of board 'b' expire"):
            await lb.admin.put_board(Board("w", windows=["weekly"], rollup=rollup), confirm=True)
        await lb.admin.put_board(Board("y", windows=["yearly"], rollup={"of": ["b"], "window": "monthly", "into": "yearly"}), confirm=True)
        assert await standings(lb, "y", window_id="2027") == [(1, "alice", sum(range(0, 66, 5)))]
        assert (await lb.admin.verify("y")).ok


async def test_moments_and_windows_of_before(place):
    async with dropped(place, BOARD) as lb:
        with pytest.raises(NotKept, match=r"events that arrived before 2027-02-01T00:00:00.00:00 were folded and dropped") as error:
            await lb.history.as_of("b", at(KEPT - 1))
        assert status_of(error.value) == 404
        top = await lb.history.as_of("b", at(KEPT))
        assert [standing.score for standing in top.standings] == [0 + 5 + 10 + 15 + 20 + 25]
        with pytest.raises(NotKept, match="the monthly window 2027-01 of board 'b' can no longer be corrected"):
            await lb.admin.revise("b", "monthly", "2027-01", "why not")
        assert {archive.number for archive in await lb.runtime.ledger.archives.find(1, "monthly", "2027-01")} == {1}
        assert (await lb.admin.revise("b", "monthly", "2027-02", "a look")).number == 2


async def test_a_year_that_begins_before_is_revised_from_what_is_left(place):
    async with dropped(place, BOARD) as lb:
        place.clock.now = START + 370 * DAY
        for _ in range(2):
            await lb.admin.run_keeper()
            place.clock.now += 61_000
        revision = await lb.admin.revise("b", "yearly", "2027", "a look")
        archives = await lb.runtime.ledger.archives.find(1, "yearly", "2027")
        assert (revision.number, len({archive.digest for archive in archives})) == (2, 1)


async def test_what_is_recorded_is_told_with_the_moment_since_which_it_is_all_there(place):
    async with dropped(place, BOARD) as lb:
        told = await lb.history.events("b", "alice")
        assert (told.total, len(told.events), told.complete_from) == (8, 8, at(KEPT))
        found, cursor = [], None
        while True:
            page = await lb.history.all_events("b", cursor=cursor, limit=3)
            found += page.events
            assert (page.total, page.complete_from) == (8, at(KEPT))
            if (cursor := page.next_cursor) is None:
                break
        assert [event.amount for event in found] == list(range(30, 66, 5))
