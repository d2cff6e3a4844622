"""Questions for single players that are asked at once, nearly all of one ranking: they share a call."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from keepscore.domain.ordering import Place
from keepscore.storage.engines.base import Ranking
from keepscore.storage.engines.settling import settle

__all__ = ["Questions"]

#: A ranking, and whether its dense ranks are needed.
Subject = tuple[Ranking, bool]
WaitingQuestions = list[tuple[str, "asyncio.Future[Place | None]"]]


class Questions:
    """Where do players stand? While some questions about a ranking are under way, those that come are asked together next."""

    def __init__(self, places: Callable[[Ranking, bool, Sequence[str]], Awaitable[list[Place | None]]]) -> None:
        self._places = places
        self._asked: dict[Subject, WaitingQuestions] = {}
        #: One asks for each ranking: another may lie on a server that does not answer.
        self._tasks: dict[Subject, asyncio.Task[None]] = {}

    def ask(self, ranking: Ranking, is_dense: bool, player: str) -> asyncio.Future[Place | None]:
        """Return where a player stands, when it is known; `is_dense`: the dense rank is needed."""
        future: asyncio.Future[Place | None] = asyncio.get_running_loop().create_future()
        subject = ranking, is_dense
        self._asked.setdefault(subject, []).append((player, future))
        if subject not in self._tasks:
            self._tasks[subject] = asyncio.create_task(self._ask(subject))
        return future

    def stop(self) -> None:
        """Ask no more."""
        for task in self._tasks.values():
            task.cancel()

    async def _ask(self, subject: Subject) -> None:
        try:
            # Whoever is about to ask comes along.
            await asyncio.sleep(0)
            while waiting := self._asked.pop(subject, None):
                await self._answer(subject, waiting)
        finally:
            del self._tasks[subject]

    async def _answer(self, subject: Subject, waiting: WaitingQuestions) -> None:
        players, futures = zip(*waiting, strict=True)
        await settle(futures, self._places(*subject, players))
