"""Decisions of all kinds between scores and closes of windows, in any order: rankings are those of a twin that got only what counts."""

import asyncio
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from keepscore import Board
from tests.contract.fairplay.test_voids import PLACES
from tests.contract.opened import HOUR, MINUTE, NOON, Clock, differences
from tests.support.opening import leaderboards

BOARDS = [
    Board("best", windows=["all_time", "daily"]),
    Board("sum", operator="sum", windows=["daily", "all_time"]),
    Board("last", operator="last", windows=["all_time", "daily"]),
]
PLAYERS = ["ada", "eve", "guest"]

submits = st.tuples(st.just("submit"), st.sampled_from(BOARDS), st.sampled_from(PLAYERS), st.integers(1, 9))
players = st.sampled_from(PLAYERS)
decisions = st.one_of(
    st.tuples(st.sampled_from(["hide", "shadow", "restore"]), players),
    st.tuples(st.just("void"), st.sampled_from(BOARDS), players),
    st.tuples(st.just("undo"), st.integers(0, 3)),
    st.tuples(st.sampled_from(["merge", "split"])),
    st.tuples(st.just("wait"), st.sampled_from([MINUTE, 13 * HOUR])),
)
steps = st.lists(st.one_of(submits, submits, submits, decisions), min_size=10, max_size=30)


class Model:
    """What was sent, and what of it counts."""

    def __init__(self):
        self.sent = []
        self.unranked = set()
        self.is_merged = False
        self.voids = []

    def counting(self):
        """Return what a twin gets: everything that counts, as whose it counts."""
        found = []
        for one in self.sent:
            player = "ada" if one["player"] == "guest" and self.is_merged else one["player"]
            if not one["void"] and player not in self.unranked:
                found.append({**one, "player": player})
        return found


async def send(lb, one):
    board = one["board"]
    await (lb.increment if board.operator == "sum" else lb.submit)(board.name, one["player"], one["amount"])


async def step(lb, clock, model, wanted):
    clock.now += 1000
    what, *given = wanted
    if what == "submit" and not (given[1] == "guest" and model.is_merged):
        model.sent.append({"now": clock.now, "board": given[0], "player": given[1], "amount": given[2], "void": set()})
        await send(lb, model.sent[-1])
    elif what in ("hide", "shadow") and not (given[0] == "guest" and model.is_merged):
        await getattr(lb.moderation, what)(given[0], "a bot")
        model.unranked.add(given[0])
    elif what == "restore" and given[0] in model.unranked:
        await lb.moderation.restore(given[0], "no bot")
        model.unranked.discard(given[0])
    elif what == "void" and not model.is_merged:
        report = await lb.moderation.void(given[0].name, "a bot", player_id=given[1])
        if report.void_id is not None:
            model.voids.append(report.void_id)
            for one in model.sent:
                if (one["board"], one["player"]) == tuple(given) and not one["void"]:
                    one["void"].add(report.void_id)
    elif what == "undo" and given[0] < len(model.voids) and not model.is_merged:
        void_id = model.voids.pop(given[0])
        await lb.moderation.undo(void_id, "no bot")
        for one in model.sent:
            one["void"].discard(void_id)
    elif what == "merge" and not model.is_merged and "guest" not in model.unranked:
        await lb.moderation.merge("guest", "ada", "one person")
        model.is_merged = True
    elif what == "split" and model.is_merged:
        await lb.moderation.split("guest", "two people")
        model.is_merged = False
    elif what == "wait":
        clock.now += given[0]
        await lb.admin.run_keeper()


async def shown(lb):
    tops = {(board.name, window): await lb.top(board.name, window=window) for board in BOARDS for window in board.periods}
    return {key: [(one.rank, one.player_id, one.score, one.since) for one in top.standings] for key, top in tops.items()}


async def run(place, folder, wanted):
    clock, model = Clock(NOON), Model()
    async with AsyncExitStack() as stack:
        lb = await stack.enter_async_context(leaderboards(*place, BOARDS, clock))
        for one in wanted:
            await step(lb, clock, model, one)
        twin_clock = Clock(NOON)
        twin = await stack.enter_async_context(leaderboards(f"sqlite:///{folder}/twin.db", "embedded://", BOARDS, twin_clock))
        for one in model.counting():
            twin_clock.now = one["now"]
            await send(twin, one)
        twin_clock.now = clock.now
        assert await shown(lb) == await shown(twin)
        assert await differences(lb) == []
        for board in BOARDS:
            await lb.admin.rebuild(board.name)
        assert await shown(lb) == await shown(twin)


@pytest.mark.parametrize(("name", "examples"), [("embedded", 25), ("redis", 4), ("postgres", 3)])
def test_rankings_are_those_of_what_counts(name, examples):
    ledger, engine = PLACES[name]

    @seed(17)
    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(steps)
    def check(wanted):
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(run((ledger(Path(folder)), engine()), folder, wanted))

    check()
