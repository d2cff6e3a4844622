"""Rankings rebuilt from the ledger: the same ones, with nothing lost that comes meanwhile."""

import asyncio

import pytest

from keepscore import Board
from keepscore.errors import EngineUnavailable
from tests.contract.driving import restate
from tests.contract.lifecycle.ten_players import board, filled
from tests.contract.opened import DAY, standings


@pytest.mark.parametrize("options", [{}, {"operator": "sum"}, {"operator": "last"}, {"ties": "player"}, {"rank": "dense"}])
async def test_a_rebuild_makes_the_same_rankings_and_loses_nothing_that_comes_meanwhile(on_each_engine, options):
    made = board(**options)
    async with on_each_engine(made) as lb:
        await filled(lb, made.name)
        told = []
        submit = lb.increment if made.operator in ("sum", "last") else lb.submit
        writes = [submit(made.name, f"q{n % 20}", n, segments={"region": "us"}) for n in range(200)]
        done, *_ = await asyncio.gather(lb.admin.rebuild(made.name, progress=lambda *step: told.append(step)), *writes)
        assert (done.board, done.players >= 10, done.events >= 10, done.seconds > 0) == (made.name, True, True, True)
        assert {what for what, _, _ in told} == {"folding events", "filling rankings"}
        assert all(0 < part <= total for _, part, total in told)
        assert (await lb.admin.verify(made.name)).ok
        again = await lb.admin.rebuild(made.name)
        # A score on a sum board, a correction, counts in the first window alone.
        assert (again.events, again.players, again.rankings) == (210, 30, 5 if made.operator == "sum" else 6)
        assert (await lb.admin.verify(made.name)).ok


async def test_a_rebuild_leaves_out_rankings_whose_time_is_over(on_each_engine):
    made = Board("days", windows={"daily": {"ttl": "1d"}, "all_time": {}})
    async with on_each_engine(made) as lb:
        await lb.submit("days", "old", 1)
        lb.runtime.clock.now += 3 * DAY
        await lb.submit("days", "new", 2)
        await lb.admin.rebuild("days")
        rankings = await lb.runtime.engine.rankings(lb.runtime.catalog["days"].id)
        assert sorted(ranking.window for ranking in rankings) == ["all_time", "daily"]
        assert (await lb.admin.verify("days")).ok


@pytest.mark.parametrize("on_each_engine", ["embedded"], indirect=True)
async def test_what_a_rebuild_has_made_is_what_the_next_start_has(on_each_engine):
    made = board()
    async with on_each_engine(made) as lb:
        ranking = await filled(lb, made.name)
        await lb.runtime.checkpoints.checkpoint()
        await restate(lb.runtime.engine, ranking, "p5", None)
        await lb.runtime.checkpoints.checkpoint()
        await lb.admin.rebuild(made.name)
        await lb.runtime.checkpoints.checkpoint()
    async with on_each_engine(made) as lb:
        assert (await lb.admin.verify(made.name)).ok


@pytest.mark.parametrize("on_each_engine", ["redis"], indirect=True)
async def test_a_rebuild_of_which_redis_has_lost_a_part_does_not_take_effect(on_each_engine):
    made = board()
    async with on_each_engine(made) as lb:
        await filled(lb, made.name)

        def lose(what, done, total):
            for key in lb.bare.keys("keepscore:new:*"):
                lb.bare.delete(key)

        before = await standings(lb, made.name)
        with pytest.raises(EngineUnavailable, match="lost something"):
            await lb.admin.rebuild(made.name, progress=lose)
        assert await standings(lb, made.name) == before
        await lb.admin.rebuild(made.name)
        assert (await lb.admin.verify(made.name)).ok
