"""The namespace `history` of the blocking library.

Made from `keepscore.reading.history` by `tools/write_sync.py`; changes belong there.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from keepscore.domain.results.standings import (
    BoardEvents,
    PlayerEvents,
    PlayerHistory,
    Snapshot,
    Snapshots,
    Top,
    Windows,
)

if TYPE_CHECKING:
    from keepscore.sync import Leaderboards

__all__ = ["History"]


class History:
    """Look back: windows, snapshots, players' histories, standings at past moments, events."""

    def __init__(self, leaderboards: Leaderboards) -> None:
        self._leaderboards = leaderboards

    def windows(self, board: str, *, window: str | None = None, limit: int = 100, offset: int = 0) -> Windows:
        """Return the windows of a board that have players, newest first."""
        return self._leaderboards._run(self._leaderboards._async.history.windows(board, window=window, limit=limit, offset=offset))

    def snapshots(
        self,
        board: str,
        *,
        window: str | None = None,
        window_id: str | None = None,
        segment: str | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> Snapshots:
        """List the snapshots of a board, newest first; without a segment, those of everyone."""
        return self._leaderboards._run(
            self._leaderboards._async.history.snapshots(
                board, window=window, window_id=window_id, segment=segment, limit=limit, offset=offset
            )
        )

    def snapshot(
        self, board: str, snapshot_id: int, *, limit: int = 100, offset: int = 0, cursor: str | None = None, rank: str | None = None
    ) -> Snapshot:
        """Return a page of the standings of a snapshot: up to `limit` players, after `offset` or `cursor`."""
        return self._leaderboards._run(
            self._leaderboards._async.history.snapshot(board, snapshot_id, limit=limit, offset=offset, cursor=cursor, rank=rank)
        )

    def of(self, board: str, player_id: str, *, window: str | None = None, limit: int = 100, viewer: str | None = None) -> PlayerHistory:
        """Return a player's place in each window, and the best one ever, as a `viewer` may see it."""
        return self._leaderboards._run(self._leaderboards._async.history.of(board, player_id, window=window, limit=limit, viewer=viewer))

    def as_of(
        self,
        board: str,
        at: datetime | str,
        *,
        limit: int = 100,
        window: str | None = None,
        segment: str | None = None,
        rank: str | None = None,
    ) -> Top:
        """Return the top of a ranking at a past moment, from the events that had arrived by then. Reads all events of the board."""
        return self._leaderboards._run(
            self._leaderboards._async.history.as_of(board, at, limit=limit, window=window, segment=segment, rank=rank)
        )

    def events(self, board: str, player_id: str, limit: int = 100) -> PlayerEvents:
        """Return a player's recorded events on a board, newest first."""
        return self._leaderboards._run(self._leaderboards._async.history.events(board, player_id, limit))

    def all_events(self, board: str, *, cursor: str | None = None, limit: int = 1000) -> BoardEvents:
        """Return the recorded events of a board, up to 10,000 at a time, after a `cursor`."""
        return self._leaderboards._run(self._leaderboards._async.history.all_events(board, cursor=cursor, limit=limit))
