"""Bounds of a board hold, however many processes change its scores at once."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from keepscore import Board
from keepscore.errors import InvalidScore
from tests.contract.both import own_redis
from tests.contract.opened import differences, standings
from tests.support.opening import leaderboards

PLAYERS = [f"p{n}" for n in range(15)]


@pytest.mark.parametrize(
    "boards",
    [
        [Board("purse", operator="sum", min_score=0)],
        [Board("purse", operator="last", min_score=0)],
        [Board("purse", operator="sum", min_score=0, consistency="strong")],
        [Board("moves", operator="sum", also=["purse"]), Board("purse", operator="sum", min_score=0)],
    ],
    ids=["sum", "last", "strong", "linked"],
)
async def test_two_processes_take_what_is_there_once(tmp_path, boards):
    url = own_redis()
    async with AsyncExitStack() as stack:
        lbs = [await stack.enter_async_context(leaderboards(f"sqlite:///{tmp_path / 'scores.db'}", url, boards)) for _ in range(2)]
        for player in PLAYERS:
            await lbs[0].increment(boards[0].name, player, 100)
            spent = [lb.increment(boards[0].name, player, -100) for lb in lbs]
            refused = [answer for answer in await asyncio.gather(*spent, return_exceptions=True) if isinstance(answer, InvalidScore)]
            assert len(refused) == 1
        assert {score for _, _, score in await standings(lbs[0], "purse")} == {0}
        assert await differences(lbs[0]) == []
