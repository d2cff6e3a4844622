"""Resets on demand: the rankings of a board become a version that stays readable, and new, empty ones begin.

A reset is a moment that is recorded with the definition. Windows are cut there (`windows.py`), and events go by their times, so that each
counts in exactly one part, whatever crashes. Rankings are built from the ledger and exchanged in one step, as with every change of meaning.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from keepscore.domain.boards import Board
from keepscore.domain.durations import time_of
from keepscore.domain.results.standings import Reset
from keepscore.domain.windows import Span, span_at
from keepscore.errors import NothingToUndo, RolledUp, WindowClosed
from keepscore.lifecycle.definitions import Definitions
from keepscore.projection.live_boards import LiveBoard
from keepscore.storage.ledgers.claims import Effect
from keepscore.writing.idempotency import Keep

__all__ = ["Resets"]

#: How often, and every how many seconds, the clock is asked whether a reset's moment has come: it is the next millisecond.
CLOCK_TRIES, CLOCK_RETRY_S = 10, 0.001


class Resets:
    """Resets boards, and undoes it."""

    def __init__(self, definitions: Definitions, clock: Callable[[], int]) -> None:
        self._definitions = definitions
        self._clock = clock

    async def reset(self, name: str, keep: Keep) -> Reset:
        """Start over; when this returns, readers see the new rankings."""
        cut: list[tuple[Board, Span]] = []

        def make(live: LiveBoard) -> tuple[Board, Reset]:
            # Whatever came before has an earlier time, unless its sender gave it one.
            moment = max(self._clock(), *live.board.cuts[-1:], 0) + 1
            _check_not_closed(live, moment - 1)
            board = replace(live.board, resets=[*live.board.resets, _text(moment)])
            spans = [span_at(board, window, moment - 1) for window in board.periods]
            cut[:] = [(board, span) for span in spans if span is not None]
            ended = {span.window: span.id for _, span in cut}
            return board, Reset(name, len(board.resets), ended, time_of(moment))

        answer = await self._change(name, "reset", make, keep)
        for _ in range(CLOCK_TRIES):
            if self._clock() >= round(answer.at.timestamp() * 1000):
                break
            await asyncio.sleep(CLOCK_RETRY_S)
        for board, span in cut:
            self._definitions.announcer.window_ended(board, span, "reset")
        return answer

    async def undo(self, name: str, keep: Keep) -> Reset:
        """Undo the last reset: its two parts are one again."""

        def make(live: LiveBoard) -> tuple[Board, Reset]:
            if not live.board.resets:
                raise NothingToUndo(f"board {name!r} has no reset to undo")
            moment, now = live.board.cuts[-1], self._clock()
            if now >= moment + live.board.grace_ms:
                raise NothingToUndo(
                    f"board {name!r} was last reset at {live.board.resets[-1]}: that can be undone only within its grace, "
                    f"{live.board.grace}"
                )
            for part in (moment - 1, now):
                _check_not_closed(live, part)
            board = replace(live.board, resets=live.board.resets[:-1])
            spans = [span_at(board, window, moment - 1) for window in board.periods]
            resumed = {span.window: span.id for span in spans if span is not None}
            return board, Reset(name, len(live.board.resets), resumed, time_of(moment), undone=True)

        return await self._change(name, "undo_reset", make, keep)

    async def _change(self, name: str, action: str, make: Callable[[LiveBoard], tuple[Board, Reset]], keep: Keep) -> Reset:
        made: list[Reset] = []

        def edit(live: LiveBoard) -> tuple[Board, Effect | None]:
            if live.board.is_rollup:
                raise RolledUp(f"board {name!r} is made from {', '.join(live.board.made_from)}: reset those")
            board, answer = make(live)
            made.append(answer)
            return board, keep(answer)

        await self._definitions.revise(name, edit, action)
        return made[-1]


def _check_not_closed(live: LiveBoard, moment: int) -> None:
    """Refuse to cut, or to put together, a window that was closed before its end: its winners are those of the whole."""
    for window in live.board.periods:
        span = span_at(live.board, window, moment)
        if span is not None and span[:2] in live.closed_early:
            raise WindowClosed(
                f"board {live.name!r} cannot be reset, nor a reset undone: its {span.window} window {span.id} was closed before its end"
            )


def _text(moment: int) -> str:
    # As the answer to the reset has it.
    text: str = msgspec.to_builtins(time_of(moment))
    return text
