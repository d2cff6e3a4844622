"""The events of a board as folds want them: where the order of events matters, in that in which the ledger took them."""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import AsyncIterator, Mapping

from keepscore.domain.scoring import Event
from keepscore.projection.live_boards import LiveBoard
from keepscore.storage.ledgers.base import Ledger

__all__ = ["events_of", "highest_seq"]

#: Events that are given at a time.
CHUNK_EVENTS = 2000


async def highest_seq(ledger: Ledger, live: LiveBoard, positions: Mapping[int, int]) -> int:
    """Return the highest number that an event of a board has up to the given positions, where the order matters."""
    return max((await ledger.events.seqs(live.id, positions)).values(), default=0) if live.board.is_ordered else 0


async def events_of(ledger: Ledger, live: LiveBoard, after: Mapping[int, int]) -> AsyncIterator[list[Event]]:
    """Read the events of a board behind the given position of each writer, in chunks, each writer's in order.

    Where the order of events matters, writers are merged by the ledger's numbers. A writer's events are read from when it is their turn.
    """
    if not live.board.is_ordered:
        async for events in ledger.events.read(live.id, after):
            yield events
        return
    last = {writer: n for writer, n in (await ledger.events.positions(live.id)).items() if n > after.get(writer, 0)}
    found = await ledger.events.seqs(live.id, {writer: after.get(writer, 0) + 1 for writer in last})
    waiting = sorted(((found.get(writer, 0), writer) for writer in last), reverse=True)
    heads: list[tuple[tuple[int, int], list[Event], AsyncIterator[list[Event]]]] = []
    merged: list[Event] = []
    while waiting or heads:
        if waiting and (not heads or waiting[-1] <= heads[0][0]):
            _, writer = waiting.pop()
            rest = ledger.events.of_writer(live.id, writer, after.get(writer, 0), last[writer])
            chunk: list[Event] = []
        else:
            _, chunk, rest = heapq.heappop(heads)
            others = [heads[0][0]] if heads else []
            until = min(others + waiting[-1:], default=None)
            count = len(chunk) if until is None else bisect_left(chunk, until, key=_turn)
            merged += chunk[:count]
            chunk = chunk[count:]
        chunk = chunk or await anext(rest, [])
        if chunk:
            heapq.heappush(heads, (_turn(chunk[0]), chunk, rest))
        if len(merged) >= CHUNK_EVENTS:
            yield merged
            merged = []
    if merged:
        yield merged


def _turn(event: Event) -> tuple[int, int]:
    return event.seq or 0, event.writer
