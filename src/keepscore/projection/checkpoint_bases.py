"""Which checkpoint the rankings of each board rest on, as whoever loads boards and whoever writes checkpoints know it."""

from __future__ import annotations

from keepscore.projection.live_boards import LiveBoard
from keepscore.storage.ledgers.checkpoints import Checkpoint

__all__ = ["CheckpointBases"]


class CheckpointBases:
    """The first checkpoint of the series that each board's states are in, by the board's number.

    A board without one needs a checkpoint that holds everything.
    """

    def __init__(self) -> None:
        self._bases: dict[int, int] = {}
        #: How often each board was loaded: a checkpoint that is being written meanwhile does not hold the new rankings.
        self._loads: dict[int, int] = {}

    def loaded(self, live: LiveBoard, checkpoint: Checkpoint | None) -> None:
        """Note that a board was loaded from a checkpoint, or (None) from all of its events."""
        self._loads[live.id] = self.loads(live) + 1
        self.remove(live)
        if checkpoint is not None:
            self._bases[live.id] = checkpoint.base

    def loads(self, live: LiveBoard) -> int:
        """Return how often a board was loaded."""
        return self._loads.get(live.id, 0)

    def get(self, live: LiveBoard) -> int | None:
        """Return the base of a board, if it has one."""
        return self._bases.get(live.id)

    def put(self, live: LiveBoard, base: int) -> None:
        """Note the base that a checkpoint was written on."""
        self._bases[live.id] = base

    def remove(self, live: LiveBoard) -> None:
        """Have the next checkpoint of a board hold everything."""
        self._bases.pop(live.id, None)
