"""Scores that stand out: flagged with the figures and counted, or put in quarantine; never silently."""

import pytest

from keepscore import Board, Entry
from keepscore.domain.actors import acting
from keepscore.errors import UnknownPlayer
from tests.contract.fairplay.test_voids import PLACES
from tests.contract.opened import MINUTE, NOON, Clock, differences
from tests.support.opening import leaderboards

BOARDS = [
    Board("own", rules={"anomalies": {"own": 6, "board": 0, "top": 0, "accounts": 0}}),
    Board("board", operator="sum", rules={"anomalies": {"action": "quarantine", "own": 0, "board": 8, "top": 0, "accounts": 0}}),
    Board("top", rules={"anomalies": {"own": 0, "board": 0, "top": 2, "accounts": 0}}),
    Board("many", rules={"anomalies": {"own": 0, "board": 0, "top": 0, "accounts": 2}}),
]


@pytest.fixture(params=PLACES)
def opening(request, tmp_path, clock):
    ledger, engine = PLACES[request.param]
    place = ledger(tmp_path), engine()
    return lambda: leaderboards(*place, BOARDS, clock)


@pytest.fixture
def clock():
    return Clock(NOON)


async def queue(lb, board):
    return (await lb.moderation.queue(board=board)).items


async def test_a_score_far_from_the_players_own_is_flagged_and_counts(opening, clock):
    async with opening() as lb:
        for score in (10, 12, 8, 10, 9, 11, 10, 10):
            clock.now += MINUTE
            await lb.submit("own", "ada", score)
    async with opening() as lb:
        clock.now += MINUTE
        assert (await lb.submit("own", "ada", 13)).rank == 1
        assert await queue(lb, "own") == []
        receipt = await lb.submit("own", "ada", 40)
        assert (receipt.rank, receipt.score, receipt.to_dict().get("quarantined")) == (1, 40, None)
        (item,) = await queue(lb, "own")
        assert (item.quarantined, item.score, item.reasons[0].rule, item.reasons[0].limit) == (False, 40, "anomalies.own", "6")
        assert item.reasons[0].value == pytest.approx(20.23, abs=0.01)
        assert (await lb.moderation.reject(item.id, "a macro")).state == "rejected"
        assert (await lb.rank("own", "ada")).score == 13
        appeal = await lb.moderation.appeal(item.id, "ada", "no macro")
        await lb.moderation.reply(appeal.id, "right", grant=True)
        assert (await lb.rank("own", "ada")).score == 40
        assert await differences(lb) == []


async def test_a_score_far_from_the_boards_is_put_in_quarantine(opening, clock):
    async with opening() as lb:
        await lb.submit_many("board", [Entry(player_id=f"p{n}", amount=90 + n % 21) for n in range(120)])
        await lb.runtime.keeper.job("note scores").run(clock())
    async with opening() as lb:
        assert (await lb.increment("board", "ada", 130)).rank == 1
        receipt = await lb.increment("board", "eve", 5000)
        assert (receipt.quarantined, receipt.reasons[0].rule) == (True, "anomalies.board")
        with pytest.raises(UnknownPlayer):
            await lb.rank("board", "eve")
        await lb.moderation.approve((await queue(lb, "board"))[0].id, "fine")
        assert (await lb.rank("board", "eve")).rank == 1
        assert await differences(lb) == []


async def test_a_jump_into_the_top_is_flagged(opening, clock):
    async with opening() as lb:
        await lb.submit_many("top", [Entry(player_id=f"p{n:02}", score=1000 - n) for n in range(25)])
        clock.now += MINUTE
        await lb.submit("top", "p10", 1500)
        assert await queue(lb, "top") == []
        await lb.submit("top", "p24", 1600)
        await lb.submit("top", "new", 1700)
        assert sorted(item.player_id for item in await queue(lb, "top")) == ["new", "p24"]
        assert [s.player_id for s in (await lb.top("top", limit=3)).standings] == ["new", "p24", "p10"]


async def test_many_accounts_from_one_address_are_flagged_once_each(opening, clock):
    async with opening() as lb:
        for player in ("ada", "bob", "cem", "cem", "ada", "dan"):
            clock.now += MINUTE
            with acting(f"player {player}", "192.0.2.7"):
                await lb.submit("many", player, 5)
        found = [(item.player_id, item.reasons[0].rule, item.reasons[0].value) for item in await queue(lb, "many")]
        assert found == [("cem", "anomalies.accounts", 3), ("dan", "anomalies.accounts", 4)]
