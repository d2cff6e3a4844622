"""What is known about players besides their scores: `lb.players`."""

from __future__ import annotations

from keepscore.domain.results.standings import Profile
from keepscore.domain.values import check_name, check_player
from keepscore.projection.stores import Stores
from keepscore.reading.names import Names
from keepscore.reading.reader import Reader
from keepscore.storage.ledgers.players import PlayerRecord
from keepscore.writing.idempotency import Claims, Keep, claim_on

__all__ = ["Players"]


class Players:
    """Sets and returns players' names."""

    def __init__(self, stores: Stores, claims: Claims, reader: Reader, names: Names) -> None:
        self._ledger = stores.ledger
        self._clock = stores.clock
        self._claims = claims
        self._reader = reader
        self._names = names

    async def name(self, player_id: str, name: str | None, *, idempotency_key: str | None = None) -> Profile:
        """Give a player a name to show."""
        profile = Profile(check_player(player_id), check_name(name))

        async def work(keep: Keep) -> Profile:
            await self._ledger.players.put(PlayerRecord(player_id, name), self._clock(), keep(profile))
            self._reader.name(player_id, name)
            return profile

        answer = await self._claims.once(claim_on("player", player_id, idempotency_key, ["name", name]), Profile, work)
        if answer.replayed is True:
            # Another process may have given it.
            await self._names.learn()
        return answer

    async def profile(self, player_id: str) -> Profile:
        """Return what is known about a player besides scores."""
        return Profile(check_player(player_id), self._reader.names.get(player_id))
