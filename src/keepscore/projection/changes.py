"""Changes that make remembered answers old, whichever ranking they are of."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Changes"]


class Changes:
    """Passes on that definitions or names have changed, or that a board has fallen behind or caught up.

    It is made before all others, so that whoever announces a change need not know who remembers answers.
    """

    def __init__(self) -> None:
        self._listeners: list[Callable[[], None]] = []

    def listen(self, listener: Callable[[], None]) -> None:
        """Call a listener after each change."""
        self._listeners.append(listener)

    def announce(self) -> None:
        """Call all listeners."""
        for listener in self._listeners:
            listener()
