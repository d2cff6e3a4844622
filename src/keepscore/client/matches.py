"""`client.matches`: matches on boards with a rating, over a service."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from keepscore.client.batches import sendable
from keepscore.client.calls import RequestKey, change, decoder, read
from keepscore.client.sending import Send
from keepscore.domain.inputs import Number
from keepscore.domain.results.matches import HeadToHead, MatchBatch, MatchReceipt, PlayerMatches, PlayerRatings

__all__ = ["Matches"]


class Matches:
    """Records matches on boards with a rating, and looks back at them."""

    def __init__(self, call: Send) -> None:
        self._call = call

    async def record(
        self, board: str, a: str, b: str, result: Number, *, match_id: str | None = None, at: datetime | str | None = None
    ) -> MatchReceipt:
        """Record a match of two players: `result` is 1 where `a` won, 0.5 for a draw, 0 where `b` won.

        When this returns, the match is durable; a receipt that is `pending` is not ranked yet. A `match_id` counts once: sent again, the
        first answer comes back, `replayed`.
        """
        name = f"m_{uuid.uuid4().hex}" if match_id is None else match_id
        body: dict[str, Any] = {"a": a, "b": b, "result": sendable("result", result), "match_id": name, "at": at}
        key = RequestKey(in_body=True)
        return await self._call(change(decoder(MatchReceipt), "POST", "boards", board, "matches", body=body, key=key))

    async def record_teams(
        self,
        board: str,
        teams: Sequence[Sequence[str]],
        ranks: Sequence[int] | None = None,
        *,
        match_id: str | None = None,
        at: datetime | str | None = None,
    ) -> MatchReceipt:
        """Record a match of teams: `ranks` has the place of each, 1 being the first; without it, teams are in the order of their places.

        Teams of any size are for boards that are rated by openskill; on others, there are two with a player each.
        """
        name = f"m_{uuid.uuid4().hex}" if match_id is None else match_id
        body: dict[str, Any] = {"teams": teams, "ranks": ranks, "match_id": name, "at": at}
        key = RequestKey(in_body=True)
        return await self._call(change(decoder(MatchReceipt), "POST", "boards", board, "matches", body=body, key=key))

    async def record_many(self, board: str, matches: Sequence[Mapping[str, Any]], *, idempotency_key: str | None = None) -> MatchBatch:
        """Record up to 1,000 matches in their order, each with the fields of `record` or `record_teams`; bad ones are rejected one by one.

        A `match_id` counts once. With a key, a match without an id gets one of the key and its place: the same batch may be sent again.
        """
        body, key = {"matches": list(matches)}, RequestKey(idempotency_key)
        return await self._call(change(decoder(MatchBatch), "POST", "boards", board, "matches", "batch", body=body, key=key))

    async def get(self, board: str, match_id: str, *, viewer: str | None = None) -> MatchReceipt:
        """Return what a match changed when it was recorded, for the players whom a `viewer` may see."""
        return await self._call(read(decoder(MatchReceipt), "boards", board, "matches", match_id, query={"viewer": viewer}))

    async def of_player(
        self,
        board: str,
        player_id: str,
        *,
        opponent_id: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
        viewer: str | None = None,
    ) -> PlayerMatches:
        """Return a page of a player's matches, or of those against one opponent, the newest first, as a `viewer` may see them."""
        query = {"opponent_id": opponent_id, "limit": limit, "cursor": cursor, "viewer": viewer}
        return await self._call(read(decoder(PlayerMatches), "boards", board, "players", player_id, "matches", query=query))

    async def head_to_head(self, board: str, player_id: str, opponent_id: str, *, viewer: str | None = None) -> HeadToHead:
        """Return how the matches of two players ended, and the last ten, as a `viewer` may see them."""
        path = "boards", board, "players", player_id, "matches", opponent_id
        return await self._call(read(decoder(HeadToHead), *path, query={"viewer": viewer}))

    async def ratings(self, board: str, player_id: str, *, limit: int = 100, viewer: str | None = None) -> PlayerRatings:
        """Return a player's rating after each of the last matches, and the highest ever, as a `viewer` may see it."""
        query = {"limit": limit, "viewer": viewer}
        return await self._call(read(decoder(PlayerRatings), "boards", board, "players", player_id, "ratings", query=query))
