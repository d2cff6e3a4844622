"""Players who are hidden, shadowed and restored: rankings are those of a twin without them, and their own view is that of one with them."""

import random
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta

import pytest

from keepscore import Board
from keepscore.errors import InvalidField, InvalidPlayer, InvalidTime, NothingToUndo, RolledUp, UnknownBoard, UnknownPlayer
from tests.contract.fairplay.test_voids import PLACES
from tests.contract.opened import DAY, HOUR, MINUTE, NOON, Clock, differences
from tests.support.opening import leaderboards

BOARDS = [
    Board("best", windows=["all_time", "daily"], segments=["region"]),
    Board("sum", operator="sum", windows=["daily", "all_time"], segments=["region"], ties="player"),
    Board("last", operator="last", windows=["all_time", "daily"], ties="last", rank="dense"),
    Board("laps", order="asc", windows=["all_time"], rank="standard"),
    Board("week", windows=["weekly"], rollup={"of": ["sum"], "window": "daily", "into": "weekly"}),
]
SCORED = [board.name for board in BOARDS if not board.is_rollup]


@pytest.fixture(params=PLACES)
def place(request, tmp_path):
    ledger, engine = PLACES[request.param]
    return ledger(tmp_path), engine()


@pytest.fixture
def clock():
    return Clock(NOON)


def views():
    for board in BOARDS:
        for window in board.periods:
            for segment in (None, *(["region:eu"] if board.segments else [])):
                yield board, {"window": window, "segment": segment}


async def shown(lb, viewer=None):
    """All that rankings show to a viewer. Where the player id decides, Redis keeps no times."""
    found = {}
    for board, view in views():
        top = await lb.top(board.name, viewer=viewer, **view)
        rows = [(one.rank, one.player_id, one.score, None if board.ties == "player" else one.since) for one in top.standings]
        found[board.name, *view.values()] = top.total_players, rows
    return found


async def pages(lb, viewer):
    """The same, put together from single rows, ranks and players."""
    found = {}
    for board, view in views():
        rows, cursor = [], None
        while True:
            page = await lb.top(board.name, viewer=viewer, limit=1, cursor=cursor, **view)
            for one in page.standings:
                place = await lb.rank(board.name, one.player_id, viewer=viewer, around=1, **view)
                near = await lb.around(board.name, place.ranks.unique, around=0, viewer=viewer, **view)
                assert [other.player_id for other in near.standings] == [one.player_id]
                assert place.total_players == near.total_players == page.total_players
                assert place.rank == one.rank
                assert [other.player_id for other in place.around].count(one.player_id) == 1
                (looked_up,) = (await lb.lookup(board.name, [one.player_id], viewer=viewer, **view)).standings
                assert (looked_up.rank, looked_up.score) == (one.rank, one.score)
                rows.append((one.rank, one.player_id, one.score, None if board.ties == "player" else one.since))
            cursor = page.next_cursor
            if cursor is None:
                break
        total = (await lb.count(board.name, viewer=viewer, **view)).count
        found[board.name, *view.values()] = total, rows
    return found


class Play:
    """Random scores, sent to leaderboards and to twins."""

    def __init__(self, seed, clock):
        self.dice = random.Random(seed)
        self.clock = clock
        self.sent = []

    async def go(self, lb, n):
        for _ in range(n):
            self.clock.now += self.dice.randrange(1, 30 * MINUTE)
            name = self.dice.choice(SCORED)
            adds = name == "sum" or (name == "last" and self.dice.random() < 0.4)
            player = f"p{self.dice.randrange(4)}"
            region = {"region": "eu"} if name in ("best", "sum") and self.dice.random() < 0.5 else None
            self.sent.append((self.clock.now, name, player, self.dice.randrange(1, 9), adds, region))
            await self.send(lb, self.sent[-1])

    @staticmethod
    async def send(lb, one):
        _, name, player, amount, adds, segments = one
        return await (lb.increment if adds else lb.submit)(name, player, amount, segments=segments)

    async def twin(self, stack, folder, left_out):
        """Leaderboards that got all but the scores of some players, at their times."""
        clock = Clock(NOON)
        lb = await stack.enter_async_context(
            leaderboards(f"sqlite:///{folder}/{len(self.sent)}-{left_out}.db", "embedded://", BOARDS, clock)
        )
        for one in self.sent:
            clock.now = one[0]
            if (one[1], one[2]) not in left_out and one[2] not in left_out:
                await self.send(lb, one)
        clock.now = self.clock.now
        return lb


@pytest.mark.parametrize("seed", range(1))
async def test_rankings_are_those_of_a_twin(place, clock, tmp_path, seed):
    play = Play(seed, clock)
    async with AsyncExitStack() as stack:
        lb = await stack.enter_async_context(leaderboards(*place, BOARDS, clock))
        await play.go(lb, 30)
        await lb.moderation.hide("p1", "a bot")
        await lb.moderation.shadow("p2", "a cheat")
        await play.go(lb, 30)
        left_out = await play.twin(stack, tmp_path, ("p1", "p2"))
        assert await shown(lb) == await shown(lb, "p0") == await shown(lb, "p1") == await shown(left_out)
        assert await differences(lb) == []
        for name in SCORED:
            await lb.admin.rebuild(name)
        assert await shown(lb) == await shown(left_out)
        with_one = await play.twin(stack, tmp_path, ("p1",))
        assert await shown(lb, "p2") == await shown(with_one)
        assert await pages(lb, "p2") == await pages(with_one, None)
        await lb.moderation.restore("p1", "no bot", boards=["best", "sum"])
        some = await play.twin(stack, tmp_path, (("last", "p1"), ("laps", "p1"), "p2"))
        assert await shown(lb) == await shown(some)
        await lb.moderation.restore("p1", "no bot")
        await lb.moderation.restore("p2", "no cheat")
        await play.go(lb, 10)
        everybody = await play.twin(stack, tmp_path, ())
        assert await shown(lb) == await shown(everybody)
        assert await differences(lb) == []
    async with leaderboards(*place, BOARDS, clock) as lb:
        assert await differences(lb) == []


async def test_a_shadowed_player_sees_nothing_of_it(place, clock, tmp_path):
    async with leaderboards(*place, BOARDS, clock) as lb, leaderboards(f"sqlite:///{tmp_path}/t.db", "embedded://", BOARDS, clock) as twin:
        await lb.moderation.shadow("eve", "a cheat", boards=["best", "sum"])
        for player, score in (("ada", 5), ("eve", 9), ("bo", 7), ("eve", 3), ("eve", 10)):
            clock.now += 1000
            got, expected = await lb.submit("best", player, score), await twin.submit("best", player, score)
            if player == "eve":
                assert (got.rank, got.score, got.total_players, got.updated) == (
                    expected.rank,
                    expected.score,
                    expected.total_players,
                    expected.updated,
                )
                assert (await lb.rank("best", "eve", around=2)).around == (await twin.rank("best", "eve", around=2)).around
            got, expected = await lb.increment("sum", player, score), await twin.increment("sum", player, score)
            if player == "eve":
                assert (got.rank, got.score, got.percentile, got.pending) == (
                    expected.rank,
                    expected.score,
                    expected.percentile,
                    expected.pending,
                )
        assert [one.player_id for one in (await lb.top("best")).standings] == ["bo", "ada"]
        assert [one.board for one in (await lb.standings("eve")).standings] == ["best", "sum", "week"]
        with pytest.raises(UnknownPlayer):
            await lb.rank("best", "eve", viewer="ada")
        assert (await lb.lookup("best", ["eve", "ada"])).missing == ["eve"]
        # A correction goes on from the score that the player would have.
        assert (await lb.submit("sum", "eve", 100)).score == 100
        assert (await lb.rank("sum", "eve", window="all_time")).score == (await twin.rank("sum", "eve", window="all_time")).score


async def test_friends_and_screens_show_a_shadowed_player_to_themselves(place, clock):
    async with leaderboards(*place, BOARDS, clock) as lb:
        for player, score in (("ada", 5), ("eve", 9), ("bo", 7)):
            await lb.submit("best", player, score)
            await lb.friends.replace(player, [other for other in ("ada", "eve", "bo") if other != player])
        await lb.moderation.shadow("eve", "a cheat")
        for player, expected in (("eve", ["eve", "bo", "ada"]), ("ada", ["bo", "ada"])):
            assert [one.player_id for one in (await lb.friends.ranking("best", player)).standings] == expected
            for window in (await lb.view("best", player)).windows.values():
                assert [one.player_id for one in window.top] == [one.player_id for one in window.friends] == expected
                assert window.me.rank == expected.index(player) + 1


async def test_a_hidden_player_is_ranked_for_nobody_and_recorded(place, clock):
    async with leaderboards(*place, BOARDS, clock) as lb:
        await lb.moderation.hide("eve", "a bot", boards=["best"])
        receipt = await lb.submit("best", "eve", 9)
        assert (receipt.rank, receipt.pending is True) == (None, False)
        with pytest.raises(UnknownPlayer):
            await lb.rank("best", "eve")
        assert (await lb.top("best", viewer="eve")).standings == []
        assert (await lb.submit("laps", "eve", 3)).rank == 1
        assert "score" in [event.kind for event in (await lb.history.events("best", "eve")).events]
        clock.now += DAY
        before = datetime.fromtimestamp((clock.now - HOUR) / 1000, UTC)
        await lb.moderation.restore("eve", "no bot")
        assert (await lb.rank("best", "eve")).score == 9
        assert (await lb.history.as_of("best", before)).standings == []


async def test_until_a_moment(place, clock):
    async with leaderboards(*place, BOARDS, clock) as lb:
        await lb.submit("best", "eve", 9)
        until = datetime.fromtimestamp((clock.now + HOUR) / 1000, UTC)
        decision = await lb.moderation.hide("eve", "for an hour", until=until)
        (one,) = await lb.moderation.restricted()
        assert (one.decision_id, one.state, one.player_id, one.boards, one.until) == (decision.decision_id, "hidden", "eve", None, until)
        clock.now += HOUR - 1
        await lb.runtime.keeper.job("restore players").run(clock.now)
        assert (await lb.top("best")).total_players == 0
        clock.now += 1
        assert await lb.moderation.restricted() == []
        await lb.runtime.keeper.job("restore players").run(clock.now)
        assert (await lb.top("best")).total_players == 1
        assert await differences(lb) == []
        assert (await lb.history.as_of("best", until - timedelta(seconds=1))).total_players == 0
        assert (await lb.history.as_of("best", until)).total_players == 1


async def test_boards_that_are_defined_later_and_windows_that_close(place, clock):
    async with leaderboards(*place, BOARDS, clock) as lb:
        await lb.submit("best", "ada", 5)
        await lb.submit("best", "eve", 9)
        await lb.moderation.hide("eve", "a bot")
        await lb.admin.put_board(Board("new", windows=["all_time"]))
        await lb.submit("new", "eve", 1)
        assert (await lb.top("new")).total_players == 0
        clock.now += DAY
        await lb.admin.run_keeper()
        await lb.moderation.restore("eve", "no bot")
        closed = await lb.top("best", window="daily", window_id="2026-11-15")
        assert (closed.archived, [one.player_id for one in closed.standings]) == (True, ["ada"])
        assert [one.player_id for one in (await lb.top("best")).standings] == ["eve", "ada"]
        assert (await lb.top("new")).total_players == 1
        assert await differences(lb) == []


async def test_what_was_cut_short_is_finished(place, clock, monkeypatch):
    async with leaderboards(*place, BOARDS, clock) as lb:
        await lb.submit("best", "eve", 9)
        await lb.submit("laps", "eve", 9)
        real = lb.runtime.restater.restate
        left = [1]

        async def dying(live, needs_restate, shadow=False):
            if not left.pop():
                raise RuntimeError("killed")
            left.append(0)
            await real(live, needs_restate, shadow)

        monkeypatch.setattr(lb.runtime.restater, "restate", dying)
        with pytest.raises(RuntimeError):
            await lb.moderation.hide("eve", "a bot", idempotency_key="k")
    monkeypatch.undo()
    async with leaderboards(*place, BOARDS, clock) as lb:
        await lb.runtime.keeper.job("restore players").run(clock.now)
        assert [(await lb.top(name)).total_players for name in ("best", "laps")] == [0, 0]
        assert await differences(lb) == []
        assert len(await lb.moderation.restricted()) == 1


async def test_another_process_knows(tmp_path, clock):
    ledger, engine = PLACES["postgres"]
    place = ledger(tmp_path), engine()
    async with AsyncExitStack() as stack:
        one, other = [await stack.enter_async_context(leaderboards(*place, BOARDS, clock)) for _ in range(2)]
        await other.submit("best", "eve", 1)
        await one.moderation.shadow("eve", "a cheat")
        # It has looked just now, and does not know yet.
        await other.submit("best", "eve", 2)
        assert (await one.top("best")).total_players == 1
        await one.runtime.keeper.job("restore players").run(clock.now)
        assert (await one.top("best")).total_players == 0
        clock.now += 1000
        assert (await other.submit("best", "eve", 3)).rank == 1
        assert (await other.rank("best", "eve")).score == 3
        assert (await one.top("best")).total_players == (await other.top("best")).total_players == 0
        assert await differences(one) == []


async def test_a_later_decision_replaces_an_earlier_one(place, clock):
    async with leaderboards(*place, BOARDS, clock) as lb:
        await lb.submit("best", "eve", 9)
        await lb.moderation.shadow("eve", "a cheat")
        clock.now += 1
        await lb.moderation.hide("eve", "a bot", boards=["best"])
        with pytest.raises(UnknownPlayer):
            await lb.rank("best", "eve")
        assert (await lb.submit("laps", "eve", 9)).rank == 1
        found = [(one.state, one.boards, one.restored) for one in await lb.moderation.restricted(player_id="eve")]
        assert found == [("hidden", ["best"], []), ("shadowed", None, ["best"])]
        assert len(await lb.moderation.restricted(board="best")) == 1
        first = await lb.moderation.restore("eve", "fine", idempotency_key="k")
        again = await lb.moderation.restore("eve", "fine", idempotency_key="k")
        assert (again.decision_id, again.replayed) == (first.decision_id, True)
        assert (await lb.rank("best", "eve", viewer="ada")).rank == 1
        assert await lb.moderation.restricted() == []


@pytest.mark.parametrize(
    ("error", "fields"),
    [
        (InvalidField, {"reason": " "}),
        (InvalidPlayer, {"player_id": ""}),
        (InvalidField, {"boards": []}),
        (UnknownBoard, {"boards": ["best", "none"]}),
        (RolledUp, {"boards": ["week"]}),
        (InvalidTime, {"until": "2026-11-15T11:59:59Z"}),
        (InvalidTime, {"until": "tomorrow"}),
    ],
)
async def test_bad_decisions_record_nothing(tmp_path, clock, error, fields):
    async with leaderboards(f"sqlite:///{tmp_path}/s.db", "embedded://", BOARDS, clock) as lb:
        with pytest.raises(error):
            await lb.moderation.hide(**{"player_id": "eve", "reason": "a bot"} | fields)
        with pytest.raises(NothingToUndo, match="neither hidden nor shadowed"):
            await lb.moderation.restore("eve", "fine")
        assert await lb.moderation.restricted() == []
        assert {one.action for one in (await lb.audit.entries()).entries} == {"put_board"}
