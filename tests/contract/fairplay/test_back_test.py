"""Rules that run over the past: what they would have caught, as moderators have decided, and nothing is changed."""

import pytest

from keepscore import Board
from keepscore.errors import InvalidBoard, InvalidField, RolledUp, UnknownBoard
from tests.contract.fairplay.test_voids import PLACES
from tests.contract.opened import HOUR, MINUTE, NOON, Clock, recorded
from tests.support.opening import leaderboards

BOARDS = [
    Board("free", operator="sum", windows=["all_time", "daily"]),
    Board("held", rules={"max_score": 100, "on_break": "quarantine"}),
    Board("plays"),
    Board("week", windows=["weekly"], rollup={"of": ["free"], "window": "daily", "into": "weekly"}),
]


@pytest.fixture(params=PLACES)
def place(request, tmp_path):
    ledger, engine = PLACES[request.param]
    return ledger(tmp_path), engine()


async def test_what_would_have_been_caught(place):
    clock = Clock(NOON)
    async with leaderboards(*place, BOARDS, clock) as lb:
        for player, amount in (("ada", 10), ("bob", 60), ("bob", 5), ("ada", 70), ("cem", 80), ("cem", 3)):
            clock.now += MINUTE
            await lb.increment("free", player, amount)
        cem = next(event for event in (await lb.history.events("free", "cem")).events if event.amount == 80)
        await lb.moderation.void("free", "a bot", event_ids=[f"{cem.writer}-{cem.n}"])
        three = next(event for event in (await lb.history.events("free", "cem")).events if event.amount == 3)
        await lb.moderation.void("free", "a bot", event_ids=[f"{three.writer}-{three.n}"])
        before, told = await recorded(lb, "free"), []
        found = await lb.moderation.test_rules("free", {"max_increase": 50}, progress=lambda *step: told.append(step))
        assert (found.submissions, found.caught, found.players, found.by_rule) == (6, 3, 3, {"max_increase": 3})
        assert (found.agreed, found.counting, found.approved, found.missed) == (1, 2, 0, 1)
        caught = [(one.player_id, one.score, one.counts) for one in found.examples]
        assert caught == [("ada", 70, True), ("bob", 60, True), ("cem", 80, False)]
        assert found.examples[0].reasons[0].rule == "max_increase"
        after = {change.player_id: change.after.score for change in found.changes if change.window == "all_time"}
        assert after == {"ada": 10, "bob": 5}
        assert found.total_changes == len(found.changes) == 4
        assert told[-1][1] == told[-1][2] == 3
        assert await recorded(lb, "free") == before
        assert [(s.player_id, s.score) for s in (await lb.top("free")).standings] == [("ada", 80), ("bob", 65)]
        # What is caught is no part of the past for those after it.
        often = await lb.moderation.test_rules("free", {"max_submissions": "1/1h"})
        assert (often.caught, [one.score for one in often.examples]) == (3, [70, 5, 3])


async def test_what_moderators_have_approved_is_told(place):
    clock = Clock(NOON)
    async with leaderboards(*place, BOARDS, clock) as lb:
        await lb.submit("held", "ada", 90)
        for score in (500, 600):
            clock.now += HOUR
            await lb.submit("held", "ada", score)
        first, second = (await lb.moderation.queue()).items
        await lb.moderation.approve(first.id, "seen")
        await lb.moderation.reject(second.id, "not seen")
        found = await lb.moderation.test_rules("held", {"max_score": 400})
        assert (found.caught, found.agreed, found.counting, found.approved) == (2, 1, 1, 1)
        play = await lb.begin_play("plays", "ada", build="1.3")
        await lb.submit("plays", "ada", 5, play_token=play.play_token)
        assert (await lb.moderation.test_rules("plays", {"builds": ["1.4.*"]})).by_rule == {"builds": 1}
        assert (await lb.moderation.test_rules("plays", {"builds": ["1.3"], "on_break": "quarantine"})).caught == 0


async def test_bad_input_is_refused(place):
    async with leaderboards(*place, BOARDS, Clock(NOON)) as lb:
        test = lb.moderation.test_rules
        for error, call in (
            (UnknownBoard, test("none", {"max_increase": 5})),
            (RolledUp, test("week", {"max_increase": 5})),
            (InvalidField, test("free", {})),
            (InvalidField, test("free", {"score_per_second": 5})),
            (InvalidBoard, test("free", {"max_increase": -5})),
            (InvalidBoard, test("free", {"most": 5})),
        ):
            with pytest.raises(error):
                await call
        empty = await test("free", {"max_increase": 5})
        assert (empty.submissions, empty.caught, empty.changes) == (0, 0, [])
