"""The port to a feed: who writes says which rankings changed, who listens gets to know."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence, Set

from keepscore.storage.engines.base import Ranking

__all__ = ["Feed", "Listener"]

#: Called with the rankings that changed. It must be quick and must not fail.
Listener = Callable[[Set[Ranking]], None]


class Feed(ABC):
    """Notices of change. They are hints: one may be lost, none is late for ever."""

    @abstractmethod
    async def open(self) -> None:
        """Begin to hear what others tell."""

    @abstractmethod
    async def close(self) -> None:
        """Hear no more."""

    @abstractmethod
    def listen(self, listener: Listener) -> None:
        """Call `listener` for every notice from now on."""

    @abstractmethod
    async def publish(self, changed: Set[Ranking]) -> None:
        """Tell everybody which rankings changed."""

    @abstractmethod
    def announce(self, messages: Sequence[tuple[str, bytes]]) -> None:
        """Tell programs outside, each message on its channel, soon. Without channels, do nothing."""
