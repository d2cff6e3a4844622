"""Corrections of sums, and late scores: which windows they change, and which they leave alone."""

import asyncio
import random

import pytest

from keepscore import Board
from keepscore.domain.inputs import Entry
from keepscore.domain.scoring import Scope
from keepscore.errors import CapReached, InvalidField, InvalidScore, WindowClosed
from keepscore.projection.stores import Stores
from keepscore.writing.checks import SubmissionRequest, check_submission
from keepscore.writing.segment_cap import SegmentCap
from tests.contract.opened import DAY, HOUR, MINUTE, NOON, at, recorded, standings

XP = Board("xp", operator="sum", windows=["all_time", "weekly", "daily"], segments=["region"])


async def scores(lb, board, player):
    """A player's score in each window of a board that has one now."""
    found = {}
    for window in lb.runtime.catalog[board].board.periods:
        rows = {name: score for _, name, score in await standings(lb, board, window=window)}
        if player in rows:
            found[window] = rows[player]
    return found


async def test_a_correction_leaves_the_other_windows_alone(lbs, clock):
    async with lbs(XP) as lb:
        clock.now = NOON - 8 * DAY
        await lb.increment("xp", "ada", 1400)
        clock.now = NOON
        await lb.increment("xp", "ada", 10)
        answer = await lb.submit("xp", "ada", 500)
        assert (answer.score, list(answer.windows), answer.updated) == (500, ["all_time"], True)
        assert await scores(lb, "xp", "ada") == {"all_time": 500, "weekly": 10, "daily": 10}
        (event,) = [event for event in await recorded(lb, "xp") if event.kind == "correction"]
        assert (event.amount, event.scope) == (-910, Scope(("all_time",)))
        assert (await lb.history.events("xp", "ada", 1)).events[0].scope == Scope(("all_time",))
        await lb.admin.rebuild("xp")
        assert await scores(lb, "xp", "ada") == {"all_time": 500, "weekly": 10, "daily": 10}
        assert (await lb.admin.verify("xp")).ok


async def test_a_correction_counts_in_the_windows_that_it_names(lbs, clock):
    async with lbs(XP) as lb:
        clock.now = NOON - 8 * DAY
        await lb.increment("xp", "ada", 1000)
        clock.now = NOON
        await lb.increment("xp", "ada", 100)
        answer = await lb.submit("xp", "ada", 1050, windows=["daily", "all_time"])
        assert list(answer.windows) == ["all_time", "daily"]
        assert await scores(lb, "xp", "ada") == {"all_time": 1050, "weekly": 100, "daily": 50}
        await lb.submit("xp", "ada", 7, windows=["weekly"])
        assert await scores(lb, "xp", "ada") == {"all_time": 1050, "weekly": 7, "daily": 50}
        batch = await lb.submit_many("xp", [Entry(player_id="ada", score=9, windows=["daily"]), Entry(player_id="bob", score=3)])
        assert batch.accepted == 2
        assert await scores(lb, "xp", "ada") == {"all_time": 1050, "weekly": 7, "daily": 9}
        assert await scores(lb, "xp", "bob") == {"all_time": 3}
        assert (await lb.admin.verify("xp")).ok


async def test_a_correction_counts_in_the_slices_of_its_windows(lbs):
    async with lbs(XP) as lb:
        await lb.increment("xp", "ada", 20, segments={"region": "eu"})
        await lb.submit("xp", "ada", 15, segments={"region": "eu"})
        assert await standings(lb, "xp", segment="region:eu") == [(1, "ada", 15)]
        assert await standings(lb, "xp", segment="region:eu", window="daily") == [(1, "ada", 20)]


@pytest.mark.parametrize(
    ("board", "what", "windows", "said"),
    [
        ("best", "submit", ["all_time"], "is for corrections"),
        ("last", "submit", ["all_time"], "is for corrections"),
        ("xp", "submit", [], "name one or more of all_time, weekly, daily"),
        ("xp", "submit", ["hourly"], "name one or more of all_time, weekly, daily"),
        ("xp", "submit", ["daily", "daily"], "each once"),
    ],
)
async def test_windows_that_cannot_be_named_are_refused(lbs, board, what, windows, said):
    async with lbs(XP, Board("best"), Board("last", operator="last")) as lb:
        with pytest.raises(InvalidField, match=said):
            await getattr(lb, what)(board, "ada", 5, windows=windows)
        found = await lb.submit_many(board, [Entry(player_id="ada", amount=5, windows=["all_time"])])
        assert (found.accepted, found.rejected[0].type) in [
            (0, "urn:keepscore:invalid-field"),
            (0, "urn:keepscore:not-incrementable"),
        ]
        assert not await recorded(lb, board)


async def test_a_correction_has_to_keep_the_bounds_in_its_own_windows_only(lbs, clock):
    board = Board("b", operator="sum", windows=["all_time", "daily"], min_score=0, max_score=1000)
    async with lbs(board) as lb:
        clock.now = NOON - DAY
        await lb.increment("b", "ada", 900)
        clock.now = NOON
        await lb.increment("b", "ada", 50)
        await lb.submit("b", "ada", 100)
        assert await scores(lb, "b", "ada") == {"all_time": 100, "daily": 50}
        with pytest.raises(InvalidScore, match="would make the daily score -10"):
            await lb.submit("b", "ada", 40, windows=["all_time", "daily"])


async def test_a_retry_of_a_correction_is_known_by_its_windows(lbs):
    async with lbs(XP) as lb:
        await lb.increment("xp", "ada", 10)
        first = await lb.submit("xp", "ada", 7, windows=["daily"], idempotency_key="k")
        again = await lb.submit("xp", "ada", 7, windows=["daily"], idempotency_key="k")
        assert (again.replayed, again.windows) == (True, first.windows)
        assert await scores(lb, "xp", "ada") == {"all_time": 10, "weekly": 10, "daily": 7}


async def test_a_board_that_becomes_a_sum_while_a_score_waits_takes_it_as_a_correction(run):
    async with run(Board("b", windows=["all_time", "daily"])) as lb:
        await lb.submit("b", "ada", 30)
        live = lb.runtime.catalog["b"]
        submission = check_submission(live, SubmissionRequest("ada", "score", 50), lb.runtime.clock(), ranked=True)
        await lb.admin.put_board(Board("b", operator="sum", windows=["all_time", "daily"]), confirm=True)
        taken = submission.taken_by(lb.runtime.catalog["b"], lb.runtime.clock())
        assert taken.scope == Scope(("all_time",))
        assert submission.scope is None


# -- late scores --------------------------------------------------------------------------------------------------------


LATE = Board("late", operator="sum", windows=["daily", "weekly", "all_time"], late="open_windows")


async def test_a_late_score_counts_in_the_windows_that_are_open(lbs, clock):
    async with lbs(LATE, Board("strict", operator="sum", windows=["daily", "all_time"])) as lb:
        await lb.increment("late", "ada", 1)
        # Noon of a Sunday: yesterday is closed, the week is not.
        answer = await lb.increment("late", "ada", 5, at=at(NOON - DAY))
        assert list(answer.windows) == ["weekly", "all_time"]
        assert answer.score == 6
        assert await scores(lb, "late", "ada") == {"daily": 1, "weekly": 6, "all_time": 6}
        await lb.increment("late", "ada", 7, at=at(NOON - 8 * DAY))
        assert await scores(lb, "late", "ada") == {"daily": 1, "weekly": 6, "all_time": 13}
        assert [event.scope for event in await recorded(lb, "late")] == [None, Scope(("weekly", "all_time")), Scope(("all_time",))]
        with pytest.raises(WindowClosed, match="takes late scores for 1h only"):
            await lb.increment("strict", "ada", 5, at=at(NOON - DAY))
        assert (await lb.admin.verify("late")).ok
        await lb.admin.rebuild("late")
        assert await scores(lb, "late", "ada") == {"daily": 1, "weekly": 6, "all_time": 13}


async def test_a_late_score_is_refused_where_no_window_is_open(lbs):
    async with lbs(Board("days", windows=["daily"], late="open_windows")) as lb:
        with pytest.raises(WindowClosed, match="is in the daily window 2026-11-14"):
            await lb.submit("days", "ada", 5, at=at(NOON - DAY))


async def test_a_late_score_leaves_closed_standings_as_they_are(lbs, clock):
    async with lbs(LATE) as lb:
        await lb.increment("late", "ada", 3)
        clock.now += DAY
        await lb.runtime.keeper.run_once(at(clock.now))
        before = await lb.top("late", window_id="2026-11-15")
        assert before.archived
        await lb.increment("late", "bob", 9, at=at(NOON))
        await lb.runtime.keeper.run_once(at(clock.now))
        assert (await lb.top("late", window_id="2026-11-15")).standings == before.standings
        assert await standings(lb, "late", window="all_time") == [(1, "bob", 9), (2, "ada", 3)]
        assert (await lb.admin.verify("late")).ok


async def test_each_linked_board_decides_for_itself(lbs):
    first = Board("first", windows=["all_time"], also=["late", "days"])
    async with lbs(LATE, Board("days", operator="sum", windows=["daily", "all_time"], late="open_windows"), first) as lb:
        await lb.submit("first", "ada", 5, at=at(NOON - DAY))
        assert await scores(lb, "first", "ada") == {"all_time": 5}
        assert await scores(lb, "late", "ada") == {"weekly": 5, "all_time": 5}
        assert await scores(lb, "days", "ada") == {"all_time": 5}


async def test_a_score_that_waits_until_its_window_is_closed_counts_in_the_others(lbs, clock):
    async with lbs(LATE) as lb:
        clock.now = NOON + DAY // 2 + HOUR - 10
        async with lb.runtime.write_pause:
            waiting = asyncio.ensure_future(lb.increment("late", "ada", 5, at=at(NOON)))
            await asyncio.sleep(0)
            clock.now += MINUTE
        answer = await waiting
        assert list(answer.windows) == ["all_time"]


async def test_late_scores_and_corrections_together(lbs, clock):
    dice = random.Random(5)
    async with lbs(LATE) as lb:
        for _ in range(60):
            clock.now += dice.randrange(6 * HOUR)
            player = f"p{dice.randrange(4)}"
            if dice.random() < 0.3:
                await lb.submit("late", player, dice.randrange(100), windows=dice.choice([None, ["weekly"], ["daily", "all_time"]]))
            else:
                await lb.increment("late", player, dice.randrange(50), at=at(clock.now - dice.randrange(10 * DAY)))
            if dice.random() < 0.1:
                await lb.runtime.keeper.run_once(at(clock.now))
        assert (await lb.admin.verify("late")).ok


async def test_a_correction_takes_no_room_among_the_segment_values_of_other_windows(run):
    async with run(Board("xp", operator="sum", windows=["all_time", "daily"], segments=["region"])) as lb:
        runtime = lb.runtime
        cap = SegmentCap(Stores(runtime.catalog, runtime.ledger, runtime.engine, runtime.clock), 1)

        def check(region, windows=None):
            given = SubmissionRequest("ada", "score", 5, segments={"region": region}, windows=windows)
            cap.check(check_submission(runtime.catalog["xp"], given, runtime.clock()))

        check("eu")
        check("us", ["daily"])
        with pytest.raises(CapReached, match="all_time"):
            check("us")
