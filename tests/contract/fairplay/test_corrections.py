"""Scores that a moderator sets, and accounts that are merged and split: exact in every window, and undone as if nothing had been."""

import asyncio
import random
from contextlib import AsyncExitStack

import pytest

from keepscore import Board
from keepscore.errors import InvalidField, InvalidScore, NothingToUndo, PlayerMerged, RolledUp, UnknownPlayer
from tests.contract.fairplay.test_voids import PLACES
from tests.contract.opened import DAY, MINUTE, NOON, Clock, differences
from tests.support.opening import leaderboards

BOARDS = [
    Board("best", windows=["all_time", "daily"], segments=["region"]),
    Board("sum", operator="sum", windows=["daily", "all_time"], segments=["region"]),
    Board("last", operator="last", windows=["all_time", "daily"]),
    Board("first", operator="first", windows=["daily", "all_time"]),
    Board("laps", order="asc", windows=["all_time"]),
    Board("fading", operator="sum", windows=["all_time"], decay={"half_life": "7d"}),
    Board("week", windows=["weekly"], rollup={"of": ["sum"], "window": "daily", "into": "weekly"}),
]
SCORED = [board for board in BOARDS if not board.is_rollup]


@pytest.fixture(params=PLACES)
def place(request, tmp_path):
    ledger, engine = PLACES[request.param]
    return ledger(tmp_path), engine()


@pytest.fixture
def clock():
    return Clock(NOON)


async def shown(lb, boards=BOARDS):
    """All that rankings show."""
    found = {}
    for board in boards:
        for window in board.periods:
            for segment in (None, *(["region:eu"] if board.segments else [])):
                top = await lb.top(board.name, window=window, segment=segment)
                found[board.name, window, segment] = [(one.rank, one.player_id, one.score, one.since) for one in top.standings]
    return found


async def play(lb, clock, dice, players, n):
    for _ in range(n):
        clock.now += dice.randrange(1, 90 * MINUTE)
        board = dice.choice(SCORED)
        segments = {"region": "eu"} if board.segments and dice.random() < 0.5 else None
        adds = board.operator == "sum" or (board.operator == "last" and dice.random() < 0.4)
        await (lb.increment if adds else lb.submit)(board.name, dice.choice(players), dice.randrange(1, 50), segments=segments)


@pytest.mark.parametrize("score", [7, 1000])
async def test_a_score_is_set_whatever_the_operator_and_undone(place, clock, score):
    async with leaderboards(*place, BOARDS, clock) as lb:
        await play(lb, clock, random.Random(score), ["ada", "eve"], 40)
        before = await shown(lb)
        decisions = []
        for board in SCORED:
            window = board.first_window
            tried = await lb.moderation.correct(board.name, "eve", score, "a wrong score", windows=[window], dry_run=True)
            assert await shown(lb) == before or decisions
            others = {key: rows for key, rows in (await shown(lb, [board])).items() if key[1] != window}
            done = await lb.moderation.correct(board.name, "eve", score, "a wrong score")
            decisions.append(done.void_id)
            (change,) = done.changes
            assert (change.player_id, change.window, change.after.score) == ("eve", window, score)
            assert (tried.void_id, [one.after for one in tried.changes]) == (None, [change.after])
            assert (await lb.rank(board.name, "eve", window=window)).score == score
            now = await shown(lb, [board])
            assert {key: rows for key, rows in now.items() if key[1] != window} == others
            assert all(row[2] == score for key, rows in now.items() if key[1] == window for row in rows if row[1] == "eve")
            # Where it is so already, there is nothing to do on a sum, and nothing changes elsewhere.
            assert (await lb.moderation.correct(board.name, "eve", score, "again", dry_run=True)).changes in ([], done.changes)
        assert await differences(lb) == []
        for board in SCORED:
            await lb.admin.rebuild(board.name)
            assert (await lb.rank(board.name, "eve")).score == score
        for void_id in reversed(decisions):
            await lb.moderation.undo(void_id, "it was right")
        assert await shown(lb) == before
        assert await differences(lb) == []
        with pytest.raises(NothingToUndo):
            await lb.moderation.undo(decisions[0], "again")
    async with leaderboards(*place, BOARDS, clock) as lb:
        assert await shown(lb) == before


async def test_what_comes_after_a_correction_counts(place, clock):
    async with leaderboards(*place, BOARDS, clock) as lb:
        for name in ("best", "last", "first"):
            await lb.submit(name, "eve", 90)
            await lb.moderation.correct(name, "eve", 20, "too high", windows=["all_time", "daily"])
        await lb.increment("sum", "eve", 90)
        await lb.moderation.correct("sum", "eve", 20, "too high", windows=["all_time", "daily"], idempotency_key="k")
        assert (await lb.moderation.correct("sum", "eve", 20, "too high", windows=["all_time", "daily"], idempotency_key="k")).replayed
        clock.now += 1000
        assert (await lb.submit("best", "eve", 30)).score == 30
        assert (await lb.increment("sum", "eve", 30)).score == 50
        assert (await lb.increment("last", "eve", 30)).score == 50
        assert (await lb.submit("first", "eve", 30)).score == 20
        assert await differences(lb) == []


@pytest.mark.parametrize(
    ("error", "board", "fields"),
    [
        (InvalidField, "best", {"reason": ""}),
        (InvalidField, "best", {"windows": ["weekly"]}),
        (InvalidField, "best", {"windows": []}),
        (InvalidScore, "best", {"score": 2**60}),
        (InvalidScore, "best", {"score": 1.5}),
        (RolledUp, "week", {}),
    ],
)
async def test_bad_corrections_record_nothing(tmp_path, clock, error, board, fields):
    async with leaderboards(f"sqlite:///{tmp_path}/s.db", "embedded://", BOARDS, clock) as lb:
        with pytest.raises(error):
            await lb.moderation.correct(**{"board": board, "player_id": "eve", "score": 1, "reason": "why"} | fields)
        assert await lb.moderation.voids() == []


@pytest.mark.parametrize("seed", range(2))
async def test_a_guest_is_merged_and_split(place, clock, tmp_path, seed):
    dice = random.Random(seed)
    async with AsyncExitStack() as stack:
        lb = await stack.enter_async_context(leaderboards(*place, BOARDS, clock))
        twin_clock = Clock(NOON)
        twin = await stack.enter_async_context(leaderboards(f"sqlite:///{tmp_path}/t.db", "embedded://", BOARDS, twin_clock))
        await play(lb, clock, dice, ["guest", "ada", "eve"], 40)
        before = await shown(lb)
        tried = await lb.moderation.merge("guest", "ada", "one person", dry_run=True)
        assert (tried.merge_id, await shown(lb)) == (None, before)
        done = await lb.moderation.merge("guest", "ada", "one person")
        assert done.boards == tried.boards
        again = random.Random(seed)
        await play(twin, twin_clock, again, ["ada", "ada", "eve"], 40)
        assert twin_clock.now == clock.now
        assert await shown(lb) == await shown(twin)
        assert await differences(lb) == []
        with pytest.raises(PlayerMerged, match="merged into 'ada'"):
            await lb.submit("best", "guest", 1)
        with pytest.raises(PlayerMerged):
            await lb.moderation.merge("guest", "eve", "again")
        with pytest.raises(PlayerMerged):
            await lb.moderation.merge("ada", "eve", "a chain")
        for board in SCORED:
            await lb.admin.rebuild(board.name)
        assert await shown(lb) == await shown(twin)
        await lb.moderation.split("guest", "two people")
        assert await shown(lb) == before
        with pytest.raises(NothingToUndo):
            await lb.moderation.split("guest", "again")
        assert (await lb.submit("laps", "guest", 1)).rank == 1
        assert await differences(lb) == []
    async with leaderboards(*place, BOARDS, clock) as lb:
        assert await differences(lb) == []


async def test_a_merge_that_was_cut_short_is_finished(place, clock, monkeypatch):
    async with leaderboards(*place, BOARDS, clock) as lb:
        for name in ("best", "laps"):
            await lb.submit(name, "guest", 9)
        real, calls = lb.runtime.catalog.restrictions.put, []

        async def dying(ledger, one, version):
            calls.append(one.state)
            if len(calls) == 2:
                raise RuntimeError("killed")
            await real(ledger, one, version)

        monkeypatch.setattr(lb.runtime.catalog.restrictions, "put", dying)
        with pytest.raises(RuntimeError):
            await lb.moderation.merge("guest", "ada", "one person")
    async with leaderboards(*place, BOARDS, clock) as lb:
        clock.now += DAY
        await lb.runtime.keeper.job("restore players").run(clock.now)
        for name in ("best", "laps"):
            assert [(one.player_id, one.score) for one in (await lb.top(name, window="all_time")).standings] == [("ada", 9)]
        assert len(await lb.runtime.ledger.events.of_player(lb.runtime.catalog["best"].id, "ada")) == 1
        with pytest.raises(UnknownPlayer):
            await lb.rank("best", "guest")
        with pytest.raises(InvalidField):
            await lb.moderation.merge("ada", "ada", "why")
        assert await differences(lb) == []


async def test_decisions_at_the_same_moment_have_one_effect(place, clock):
    """Moderators press the same button, in two processes where the ledger is shared."""
    async with AsyncExitStack() as stack:
        lb = await stack.enter_async_context(leaderboards(*place, BOARDS, clock))
        other = lb if place[0].startswith("sqlite") else await stack.enter_async_context(leaderboards(*place, BOARDS, clock))
        for player, amount in (("guest", 5), ("ada", 11)):
            await lb.increment("sum", player, amount)
        before = await shown(lb)

        async def pressed(name, *arguments, **fields):
            calls = [getattr((lb, other)[n % 2].moderation, name)(*arguments, **fields) for n in range(12)]
            found = await asyncio.gather(*calls, return_exceptions=True)
            return [one for one in found if not isinstance(one, NothingToUndo | PlayerMerged)]

        async def score(player):
            return (await lb.rank("sum", player, window="all_time")).score

        assert len(await pressed("merge", "guest", "ada", "one person")) == 1
        assert await score("ada") == 16
        assert len(await pressed("split", "guest", "two people")) == 1
        assert await shown(lb) == before
        (done,) = {one.void_id for one in await pressed("void", "sum", "a bot", player_id="ada")} - {None}
        assert len(await pressed("undo", done, "no bot")) == 1
        assert await shown(lb) == before
        await pressed("correct", "sum", "ada", 50, "a wrong score")
        assert (await lb.top("sum", window="daily")).standings[0].score == 50
        assert await differences(lb) == []


async def test_a_merge_of_two_who_are_unknown_is_refused(place, clock):
    async with leaderboards(*place, BOARDS, clock) as lb:
        for dry_run in (True, False):
            with pytest.raises(UnknownPlayer, match="'nobody' and 'no-one'"):
                await lb.moderation.merge("nobody", "no-one", "one person", dry_run=dry_run)
        assert [entry.action for entry in (await lb.audit.entries()).entries if entry.action == "merge"] == []
        await lb.players.put("account", {"name": "An account"})
        assert (await lb.moderation.merge("nobody", "account", "one person")).merge_id is not None
