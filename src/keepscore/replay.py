"""From the ledger to rankings: the fold of all events, and the shorter way over a checkpoint.

Three users: a start or a rebuild fills an engine, a verification compares one, and a late event restates one player.
"""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from keepscore.catalog import LiveBoard
from keepscore.engines.base import Loaded, Ranking, RankingEngine, Update
from keepscore.ledgers.base import Checkpoint, Ledger, Slot
from keepscore.scoring import Event, State, fold_all, fold_for
from keepscore.windows import span_of

__all__ = ["fold_ledger", "load_engine", "restated"]

Positions = Mapping[int, int]


class Folded(NamedTuple):
    """The states of a board by ranking and player, and when each ranking may be dropped."""

    states: dict[Ranking, dict[str, State]]
    expiries: dict[Ranking, int]
    events: int


async def restated(ledger: Ledger, live: LiveBoard, player: str, ranking: Ranking, upto: Positions) -> State | None:
    """A player's state in one ranking, from the events up to the given positions. O(events of the player)."""
    events = await ledger.player_events(live.id, player)
    return fold_all(live.board, (e for e in events if e.n <= upto.get(e.writer, 0) and ranking in live.update(e).rankings))


async def fold_ledger(ledger: Ledger, live: LiveBoard, upto: Positions) -> Folded:
    """The fold of a board's events up to the given positions. O(events), and all states are in memory."""
    folder = _Folder(live)
    async for events in ledger.events(live.id, {}):
        for event in events:
            if event.n <= upto.get(event.writer, 0):
                folder.add(event)
    await folder.settle(ledger, upto)
    return Folded(folder.states, folder.expiries, folder.events)


class _Folder:
    """Folds events one by one, and remembers the players for whom that did not do."""

    def __init__(self, live: LiveBoard) -> None:
        self.live = live
        self.fold = fold_for(live.board)
        self.states: dict[Ranking, dict[str, State]] = {}
        self.expiries: dict[Ranking, int] = {}
        self.late: set[tuple[Ranking, str]] = set()
        self.events = 0

    def add(self, event: Event, skip: frozenset[Ranking] = frozenset()) -> None:
        """Fold one event into all of its rankings but some."""
        self.events += 1
        update: Update = self.live.update(event)
        for ranking, expiry in zip(update.rankings, update.expiries, strict=True):
            if ranking in skip:
                continue
            states = self.states.setdefault(ranking, {})
            if expiry > self.expiries.get(ranking, 0):
                self.expiries[ranking] = expiry
            state = self.fold(states.get(event.player), event.kind, event.amount, update.at)
            if state is None:
                self.late.add((ranking, event.player))
            else:
                states[event.player] = state

    async def settle(self, ledger: Ledger, upto: Positions) -> None:
        """Restate the players with late events."""
        for ranking, player in self.late:
            state = await restated(ledger, self.live, player, ranking, upto)
            assert state is not None, "a player with a late event has events"
            self.states[ranking][player] = state


async def load_engine(ledger: Ledger, engine: RankingEngine, live: LiveBoard) -> Checkpoint | None:
    """Fill the engine's shadow of a board from the ledger; answer the checkpoint that it was based on, if there was one."""
    upto = await ledger.positions(live.id)
    checkpoints = [point for point in await ledger.checkpoints(live.id) if point.meaning == live.meaning]
    states = _from_checkpoint(ledger, live, checkpoints, upto) if checkpoints else _from_events(ledger, live, upto)
    with _collector_paused():
        await engine.load(live.id, live.board, states, upto)
    return checkpoints[0] if checkpoints else None


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


async def _from_events(ledger: Ledger, live: LiveBoard, upto: Positions) -> AsyncIterator[Loaded]:
    folded = await fold_ledger(ledger, live, upto)
    for ranking, states in folded.states.items():
        rows = [(player, *state) for player, state in states.items()]
        yield Loaded(ranking, folded.expiries.get(ranking, 0), rows, fresh=True)


async def _from_checkpoint(ledger: Ledger, live: LiveBoard, points: list[Checkpoint], upto: Positions) -> AsyncIterator[Loaded]:
    """Checkpointed states with the events behind them folded in: O(states + events since the checkpoint).

    Rows of the complete checkpoint, and of those that it rests on, include the events up to its positions. A later, incomplete one
    may have left some rows: those include the events up to *its* positions, which must not be folded in again.
    """
    complete = points[0]
    tail: dict[str, list[Event]] = {}
    async for events in ledger.events(live.id, complete.positions):
        for event in events:
            tail.setdefault(event.player, []).append(event)
    folder = _Folder(live)
    included: dict[tuple[Ranking, str], Positions] = {}
    for slot in await ledger.checkpoint_slots(live.id):
        ranking = Ranking(live.id, *slot)
        latest = 0
        for point in points:
            first = complete.base if point is complete else point.number
            async for rows in ledger.checkpoint_rows(live.id, slot, first, point.number):
                for player, score, since in rows if tail else ():
                    if player in tail:
                        folder.states.setdefault(ranking, {})[player] = State(score, since)
                        included[ranking, player] = point.positions
                if slot.window in live.ttls:
                    latest = max(latest, *(since for _, _, since in rows))
                yield Loaded(ranking, 0, rows, fresh=False)
        yield Loaded(ranking, _expiry(live, slot, latest), (), fresh=False)
    for player, events in tail.items():
        for event in events:
            if event.n <= upto.get(event.writer, 0):
                rankings = live.update(event).rankings
                known = (r for r in rankings if event.n <= included.get((r, player), complete.positions).get(event.writer, 0))
                folder.add(event, frozenset(known))
    await folder.settle(ledger, upto)
    for ranking, states in folder.states.items():
        rows = [(player, *state) for player, state in states.items()]
        yield Loaded(ranking, folder.expiries.get(ranking, 0), rows, fresh=True)


def _expiry(live: LiveBoard, slot: Slot, latest: int) -> int:
    return live.expiry(span_of(live.board, slot.window, slot.window_id), latest)
