"""Which windows of a board are archived."""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

from keepscore.domain.boards import Board
from keepscore.domain.windows import span_of
from keepscore.errors import UnknownWindow

__all__ = ["ArchivedWindows", "archived_windows"]


class ArchivedWindows(NamedTuple):
    """The windows of a board that are archived: their ids by name, and the end of the latest."""

    ids: dict[str, set[str]]
    latest_end: int


def archived_windows(board: Board, ids: dict[str, set[str]]) -> ArchivedWindows:
    """Return the archived windows of a board. Ids that its calendar does not have are left out. O(ids)."""
    latest = 0
    for window, own in ids.items():
        for window_id in own if window in board.periods else ():
            with suppress(UnknownWindow):
                latest = max(latest, span_of(board, window, window_id).end)
    return ArchivedWindows(ids, latest)
