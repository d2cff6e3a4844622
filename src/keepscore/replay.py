"""From the ledger to states: the fold of all events of a board, and that of one player's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import NamedTuple

from keepscore.catalog import LiveBoard
from keepscore.engines.base import Ranking
from keepscore.folding import Folder, Positions, States, counts
from keepscore.ledgers.base import Ledger
from keepscore.ledgers.openings import Opening
from keepscore.openings import player_past
from keepscore.pace import Pace
from keepscore.rollups import mark_of
from keepscore.scoring import Event, State, fold_all
from keepscore.windows import FOREVER

__all__ = ["Folded", "Progress", "fold_ledger", "in_turns", "no_progress", "positions_of", "restated", "roll_up_player"]

#: Events that are folded before others get their turn.
TURN = 250

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
            async for some in in_turns(counted, pace):
                folder.add(some)
            progress("folding events", dropped + folder.events, total)
    finally:
        waiting.cancel()


async def in_turns(events: list[Event], pace: Pace) -> AsyncIterator[list[Event]]:
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
