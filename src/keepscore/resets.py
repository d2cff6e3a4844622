"""Resets on demand: the rankings of a board become a version that stays readable, and new, empty ones begin.

A reset is a moment that is recorded with the definition. Windows are cut there (`windows.py`), and events go by their times, so that each
counts in exactly one part, whatever crashes. Rankings are built from the ledger and exchanged in one step, as with every change of meaning.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from keepscore.answers import Reset
from keepscore.boards import Board
from keepscore.catalog import Catalog, LiveBoard
from keepscore.definitions import Definitions
from keepscore.durations import time_of
from keepscore.errors import NothingToUndo, RolledUp
from keepscore.guard import check_key
from keepscore.ledgers.base import Ledger
from keepscore.windows import span_at

__all__ = ["Resets"]

#: How often, and every how many seconds, the clock is asked whether a reset's moment has come: it is the next millisecond.
TRIES, PAUSE = 10, 0.001


class _Request(msgspec.Struct):
    """What is kept under an idempotency key: the answer, and whether it is sure that it took effect."""

    answer: Reset
    done: bool


class Resets:
    """Resets boards, and undoes it."""

    def __init__(self, catalog: Catalog, definitions: Definitions, ledger: Ledger, clock: Callable[[], int]) -> None:
        self._catalog = catalog
        self._definitions = definitions
        self._ledger = ledger
        self._clock = clock

    async def reset(self, name: str, key: str | None) -> Reset:
        """Begin anew; when this returns, the new rankings are those that are read."""

        def make(live: LiveBoard) -> tuple[Board, Reset]:
            # Whatever came before has an earlier time, unless its sender gave it one.
            moment = max(self._clock(), *live.board.cuts[-1:], 0) + 1
            board = replace(live.board, resets=[*live.board.resets, _text(moment)])
            spans = [span_at(board, window, moment - 1) for window in board.periods]
            ended = {span.window: span.id for span in spans if span is not None}
            return board, Reset(name, len(board.resets), ended, time_of(moment))

        answer = await self._change(name, "reset", make, key)
        for _ in range(TRIES):
            if self._clock() >= round(answer.at.timestamp() * 1000):
                break
            await asyncio.sleep(PAUSE)
        return answer

    async def undo(self, name: str, key: str | None) -> Reset:
        """Undo the last reset: its two parts are one again."""

        def make(live: LiveBoard) -> tuple[Board, Reset]:
            if not live.board.resets:
                raise NothingToUndo(f"board {name!r} has no reset to undo")
            moment, now = live.board.cuts[-1], self._clock()
            if now >= moment + live.board.grace_ms:
                raise NothingToUndo(
                    f"board {name!r} was last reset at {live.board.resets[-1]}: that can be undone within its grace only, "
                    f"{live.board.grace}"
                )
            board = replace(live.board, resets=live.board.resets[:-1])
            spans = [span_at(board, window, moment - 1) for window in board.periods]
            resumed = {span.window: span.id for span in spans if span is not None}
            return board, Reset(name, len(live.board.resets), resumed, time_of(moment), undone=True)

        return await self._change(name, "undo_reset", make, key)

    async def _change(self, name: str, action: str, make: Callable[[LiveBoard], tuple[Board, Reset]], key: str | None) -> Reset:
        mark = None if check_key(key) is None else f"{action}:{self._catalog[name].id}:{key}"
        if mark is not None and (first := await self._first_answer(name, mark)) is not None:
            return first
        made: list[Reset] = []

        async def edit(live: LiveBoard) -> Board:
            if live.board.rollup is not None:
                raise RolledUp(f"board {name!r} is made from {', '.join(live.board.rollup.of)}: reset those")
            board, answer = make(live)
            if mark is not None:
                # Before it takes effect: who asks again after a crash is told by the definition whether it did.
                await self._ledger.put_value(mark, msgspec.json.encode(_Request(answer, done=False)))
            made.append(answer)
            return board

        await self._definitions.revise(name, edit, action)
        if mark is not None:
            await self._ledger.put_value(mark, msgspec.json.encode(_Request(made[-1], done=True)))
        return made[-1]

    async def _first_answer(self, name: str, mark: str) -> Reset | None:
        """What was answered to the request with that key, if there was one that took effect."""
        known = await self._ledger.value(mark)
        if known is None:
            return None
        request = msgspec.json.decode(known, type=_Request)
        there = _text(round(request.answer.at.timestamp() * 1000)) in self._catalog[name].board.resets
        if not request.done and there == (request.answer.undone is True):
            return None
        request.answer.replayed = True
        return request.answer


def _text(moment: int) -> str:
    # As the answer to the reset has it.
    text: str = msgspec.to_builtins(time_of(moment))
    return text
