"""Events that count in some windows or in one segment alone: engines, folds, checkpoints, openings, roll-ups and the past agree.

What is right is said by `expected`: for each event, window by window and segment by segment.
"""

import itertools
import random

import msgspec
import pytest

from keepscore import Board
from keepscore.domain.inputs import Entry
from keepscore.domain.scoring import Event, Scope
from keepscore.domain.windows import span_at, span_of
from keepscore.writing.batches import EntryTerms, check_entry
from keepscore.writing.groups import PendingRequest
from keepscore.writing.spooled import packed
from tests.contract.opened import DAY, HOUR, Clock, at
from tests.contract.twins import START, Place
from tests.support import oracle

WINDOWS = ["all_time", "weekly", "daily"]
BOARDS = {
    operator: Board("b", operator=operator, windows=WINDOWS, segments=["region"], resolution="1s")
    for operator in ("sum", "best", "last", "first")
}
BOARDS["best, low, by player"] = Board("b", order="asc", ties="player", windows=WINDOWS, segments=["region"])
WEEK = Board("w", windows=["weekly"], rollup={"of": ["b"], "window": "daily", "into": "weekly"})
PLACES = [("sqlite", "embedded"), ("sqlite", "redis"), ("postgres", "redis")]


def random_scope(dice):
    if dice.random() < 0.4:
        return None
    windows = tuple(dice.sample(WINDOWS, dice.randint(1, 3)))
    return Scope(windows, dice.choice([None, None, "", "region:eu", "region:us"]))


async def submit(lb, entry, scope):
    """Submit an entry that counts within a scope."""
    live = lb.runtime.catalog["b"]
    submission = check_entry(live, entry, EntryTerms(lb.runtime.clock(), backfill=True))
    submission.scope, submission.route = scope, live.route(submission.at, submission.segments, scope)
    submission.update = live.update_on(submission.route, submission, False)
    await lb.runtime.writer.submit(PendingRequest([(0, submission)], [], None, False, True, lb.runtime.writer.answer()))


async def play(lb, dice, count=12):
    board = lb.runtime.catalog["b"].board
    for _ in range(count):
        when = at(lb.runtime.clock() - dice.choice([0, 0, dice.randrange(HOUR), dice.randrange(9 * DAY)]))
        entry = Entry(player_id=f"p{dice.randrange(8)}", at=dice.choice([None, when]))
        if dice.random() < 0.7:
            entry.segments = {"region": dice.choice(["eu", "us"])}
        if board.operator == "sum" or (board.operator == "last" and dice.random() < 0.5):
            entry.amount = dice.randrange(-50, 100)
        else:
            entry.score = dice.randrange(100)
        await submit(lb, entry, random_scope(dice))


def places_of(board, event):
    """Window, window id and segment of all rankings in which an event counts."""
    windows = board.periods if event.scope is None else event.scope.windows
    segments = ["", *(f"{name}:{value}" for name, value in (event.segments or {}).items())]
    if event.scope is not None and event.scope.segment is not None:
        segments = [event.scope.segment]
    return [(window, span_at(board, window, event.at).id, segment) for window, segment in itertools.product(windows, segments)]


def expected(board, events):
    """The rows of all rankings, in order."""
    found = {}
    for event in events:
        for place in places_of(board, event):
            found.setdefault(place, {}).setdefault(event.player, []).append(event)
    folded = {place: {player: oracle.folded(board, own) for player, own in players.items()} for place, players in found.items()}
    return {place: oracle.ranked(board, states) for place, states in folded.items()}


async def shown(lb, name="b"):
    rankings = await lb.runtime.engine.rankings(lb.runtime.catalog[name].id)
    return {ranking[1:]: (await lb.runtime.engine.page(ranking, 0, 1000)).rows for ranking in rankings}


async def recorded(lb, known):
    """All events that were ever recorded: those that are known, and what came since."""
    live = lb.runtime.catalog["b"]
    async for events in lb.runtime.ledger.events.read(live.id, {}):
        known |= {(event.writer, event.n): event for event in events}
    return list(known.values())


def timeless(lb, board, rows):
    """Rows without the times that an engine does not keep."""
    return {
        place: own if lb.runtime.engine.keeps_since(board, place[0]) else [row[:2] for row in own] for place, own in rows.items() if own
    }


async def check(lb, known, rollup=True):
    board, events = lb.runtime.catalog["b"].board, await recorded(lb, known)
    right = expected(board, events)
    assert timeless(lb, board, await shown(lb)) == timeless(lb, board, right)
    assert (await lb.admin.verify("b")).ok
    if rollup:
        days = {place: rows for place, rows in right.items() if place[0] == "daily" and not place[2]}
        weeks = {}
        for (_, day, _), rows in days.items():
            week = span_at(WEEK, "weekly", span_of(board, "daily", day).start).id
            for row in rows:
                weeks.setdefault(week, {}).setdefault(row.player, []).append(row.score)
        told = {place[1]: {row.player: row.score for row in rows} for place, rows in (await shown(lb, "w")).items()}
        assert told == {week: {player: sum(scores) for player, scores in players.items()} for week, players in weeks.items()}
        assert (await lb.admin.verify("w")).ok


@pytest.mark.parametrize(("ledger", "engine"), PLACES)
@pytest.mark.parametrize("kind", BOARDS)
async def test_every_part_agrees_where_an_event_counts(tmp_path, ledger, engine, kind):
    dice, clock, known = random.Random(kind), Clock(START), {}
    board = BOARDS[kind]
    place = Place(ledger, engine, tmp_path, clock, "forever")
    async with place.opened(board, WEEK) as lb:
        for _ in range(4):
            await play(lb, dice)
            clock.now += dice.randrange(2 * DAY)
            await check(lb, known)
        await lb.runtime.checkpoints.checkpoint()
        await play(lb, dice)
        moment = clock.now
        right = expected(board, [event for event in await recorded(lb, known) if event.received <= moment])
        clock.now += HOUR
        await play(lb, dice)
        for window, segment in itertools.product(WINDOWS, [None, "region:eu"]):
            told = (await lb.history.as_of("b", at(moment), window=window, segment=segment)).standings
            rows = right.get((window, span_at(board, window, moment).id, segment or ""), [])
            assert [(one.player_id, one.score) for one in told] == [row[:2] for row in rows]
    async with place.opened(board, WEEK) as lb:
        await check(lb, known)
        await lb.admin.rebuild("b")
        await check(lb, known)
        await play(lb, dice)
        await lb.admin.put_board(msgspec.structs.replace(board, windows=["daily", "all_time"]), confirm=True)
        for event in await recorded(lb, known):
            known[event.writer, event.n] = event._replace(
                scope=event.scope and Scope(tuple(window for window in event.scope.windows if window != "weekly"), event.scope.segment)
            )
        right = expected(lb.runtime.catalog["b"].board, known.values())
        assert timeless(lb, board, await shown(lb)) == timeless(lb, board, right)


def kept_forever(board):
    """The same board, whose rankings stay in the engine."""
    return msgspec.structs.replace(board, windows={window: {"ttl": "forever"} for window in board.periods})


@pytest.mark.parametrize(("ledger", "engine"), PLACES)
@pytest.mark.parametrize("kind", ["sum", "best", "last"])
async def test_what_dropped_events_have_left_counts_where_they_did(tmp_path, ledger, engine, kind):
    dice, clock, known = random.Random(kind), Clock(START), {}
    board, week = kept_forever(BOARDS[kind]), kept_forever(WEEK)
    place = Place(ledger, engine, tmp_path, clock, "31d")
    async with place.opened(board, week) as lb:
        dropped = False
        for _ in range(9):
            await play(lb, dice)
            await recorded(lb, known)
            clock.now += 10 * DAY
            for _ in range(2):
                clock.now += 61_000
                for job in [task.job for task in lb.runtime.keeper.tasks if task.job.for_leader and task.job.name != "verify"]:
                    dropped |= "dropped" in await job.run(clock.now)
            await check(lb, known)
        assert dropped
        await lb.admin.rebuild("b")
        await check(lb, known)
    async with place.opened(board, week) as lb:
        await check(lb, known)


@pytest.mark.parametrize("engine", ["embedded", "redis"])
@pytest.mark.parametrize("board", [Board("b", operator="sum", windows=WINDOWS, segments=["region"], keep_top=3)])
async def test_players_who_are_not_kept_count_where_their_events_do(tmp_path, engine, board):
    dice, clock = random.Random(7), Clock(START)
    async with Place("sqlite", engine, tmp_path, clock, "forever").opened(board) as lb:
        for _ in range(5):
            await play(lb, dice, 20)
            await lb.runtime.rebuilds.prune()
            assert (await lb.admin.verify("b")).ok
            right = expected(board, await recorded(lb, {}))
            for (window, window_id, segment), rows in right.items():
                told = await lb.top("b", window=window, window_id=window_id, segment=segment or None, limit=3)
                assert [(one.player_id, one.score) for one in told.standings] == [row[:2] for row in rows[:3]]


def test_a_spool_keeps_where_an_event_counts():
    events = [Event(1, 2, n, "p", "increment", 5, 6, 7, scope=scope) for n, scope in enumerate([None, Scope(("daily",), "region:eu")])]
    assert msgspec.json.decode(packed(events), type=list[Event]) == events
    before = [list(events[0])[:12]]
    assert msgspec.json.decode(msgspec.json.encode(before), type=list[Event]) == [events[0]]


async def test_a_ledger_keeps_where_an_event_counts(ledger):
    scopes = [None, Scope(("daily", "weekly")), Scope(("all_time",), ""), Scope((), "region:e'u\"{}")]
    events = [Event(1, 1, n, "p", "score", n, n, n, {"region": "eu"} if n % 2 else None, scope=scope) for n, scope in enumerate(scopes, 1)]
    await ledger.events.append(events, [], {})
    found = [event async for chunk in ledger.events.read(1, {}) for event in chunk]
    assert [event.scope for event in found] == scopes
    assert [event.scope for event in await ledger.events.of_player(1, "p")] == scopes
