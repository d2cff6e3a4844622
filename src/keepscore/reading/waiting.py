"""Reads that wait until a ranking is at a position: whoever has submitted a score sees it, whichever process answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from keepscore.domain.positions import Position, parse_position
from keepscore.domain.results.distribution import Distribution
from keepscore.domain.results.standings import Around, Count, Lookup, PlayerPlace, Top
from keepscore.errors import PositionLost, PositionNotReached, UnknownPlayer
from keepscore.reading.view import View
from keepscore.storage.engines.base import PositionSupport

__all__ = ["WAIT_S", "W", "at_least"]

#: Seconds for which a read waits at most.
WAIT_S = 5.0
#: Seconds between two looks, at first and at most.
LOOK_AFTER_S, LOOK_EVERY_S = 0.002, 0.05

W = TypeVar("W", Top, PlayerPlace, Around, Lookup, Count, Distribution)


async def at_least(positions: PositionSupport, view: View, min_seq: str | None, read: Callable[[], Awaitable[W]]) -> W:
    """Return an answer that shows all up to a position, as soon as there is one; without a position, what there is."""
    if min_seq is None:
        return await read()
    wanted = parse_position(min_seq, "min_seq")
    time = asyncio.get_running_loop().time
    deadline, pause = time() + WAIT_S, LOOK_AFTER_S
    while True:
        # The engine's own: what is read may come from a replica, which is behind.
        (now,) = await positions.read([view.ranking])
        _check_epoch(view, wanted, now)
        if now is not None and wanted.is_within(now):
            answer = await _reached(wanted, read, is_patient=positions.reads_behind and time() < deadline)
            if answer is not None:
                return answer
        if time() >= deadline:
            raise PositionNotReached(
                f"min_seq = {min_seq} was not reached within {WAIT_S:g} s: the ranking is at {now or 'no position'}. Try again, or read "
                "without min_seq"
            )
        await asyncio.sleep(pause)
        pause = min(2 * pause, LOOK_EVERY_S)


async def _reached(wanted: Position, read: Callable[[], Awaitable[W]], is_patient: bool) -> W | None:
    """Return an answer that shows all up to a position; None where it was read from somewhere that is behind, or may have been."""
    try:
        answer = await read()
    except UnknownPlayer:
        if is_patient:
            return None
        raise
    found = answer.position
    # What is archived is final.
    is_new = isinstance(found, str) and wanted.is_within(parse_position(found))
    return answer if is_new or answer.archived is True else None


def _check_epoch(view: View, wanted: Position, now: Position | None) -> None:
    if wanted.epoch and now is not None and now.epoch != wanted.epoch:
        raise PositionLost(
            f"min_seq = {wanted} is of another epoch than the ranking of board {view.live.name!r} ({view.ranking.window_id}), which is at "
            f"{now}: it was rebuilt since, or the position is another ranking's. Read without min_seq"
        )
