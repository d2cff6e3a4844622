"""Boards whose recorded scores wait for the engine."""

from __future__ import annotations

from math import inf

from keepscore.projection.changes import Changes
from keepscore.projection.live_boards import Catalog, LiveBoard

__all__ = ["Behind"]


class Behind:
    """Boards whose engine lacks something that this process has recorded, and the roll-ups made from them."""

    def __init__(self, catalog: Catalog, changes: Changes) -> None:
        self._catalog = catalog
        #: Announces that a board has fallen behind or caught up.
        self._changes = changes
        #: The moment up to which the engine has everything, in milliseconds, by the board's number.
        self.since: dict[int, int] = {}

    def add(self, live: LiveBoard, moment: int) -> None:
        """Note that the engine lacks something of a board that came at a moment."""
        for board in (live, *self._catalog.rollups(live)):
            if moment < self.since.get(board.id, inf):
                self.since[board.id] = moment
                self._changes.announce()

    def remove(self, live: LiveBoard) -> None:
        """Note that the engine has everything of a board."""
        if self.since.pop(live.id, None) is not None:
            self._changes.announce()

    def forget_deleted(self) -> None:
        """Forget boards that are no more."""
        for board in self.since.keys() - {live.id for live in self._catalog}:
            del self.since[board]
