"""The feed within one process."""

from __future__ import annotations

from collections.abc import Sequence, Set

from keepscore.storage.engines.base import Ranking
from keepscore.storage.feeds.base import Feed, Listener

__all__ = ["MemoryFeed"]


class MemoryFeed(Feed):
    """Calls the listeners of this process at once."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    async def open(self) -> None:
        """Do nothing: there is nobody else to hear."""

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""

    def listen(self, listener: Listener) -> None:
        self._listeners.append(listener)

    async def publish(self, changed: Set[Ranking]) -> None:
        for listener in self._listeners:
            listener(changed)

    def announce(self, messages: Sequence[tuple[str, bytes]]) -> None:
        """Do nothing: there is nowhere to tell it."""
