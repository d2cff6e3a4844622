"""`client.leagues`: leagues of boards, over a service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keepscore.client.calls import decoder, read
from keepscore.client.sending import Send
from keepscore.domain.results.leagues import LeagueHistory, LeagueSimulation, PlayerLeague

__all__ = ["Leagues"]


class Leagues:
    """Looks at leagues of boards."""

    def __init__(self, call: Send) -> None:
        self._call = call

    async def of(self, board: str, player_id: str) -> PlayerLeague:
        """Return a player's tier and cohort in the present season, as the player sees it."""
        return await self._call(read(decoder(PlayerLeague), "boards", board, "leagues", player_id))

    async def history(self, board: str, player_id: str, *, limit: int = 50) -> LeagueHistory:
        """Return the seasons in which a player took part, the newest first."""
        return await self._call(read(decoder(LeagueHistory), "boards", board, "leagues", player_id, "history", query={"limit": limit}))

    async def simulate(self, board: str, league: Mapping[str, Any], *, windows: int = 12) -> LeagueSimulation:
        """Return what a proposed league would have made of the last past windows of a board. Nothing is changed."""
        body = {"league": dict(league), "windows": windows}
        return await self._call(read(decoder(LeagueSimulation), "boards", board, "leagues", "simulate", body=body, is_long=True))
