"""Reads of what is now: from an engine that has lost nothing, else from the ledger's checkpoint; labelled where something is missing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol, TypeVar

from keepscore.domain.durations import time_of
from keepscore.domain.results.friends import BoardView, FriendsBoard
from keepscore.domain.results.leagues import PlayerLeague
from keepscore.domain.results.standings import Around, Count, Lookup, PlayerHistory, PlayerPlace, Top, Windows
from keepscore.errors import EngineUnavailable, RankingLost, UnknownPlayer
from keepscore.projection.behind import Behind
from keepscore.projection.changes import Changes
from keepscore.projection.live_boards import LiveBoard
from keepscore.reading.stale import Standby, mark_stale, stale_answer
from keepscore.storage.ledgers.base import Ledger

__all__ = ["EngineCare", "NothingLost", "Present"]

#: Seconds for which a read waits while a board is rebuilt.
HEALING_S = 5.0

log = logging.getLogger(__name__)
T = TypeVar("T")
A = TypeVar("A", Top, PlayerPlace, Around, Lookup, Count, Windows, PlayerHistory, FriendsBoard, BoardView, PlayerLeague)


class EngineCare(Protocol):
    """Sees that the engine has what the ledger has."""

    async def assured(self, live: LiveBoard) -> int:
        """See that the engine has all of a board; return the incarnation of the engine in which it does."""

    def heal(self, lost: RankingLost) -> Coroutine[Any, Any, None]:
        """Rebuild a board that has lost something in the engine."""


class NothingLost:
    """The care for an engine that nobody else has, and that was filled just now."""

    async def assured(self, live: LiveBoard) -> int:
        """Return the only incarnation that there is."""
        return 0

    async def heal(self, lost: RankingLost) -> None:
        """Raise what cannot be."""
        raise lost


class Present:
    """Where an answer about the present comes from."""

    def __init__(self, ledger: Ledger, care: EngineCare, behind: Behind, changes: Changes) -> None:
        self._ledger = ledger
        self._care = care
        #: The running rebuilds of boards that have lost something, by board number.
        self._healing: dict[int, asyncio.Task[None]] = {}
        #: Boards whose answers lack something, and have to say so.
        self._behind = behind
        self._changes = changes

    @property
    def is_complete(self) -> bool:
        """Whether no recorded score waits for the engine, on any board."""
        return not self._behind.since

    async def read(self, live: LiveBoard, read: Callable[[], Awaitable[A]], read_stale: Callable[[Standby], Awaitable[A]]) -> A:
        """Return an answer from the engine or, while that is away, the ledger's checkpoint. Where it may lack something, it says so."""
        waiting = self._behind.since
        # Looked at before and after: the board may fall behind or catch up meanwhile.
        since = waiting.get(live.id)
        try:
            answer: A | UnknownPlayer = await self._whole(read)
        except UnknownPlayer as exc:
            answer = exc
        except EngineUnavailable as exc:
            return await stale_answer(self._ledger, live, exc, read_stale)
        since = since or waiting.get(live.id)
        if since is not None and live.is_strong:
            raise EngineUnavailable(f"board {live.name!r} has recorded scores that wait to be ranked: try again")
        if isinstance(answer, UnknownPlayer):
            answer.as_of = None if since is None else time_of(since)
            raise answer
        return answer if since is None else mark_stale(answer, since)

    async def _whole(self, read: Callable[[], Awaitable[T]]) -> T:
        """Return what is read of an engine that has lost nothing: where it has, the board is rebuilt first, if that is quick."""
        try:
            return await read()
        except RankingLost as exc:
            board = exc.ranking[0]
            healing = self._healing.get(board)
            if healing is None:
                healing = self._healing[board] = asyncio.create_task(self._care.heal(exc))
                healing.add_done_callback(lambda done: self._healed(board, done))
            await asyncio.wait({healing}, timeout=HEALING_S)
            if not healing.done():
                raise
            await healing
        return await read()

    def _healed(self, board: int, healing: asyncio.Task[None]) -> None:
        del self._healing[board]
        if not healing.cancelled() and (error := healing.exception()) is not None:
            log.warning("board %d could not be rebuilt: %s", board, error)
        self._changes.announce()
