"""From the ledger to rankings: the fold of all events, and the shorter way over a checkpoint.

A start or a rebuild fills an engine, a verification compares one, a late event restates one player, and a checkpoint takes up what came
since the one before.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from itertools import islice
from operator import itemgetter
from typing import NamedTuple

from keepscore.catalog import LiveBoard, Route
from keepscore.engines.base import Dirty, Loaded, Ranking, RankingEngine
from keepscore.folding import Folder, Positions, States, counts
from keepscore.ledgers.base import Checkpoint, Ledger, Slot
from keepscore.ledgers.openings import Opening
from keepscore.openings import player_past
from keepscore.pace import Pace
from keepscore.rollups import mark_of
from keepscore.scoring import Event, State, fold_all
from keepscore.windows import FOREVER

__all__ = [
    "Progress",
    "fold_for_checkpoint",
    "fold_ledger",
    "load_engine",
    "load_from_events",
    "no_progress",
    "positions_of",
    "restated",
    "roll_up_player",
]

#: Events that are folded into a checkpoint at a time.
MAX_TAIL = 200_000
#: Events that are folded before others get their turn.
TURN = 250
#: Players whose checkpointed states are read at a time.
PLAYERS = 5000
#: Rows that are given to an engine at a time: where a rebuild is waited for, and where others wait meanwhile.
PART, SMALL_PART = 40_000, 5000
#: Milliseconds after which nothing is on its way any more to a ranking whose time is over.
LEFT_OUT = 3_600_000

#: Called with what is being done, how much of it is done, and how much there is.
Progress = Callable[[str, int, int], None]


def no_progress(what: str, done: int, total: int) -> None:
    """Tell nobody."""


class Folded(NamedTuple):
    """The states of a board by ranking and player, and when each ranking may be dropped."""

    states: States
    expiries: dict[Ranking, int]
    events: int


async def restated(ledger: Ledger, live: LiveBoard, player: str, ranking: Ranking, upto: Positions) -> State | None:
    """A player's state in one ranking, from the events up to the given positions, and from all that were dropped.

    O(events of the player), but O(events of the board) where rankings expire: what was before an expiry does not count.
    """
    if live.board.rollup is not None:
        return (await roll_up_player(ledger, live, live.parts, player)).get(ranking)
    if ranking.window in live.ttls:
        return (await fold_ledger(ledger, live, upto)).states.get(ranking, {}).get(player)
    past = await player_past(ledger, live, player)
    return fold_all(live.board, [event for event in past.events if counts(live, event, ranking, upto)], past.states.get(ranking))


async def fold_ledger(
    ledger: Ledger,
    live: LiveBoard,
    upto: Positions,
    progress: Progress = no_progress,
    start: int = 0,
    end: int = FOREVER,
    pace: Pace | None = None,
) -> Folded:
    """The fold of a board's events up to the given positions, and of all that were dropped. O(events), and all states are in memory.

    With `start` and `end`, only of the events whose time lies between: windows within these are as they are, others are in part. Where
    nobody waits for it, it goes at a `pace`.
    """
    if live.board.rollup is not None:
        return await _fold_parts(ledger, live, upto)
    while True:
        opening = await ledger.opening(live.id)
        folder = Folder(live)
        if opening is not None:
            await folder.open_with(ledger, opening, start, end)
        await _fold_events(ledger, folder, opening, upto, progress, start, end, pace or Pace.without_pauses())
        await folder.settle(ledger, upto)
        # What came to count meanwhile covers events that were folded, or others that were gone before.
        if opening == await ledger.opening(live.id):
            return Folded(folder.states, folder.expiries, folder.events)


async def _fold_events(
    ledger: Ledger, folder: Folder, opening: Opening | None, upto: Positions, progress: Progress, start: int, end: int, pace: Pace
) -> None:
    dropped = opening.events if opening is not None else 0
    total = sum(upto.values())
    chunks = ledger.events(folder.live.id, {})
    waiting = asyncio.ensure_future(anext(chunks, None))
    try:
        while (events := await waiting) is not None:
            # Each chunk is fetched while the one before it is folded.
            waiting = asyncio.ensure_future(anext(chunks, None))
            await asyncio.sleep(0)
            counted = [event for event in events if start <= event.at < end and event.n <= upto.get(event.writer, 0)]
            if opening is not None:
                counted = [event for event in counted if not opening.covers(event)]
            async for some in _in_turns(counted, pace):
                folder.add(some)
            progress("folding events", dropped + folder.events, total)
    finally:
        waiting.cancel()


async def _in_turns(events: list[Event], pace: Pace) -> AsyncIterator[list[Event]]:
    """Events in small parts, between which others get their turn."""
    for first in range(0, len(events), TURN):
        pace.begin()
        yield events[first : first + TURN]
        await pace.rest()


async def positions_of(ledger: Ledger, live: LiveBoard) -> dict[int, int]:
    """How far each writer has got with what a board shows: its own events or, of a roll-up, those of the boards it is made from."""
    if live.board.rollup is None:
        return await ledger.positions(live.id)
    return {mark_of(part.id, writer): n for part in live.parts for writer, n in (await ledger.positions(part.id)).items()}


async def _fold_parts(ledger: Ledger, live: LiveBoard, upto: Positions) -> Folded:
    """The fold of a roll-up: the folds of its parts, put together. O(events of its boards)."""
    found: dict[Ranking, dict[str, list[tuple[str, State]]]] = {}
    count = 0
    for part in live.parts:
        positions = await ledger.positions(part.id)
        folded = await fold_ledger(ledger, part, {writer: upto.get(mark_of(part.id, writer), 0) for writer in positions})
        count += folded.events
        for ranking, states in folded.states.items():
            players = found.setdefault(live.target(part, ranking), {})
            for player, state in states.items():
                players.setdefault(player, []).append((part.name, state))
    states_of = {ranking: {player: live.rolled_up(parts) for player, parts in players.items()} for ranking, players in found.items()}
    return Folded(states_of, {}, count)


async def roll_up_player(ledger: Ledger, live: LiveBoard, parts: list[LiveBoard], player: str) -> dict[Ranking, State]:
    """A player's states in all rankings of a roll-up, from all events there are. O(events of the player)."""
    found: dict[Ranking, list[tuple[str, State]]] = {}
    for part in parts:
        past = await player_past(ledger, part, player)
        events: dict[Ranking, list[Event]] = {ranking: [] for ranking in past.states}
        for event in past.events:
            events.setdefault(part.route(event.at, None).rankings[0], []).append(event)
        for ranking, own in events.items():
            state = fold_all(part.board, own, past.states.get(ranking))
            assert state is not None, "there are events"
            found.setdefault(live.target(part, ranking), []).append((part.name, state))
    return {ranking: live.rolled_up(states) for ranking, states in found.items()}


async def load_from_events(
    ledger: Ledger, engine: RankingEngine, live: LiveBoard, now: int, progress: Progress = no_progress
) -> tuple[int, int]:
    """Fill the engine's shadow of a board from all of its events, whatever a checkpoint says; answer how many events and players.

    Rankings whose time is over are left out, but for those that an event on its way may belong to.
    """
    upto = await positions_of(ledger, live)
    with _collector_paused():
        folded = await fold_ledger(ledger, live, upto, progress)
        kept = {ranking: states for ranking, states in folded.states.items() if not 0 < folded.expiries.get(ranking, 0) <= now - LEFT_OUT}
        total = sum(map(len, kept.values()))

        async def loaded() -> AsyncIterator[Loaded]:
            done = 0
            for ranking, states in kept.items():
                for some in _parts(_rows(states), PART):
                    yield Loaded(ranking, folded.expiries.get(ranking, 0), some, fresh=True)
                    done += len(some)
                    progress("filling rankings", done, total)

        await engine.load(live.id, live.board, loaded(), upto)
    return folded.events, _players_in(live, folded.states)


def _players_in(live: LiveBoard, states: States) -> int:
    """How many players a board has. Whoever is in a segment is in the whole, and everybody is in a window that never ends."""
    wholes = {ranking.window: players for ranking, players in states.items() if not ranking.segment}
    if "all_time" in wholes and "all_time" not in live.ttls:
        return len(wholes["all_time"])
    return len(set().union(*(players for ranking, players in states.items() if not ranking.segment)))


def _parts(rows: Iterable[tuple[str, int, int]], size: int) -> Iterator[list[tuple[str, int, int]]]:
    rest = iter(rows)
    while some := list(islice(rest, size)):
        yield some


async def load_engine(ledger: Ledger, engine: RankingEngine, live: LiveBoard) -> Checkpoint | None:
    """Fill the engine's shadow of a board from the ledger; answer the checkpoint that it was based on, if there was one."""
    while True:
        upto = await positions_of(ledger, live)
        points = await _usable_checkpoints(ledger, live)
        states = _from_checkpoint(ledger, live, points, upto) if points else _from_events(ledger, live, upto)
        with _collector_paused():
            await engine.load(live.id, live.board, states, upto)
        # Another process may have begun a further checkpoint meanwhile, whose states were not looked for.
        if not points or {point.number for point in await _usable_checkpoints(ledger, live)} <= {point.number for point in points}:
            return points[0] if points else None


async def _usable_checkpoints(ledger: Ledger, live: LiveBoard) -> list[Checkpoint]:
    # A roll-up's checkpoint does not tell what its boards meant then.
    points = await ledger.checkpoints(live.id) if live.board.rollup is None else []
    return points if points and points[0].meaning == live.meaning else []


async def fold_for_checkpoint(ledger: Ledger, live: LiveBoard, now: int, pace: Pace) -> tuple[Dirty, Checkpoint | None]:
    """What a checkpoint has to be brought up to date with, and the one that it rests on (None: there is none, it is everything).

    O(events since that checkpoint), up to a limit, and their players' states are in memory. A roll-up is folded from all events of its
    boards whenever one has come.
    """
    points = await _usable_checkpoints(ledger, live)
    if not points:
        upto = await positions_of(ledger, live)
        last = await ledger.checkpoints(live.id) if live.board.rollup is not None else []
        if last and last[0].complete and (last[0].meaning, last[0].positions) == (live.meaning, upto):
            return _changed({}, {}, [], upto), last[0]
        folded = await fold_ledger(ledger, live, upto, pace=pace)
        return _changed(folded.states, folded.expiries, [], upto), None
    complete = points[0]
    positions = dict(complete.positions)
    tail: list[Event] = []
    async for events in ledger.events(live.id, complete.positions):
        tail += events
        positions |= {event.writer: event.n for event in events}
        # What a checkpoint that was cut short has written includes all events up to its positions.
        if len(tail) >= MAX_TAIL and len(points) == 1:
            break
    slots = {Ranking(live.id, *slot): expiry for slot, expiry in (await ledger.checkpoint_slots(live.id)).items()}
    over = await _begun_anew(live, slots, tail, pace)
    folder = Folder(live)
    included = await _take_up(ledger, folder, points, slots, over, tail, pace)
    known = (lambda ranking, event: _is_included(included, ranking, event)) if included else None
    async for events in _in_turns(tail, pace):
        folder.add(events, known)
    await folder.settle(ledger, positions)
    dropped = [ranking for ranking, expiry in slots.items() if ranking in over or (0 < expiry <= now and ranking not in folder.states)]
    return _changed(folder.states, folder.expiries, dropped, positions), complete


def _changed(states: States, expiries: Mapping[Ranking, int], dropped: list[Ranking], positions: Positions) -> Dirty:
    rows = {ranking: players.items() for ranking, players in states.items()}
    return Dirty(rows, {ranking: expiries.get(ranking, 0) for ranking in states}, dropped, positions)


async def _take_up(
    ledger: Ledger,
    folder: Folder,
    points: list[Checkpoint],
    slots: Mapping[Ranking, int],
    over: Set[Ranking],
    tail: list[Event],
    pace: Pace,
) -> dict[tuple[Ranking, str], Positions]:
    """Give a folder the checkpointed states of those whose events are to be folded in; answer what they include beyond the complete one."""
    included: dict[tuple[Ranking, str], Positions] = {}
    players: dict[Ranking, set[str]] = {}
    async for events in _in_turns(tail, pace):
        for route, run in _runs(folder.live, events):
            own = {event.player for event in run}
            for ranking in route.rankings:
                players.setdefault(ranking, set()).update(own)
    later = {point.number: point.positions for point in points[1:]}
    for ranking, wanted in players.items():
        folder.expiries[ranking] = slots.get(ranking, 0)
        rest = iter(wanted if ranking not in over and ranking in slots else ())
        while some := sorted(islice(rest, PLAYERS)):
            pace.begin()
            for player, score, since, number in await ledger.checkpoint_states(folder.live.id, Slot(*ranking[1:]), some):
                if number >= points[0].base:
                    folder.take_up(ranking, player, State(score, since))
                    if number in later:
                        included[ranking, player] = later[number]
            await pace.rest()
    return included


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Millions of new objects that all stay: looking through them for garbage again and again would take longer than making them."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


_first, _second = itemgetter(0), itemgetter(1)


def _rows(states: Mapping[str, State]) -> Iterable[tuple[str, int, int]]:
    # A third of the time that a generator takes.
    return zip(states, map(_first, states.values()), map(_second, states.values()), strict=True)


async def _from_events(ledger: Ledger, live: LiveBoard, upto: Positions) -> AsyncIterator[Loaded]:
    folded = await fold_ledger(ledger, live, upto)
    for ranking, states in folded.states.items():
        for some in _parts(_rows(states), SMALL_PART):
            yield Loaded(ranking, folded.expiries.get(ranking, 0), some, fresh=True)


async def _from_checkpoint(ledger: Ledger, live: LiveBoard, points: list[Checkpoint], upto: Positions) -> AsyncIterator[Loaded]:
    """Checkpointed states with the events behind them folded in: O(states + events since the checkpoint).

    Rows of the complete checkpoint, and of those that it rests on, include the events up to its positions. A later, incomplete one
    may have left some rows: those include the events up to *its* positions, which must not be folded in again.
    """
    complete = points[0]
    tail: list[Event] = []
    async for events in ledger.events(live.id, complete.positions):
        tail += events
    touched, pace = {event.player for event in tail}, Pace.without_pauses()
    folder = Folder(live)
    included: dict[tuple[Ranking, str], Positions] = {}
    slots = {Ranking(live.id, *slot): expiry for slot, expiry in (await ledger.checkpoint_slots(live.id)).items()}
    over = await _begun_anew(live, slots, tail, pace)
    for ranking, expiry in slots.items():
        if ranking in over:
            folder.expiries[ranking] = expiry
            continue
        for point in points:
            first = complete.base if point is complete else point.number
            async for rows in ledger.checkpoint_rows(live.id, Slot(*ranking[1:]), first, point.number):
                for player, score, since in rows if tail else ():
                    if player in touched:
                        folder.take_up(ranking, player, State(score, since))
                        included[ranking, player] = point.positions
                yield Loaded(ranking, expiry, rows, fresh=False)
    counted = [event for event in tail if event.n <= upto.get(event.writer, 0)]
    async for events in _in_turns(counted, pace):
        folder.add(events, lambda ranking, event: _is_included(included, ranking, event))
    await folder.settle(ledger, upto)
    for ranking, states in folder.states.items():
        again = ranking in slots and ranking not in over
        yield Loaded(ranking, folder.expiries.get(ranking, 0), _rows(states), fresh=True, again=again)


def _is_included(included: Mapping[tuple[Ranking, str], Positions], ranking: Ranking, event: Event) -> bool:
    positions = included.get((ranking, event.player))
    return positions is not None and event.n <= positions.get(event.writer, 0)


async def _begun_anew(live: LiveBoard, slots: Mapping[Ranking, int], tail: list[Event], pace: Pace) -> set[Ranking]:
    """The checkpointed rankings that began anew since: their time was over when an event came."""
    expiries = {ranking: expiry for ranking, expiry in slots.items() if expiry}
    found: set[Ranking] = set()
    async for events in _in_turns(tail if expiries else [], pace):
        for route, run in _runs(live, events):
            # Those that came in one moment make no difference to each other.
            for received in dict.fromkeys(event.received for event in run):
                for ranking, expiry in zip(route.rankings, live.expiries(route, received), strict=True):
                    if 0 < expiries.get(ranking, 0) <= received:
                        found.add(ranking)
                    expiries[ranking] = max(expiry, expiries.get(ranking, 0))
    return found


def _runs(live: LiveBoard, events: Iterable[Event]) -> Iterator[tuple[Route, list[Event]]]:
    """Events in order, those together that follow one another and count in the same rankings."""
    start = end = 0
    route: Route | None = None
    run: list[Event] = []
    for event in events:
        if event.segments or not start <= event.at < end:
            if route is not None:
                yield route, run
            position = live.position(event.at)
            route, run = position.route(event.segments), []
            start, end = (position.start, position.end) if not event.segments else (0, 0)
        run.append(event)
    if route is not None:
        yield route, run
