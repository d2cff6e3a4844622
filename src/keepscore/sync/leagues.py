"""The namespace `leagues` of the blocking library.

Made from `keepscore.players.leagues` by `tools/write_sync.py`; changes belong there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from keepscore.domain.results.leagues import LeagueHistory, LeagueSimulation, PlayerLeague

if TYPE_CHECKING:
    from keepscore.sync import Leaderboards

__all__ = ["Leagues"]


class Leagues:
    """Looks at leagues of boards."""

    def __init__(self, leaderboards: Leaderboards) -> None:
        self._leaderboards = leaderboards

    def of(self, board: str, player_id: str) -> PlayerLeague:
        """Return a player's tier and cohort in the present season, as the player sees it. O(log N) for each of the cohort."""
        return self._leaderboards._run(self._leaderboards._async.leagues.of(board, player_id))

    def history(self, board: str, player_id: str, *, limit: int = 50) -> LeagueHistory:
        """Return the seasons in which a player took part, the newest first."""
        return self._leaderboards._run(self._leaderboards._async.leagues.history(board, player_id, limit=limit))

    def simulate(self, board: str, league: Mapping[str, Any], *, windows: int = 12) -> LeagueSimulation:
        """Return what a proposed league would have made of the last past windows of a board. Nothing is changed. O(events)."""
        return self._leaderboards._run(self._leaderboards._async.leagues.simulate(board, league, windows=windows))
