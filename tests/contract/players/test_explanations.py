"""What a submission did, which score a rank needs, and what counts and why: beside the obvious way to find out."""

import random

import pytest

from keepscore import Board
from keepscore.errors import InvalidField, InvalidPage, UnknownBoard, UnknownPlayer
from tests.contract.opened import DAY

BOARDS = [
    Board("best", windows=["all_time", "daily"], segments=["region"]),
    Board("sum", operator="sum", windows=["daily", "all_time"], ties="player"),
    Board("laps", order="asc", ties="last", max_score=1000, min_score=0, decimals=2),
    Board("last", operator="last", rank="standard"),
    Board("first", operator="first"),
]


async def test_the_needed_score_is_the_least_that_reaches_the_rank(lbs, clock):
    dice = random.Random(7)
    async with lbs(*BOARDS) as lb:
        for board in ("best", "last", "laps"):
            for i in range(12):
                clock.now += 1000
                await lb.submit(board, f"p{i}", dice.randrange(1, 9))
            for player, rank in (("p3", 1), ("p9", 4), ("newcomer", 6), ("newcomer", 20)):
                found = await lb.explain.needs(board, player, rank=rank)
                top = (await lb.top(board, limit=100)).standings
                own = next((s.rank for s in top if s.player_id == player), None)
                assert (found.rank, found.target_rank, found.total_players) == (own, rank, len(top))
                assert found.reached == (own is not None and own <= rank)
                if found.reached:
                    continue
                if rank > len(top):
                    assert found.needed_score is None
                    continue
                step = 1 if board != "laps" else found.needed_score - found.needed_score + type(found.needed_score)("0.01")
                worse = found.needed_score - step if board != "laps" else found.needed_score + step
                dry = f"{player}-{rank}"
                clock.now += 1000
                await lb.submit(board, dry, worse)
                assert (await lb.rank(board, dry)).rank > rank
                await lb.moderation.remove(board, dry, "a trial")
                await lb.submit(board, dry, found.needed_score)
                assert (await lb.rank(board, dry)).rank <= rank
                await lb.moderation.remove(board, dry, "a trial")
        assert (await lb.explain.needs("best", "newcomer", top="50%")).target_rank == 7
        for bad in ({}, {"rank": 1, "top": "1%"}, {"top": "0%"}, {"top": "x"}, {"top": "101"}):
            with pytest.raises(InvalidField):
                await lb.explain.needs("best", "p1", **bad)
        with pytest.raises(InvalidPage):
            await lb.explain.needs("best", "p1", rank=0)
        with pytest.raises(UnknownBoard):
            await lb.explain.needs("nowhere", "p1", rank=1)


async def test_a_submission_tells_who_is_next_and_who_was_overtaken(lbs):
    async with lbs(*BOARDS) as lb:
        for player, score in (("a", 10), ("b", 20), ("c", 30), ("d", 40)):
            plain = await lb.submit("best", player, score)
        assert "explanation" not in plain.to_dict()
        told = (await lb.submit("best", "a", 35, explain=True)).explanation
        assert (told.next_player.player_id, told.next_player.score, told.next_player.gap) == ("d", 40, 5)
        assert (told.overtaken, told.overtaken_count, told.personal_best) == (["c", "b"], 2, True)
        worse = (await lb.submit("best", "a", 5, explain=True)).explanation
        assert (worse.overtaken, worse.personal_best) == ([], False)
        first = (await lb.submit("best", "a", 50, explain=True)).explanation
        assert (first.next_player, first.overtaken) == (None, ["d"])
        new = (await lb.submit("best", "e", 25, explain=True)).explanation
        assert (new.overtaken, new.overtaken_count, new.next_player.player_id) == (["b"], 1, "c")
        await lb.increment("sum", "a", 5)
        added = (await lb.increment("sum", "b", 7, explain=True)).explanation
        assert (added.overtaken, added.personal_best) == (["a"], True)
        for i in range(15):
            await lb.submit("last", f"p{i:02}", i)
        many = (await lb.submit("last", "p00", 99, explain=True)).explanation
        assert (len(many.overtaken), many.overtaken_count) == (10, 14)


async def test_events_tell_whether_they_count_and_why_not(lbs, clock):
    async with lbs(*BOARDS) as lb:
        await lb.submit("best", "a", 5, segments={"region": "eu"})
        clock.now += DAY
        await lb.submit("best", "a", 9)
        await lb.submit("best", "a", 7)
        await lb.submit("best", "a", 99, game_id="cheat")
        void = await lb.moderation.void("best", "a cheat", game_id="cheat")

        async def reasons(board, **view):
            found = await lb.explain.why(board, "a", **view)
            assert all(event.counts == (event.reason is None) for event in found.events)
            return [(event.amount, event.reason) for event in found.events]

        assert await reasons("best") == [(99, "voided"), (7, "worse_score"), (9, None), (5, "worse_score")]
        assert await reasons("best", window="daily") == [(99, "voided"), (7, "worse_score"), (9, None), (5, "other_window")]
        assert await reasons("best", segment="region:eu") == [(99, "voided"), (7, "other_segment"), (9, "other_segment"), (5, None)]
        found = await lb.explain.why("best", "a", limit=1)
        assert (found.rank, found.score, found.total, len(found.events)) == (1, 9, 4, 1)
        assert found.events[0].void_id == void.void_id
        for board in ("last", "first"):
            for score in (3, 8, 6):
                clock.now += 1000
                await lb.submit(board, "a", score)
        assert await reasons("last") == [(6, None), (8, "replaced"), (3, "replaced")]
        assert await reasons("first") == [(6, "not_first"), (8, "not_first"), (3, None)]
        await lb.increment("sum", "a", 3)
        await lb.increment("sum", "a", 4)
        assert await reasons("sum") == [(4, None), (3, None)]
        with pytest.raises(UnknownPlayer):
            await lb.explain.why("best", "nobody")


async def test_a_submission_tells_the_next_tier(lbs, clock):
    tiers = [{"name": "gold", "rank": 1}, {"name": "silver", "score": 15}, {"name": "bronze"}]
    async with lbs(Board("tiered", tiers=tiers), Board("level", rank="standard")) as lb:
        await lb.submit("tiered", "a", 30)
        told = [(await lb.submit("tiered", "b", score, explain=True)).explanation.to_dict() for score in (10, 20, 31)]
        assert [one["tier"] for one in told] == ["bronze", "silver", "gold"]
        ahead = {"name": "silver", "score": 15, "gap": 5}, {"name": "gold", "score": 31, "gap": 11}
        assert (told[0]["next_tier"], told[1]["next_tier"], "next_tier" in told[2]) == (*ahead, False)
        # One who is new beside equal scores overtakes nobody.
        for player in ("x", "y"):
            await lb.submit("level", player, 5)
        clock.now += 1000
        assert (await lb.submit("level", "z", 5, explain=True)).explanation.overtaken_count == 0
