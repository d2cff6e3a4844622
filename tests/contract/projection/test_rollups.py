"""Roll-ups, over the engine in the process and the one in Redis: always the union of their parts."""

import asyncio
import functools
import random

import pytest

from keepscore import Board
from keepscore.domain.scoring import fold_all
from keepscore.domain.windows import span_at
from keepscore.errors import BoardInUse, EngineUnavailable, InvalidBoard, LedgerUnavailable, RolledUp
from tests.contract.both import over_redis, own_redis
from tests.contract.opened import DAY, HOUR, SECOND, at, differences, killed, opened, standings

WEEK = {"of": ["day"], "window": "daily", "into": "weekly"}
DAYS = [
    Board("sums", operator="sum", windows=["daily", "all_time"]),
    Board("bests", windows=["daily"], segments=["region"]),
    Board("lasts", operator="last", windows=["daily"], resolution="1s"),
    Board("firsts", operator="first", windows=["daily"], ties="player"),
]
ALL = [board.name for board in DAYS]


def week(name="week", **rollup):
    return Board(name, windows=[rollup.get("into", "weekly")], rollup={**WEEK, **rollup})


async def naive(lb, board):
    """The states of a roll-up by window id, by the definition: from all recorded events, part by part."""
    rollup = board.rollup
    records = {record.board.name: record for record in await lb.runtime.ledger.boards.current()}
    parts = {}
    for name in rollup.of:
        source = records[name].board
        async for events in lb.runtime.ledger.events.read(records[name].id, {}):
            for event in events:
                part = span_at(source, rollup.window, event.at)
                parts.setdefault((span_at(board, rollup.into, part.start).id, event.player), {}).setdefault((name, part.id), []).append(
                    event
                )
    found = {}
    for (window_id, player), events in parts.items():
        states = [(name, fold_all(records[name].board, own)) for (name, _), own in events.items()]
        scores = [state.score * rollup.weights.get(name, 1) for name, state in states]
        if rollup.aggregate == "average":
            best = sorted(scores, reverse=board.order == "desc")[: rollup.best or len(scores)]
            score = int((sum(best) / len(best) + 0.5) // 1)
        else:
            score = {"sum": sum, "max": max, "min": min}[rollup.aggregate](scores)
        found.setdefault(window_id, {})[player] = score
    return found


async def check(lb, *boards):
    for board in boards:
        for window_id, scores in (await naive(lb, board)).items():
            shown = {player: score for _, player, score in await standings(lb, board.name, window_id=window_id)}
            assert shown == scores, (board.name, window_id)


@pytest.mark.parametrize("seed", range(3))
async def test_a_roll_up_is_the_union_of_its_parts_at_every_step(lbs, clock, seed):
    dice = random.Random(seed)
    rollups = [
        week("total", of=ALL),
        week("weighted", of=ALL, weights={"sums": 3, "lasts": -2}, into="monthly"),
        week("top", of=["bests", "sums"], aggregate="max"),
        week("low", of=["firsts"], aggregate="min", into="yearly"),
        week("form", of=ALL, aggregate="average", best=3),
        Board("asc", order="asc", windows=["weekly"], rank="dense", rollup={**WEEK, "of": ["lasts"], "aggregate": "average"}),
    ]
    async with lbs(*DAYS, *rollups) as lb:
        for _ in range(40):
            clock.now += dice.randrange(1, 5 * HOUR)
            for _ in range(dice.randrange(1, 4)):
                name, player = dice.choice(ALL), f"p{dice.randrange(4)}"
                amount = dice.randrange(-9, 20)
                when = at(clock.now - dice.randrange(HOUR - 1))
                if name in ("sums", "lasts") and dice.random() < 0.7:
                    await lb.increment(name, player, amount, at=when)
                else:
                    await lb.submit(name, player, amount, at=when)
            await check(lb, *rollups)
        assert await differences(lb) == []
    async with lbs() as lb:
        await check(lb, *rollups)
        assert await differences(lb) == []


async def test_a_roll_up_takes_up_what_was_there_before_it(lbs, clock):
    async with lbs(Board("day", windows=["daily"])) as lb:
        await lb.submit("day", "a", 5)
        clock.now -= 2 * DAY
        await lb.submit("day", "a", 3)
        await lb.admin.put_board(week(), confirm=True)
        assert await standings(lb, "week") == [(1, "a", 8)]
        clock.now += 2 * DAY
        await lb.submit("day", "a", 6)
        assert await standings(lb, "week") == [(1, "a", 9)]
        assert (await lb.rank("week", "a")).since == at(clock.now)
        assert await differences(lb) == []


async def test_a_roll_up_takes_nothing_itself(lbs):
    async with lbs(Board("day", windows=["daily"]), week()) as lb:
        for call in (lb.submit("week", "a", 1), lb.increment("week", "a", 1), lb.admin.reset("week")):
            with pytest.raises(RolledUp, match="made from day"):
                await call
        with pytest.raises(BoardInUse, match="week"):
            await lb.admin.delete_board("day")
        await lb.admin.delete_board("week")
        await lb.admin.delete_board("day")


async def test_a_redefinition_and_a_reset_of_a_part_rebuild_it(lbs, clock):
    async with lbs(Board("day", windows=["daily"]), week()) as lb:
        for score in (5, 3):
            await lb.submit("day", "a", score)
        assert await standings(lb, "week") == [(1, "a", 5)]
        await lb.admin.put_board(Board("day", operator="sum", windows=["daily"]), confirm=True)
        assert await standings(lb, "week") == [(1, "a", 8)]
        await lb.admin.put_board(Board("day", operator="last", windows=["daily"]), confirm=True)
        assert await standings(lb, "week") == [(1, "a", 3)]
        clock.now += SECOND
        await lb.admin.reset("day")
        clock.now += SECOND
        await lb.submit("day", "a", 4)
        # Both versions of the day are parts of the week.
        assert await standings(lb, "week") == [(1, "a", 7)]
        assert await differences(lb) == []
        with pytest.raises(InvalidBoard, match="has no window 'daily'"):
            await lb.admin.put_board(Board("day", operator="last", windows=["monthly"]), confirm=True)
    async with lbs() as lb:
        assert await standings(lb, "week") == [(1, "a", 7)]


@pytest.mark.parametrize(
    ("board", "words"),
    [
        (week(of=["nobody"]), "there is no board 'nobody'"),
        (week(of=["other"]), "has no window 'daily'"),
        (week(of=["zoned"]), "timezone = 'Asia/Tokyo'"),
        (week(of=["decimal"]), "decimals = 2"),
        (week(of=["fading"]), "change with time"),
        (week(of=["made"]), "is a roll-up itself"),
    ],
)
async def test_parts_have_to_fit(run, board, words):
    others = [Board("other"), Board("zoned", windows=["daily"], timezone="Asia/Tokyo"), Board("decimal", windows=["daily"], decimals=2)]
    others += [Board("fading", windows=["daily"], decay={"half_life": "7d"}), Board("day", windows=["daily"]), week("made")]
    async with run(*others) as lb:
        with pytest.raises(InvalidBoard, match=words):
            await lb.admin.put_board(board, confirm=True)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"rollup": {"of": ["day"]}}, "of, window and into"),
        ({"rollup": {**WEEK, "of": []}}, "other boards"),
        ({"rollup": {**WEEK, "of": ["week"]}}, "other boards"),
        ({"rollup": {**WEEK, "window": "weekly", "into": "monthly"}}, "daily into weekly"),
        ({"rollup": {**WEEK, "aggregate": "median"}}, "aggregate"),
        ({"rollup": {**WEEK, "best": 3}}, "best"),
        ({"rollup": {**WEEK, "weights": {"other": 2}}}, "weights"),
        ({"rollup": {**WEEK, "weights": {"day": 0}}}, "weights"),
        ({"rollup": {**WEEK, "weights": {"day": 1.5}}}, "weights"),
        ({"rollup": WEEK, "segments": ["region"]}, "segments"),
        ({"rollup": WEEK, "operator": "sum"}, "operator"),
        ({"rollup": WEEK, "windows": ["weekly", "daily"]}, "windows"),
        ({"rollup": 5}, "rollup"),
    ],
)
def test_what_is_no_roll_up_is_refused(fields, words):
    with pytest.raises(InvalidBoard, match=words):
        Board("week", **{"windows": ["weekly"], **fields})


async def test_a_board_does_not_become_a_roll_up(run):
    async with run(Board("day", windows=["daily"]), Board("week", windows=["weekly"])) as lb:
        with pytest.raises(InvalidBoard, match="create a new board"):
            await lb.admin.put_board(week(), confirm=True)


async def test_who_is_killed_between_a_part_and_its_roll_up_loses_nothing(tmp_path, clock):
    async with opened(tmp_path / "scores.db", clock, Board("day", operator="sum", windows=["daily"]), week()) as lb:
        await lb.increment("day", "a", 5)
        settle, places = lb.runtime.engine.settle, []

        async def before(*args):
            places.append(killed(lb))
            return await settle(*args)

        lb.runtime.engine.settle = before
        await lb.increment("day", "a", 2)
    async with opened(places[0], clock) as lb:
        assert await standings(lb, "week") == [(1, "a", 7)]
        assert await differences(lb) == []


@pytest.mark.parametrize("error", [EngineUnavailable("away"), LedgerUnavailable("away")])
async def test_what_could_not_be_rolled_up_is_with_the_next(lbs, clock, error):
    async with lbs(Board("day", operator="sum", windows=["daily"]), week()) as lb:
        await lb.increment("day", "a", 1)
        settle = lb.runtime.engine.settle

        async def away(*args):
            lb.runtime.engine.settle = settle
            raise error

        lb.runtime.engine.settle = away
        await lb.increment("day", "a", 2)
        await lb.increment("day", "b", 4)
        assert await standings(lb, "week") == [(1, "b", 4), (2, "a", 3)]
        assert await differences(lb) == []


async def test_several_processes_roll_up_together(tmp_path, clock):
    place = functools.partial(over_redis, tmp_path / "scores.db", own_redis(), clock)
    async with place(Board("day", operator="sum", windows=["daily"]), week()) as one, place() as two, place() as three:

        async def client(lb, number):
            for i in range(30):
                clock.now += 1
                await lb.increment("day", f"p{(i + number) % 5}", 1)

        await asyncio.gather(*(client(lb, number) for number, lb in enumerate((one, two, three, one, two, three))))
        for lb in (one, two, three):
            assert {player: score for _, player, score in await standings(lb, "week")} == {f"p{n}": 36 for n in range(5)}
            assert await differences(lb) == []


async def test_a_roll_up_that_was_ahead_of_its_parts_keeps_what_it_has(tmp_path, clock):
    """A dead writer's event is rolled up from the ledger before the engine has it on its own board."""
    place = functools.partial(over_redis, tmp_path / "scores.db", own_redis(), clock)
    async with place(Board("day", operator="sum", windows=["daily"]), week()) as one, place() as other:
        apply = other.runtime.engine.apply

        async def away(batches):
            raise EngineUnavailable("away")

        other.runtime.engine.apply = away
        assert (await other.increment("day", "a", 5)).pending
        other.runtime.engine.apply = apply
        await one.runtime.healing.catch_up(one.runtime.catalog["week"])
        assert await standings(one, "week") == [(1, "a", 5)]
        assert await standings(one, "day") == []
        await one.increment("day", "a", 2)
        assert await standings(one, "week") == [(1, "a", 7)]
        await one.runtime.healing.catch_up(one.runtime.catalog["day"])
        assert await standings(one, "day") == [(1, "a", 7)]
        await one.increment("day", "a", 1)
        assert await standings(one, "week") == [(1, "a", 8)]
        assert await differences(one) == []


async def test_a_roll_up_is_closed_after_its_parts(run, clock):
    async with run(Board("day", operator="sum", windows=["daily"], grace="5h"), week(of=["day"])) as lb:
        await lb.increment("day", "a", 5)
        sunday, ended = clock.now, clock.now + 12 * HOUR
        clock.now = ended + 2 * HOUR
        await lb.admin.run_keeper()
        assert [found.state for found in (await lb.history.windows("week")).windows] == ["closing"]
        await lb.increment("day", "b", 100, at=at(sunday))
        clock.now = ended + 6 * HOUR
        await lb.admin.run_keeper()
        (found,) = (await lb.history.windows("week")).windows
        assert (found.state, found.players) == ("closed", 2)
        top = await lb.top("week", window_id=found.window_id)
        assert (top.archived, [(row.player_id, row.score) for row in top.standings]) == (True, [("b", 100), ("a", 5)])


async def test_a_roll_up_of_a_board_that_keeps_only_the_first_players_has_everybody(lbs, clock):
    board = week(of=["day"])
    async with lbs(Board("day", operator="sum", windows=["daily"], keep_top=2), board) as lb:
        for _ in range(3):
            for number in range(8):
                await lb.increment("day", f"p{number}", 10 + number)
            await lb.runtime.rebuilds.prune()
            await lb.increment("day", "p0", 1)
            await check(lb, board)
            clock.now += DAY
        assert (await lb.admin.verify("week")).ok
