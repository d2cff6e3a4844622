"""The namespace `keys` of the blocking library.

Made from `keepscore.access.keys` by `tools/write_sync.py`; changes belong there.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from keepscore.access.keys import DEFAULT_OVERLAP
from keepscore.access.player_tokens import DEFAULT_TTL
from keepscore.domain.results.access import ApiKey, NewKey, PlayerToken

if TYPE_CHECKING:
    from keepscore.sync import Leaderboards

__all__ = ["Keys"]


class Keys:
    """The API keys of a ledger."""

    def __init__(self, leaderboards: Leaderboards) -> None:
        self._leaderboards = leaderboards

    def create(
        self, name: str, scope: str = "read", *, boards: Sequence[str] | None = None, expires: datetime | str | None = None
    ) -> NewKey:
        """Create an API key. Its text is only in the answer, and stored nowhere.

        `scope` is `read`, `submit`, `moderate` or `admin`; each includes the ones before it. `boards` are patterns such as
        `season-*`, by default all boards; `expires` is a time, or a duration such as `90d`.
        """
        return self._leaderboards._run(self._leaderboards._async.keys.create(name, scope, boards=boards, expires=expires))

    def all(self) -> list[ApiKey]:
        """Return all API keys, without their secrets, oldest first."""
        return self._leaderboards._run(self._leaderboards._async.keys.all())

    def revoke(self, key_id: str) -> None:
        """End an API key, and all player tokens that it signed, within a second on every worker."""
        return self._leaderboards._run(self._leaderboards._async.keys.revoke(key_id))

    def rotate(self, key_id: str, *, overlap: str = DEFAULT_OVERLAP) -> NewKey:
        """Replace a key by a new one. The old one stays valid for the `overlap`."""
        return self._leaderboards._run(self._leaderboards._async.keys.rotate(key_id, overlap=overlap))

    def token(self, player_id: str, *, boards: Sequence[str] | None = None, ttl: str = DEFAULT_TTL) -> PlayerToken:
        """Return a token for a player, signed with the latest key that can submit."""
        return self._leaderboards._run(self._leaderboards._async.keys.token(player_id, boards=boards, ttl=ttl))

    def token_signed_by(
        self, key_id: str | None, player_id: str, *, boards: Sequence[str] | None = None, ttl: str = DEFAULT_TTL
    ) -> PlayerToken:
        """Return a token for a player, signed with a key; None: the latest that can submit."""
        return self._leaderboards._run(self._leaderboards._async.keys.token_signed_by(key_id, player_id, boards=boards, ttl=ttl))
