"""The name of a ranking within a board, which several roles of a ledger share."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Slot"]


class Slot(NamedTuple):
    """A ranking within a board: window, window id, segment (`region:eu`, or empty for the whole)."""

    window: str
    window_id: str
    segment: str
