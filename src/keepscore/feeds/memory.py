"""The feed within one process."""

from __future__ import annotations

from collections.abc import Set

from keepscore.engines.base import Ranking
from keepscore.feeds.base import Feed, Listener

__all__ = ["MemoryFeed"]


class MemoryFeed(Feed):
    """Calls the listeners of this process at once."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    async def open(self) -> None:
        """There is nobody else to hear."""

    async def close(self) -> None:
        """There is nothing to let go of."""

    def listen(self, listener: Listener) -> None:
        self._listeners.append(listener)

    async def publish(self, changed: Set[Ranking]) -> None:
        for listener in self._listeners:
            listener(changed)
