"""Events that no longer count, and count again: rankings are those of a twin that got only what counts."""

import random
from contextlib import AsyncExitStack
from datetime import UTC, datetime

import pytest

from keepscore import Board
from keepscore.domain.results.moderation import ScoreAndRank
from keepscore.errors import EventsDropped, InvalidField, InvalidPage, InvalidTime, NothingToUndo, RolledUp, UnknownPlayer, UnknownVoid
from tests.contract.both import own_redis
from tests.contract.opened import DAY, HOUR, MINUTE, NOON, Clock, differences
from tests.support.opening import leaderboards
from tests.support.postgres_servers import shared_postgres

BOARDS = [
    Board("best", windows=["all_time", "daily"], segments=["region"]),
    Board("sum", operator="sum", windows=["daily", "all_time"], segments=["region"], ties="player"),
    Board("last", operator="last", windows=["all_time", "daily"], ties="last"),
    Board("first", operator="first", windows=["daily", "all_time"], segments=["region"], resolution="1s"),
    Board("laps", order="asc", windows=["all_time"], max_score=10_000, min_score=0),
    Board("prize", operator="sum", consistency="strong", windows=["all_time"]),
    Board("kept", keep_top=3, windows=["all_time"]),
    Board("short", operator="sum", windows={"daily": {"ttl": "2d"}}),
    Board("week", windows=["weekly"], rollup={"of": ["sum"], "window": "daily", "into": "weekly"}),
]
PLACES = {
    "embedded": (lambda folder: f"sqlite:///{folder / 'scores.db'}", lambda: "embedded://"),
    "redis": (lambda folder: f"sqlite:///{folder / 'scores.db'}", own_redis),
    "postgres": (lambda folder: shared_postgres().new_database(), own_redis),
}


@pytest.fixture(params=PLACES)
def place(request, tmp_path):
    ledger, engine = PLACES[request.param]
    return ledger(tmp_path), engine()


async def shown(lb, name):
    """All that a board shows: rows by window and segment. Where the player id decides, Redis keeps no times."""
    board = next(board for board in BOARDS if board.name == name)
    views = [
        {"window": window, "segment": segment} for window in board.periods for segment in (None, *(["region:eu"] if board.segments else []))
    ]
    return {
        (view["window"], view["segment"]): [
            (s.player_id, s.score, None if board.ties == "player" else s.since) for s in (await lb.top(name, limit=100, **view)).standings
        ]
        for view in views
    }


class History:
    """What was submitted, and what of it counts."""

    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.submitted = []
        self.void_ids = {}

    def matching(self, name, fields):
        wanted = fields.get("player_id"), fields.get("game_id")
        return [s for s in self.submitted if s["board"] == name and wanted in ((s["player"], None), (None, s["game"])) and not s["void"]]

    async def submit(self, lb, clock):
        clock.now += self.dice.randrange(1, 90_000)
        name = self.dice.choice([board.name for board in BOARDS if not board.is_rollup])
        one = {
            "board": name,
            "player": f"p{self.dice.randrange(6)}",
            "amount": self.dice.randrange(1, 50),
            "game": f"g{self.dice.randrange(4)}",
            "region": self.dice.choice([None, "eu"]),
            "increment": name in ("sum", "prize", "short") or (name == "last" and self.dice.random() < 0.4),
            "now": clock.now,
            "void": set(),
        }
        await self.send(lb, one)
        self.submitted.append(one)

    @staticmethod
    async def send(lb, one):
        act = lb.increment if one["increment"] else lb.submit
        has_region = one["region"] and next(board for board in BOARDS if board.name == one["board"]).segments
        await act(
            one["board"], one["player"], one["amount"], segments={"region": one["region"]} if has_region else None, game_id=one["game"]
        )

    async def void(self, lb, clock):
        clock.now += self.dice.randrange(1, 1000)
        name = self.dice.choice([board.name for board in BOARDS if not board.is_rollup])
        fields = self.dice.choice([{"player_id": f"p{self.dice.randrange(6)}"}, {"game_id": f"g{self.dice.randrange(4)}"}])
        own = self.matching(name, fields)
        rehearsed = await lb.moderation.void(name, "a bot", dry_run=True, **fields)
        report = await lb.moderation.void(name, "a bot", **fields)
        assert report.events == rehearsed.events == len(own)
        assert report.players == rehearsed.players == len({s["player"] for s in own})
        assert (report.void_id is None) == (not own)
        # A board that does not keep everybody tells ranks about, and is rebuilt.
        if name != "kept":
            assert report.changes == rehearsed.changes
        for one in own:
            one["void"].add(report.void_id)
        if own:
            self.void_ids[report.void_id] = name

    async def undo(self, lb, clock):
        if self.void_ids:
            void_id = self.dice.choice(sorted(self.void_ids))
            del self.void_ids[void_id]
            assert (await lb.moderation.undo(void_id, "it was no bot")).state == "undone"
            for one in self.submitted:
                one["void"].discard(void_id)


@pytest.mark.parametrize("seed", range(6))
async def test_rankings_are_those_of_a_twin_that_got_only_what_counts(place, tmp_path, seed):
    clock, history = Clock(NOON), History(seed)
    async with AsyncExitStack() as stack:
        lb = await stack.enter_async_context(leaderboards(*place, BOARDS, clock))
        for _ in range(60):
            roll = history.dice.random()
            if roll < 0.65:
                await history.submit(lb, clock)
            elif roll < 0.8:
                await history.void(lb, clock)
            elif roll < 0.88:
                await history.undo(lb, clock)
            elif roll < 0.94:
                await lb.runtime.checkpoints.checkpoint()
            elif roll < 0.97:
                await lb.admin.rebuild(history.dice.choice(BOARDS).name)
            else:
                await stack.aclose()
                lb = await stack.enter_async_context(leaderboards(*place, BOARDS, clock))
        then = Clock(NOON)
        twin = await stack.enter_async_context(leaderboards("sqlite:///:memory:", "embedded://", BOARDS, then))
        for one in history.submitted:
            if not one["void"]:
                then.now = one["now"]
                await history.send(twin, one)
        then.now = clock.now
        for board in BOARDS:
            if board.name != "kept":
                assert await shown(lb, board.name) == await shown(twin, board.name), board.name
            else:
                assert (await lb.top("kept", limit=3)).standings == (await twin.top("kept", limit=3)).standings
        assert await differences(lb) == []
        await lb.runtime.checkpoints.checkpoint()
    async with leaderboards(*place, BOARDS, clock) as again:
        assert await differences(again) == []


async def test_a_player_is_removed_and_comes_back_as_before(place):
    clock = Clock(NOON)
    async with leaderboards(*place, BOARDS, clock) as lb:
        for n, (player, score) in enumerate([("ann", 5), ("bob", 9), ("cem", 9), ("bob", 3)]):
            clock.now = NOON + n * MINUTE
            await lb.submit("best", player, score)
        before = await shown(lb, "best")
        report = await lb.moderation.remove("best", "bob", "a macro")
        assert (report.events, report.players, report.dry_run) == (2, 1, False)
        (change, _) = report.changes
        assert (change.player_id, change.window, change.before, change.after) == ("bob", "all_time", ScoreAndRank(9, 1), None)
        assert [player for player, _, _ in (await shown(lb, "best"))["all_time", None]] == ["cem", "ann"]
        with pytest.raises(UnknownPlayer):
            await lb.rank("best", "bob")
        clock.now += MINUTE
        assert (await lb.submit("best", "bob", 1)).rank == 3
        undone = await lb.moderation.undo(report.void_id, "it was a keyboard")
        assert (undone.state, undone.reason, undone.undo_reason) == ("undone", "a macro", "it was a keyboard")
        assert await shown(lb, "best") == before
        with pytest.raises(NothingToUndo):
            await lb.moderation.undo(report.void_id, "again")
        assert [void.void_id for void in await lb.moderation.voids(board="best")] == [report.void_id]
        assert await lb.moderation.voids(board="sum") == []
        kinds = [event.kind for event in (await lb.history.events("best", "bob")).events]
        assert sorted(kinds) == ["restore", "restore", "score", "score", "score", "void", "void"]
        assert await differences(lb) == []


async def test_as_of_shows_what_stood_then(place):
    clock = Clock(NOON)
    async with leaderboards(*place, BOARDS, clock) as lb:
        await lb.submit("best", "ann", 5)
        clock.now += MINUTE
        report = await lb.moderation.remove("best", "ann", "a macro")
        clock.now += MINUTE
        await lb.moderation.undo(report.void_id, "none")
        for moment, players in ((0, 1), (MINUTE, 0), (2 * MINUTE, 1)):
            at = (NOON + moment) / 1000
            assert (await lb.history.as_of("best", datetime.fromtimestamp(at, UTC))).total_players == players


async def test_closed_windows_stay_unless_they_are_revised(place):
    clock = Clock(NOON)
    async with leaderboards(*place, BOARDS, clock) as lb:
        await lb.increment("sum", "ann", 5)
        await lb.increment("sum", "bob", 7)
        day = (await lb.top("sum")).window_id
        clock.now += DAY + HOUR
        await lb.admin.run_keeper()
        report = await lb.moderation.remove("sum", "bob", "a macro")
        assert {change.window for change in report.changes} == {"all_time"}
        assert (await lb.top("sum", window="daily", window_id=day)).total_players == 2
        await lb.moderation.undo(report.void_id, "once more")
        revised = await lb.moderation.void("sum", "a macro", player_id="bob", revise=True)
        assert revised.revised == [f"daily {day}"]
        assert [s.player_id for s in (await lb.top("sum", window="daily", window_id=day)).standings] == ["ann"]
        assert await differences(lb) == []


async def test_what_was_cut_short_is_finished_by_the_keeper(place, tmp_path):
    clock = Clock(NOON)
    async with leaderboards(*place, BOARDS, clock) as lb:
        for n in range(30):
            await lb.increment("prize", f"p{n % 3}", 1)

        class Killed(Exception):
            pass

        voids = lb.runtime.moderation._voids
        record, times = voids._record, iter(range(2))

        async def dying(live, kind, void_id, events):
            await record(live, kind, void_id, events[: len(events) // 2])
            raise Killed(next(times))

        voids._record = dying
        with pytest.raises(Killed):
            await lb.moderation.void("prize", "a bot", player_id="p1", idempotency_key="k")
        voids._record = record
        assert (await lb.rank("prize", "p1")).score == 5
        assert "v_" in next(job.result for job in (await lb.admin.run_keeper()).jobs if job.name == "finish voids")
        with pytest.raises(UnknownPlayer):
            await lb.rank("prize", "p1")
        # The one who asked asks again, and gets the answer.
        report = await lb.moderation.void("prize", "a bot", player_id="p1", idempotency_key="k")
        assert (report.events, report.players) == (10, 1)
        voids._record = dying
        with pytest.raises(Killed):
            await lb.moderation.undo(report.void_id, "no bot")
        voids._record = record
        await lb.admin.run_keeper()
        assert (await lb.rank("prize", "p1")).score == 10
        assert await differences(lb) == []


async def test_bad_input_records_nothing(place):
    async with leaderboards(*place, BOARDS, Clock(NOON)) as lb:
        await lb.submit("best", "ann", 5)
        void = lb.moderation.void
        for error, call in (
            (InvalidField, void("best", "", player_id="ann")),
            (InvalidField, void("best", "x" * 1001, player_id="ann")),
            (InvalidField, void("best", "half a pair \ud800", player_id="ann")),
            (InvalidField, void("best", "why")),
            (InvalidField, void("best", "why", event_ids=["1"])),
            (InvalidField, void("best", "why", event_ids=[])),
            (InvalidTime, void("best", "why", since="2026-01-02T00:00:00Z", until="2026-01-01T00:00:00Z")),
            (InvalidTime, void("best", "why", since="yesterday")),
            (InvalidPage, void("best", "why", player_id="ann", dry_run=True, cursor="x")),
            (RolledUp, void("week", "why", player_id="ann")),
            (UnknownPlayer, lb.moderation.remove("best", "nobody", "why")),
            (UnknownVoid, lb.moderation.undo("v_1", "why")),
            (UnknownVoid, lb.moderation.report("v_1")),
        ):
            with pytest.raises(error):
                await call
        nothing = await void("best", "why", player_id="nobody")
        assert (nothing.void_id, nothing.events, nothing.changes) == (None, 0, [])
        assert await lb.moderation.voids() == []
        assert (await lb.rank("best", "ann")).rank == 1


async def test_events_are_named_one_by_one_or_by_their_time(place):
    clock = Clock(NOON)
    async with leaderboards(*place, BOARDS, clock) as lb:
        for n in range(4):
            clock.now = NOON + n * MINUTE
            await lb.increment("sum", "ann", 10**n)
        newest = (await lb.history.events("sum", "ann")).events[0]
        await lb.moderation.void("sum", "typo", event_ids=[f"{newest.writer}-{newest.n}"])
        assert (await lb.rank("sum", "ann")).score == 111
        await lb.moderation.void("sum", "typo", since=_iso(NOON + MINUTE), until=_iso(NOON + 2 * MINUTE))
        assert (await lb.rank("sum", "ann")).score == 101


def _iso(ms):
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat()


async def test_what_is_folded_and_dropped_stays_void(place, tmp_path):
    clock = Clock(NOON)
    ledger, engine = place
    async with leaderboards(ledger, engine, BOARDS, clock, keep_events="40d") as lb:
        await lb.increment("sum", "ann", 5)
        await lb.increment("sum", "bob", 7)
        report = await lb.moderation.remove("sum", "bob", "a macro")
        clock.now += 90 * DAY
        await lb.increment("sum", "ann", 1)
        for _ in range(3):
            await lb.admin.run_keeper()
            clock.now += DAY
        assert [(s.player_id, s.score) for s in (await lb.top("sum", window="all_time")).standings] == [("ann", 6)]
        assert await differences(lb) == []
        with pytest.raises(EventsDropped):
            await lb.moderation.undo(report.void_id, "too late")
        with pytest.raises(EventsDropped):
            await lb.moderation.remove("sum", "ann", "too much")
        await lb.admin.rebuild("sum")
        assert [(s.player_id, s.score) for s in (await lb.top("sum", window="all_time")).standings] == [("ann", 6)]
