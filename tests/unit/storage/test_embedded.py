"""What only the engine in the process does: it loads rankings that have much in common."""

from keepscore import Board
from keepscore.domain.ordering import Row
from keepscore.storage.engines.base import Loaded, Ranking
from keepscore.storage.engines.embedded.engine import EmbeddedEngine


async def parts(*loaded):
    for one in loaded:
        yield one


async def test_a_ranking_does_not_follow_another_that_went_on_behind_the_checkpoint():
    board = Board("game", windows=["all_time", "daily"])
    whole, day = Ranking(1, "all_time", "all_time", ""), Ranking(1, "daily", "2026-11-15", "")
    rows = [("ann", 30, 1), ("bob", 20, 2)]
    engine = EmbeddedEngine()
    states = parts(Loaded(whole, 0, rows, False), Loaded(day, 0, rows, False), Loaded(whole, 0, [("bob", 40, 3)], True))
    await engine.load(1, board, states, {1: 3})
    await engine.promote(1)
    engine.check_invariants()
    assert (await engine.page(whole, 0, 10)).rows == [Row("bob", 40, 3), Row("ann", 30, 1)]
    assert (await engine.page(day, 0, 10)).rows == [Row("ann", 30, 1), Row("bob", 20, 2)]
