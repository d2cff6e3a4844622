"""From the ledger to rankings: all states of a board, or the shorter way over a checkpoint and the events behind it.

A start or a rebuild fills an engine, and a checkpoint takes up what came since the one before.
"""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from itertools import islice
from operator import itemgetter
from typing import NamedTuple

from keepscore.domain.inputs import Progress, no_progress
from keepscore.domain.scoring import Event, State
from keepscore.domain.verdicts import RESTATING
from keepscore.projection.fold import Folder, Positions, RankingStates
from keepscore.projection.live_boards import LiveBoard, RankingRoute
from keepscore.projection.own_events import FoldRequest, in_turns
from keepscore.projection.replay import fold_ledger
from keepscore.projection.rollups import positions_of
from keepscore.projection.sequence import events_of, highest_seq
from keepscore.storage.engines.base import Dirty, Loaded, Ranking, RankingEngine
from keepscore.storage.ledgers.base import Ledger
from keepscore.storage.ledgers.checkpoints import Checkpoint
from keepscore.storage.ledgers.slots import Slot
from keepscore.storage.pace import Pace

__all__ = ["LEFT_OUT_MS", "fold_for_checkpoint", "load_engine", "load_from_events"]

#: Events that are folded into a checkpoint at a time.
MAX_TAIL = 200_000
#: Players whose checkpointed states are read at a time.
CHUNK_PLAYERS = 5000
#: Rows that are given to an engine at a time: where a rebuild is waited for, and where others wait meanwhile.
PART, SMALL_PART = 40_000, 5000
#: Milliseconds after which nothing is on its way any more to a ranking whose time is over.
LEFT_OUT_MS = 3_600_000


async def load_from_events(
    ledger: Ledger, engine: RankingEngine, live: LiveBoard, now: int, progress: Progress = no_progress
) -> tuple[int, int]:
    """Fill the engine's shadow of a board from all of its events, whatever a checkpoint says; answer how many events and players.

    Rankings whose time is over are left out, but for those that an event on its way may belong to.
    """
    upto = await positions_of(ledger, live)
    with _collector_paused():
        folded = await fold_ledger(ledger, live, FoldRequest(upto, progress=progress))
        found = {
            r: (states, folded.expiries.get(r, 0) or live.retirement(r)) for r, states in folded.states.items() if not live.is_retired(r)
        }
        kept = {ranking: states for ranking, (states, expiry) in found.items() if not 0 < expiry <= now - LEFT_OUT_MS}
        total = sum(map(len, kept.values()))

        async def loaded() -> AsyncIterator[Loaded]:
            done = 0
            for ranking, states in kept.items():
                for some in _parts(_rows(states), PART):
                    yield Loaded(ranking, found[ranking][1], some, fresh=True)
                    done += len(some)
                    progress("filling rankings", done, total)

        await engine.load(live.id, live.board, loaded(), upto, await highest_seq(ledger, live, upto))
    return folded.events, _players_in(folded.states)


def _players_in(states: RankingStates) -> int:
    """Count the players of a board. Nearly all are in the largest ranking: whoever is not is looked for."""
    largest = max(states.values(), key=len, default={})
    return len(largest) + len(set().union(*(players.keys() - largest.keys() for players in states.values())))


def _parts(rows: Iterable[tuple[str, int, int]], size: int) -> Iterator[list[tuple[str, int, int]]]:
    rest = iter(rows)
    while some := list(islice(rest, size)):
        yield some


async def load_engine(ledger: Ledger, engine: RankingEngine, live: LiveBoard) -> Checkpoint | None:
    """Fill the engine's shadow of a board from the ledger; answer the checkpoint that it was based on, if there was one."""
    while True:
        upto = await positions_of(ledger, live)
        points = await _usable_checkpoints(ledger, live)
        tail = [event async for events in events_of(ledger, live, points[0].positions) for event in events] if points else []
        if any(event.kind in RESTATING for event in tail):
            # Some of what is checkpointed may no longer count.
            points = []
        states = _from_checkpoint(ledger, live, points, tail, upto) if points else _from_events(ledger, live, upto)
        with _collector_paused():
            await engine.load(live.id, live.board, states, upto, await highest_seq(ledger, live, upto))
        # Another process may have begun a further checkpoint meanwhile, whose states were not looked for.
        if not points or {point.number for point in await _usable_checkpoints(ledger, live)} <= {point.number for point in points}:
            return points[0] if points else None


async def _usable_checkpoints(ledger: Ledger, live: LiveBoard) -> list[Checkpoint]:
    # A roll-up's checkpoint does not tell what its boards meant then.
    points = await ledger.checkpoints.latest(live.id) if not live.board.is_rollup else []
    return points if points and points[0].semantics_version == live.semantics_version else []


async def fold_for_checkpoint(ledger: Ledger, live: LiveBoard, now: int, pace: Pace) -> tuple[Dirty, Checkpoint | None]:
    """Fold what a checkpoint lacks; return it with the checkpoint that it rests on (None: there is none, it is everything).

    O(events since that checkpoint), up to a limit, and their players' states are in memory. A roll-up is folded from all events of its
    boards whenever one has come.
    """
    points = await _usable_checkpoints(ledger, live)
    if not points:
        upto = await positions_of(ledger, live)
        last = await ledger.checkpoints.latest(live.id) if live.board.is_rollup else []
        if last and last[0].complete and (last[0].semantics_version, last[0].positions) == (live.semantics_version, upto):
            return _changed(live, {}, {}, [], upto), last[0]
        folded = await fold_ledger(ledger, live, FoldRequest(upto, pace=pace))
        return _changed(live, folded.states, folded.expiries, [], upto), None
    complete = points[0]
    positions = dict(complete.positions)
    tail: list[Event] = []
    async for events in events_of(ledger, live, complete.positions):
        tail += events
        positions |= {event.writer: event.n for event in events}
        # What a checkpoint that was cut short has written includes all events up to its positions.
        if len(tail) >= MAX_TAIL and len(points) == 1:
            break
    slots = await _slots(ledger, live)
    # Verdicts let no ranking begin again.
    over = await _started_over(live, slots, [event for event in tail if event.kind not in RESTATING], pace)
    folder = Folder(live)
    included = await _take_up(ledger, folder, _Behind(points, slots, over, tail), pace)
    known = (lambda ranking, event: _is_included(included, ranking, event)) if included else None
    async for events in in_turns(tail, pace):
        folder.add(events, known)
    await folder.settle(ledger, positions)
    dropped = [
        ranking
        for ranking, expiry in slots.items()
        if ranking in over or live.is_retired(ranking) or (0 < expiry <= now and ranking not in folder.states)
    ]
    return _changed(live, folder.states, folder.expiries, dropped, positions, folder.gone), complete


async def _slots(ledger: Ledger, live: LiveBoard) -> dict[Ranking, int]:
    """Return the checkpointed rankings, and when each may be dropped."""
    found = {Ranking(live.id, *slot): expiry for slot, expiry in (await ledger.checkpoints.slots(live.id)).items()}
    # When one leaves the engine that has no ttl is the board's to say, and may have changed since.
    return {ranking: expiry if ranking.window in live.ttls else live.retirement(ranking) for ranking, expiry in found.items()}


def _changed(
    live: LiveBoard,
    states: RankingStates,
    expiries: Mapping[Ranking, int],
    dropped: list[Ranking],
    positions: Positions,
    gone: Mapping[Ranking, Set[str]] | None = None,
) -> Dirty:
    rows: dict[Ranking, Iterable[tuple[str, State | None]]] = {
        ranking: players.items() for ranking, players in states.items() if not live.is_retired(ranking)
    }
    for ranking, players in ((ranking, players) for ranking, players in (gone or {}).items() if not live.is_retired(ranking)):
        rows[ranking] = [*rows.get(ranking, ()), *((player, None) for player in players)]
    return Dirty(rows, {ranking: expiries.get(ranking, 0) or live.retirement(ranking) for ranking in rows}, dropped, positions)


class _Behind(NamedTuple):
    """What is behind a checkpoint: checkpoints begun since, rankings with their expiries, those that started over, and the events."""

    points: list[Checkpoint]
    slots: Mapping[Ranking, int]
    over: Set[Ranking]
    events: list[Event]


async def _take_up(ledger: Ledger, folder: Folder, behind: _Behind, pace: Pace) -> dict[tuple[Ranking, str], Positions]:
    """Give a folder the checkpointed states of those whose events are to be folded in; answer what they include beyond the complete one."""
    points, slots, over, tail = behind
    included: dict[tuple[Ranking, str], Positions] = {}
    players: dict[Ranking, set[str]] = {}
    async for events in in_turns(tail, pace):
        for route, run in _runs(folder.live, events):
            own = {event.player for event in run}
            for ranking in route.rankings:
                players.setdefault(ranking, set()).update(own)
    later = {point.number: point.positions for point in points[1:]}
    seqs = {point.number: await highest_seq(ledger, folder.live, point.positions) for point in points}
    for ranking, wanted in players.items():
        folder.expiries[ranking] = slots.get(ranking, 0) if ranking.window in folder.live.ttls else 0
        rest = iter(wanted if ranking not in over and ranking in slots else ())
        while some := sorted(islice(rest, CHUNK_PLAYERS)):
            pace.begin()
            for player, score, since, number in await ledger.checkpoints.states(folder.live.id, Slot(*ranking[1:]), some):
                if number >= points[0].base:
                    folder.take_up(ranking, player, State(score, since), seqs[max(number, points[0].number)])
                    if number in later:
                        included[ranking, player] = later[number]
            await pace.rest()
    return included


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Pause garbage collection: with millions of new objects that all stay, it would take longer than making them."""
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
    folded = await fold_ledger(ledger, live, FoldRequest(upto))
    for ranking, states in folded.states.items():
        expiry = folded.expiries.get(ranking, 0) or live.retirement(ranking)
        for some in _parts(_rows(states), SMALL_PART) if not live.is_retired(ranking) else ():
            yield Loaded(ranking, expiry, some, fresh=True)


async def _from_checkpoint(
    ledger: Ledger, live: LiveBoard, points: list[Checkpoint], tail: list[Event], upto: Positions
) -> AsyncIterator[Loaded]:
    """Yield checkpointed states with the events behind them folded in: O(states + events since the checkpoint).

    Rows of the complete checkpoint, and of those that it rests on, include the events up to its positions. A later, incomplete one
    may have left some rows: those include the events up to *its* positions, which must not be folded in again.
    """
    complete = points[0]
    touched, pace = {event.player for event in tail}, Pace.without_pauses()
    folder = Folder(live)
    included: dict[tuple[Ranking, str], Positions] = {}
    seqs = {point.number: await highest_seq(ledger, live, point.positions) for point in points}
    slots = await _slots(ledger, live)
    over = await _started_over(live, slots, tail, pace)
    for ranking, expiry in slots.items():
        if ranking in over:
            folder.expiries[ranking] = expiry
        if ranking in over or live.is_retired(ranking):
            continue
        for point in points:
            seq = seqs[point.number]
            first = complete.base if point is complete else point.number
            async for rows in ledger.checkpoints.rows(live.id, Slot(*ranking[1:]), first, point.number):
                for player, score, since in rows if tail else ():
                    if player in touched:
                        folder.take_up(ranking, player, State(score, since), seq)
                        included[ranking, player] = point.positions
                yield Loaded(ranking, expiry, rows, fresh=False)
    counted = [event for event in tail if event.n <= upto.get(event.writer, 0)]
    async for events in in_turns(counted, pace):
        folder.add(events, lambda ranking, event: _is_included(included, ranking, event))
    await folder.settle(ledger, upto)
    for ranking, states in folder.states.items():
        again = ranking in slots and ranking not in over
        if not live.is_retired(ranking):
            expiry = folder.expiries.get(ranking, 0) or live.retirement(ranking)
            yield Loaded(ranking, expiry, _rows(states), fresh=True, again=again)


def _is_included(included: Mapping[tuple[Ranking, str], Positions], ranking: Ranking, event: Event) -> bool:
    positions = included.get((ranking, event.player))
    return positions is not None and event.n <= positions.get(event.writer, 0)


async def _started_over(live: LiveBoard, slots: Mapping[Ranking, int], tail: list[Event], pace: Pace) -> set[Ranking]:
    """Return the checkpointed rankings that started again since: their time was over when an event came."""
    expiries = {ranking: expiry for ranking, expiry in slots.items() if expiry and ranking.window in live.ttls}
    found: set[Ranking] = set()
    async for events in in_turns(tail if expiries else [], pace):
        for route, run in _runs(live, events):
            # Those that came in one moment make no difference to each other.
            for received in dict.fromkeys(event.received for event in run):
                for ranking, expiry in zip(route.rankings, live.expiries(route, received), strict=True):
                    if 0 < expiries.get(ranking, 0) <= received:
                        found.add(ranking)
                    expiries[ranking] = max(expiry, expiries.get(ranking, 0))
    return found


def _runs(live: LiveBoard, events: Iterable[Event]) -> Iterator[tuple[RankingRoute, list[Event]]]:
    """Yield events in order, grouped where they follow one another and count in the same rankings."""
    start = end = 0
    route: RankingRoute | None = None
    run: list[Event] = []
    for event in events:
        if event.segments or event.scope is not None or event.kind == "move" or not start <= event.at < end:
            if route is not None:
                yield route, run
            position = live.position(event.at)
            route, run = live.route_of(event), []
            is_common = not event.segments and event.scope is None and event.kind != "move"
            start, end = (position.start, position.end) if is_common else (0, 0)
        run.append(event)
    if route is not None:
        yield route, run
