"""The namespace `explain` of the blocking library.

Made from `keepscore.reading.explanations` by `tools/write_sync.py`; changes belong there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from keepscore.domain.results.explanations import Needs, Why

if TYPE_CHECKING:
    from keepscore.sync import Leaderboards

__all__ = ["Explanations"]


class Explanations:
    """Which score a rank needs, and which events count and why."""

    def __init__(self, leaderboards: Leaderboards) -> None:
        self._leaderboards = leaderboards

    def needs(
        self,
        board: str,
        player_id: str,
        *,
        rank: int | None = None,
        top: str | None = None,
        window: str | None = None,
        segment: str | None = None,
    ) -> Needs:
        """Return the score with which a player reaches a rank, or the first so many percent (`top="1%"`)."""
        return self._leaderboards._run(
            self._leaderboards._async.explain.needs(board, player_id, rank=rank, top=top, window=window, segment=segment)
        )

    def why(
        self,
        board: str,
        player_id: str,
        *,
        limit: int = 100,
        window: str | None = None,
        window_id: str | None = None,
        segment: str | None = None,
    ) -> Why:
        """Return a player's events, the newest first: which of them count in a ranking, which do not, and why."""
        return self._leaderboards._run(
            self._leaderboards._async.explain.why(board, player_id, limit=limit, window=window, window_id=window_id, segment=segment)
        )
