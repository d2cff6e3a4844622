"""The namespace `players` of the blocking library.

Made from `keepscore.players.profiles` by `tools/write_sync.py`; changes belong there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from keepscore.domain.results.players import DeletedProfile, FoundPlayers, Profile, ProfileBatch, Segments
from keepscore.domain.results.teams import Team

if TYPE_CHECKING:
    from keepscore.sync import Leaderboards

__all__ = ["Players"]


class Players:
    """Players as people: their profiles."""

    def __init__(self, leaderboards: Leaderboards) -> None:
        self._leaderboards = leaderboards

    def profile(self, player_id: str) -> Profile:
        """Return what is known about a player besides scores."""
        return self._leaderboards._run(self._leaderboards._async.players.profile(player_id))

    def segments(
        self,
        board: str,
        *,
        name: str | None = None,
        window: str | None = None,
        window_id: str | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> Segments:
        """Return the slices of a board's window, all or those of one segment `name`, with their sizes."""
        return self._leaderboards._run(
            self._leaderboards._async.players.segments(board, name=name, window=window, window_id=window_id, limit=limit, offset=offset)
        )

    def search(
        self,
        board: str,
        name: str,
        *,
        limit: int = 20,
        window: str | None = None,
        window_id: str | None = None,
        segment: str | None = None,
        rank: str | None = None,
        viewer: str | None = None,
    ) -> FoundPlayers:
        """Return ranked players whose names begin with some letters, in rank order, as a `viewer` may see them."""
        return self._leaderboards._run(
            self._leaderboards._async.players.search(
                board, name, limit=limit, window=window, window_id=window_id, segment=segment, rank=rank, viewer=viewer
            )
        )

    def team(
        self,
        board: str,
        team_id: str,
        *,
        window: str | None = None,
        window_id: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
        viewer: str | None = None,
    ) -> Team:
        """Return where a team stands on a board that ranks teams, and a page of its members, the best first, as a `viewer` may see them."""
        return self._leaderboards._run(
            self._leaderboards._async.players.team(
                board, team_id, window=window, window_id=window_id, limit=limit, cursor=cursor, viewer=viewer
            )
        )

    def name(self, player_id: str, name: str | None, *, idempotency_key: str | None = None) -> Profile:
        """Give a player a name to show; the rest of the profile stays as it is."""
        return self._leaderboards._run(self._leaderboards._async.players.name(player_id, name, idempotency_key=idempotency_key))

    def put(self, player_id: str, profile: Mapping[str, Any], *, idempotency_key: str | None = None) -> Profile:
        """Replace a player's profile: what is not named is not known any more."""
        return self._leaderboards._run(self._leaderboards._async.players.put(player_id, profile, idempotency_key=idempotency_key))

    def change(self, player_id: str, fields: Mapping[str, Any], *, idempotency_key: str | None = None) -> Profile:
        """Change some fields of a player's profile, and attributes one by one. None removes a field."""
        return self._leaderboards._run(self._leaderboards._async.players.change(player_id, fields, idempotency_key=idempotency_key))

    def delete(self, player_id: str, *, idempotency_key: str | None = None) -> DeletedProfile:
        """Forget what is known about a player besides scores. The scores stay."""
        return self._leaderboards._run(self._leaderboards._async.players.delete(player_id, idempotency_key=idempotency_key))

    def change_many(self, profiles: Sequence[Mapping[str, Any]], *, idempotency_key: str | None = None) -> ProfileBatch:
        """Change up to 10,000 profiles, each as `change` does; bad ones are rejected one by one.

        Each has a `player_id` and fields of a profile. The same batch may be sent again.
        """
        return self._leaderboards._run(self._leaderboards._async.players.change_many(profiles, idempotency_key=idempotency_key))
