"""The namespace `players` of the blocking library.

Made from `keepscore.players.profiles` by `tools/write_sync.py`; changes belong there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from keepscore.domain.results.standings import (
    Profile,
)

if TYPE_CHECKING:
    from keepscore.sync import Leaderboards

__all__ = ["Players"]


class Players:
    """Sets and returns players' names."""

    def __init__(self, leaderboards: Leaderboards) -> None:
        self._leaderboards = leaderboards

    def name(self, player_id: str, name: str | None, *, idempotency_key: str | None = None) -> Profile:
        """Give a player a name to show."""
        return self._leaderboards._run(self._leaderboards._async.players.name(player_id, name, idempotency_key=idempotency_key))

    def profile(self, player_id: str) -> Profile:
        """Return what is known about a player besides scores."""
        return self._leaderboards._run(self._leaderboards._async.players.profile(player_id))
