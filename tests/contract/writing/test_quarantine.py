"""An event that Redis refuses for good is left out and told; the board goes on without it."""

import hashlib
import logging

import pytest
import redis

from keepscore import Board, Entry
from keepscore.errors import EngineUnavailable
from keepscore.storage.engines.redis import client
from tests.contract.both import over_redis, own_redis
from tests.contract.opened import differences, standings

BOARDS = (Board("coins", operator="sum"), Board("prize", operator="last", consistency="strong"), Board("other"))
#: What the script does with a poisoned player, before it writes anything.
POISON = b"""
for _, batch in ipairs(batches) do
  for _, player in ipairs(batch.players) do
    if string.sub(player, 1, 6) == 'poison' then error('no place for ' .. player) end
  end
end
local answers = {}
"""


@pytest.fixture
def poisoned(monkeypatch):
    """A script that refuses some players."""
    text = client.SCRIPTS["apply"].text.replace(b"\nlocal answers = {}\n", POISON)
    assert text != client.SCRIPTS["apply"].text
    script = client.Script(text, hashlib.sha1(text, usedforsecurity=False).hexdigest())
    monkeypatch.setitem(client.SCRIPTS, "apply", script)
    return monkeypatch


async def catch_up(lb):
    await lb.runtime.catch_up.run()


@pytest.mark.parametrize("board", ["coins", "prize"])
async def test_the_board_goes_on(tmp_path, clock, poisoned, caplog, board):
    async with over_redis(tmp_path / "scores.db", own_redis(), clock, *BOARDS) as lb:
        await lb.increment(board, "ann", 1)
        receipt = await lb.increment(board, "poison", 5)
        assert (receipt.pending, receipt.rank) == (True, None), "it is recorded"
        assert (await lb.increment(board, "ann", 2)).score == 3
        assert (await lb.increment(board, "bob", 1)).rank == 2
        await catch_up(lb)
        assert await standings(lb, board) == [(1, "ann", 3), (2, "bob", 1)]
        (told,) = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
        assert "event 2 of writer" in told
        assert "'poison'" in told
        (reason,) = await lb.ready()
        assert reason.startswith(f"board {board!r}: event 2 of writer")
        assert "poison" in {difference.player_id for difference in await differences(lb)}, "it is not hidden"
        # What was wrong is mended.
        poisoned.undo()
        await lb.admin.rebuild(board)
        assert await standings(lb, board) == [(1, "poison", 5), (2, "ann", 3), (3, "bob", 1)]
        assert await lb.ready() == []
        assert await differences(lb) == []


async def test_the_others_of_a_batch_are_ranked(tmp_path, clock, poisoned):
    async with over_redis(tmp_path / "scores.db", own_redis(), clock, *BOARDS) as lb:
        names = [f"poison{n}" if n % 100 == 7 else f"p{n}" for n in range(700)]
        await lb.submit_many("coins", [Entry(player_id=name, amount=n) for n, name in enumerate(names)])
        await catch_up(lb)
        shown = {player: score for _, player, score in await standings(lb, "coins", limit=1000)}
        assert shown == {name: n for n, name in enumerate(names) if not name.startswith("poison")}
        reasons = await lb.ready()
        assert len(reasons) == 6
        assert "2 more events" in reasons[-1]
        assert (await lb.increment("coins", "p1", 1)).score == 2


async def test_a_redis_that_refuses_everything_makes_no_event_a_bad_one(tmp_path, clock, monkeypatch):
    async with over_redis(tmp_path / "scores.db", own_redis(), clock, *BOARDS) as lb:
        await lb.increment("coins", "ann", 1)
        with monkeypatch.context() as failing:
            for name in ("apply", "probe"):
                text = client.SCRIPTS[name].text + b"\nerror('out of order')"
                text = text.replace(b"\nlocal now, batches", b"\nif true then error('out of order') end\nlocal now, batches", 1)
                failing.setitem(client.SCRIPTS, name, client.Script(text, hashlib.sha1(text, usedforsecurity=False).hexdigest()))
            assert (await lb.increment("coins", "ann", 2)).pending
            assert (await lb.increment("coins", "bob", 2)).pending
        await catch_up(lb)
        assert await standings(lb, "coins") == [(1, "ann", 3), (2, "bob", 2)]
        assert await lb.ready() == []


@pytest.fixture
def poisoned_loads(monkeypatch):
    """A Redis that refuses states of some players."""
    transaction = client.RedisClient.transaction

    async def refusing(self, commands, *rest):
        if any("poison" in repr(command) for command in commands):
            commands = [(name, key, "no number", "poison") if name == "ZADD" else (name, key, *others) for name, key, *others in commands]
        return await transaction(self, commands, *rest)

    monkeypatch.setattr(client.RedisClient, "transaction", refusing)
    return monkeypatch


@pytest.mark.parametrize("board", ["coins", "prize"])
async def test_a_board_is_loaded_without_a_state_that_is_refused(tmp_path, clock, poisoned_loads, caplog, board):
    url = own_redis()
    names = [f"p{n}" for n in range(600)]
    async with over_redis(tmp_path / "scores.db", url, clock, *BOARDS) as lb:
        await lb.submit_many(board, [Entry(player_id=name, amount=n + 1) for n, name in enumerate([*names, "poison"])])
        await lb.admin.rebuild(board)
        wanted = [*reversed(names)]
        assert [player for _, player, _ in await standings(lb, board, limit=1000)] == wanted
        (told,) = {record.getMessage() for record in caplog.records if record.levelno == logging.ERROR}
        assert "'poison'" in told
        (reason,) = await lb.ready()
        assert reason.startswith(f"board {board!r}: player 'poison' is not ranked in all_time")
    with redis.Redis.from_url(url) as bare:
        bare.flushdb()
    async with over_redis(tmp_path / "scores.db", url, clock, *BOARDS) as lb:
        assert [player for _, player, _ in await standings(lb, board, limit=1000)] == wanted, "it starts, on an empty Redis, too"
        assert (await lb.increment(board, "p5", 1000)).rank == 1
        assert {difference.player_id for difference in await differences(lb)} == {"poison"}, "it is not hidden"
        poisoned_loads.undo()
        await lb.admin.rebuild(board)
        assert await lb.ready() == []
        assert await differences(lb) == []
        assert (await lb.rank(board, "poison")).score == 601


async def test_a_board_of_which_most_is_refused_is_not_loaded(tmp_path, clock, poisoned_loads):
    async with over_redis(tmp_path / "scores.db", own_redis(), clock, *BOARDS) as lb:
        await lb.submit_many("coins", [Entry(player_id=f"poison{n}", amount=n + 1) for n in range(300)])
        with pytest.raises(EngineUnavailable, match="refused"):
            await lb.admin.rebuild("coins")
        assert len(await standings(lb, "coins", limit=1000)) == 300, "the old rankings stay"
