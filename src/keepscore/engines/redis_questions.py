"""Questions for single players that are asked at once, nearly all of one ranking: they share a call."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from keepscore.engines.base import Ranking
from keepscore.errors import EngineUnavailable
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
        try:
            places = await self._places(ranking, [player for player, _ in waiting])
            answers = list(zip(waiting, places, strict=True))
        except BaseException as exc:
            # Whatever it is: nobody is left to wait for ever.
            for _, future in waiting:
                if not future.done():
                    future.set_exception(exc if isinstance(exc, Exception) else EngineUnavailable("the engine is being closed"))
            if not isinstance(exc, Exception):
                raise
            return
        for (_, future), place in answers:
            if not future.done():
                future.set_result(place)
