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
    # A score above 9 waits for a moderator.
    Board("ruled", rules={"max_score": 9, "on_break": "quarantine"}),
    Board("points", operator="sum"),
]
#: Boards with one window, in which a correction counts.
CORRECTED = [BOARDS[3], BOARDS[4]]
#: The same without rules: what a moderator has approved counts.
TWINS = [board if board.rules is None else Board(board.name) for board in BOARDS]
PLAYERS = ["ada", "eve", "guest"]

submits = st.tuples(st.just("submit"), st.sampled_from(BOARDS), st.sampled_from(PLAYERS), st.integers(1, 12))
players = st.sampled_from(PLAYERS)
decisions = st.one_of(
    st.tuples(st.sampled_from(["hide", "shadow", "restore"]), players),
    st.tuples(st.just("void"), st.sampled_from(BOARDS), players),
    st.tuples(st.just("undo"), st.integers(0, 3)),
    st.tuples(st.sampled_from(["merge", "split"])),
    st.tuples(st.sampled_from(["approve", "reject"]), st.integers(0, 2)),
    st.tuples(st.just("correct"), st.sampled_from(CORRECTED), players, st.integers(1, 9)),
    st.tuples(st.just("erase"), players),
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
        #: What waits for a moderator.
        self.queue = []

    def add(self, now, board, player, amount):
        """Note something that counts."""
        self.sent.append({"now": now, "board": board, "player": player, "amount": amount, "void": set()})
        return self.sent[-1]

    def of(self, board, player):
        """Return what counts of a player on a board."""
        return [one for one in self.sent if (one["board"], one["player"]) == (board, player) and not one["void"]]

    def rename(self, player, pseudonym):
        """Let a player be called otherwise, who stays what they were."""
        for one in self.sent:
            one["player"] = pseudonym if one["player"] == player else one["player"]
        if player in self.unranked:
            self.unranked ^= {player, pseudonym}

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
    return await (lb.increment if board.operator == "sum" else lb.submit)(board.name, one["player"], one["amount"])


async def submit(lb, clock, model, board, player, amount):
    if player == "guest" and model.is_merged:
        return
    one = model.add(clock.now, board, player, amount)
    receipt = await send(lb, one)
    if receipt.quarantined is True:
        one["void"].add(receipt.queue_id)
        model.queue.append((receipt.queue_id, one))


async def restrict(lb, model, what, player):
    if what == "restore" and player in model.unranked:
        await lb.moderation.restore(player, "no bot")
        model.unranked.discard(player)
    elif what != "restore" and not (player == "guest" and model.is_merged):
        await getattr(lb.moderation, what)(player, "a bot")
        model.unranked.add(player)


async def void(lb, model, board, player):
    if model.is_merged:
        return
    report = await lb.moderation.void(board.name, "a bot", player_id=player)
    if report.void_id is not None:
        model.voids.append((report.void_id, None))
        for one in model.of(board, player):
            one["void"].add(report.void_id)


async def undo(lb, model, number):
    if number < len(model.voids) and not model.is_merged:
        void_id, added = model.voids.pop(number)
        await lb.moderation.undo(void_id, "no bot")
        for one in model.sent:
            one["void"].discard(void_id)
        if added is not None:
            added["void"].add("undone")


async def merge_or_split(lb, model, what):
    is_known = any(one["player"] in ("guest", "ada") for one in model.sent)
    if what == "merge" and is_known and not model.is_merged and "guest" not in model.unranked:
        await lb.moderation.merge("guest", "ada", "one person")
        model.is_merged = True
    elif what == "split" and model.is_merged:
        await lb.moderation.split("guest", "two people")
        model.is_merged = False


async def decide(lb, model, what, number):
    if number < len(model.queue) and not model.is_merged:
        queue_id, one = model.queue.pop(number)
        await getattr(lb.moderation, what)(queue_id, "seen")
        if what == "approve":
            one["void"].discard(queue_id)


async def correct(lb, clock, model, board, player, score):
    known = model.of(board, player)
    if not known or player in model.unranked or model.is_merged:
        return
    report = await lb.moderation.correct(board.name, player, score, "a bug")
    if report.void_id is None:
        # It is that score already.
        return
    before = sum(one["amount"] for one in known) if board.operator == "sum" else 0
    for one in known if board.operator != "sum" else ():
        one["void"].add(report.void_id)
    model.voids.append((report.void_id, model.add(clock.now, board, player, score - before)))


async def erase(lb, model, player):
    if model.is_merged and player != "eve":
        return
    done = await lb.moderation.erase(player, "it was asked for")
    if done.pseudonym is not None:
        model.rename(player, done.pseudonym)


async def step(lb, clock, model, wanted):
    clock.now += 1000
    what, *given = wanted
    if what == "submit":
        await submit(lb, clock, model, *given)
    elif what in ("hide", "shadow", "restore"):
        await restrict(lb, model, what, *given)
    elif what == "void":
        await void(lb, model, *given)
    elif what == "undo":
        await undo(lb, model, *given)
    elif what in ("merge", "split"):
        await merge_or_split(lb, model, what)
    elif what in ("approve", "reject"):
        await decide(lb, model, what, *given)
    elif what == "correct":
        await correct(lb, clock, model, *given)
    elif what == "erase":
        await erase(lb, model, *given)
    else:
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
        twin = await stack.enter_async_context(leaderboards(f"sqlite:///{folder}/twin.db", "embedded://", TWINS, twin_clock))
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
