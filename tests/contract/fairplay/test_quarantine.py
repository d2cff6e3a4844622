"""Scores in quarantine are recorded, and not ranked until a moderator approves them: as on a twin that got only what counts."""

import asyncio
import random
from contextlib import AsyncExitStack

import msgspec
import pytest

from keepscore import Board, Entry
from keepscore.errors import (
    AlreadyDecided,
    GameCounted,
    InvalidBoard,
    InvalidField,
    InvalidPage,
    RuleBroken,
    UnknownPlayer,
    UnknownQueueItem,
)
from tests.contract.fairplay.test_voids import PLACES
from tests.contract.opened import DAY, HOUR, MINUTE, NOON, Clock, differences, recorded
from tests.support.opening import leaderboards

HELD = {"max_score": 100, "on_break": "quarantine"}
BOARDS = [
    Board("best", windows=["all_time", "daily"], segments=["region"], rules=HELD),
    Board("sum", operator="sum", windows=["daily", "all_time"], rules=HELD, also=["total"]),
    Board("last", operator="last", windows=["all_time"], ties="last", rules=HELD),
    Board("first", operator="first", windows=["daily"], resolution="1s", rules=HELD),
    Board("raised", increments=True, windows=["daily", "all_time"], rules=HELD),
    Board("kept", keep_top=3, windows=["all_time"], rules=HELD),
    Board("total", operator="sum", windows=["all_time"]),
    Board("games", operator="sum", rules={"require": ["game_id"], "max_increase": 10, "on_break": {"max_increase": "quarantine"}}),
    Board("both", operator="sum", rules={"max_submissions": "2/1h", "max_increase": 10, "on_break": {"max_increase": "quarantine"}}),
]
NAMES = ["best", "sum", "last", "first", "raised", "kept"]


@pytest.fixture(params=PLACES)
def opening(request, tmp_path, clock):
    """Opens leaderboards at one place, again and again."""
    ledger, engine = PLACES[request.param]
    place = ledger(tmp_path), engine()
    return lambda boards=BOARDS: leaderboards(*place, boards, clock)


@pytest.fixture
def clock():
    return Clock(NOON)


async def everything(lb):
    """All that the boards show."""
    found = {}
    for name in [*(name for name in NAMES if name != "raised"), "total"]:
        board = next(board for board in BOARDS if board.name == name)
        for window in board.periods:
            rows = (await lb.top(name, window=window, limit=100)).standings
            found[name, window] = [(row.player_id, row.score, row.since) for row in rows]
    return found


async def queue(lb, **fields):
    return (await lb.moderation.queue(**fields)).items


async def test_a_score_in_quarantine_is_pending_until_it_is_approved(opening, clock):
    async with opening() as lb:
        await lb.submit("best", "eve", 90)
        clock.now += MINUTE
        receipt = await lb.submit("best", "ada", 500, segments={"region": "eu"}, idempotency_key="k")
        assert (receipt.rank, receipt.pending, receipt.quarantined, receipt.score) == (None, True, True, 500)
        assert [(reason.rule, reason.limit, reason.value) for reason in receipt.reasons] == [("max_score", "100", 500)]
        again = await lb.submit("best", "ada", 500, segments={"region": "eu"}, idempotency_key="k")
        assert (again.replayed, again.quarantined, again.queue_id) == (True, True, receipt.queue_id)
        clock.now += MINUTE
        await lb.submit("best", "bob", 90)
        assert [s.player_id for s in (await lb.top("best")).standings] == ["eve", "bob"]
        with pytest.raises(UnknownPlayer):
            await lb.rank("best", "ada", segment="region:eu")
    async with opening() as lb:
        (item,) = await queue(lb)
        assert (item.id, item.board, item.player_id, item.score) == (receipt.queue_id, "best", "ada", 500)
        assert item.at.timestamp() * 1000 == NOON + MINUTE
        assert item.reasons == receipt.reasons
        assert (item.evidence.history.submissions, item.evidence.distribution.players, item.evidence.distribution.ahead) == (0, 2, 0)
        clock.now += HOUR
        approved = await lb.moderation.approve(item.id, "on stream", idempotency_key="a")
        assert (approved.state, approved.reason) == ("approved", "on stream")
        top = (await lb.top("best")).standings
        assert [(s.player_id, s.score) for s in top] == [("ada", 500), ("eve", 90), ("bob", 90)]
        assert top[0].since.timestamp() * 1000 == NOON + MINUTE
        assert (await lb.rank("best", "ada", segment="region:eu")).score == 500
        assert (await lb.moderation.approve(item.id, "on stream", idempotency_key="a")).replayed is True
        for act in (lb.moderation.approve, lb.moderation.reject):
            with pytest.raises(AlreadyDecided):
                await act(item.id, "once more")
        assert await queue(lb) == []
        assert [one.id for one in await queue(lb, state="approved", board="best", player_id="ada")] == [item.id]
        actions = [(entry.action, entry.detail["queue"], entry.reason) for entry in (await lb.audit.entries(board="best")).entries[:1]]
        assert actions == [("approve", item.id, "on stream")]
        assert await differences(lb) == []


async def test_a_rejected_score_never_counts_also_on_linked_boards(opening, clock):
    async with opening() as lb:
        await lb.increment("sum", "ada", 10)
        await lb.increment("sum", "ada", 500)
        clock.now += MINUTE
        await lb.increment("sum", "ada", 600)
        first, second = await queue(lb)
        assert [(await lb.rank(board, "ada")).score for board in ("sum", "total")] == [10, 10]
        assert (await lb.moderation.reject(first.id, "no")).state == "rejected"
        assert [(await lb.rank(board, "ada")).score for board in ("sum", "total")] == [10, 10]
        await lb.moderation.approve(second.id, "yes")
        assert [(await lb.rank(board, "ada")).score for board in ("sum", "total")] == [610, 610]
        await lb.admin.rebuild("sum")
        await lb.admin.rebuild("total")
        assert [(await lb.rank(board, "ada")).score for board in ("sum", "total")] == [610, 610]
        assert await differences(lb) == []


async def test_a_batch_tells_how_many_are_in_quarantine(opening):
    async with opening() as lb:
        entries = [Entry(player_id=f"p{n}", score=n * 60) for n in range(4)]
        tried = await lb.check_many("best", entries)
        assert (tried.accepted, tried.quarantined) == (4, 2)
        assert await queue(lb) == []
        answer = await lb.submit_many("best", entries, results=True, idempotency_key="b")
        assert (answer.accepted, answer.quarantined, answer.rejected) == (4, 2, [])
        assert [receipt.rank for receipt in answer.results] == [1, 1, None, None]
        assert (await lb.submit_many("best", entries, results=True, idempotency_key="b")).quarantined == 2
        page = await lb.moderation.queue(limit=1)
        assert page.next_cursor is not None
        rest = await lb.moderation.queue(limit=1, cursor=page.next_cursor)
        assert [*page.items, *rest.items] == await queue(lb)
        assert rest.next_cursor is None


async def test_what_is_held_uses_up_its_game_and_no_limit(opening):
    async with opening() as lb:
        assert (await lb.increment("games", "ada", 11, game_id="g")).quarantined is True
        with pytest.raises(GameCounted):
            await lb.increment("games", "ada", 1, game_id="g")
        with pytest.raises(RuleBroken):
            await lb.increment("games", "ada", 11)
        await lb.increment("both", "ada", 1)
        assert (await lb.increment("both", "ada", 11)).quarantined is True
        assert (await lb.increment("both", "ada", 1)).score == 2
        # The other rule refuses, also what would be held.
        for amount in (1, 11):
            with pytest.raises(RuleBroken):
                await lb.increment("both", "ada", amount)
        assert len(await queue(lb)) == 2
        await lb.moderation.approve((await queue(lb, board="both"))[0].id, "fine")
        assert (await lb.rank("both", "ada")).score == 13


async def test_nobody_fills_the_queue(opening):
    async with opening() as lb:
        answer = await lb.submit_many("best", [Entry(player_id="ada", score=1000 + n) for n in range(60)])
        assert (answer.accepted, answer.quarantined, len(answer.rejected)) == (50, 50, 10)
        with pytest.raises(RuleBroken, match="wait for moderators"):
            await lb.submit("best", "ada", 1000)
        assert (await lb.submit("best", "eve", 1000)).quarantined is True


async def test_an_event_and_its_void_are_one_transaction(opening, monkeypatch):
    async with opening() as lb:

        class Killed(Exception):
            pass

        real = lb.runtime.engine.apply

        async def dying(batches):
            raise Killed

        # The engine never hears of it: what is recorded is read again, both or none.
        monkeypatch.setattr(lb.runtime.engine, "apply", dying)
        assert (await lb.submit("best", "ada", 500)).pending is True
        monkeypatch.setattr(lb.runtime.engine, "apply", real)
        events = await recorded(lb, "best")
        assert [event.kind for event in events] == ["score", "void"]
        assert len({event.seq for event in events}) == 1
        assert events[1].game_id == (await queue(lb))[0].id
        await lb.submit("best", "eve", 1)
        assert [s.player_id for s in (await lb.top("best")).standings] == ["eve"]
    async with opening() as lb:
        assert [s.player_id for s in (await lb.top("best")).standings] == ["eve"]
        assert await differences(lb) == []


async def test_what_was_cut_short_is_finished_by_the_keeper(opening, monkeypatch):
    async with opening() as lb:
        await lb.submit("best", "ada", 500)
        (item,) = await queue(lb)

        class Killed(Exception):
            pass

        async def dying(*given):
            raise Killed

        with monkeypatch.context() as patched:
            patched.setattr("keepscore.fairplay.review.record_verdicts", dying)
            with pytest.raises(Killed):
                await lb.moderation.approve(item.id, "yes")
        with pytest.raises(AlreadyDecided):
            await lb.moderation.reject(item.id, "no")
    async with opening() as lb:
        await lb.admin.run_keeper()
        assert (await lb.rank("best", "ada")).score == 500
        assert (await queue(lb, state="approved"))[0].reason == "yes"


async def test_of_two_moderators_one_decides(opening):
    async with opening() as lb:
        await lb.submit("best", "ada", 500)
        (item,) = await queue(lb)
        found = await asyncio.gather(lb.moderation.approve(item.id, "yes"), lb.moderation.reject(item.id, "no"), return_exceptions=True)
        assert sorted(isinstance(one, AlreadyDecided) for one in found) == [False, True]
        assert await differences(lb) == []


async def test_bad_input_is_refused(opening):
    async with opening() as lb:
        await lb.submit("best", "ada", 500)
        (item,) = await queue(lb)
        for error, call in (
            (UnknownQueueItem, lb.moderation.approve("q_1", "why")),
            (UnknownQueueItem, lb.moderation.reject("x" * 5000, "why")),
            (InvalidField, lb.moderation.approve(item.id, "")),
            (InvalidField, lb.moderation.reject(item.id, "x" * 1001)),
            (InvalidField, lb.moderation.queue(state="lost")),
            (InvalidPage, lb.moderation.queue(cursor="x")),
            (InvalidPage, lb.moderation.queue(limit=101)),
        ):
            with pytest.raises(error):
                await call
        assert len(await queue(lb)) == 1
        for rules in (
            {"max_increase": 5, "on_break": "ignore"},
            {"max_increase": 5, "on_break": {"require": "quarantine"}},
            {"max_score": 5, "min_score": 6},
            {"max_score": "high"},
        ):
            with pytest.raises(InvalidBoard):
                Board("bad", rules=rules)
        assert Board("none", rules={"on_break": "quarantine"}).rules is None


class History:
    """What was submitted, what of it counts, and what waits for a decision."""

    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.submitted = []
        self.void_ids = []

    async def submit(self, lb, clock):
        clock.now += self.dice.randrange(1, 90_000)
        name = self.dice.choice(NAMES)
        increment = name == "sum" or (name in ("last", "raised") and self.dice.random() < 0.4)
        player = f"p{self.dice.randrange(5)}"
        amount = self.dice.randrange(1, 100) if self.dice.random() < 0.6 else self.dice.randrange(101, 200)
        receipt = await (lb.increment if increment else lb.submit)(name, player, amount)
        assert (receipt.quarantined is True) == (amount > 100)
        one = {"board": name, "player": player, "amount": amount, "increment": increment, "now": clock.now}
        self.submitted.append(one | {"item": receipt.queue_id if amount > 100 else None, "held": amount > 100, "void": set()})

    async def decide(self, lb, clock):
        waiting = [one for one in self.submitted if one["held"] and one["item"] is not None]
        if waiting:
            clock.now += self.dice.randrange(1, 1000)
            one = self.dice.choice(waiting)
            if self.dice.random() < 0.6:
                await lb.moderation.approve(one["item"], "fine")
                one["held"] = False
            else:
                await lb.moderation.reject(one["item"], "not fine")
            one["item"] = None

    async def void(self, lb, clock):
        clock.now += self.dice.randrange(1, 1000)
        name, player = self.dice.choice([name for name in NAMES if name != "sum"]), f"p{self.dice.randrange(5)}"
        own = [one for one in self.submitted if (one["board"], one["player"]) == (name, player) and not one["void"] and not one["held"]]
        report = await lb.moderation.void(name, "a bot", player_id=player)
        for one in own:
            one["void"].add(report.void_id)
        if own:
            self.void_ids.append(report.void_id)

    async def undo(self, lb, clock):
        if self.void_ids:
            void_id = self.void_ids.pop(self.dice.randrange(len(self.void_ids)))
            await lb.moderation.undo(void_id, "no bot")
            for one in self.submitted:
                one["void"].discard(void_id)


@pytest.mark.parametrize("seed", range(2))
async def test_rankings_are_those_of_a_twin_that_got_only_what_counts(opening, clock, seed):
    history = History(seed)
    boards = [board for board in BOARDS if board.name in (*NAMES, "total")]
    async with AsyncExitStack() as stack:
        lb = await stack.enter_async_context(opening(boards))
        for _ in range(70):
            roll = history.dice.random()
            if roll < 0.55:
                await history.submit(lb, clock)
            elif roll < 0.75:
                await history.decide(lb, clock)
            elif roll < 0.8:
                await history.void(lb, clock)
            elif roll < 0.84:
                await history.undo(lb, clock)
            elif roll < 0.88:
                await lb.runtime.checkpoints.checkpoint()
            elif roll < 0.92:
                await lb.admin.rebuild(history.dice.choice(NAMES))
            elif roll < 0.95:
                clock.now += DAY // 3
                await lb.admin.run_keeper()
            else:
                await stack.aclose()
                lb = await stack.enter_async_context(opening(boards))
        then = Clock(NOON)
        twin = await stack.enter_async_context(leaderboards("sqlite:///:memory:", "embedded://", [_free(board) for board in boards], then))
        for one in history.submitted:
            then.now = one["now"]
            # What an amount has made of a best score stays what it was, whatever is void later: `differences` looks at it.
            if not one["void"] and not one["held"] and one["board"] != "raised":
                await (twin.increment if one["increment"] else twin.submit)(one["board"], one["player"], one["amount"])
        then.now = clock.now
        assert await everything(lb) == await everything(twin)
        assert await differences(lb) == []


def _free(board):
    return msgspec.structs.replace(board, rules=None)
