"""`client.leagues`: leagues of boards, over a service, blocking.

Made from `keepscore.client.leagues` by `tools/write_sync.py`; changes belong there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keepscore.client.calls import decoder, read
from keepscore.client.sync_sending import SyncSend
from keepscore.domain.results.leagues import LeagueHistory, LeagueSimulation, PlayerLeague

__all__ = ["SyncLeagues"]


class SyncLeagues:
    """Looks at leagues of boards."""

    def __init__(self, call: SyncSend) -> None:
        self._call = call

    def of(self, board: str, player_id: str) -> PlayerLeague:
        """Return a player's tier and cohort in the present season, as the player sees it."""
        return self._call(read(decoder(PlayerLeague), "boards", board, "leagues", player_id))

    def history(self, board: str, player_id: str, *, limit: int = 50) -> LeagueHistory:
        """Return the seasons in which a player took part, the newest first."""
        return self._call(read(decoder(LeagueHistory), "boards", board, "leagues", player_id, "history", query={"limit": limit}))

    def simulate(self, board: str, league: Mapping[str, Any], *, windows: int = 12) -> LeagueSimulation:
        """Return what a proposed league would have made of the last past windows of a board. Nothing is changed."""
        body = {"league": dict(league), "windows": windows}
        return self._call(read(decoder(LeagueSimulation), "boards", board, "leagues", "simulate", body=body, is_long=True))
