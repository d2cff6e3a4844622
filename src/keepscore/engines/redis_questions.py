"""Questions for single players that are asked at once, nearly all of one ranking: they share a call."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from keepscore.engines.base import Ranking
from keepscore.engines.settling import settle
from keepscore.ordering import Place

__all__ = ["Questions"]

Waiting = list[tuple[str, "asyncio.Future[Place | None]"]]


class Questions:
    """Where do players stand? While some questions are under way, those that come are asked together next."""

    def __init__(self, places: Callable[[Ranking, Sequence[str]], Awaitable[list[Place | None]]]) -> None:
        self._places = places
        self._asked: dict[Ranking, Waiting] = {}
        self._task: asyncio.Task[None] | None = None

    def ask(self, ranking: Ranking, player: str) -> asyncio.Future[Place | None]:
        """Where a player stands, when it is known."""
        future: asyncio.Future[Place | None] = asyncio.get_running_loop().create_future()
        self._asked.setdefault(ranking, []).append((player, future))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._ask())
        return future

    def stop(self) -> None:
        """Ask no more."""
        if self._task is not None:
            self._task.cancel()

    async def _ask(self) -> None:
        # Whoever is about to ask comes along.
        await asyncio.sleep(0)
        while self._asked:
            asked, self._asked = self._asked, {}
            await asyncio.gather(*(self._answer(ranking, waiting) for ranking, waiting in asked.items()))

    async def _answer(self, ranking: Ranking, waiting: Waiting) -> None:
        players, futures = zip(*waiting, strict=True)
        await settle(futures, self._places(ranking, players))
