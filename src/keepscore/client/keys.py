"""`client.keys`: the API keys of a service, and tokens for players."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from keepscore.client.calls import NO_KEY, change, decoder, keys_of, nothing, read
from keepscore.client.sending import Send
from keepscore.domain.results.access import ApiKey, NewKey, PlayerToken

__all__ = ["Keys"]


class Keys:
    """The API keys of a service. Nothing here is sent again after a doubt: a key is shown once."""

    def __init__(self, call: Send) -> None:
        self._call = call

    async def create(
        self, name: str, scope: str = "read", *, boards: Sequence[str] | None = None, expires: datetime | str | None = None
    ) -> NewKey:
        """Create an API key. Its text is only in the answer, and stored nowhere.

        `scope` is `read`, `submit`, `moderate` or `admin`; each includes the ones before it. `boards` are patterns such as
        `season-*`, by default all boards; `expires` is a time, or a duration such as `90d`.
        """
        body = {"name": name, "scope": scope, "boards": boards, "expires": expires}
        return await self._call(change(decoder(NewKey), "POST", "keys", body=body, key=NO_KEY))

    async def all(self) -> list[ApiKey]:
        """Return all API keys, without their secrets, oldest first."""
        return await self._call(read(keys_of, "keys"))

    async def revoke(self, key_id: str) -> None:
        """End an API key, and all player tokens that it signed, within a second on every worker."""
        return await self._call(change(nothing, "DELETE", "keys", key_id, key=NO_KEY))

    async def rotate(self, key_id: str, *, overlap: str = "24h") -> NewKey:
        """Replace a key by a new one. The old one stays valid for the `overlap`."""
        return await self._call(change(decoder(NewKey), "POST", "keys", key_id, "rotate", query={"overlap": overlap}, key=NO_KEY))

    async def token(self, player_id: str, *, boards: Sequence[str] | None = None, ttl: str = "15m") -> PlayerToken:
        """Return a token for a player, signed with the key of this client."""
        return await self._call(read(decoder(PlayerToken), "tokens", body={"player_id": player_id, "boards": boards, "ttl": ttl}))
