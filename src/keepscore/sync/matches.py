"""The namespace `matches` of the blocking library.

Made from `keepscore.players.matches` by `tools/write_sync.py`; changes belong there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from keepscore.domain.inputs import Number
from keepscore.domain.results.matches import HeadToHead, MatchBatch, MatchReceipt, PlayerMatches, PlayerRatings

if TYPE_CHECKING:
    from keepscore.sync import Leaderboards

__all__ = ["Matches"]


class Matches:
    """Records matches on boards with a rating, and looks back at them."""

    def __init__(self, leaderboards: Leaderboards) -> None:
        self._leaderboards = leaderboards

    def record(
        self, board: str, a: str, b: str, result: Number, *, match_id: str | None = None, at: datetime | str | None = None
    ) -> MatchReceipt:
        """Record a match of two players: `result` is 1 where `a` won, 0.5 for a draw, 0 where `b` won.

        When this returns, the match is durable and both ratings are ranked. A `match_id` counts once: sent again, the first answer
        comes back, `replayed`.
        """
        return self._leaderboards._run(self._leaderboards._async.matches.record(board, a, b, result, match_id=match_id, at=at))

    def record_teams(
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
        return self._leaderboards._run(self._leaderboards._async.matches.record_teams(board, teams, ranks, match_id=match_id, at=at))

    def record_many(self, board: str, matches: Sequence[Mapping[str, Any]], *, idempotency_key: str | None = None) -> MatchBatch:
        """Record up to 1,000 matches in their order, each with the fields of `record` or `record_teams`; bad ones are rejected one by one.

        A `match_id` counts once. With a key, a match without an id gets one of the key and its place: the same batch may be sent again.
        """
        return self._leaderboards._run(self._leaderboards._async.matches.record_many(board, matches, idempotency_key=idempotency_key))

    def get(self, board: str, match_id: str, *, viewer: str | None = None) -> MatchReceipt:
        """Return what a match changed when it was recorded, for the players whom a `viewer` may see."""
        return self._leaderboards._run(self._leaderboards._async.matches.get(board, match_id, viewer=viewer))

    def of_player(
        self,
        board: str,
        player_id: str,
        *,
        opponent_id: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
        viewer: str | None = None,
    ) -> PlayerMatches:
        """Return a page of a player's matches, or of those against one opponent, the newest first, as a `viewer` may see them.

        O(matches of the player).
        """
        return self._leaderboards._run(
            self._leaderboards._async.matches.of_player(
                board, player_id, opponent_id=opponent_id, limit=limit, cursor=cursor, viewer=viewer
            )
        )

    def head_to_head(self, board: str, player_id: str, opponent_id: str, *, viewer: str | None = None) -> HeadToHead:
        """Return how the matches of two players ended, and the last ten, as a `viewer` may see them. O(matches of the player)."""
        return self._leaderboards._run(self._leaderboards._async.matches.head_to_head(board, player_id, opponent_id, viewer=viewer))

    def ratings(self, board: str, player_id: str, *, limit: int = 100, viewer: str | None = None) -> PlayerRatings:
        """Return a player's rating after each of the last matches, and the highest ever, as a `viewer` may see it.

        O(matches of the player).
        """
        return self._leaderboards._run(self._leaderboards._async.matches.ratings(board, player_id, limit=limit, viewer=viewer))
