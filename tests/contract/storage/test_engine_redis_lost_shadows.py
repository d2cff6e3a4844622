"""Rankings that Redis loses while a board is made anew, before they are put into its place: the board is made once more."""

import pytest
import redis

from keepscore import Board
from keepscore.errors import EngineUnavailable
from tests.contract.both import over_redis, own_redis
from tests.contract.opened import differences, standings

BOARDS = {
    "timed": Board("b", operator="sum", segments=["region"], consistency="strong"),
    "plain": Board("b", operator="sum", ties="player", segments=["region"], consistency="strong"),
    "composite": Board("b", max_score=1000, resolution="1s", segments=["region"], consistency="strong"),
}


async def fill(lb):
    for n in range(12):
        await lb.submit("b", f"p{n % 4}", n, segments={"region": "eu" if n % 2 else "us"})


async def shown(lb):
    return [await standings(lb, "b", segment=segment) for segment in (None, "region:eu", "region:us")]


@pytest.mark.parametrize("with_checkpoint", [False, True])
@pytest.mark.parametrize("layout", BOARDS)
async def test_a_key_that_is_lost_before_it_takes_effect(tmp_path, clock, layout, with_checkpoint):
    url = own_redis()
    async with over_redis(tmp_path / "scores.db", url, clock, BOARDS[layout]) as lb:
        await fill(lb)
        if with_checkpoint:
            await lb.runtime.checkpoints.checkpoint()
            await lb.submit("b", "late", 500)
        expected = await shown(lb)
        promote, number = lb.runtime.engine._shadows.promote, 0
        with redis.Redis.from_url(url) as client:

            async def promote_the_rest(*args):
                nonlocal number
                shadow = sorted(lb.runtime.engine._boards.shadows.values())[0]
                keys = sorted(key for key in client.keys("*") if key.decode().startswith(shadow.prefix))
                keys += [shadow.watermarks.encode(), shadow.listed.encode()]
                if number < len(keys):
                    client.delete(keys[number])
                    number += 1
                return await promote(*args)

            lb.runtime.engine._shadows.promote = promote_the_rest
            refused = 0
            while True:
                before = number
                client.delete("", *client.keys("*:rankings"))
                try:
                    assert await shown(lb) == expected
                except EngineUnavailable:
                    refused += 1
                if number == before:
                    break
            assert refused == number >= 5
        assert await shown(lb) == expected
        assert await differences(lb) == []
