"""The namespace `client.explain`, as `keepscore.Leaderboards` has it."""

from __future__ import annotations

from keepscore.client.calls import decoder, read, view_of
from keepscore.client.sending import Send
from keepscore.domain.results.explanations import Needs, Why

__all__ = ["Explanations"]


class Explanations:
    """Which score a rank needs, and which events count and why."""

    def __init__(self, call: Send) -> None:
        self._call = call

    async def needs(
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
        query = {"rank": rank, "top": top, "window": window, "segment": segment}
        return await self._call(read(decoder(Needs), "boards", board, "players", player_id, "needs", query=query))

    async def why(
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
        query = {"limit": limit, **view_of(window, window_id, segment)}
        return await self._call(read(decoder(Why), "boards", board, "players", player_id, "why", query=query))
