"""The role of a ledger that holds what is known of players beside their scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from keepscore.storage.ledgers.claims import AppendRefused, Effect

__all__ = ["LAST_LETTER", "PlayerChange", "PlayerRecord", "PlayerStore", "StaleProfiles"]


#: Behind every other letter.
LAST_LETTER = "\U0010ffff"


class PlayerRecord(NamedTuple):
    """What is known about a player besides scores."""

    player: str
    name: str | None
    #: The other fields of the profile, as JSON; None: there are none.
    profile: str | None = None
    #: How often it was recorded. The ledger counts.
    version: int = 0

    @property
    def is_known(self) -> bool:
        """Whether it was not removed."""
        return self.name is not None or self.profile is not None

    @property
    def sought(self) -> str | None:
        """The name as it is looked for."""
        return None if self.name is None else self.name.casefold()


#: Makes new records from those that there are, by player, and the effect to keep in the same transaction. It may be called again.
PlayerChange = Callable[[Mapping[str, PlayerRecord]], tuple[Sequence[PlayerRecord], Effect | None]]


class StaleProfiles(AppendRefused):
    """Events were planned with profiles that have changed since. Nothing was recorded."""

    def __init__(self, players: Sequence[str]) -> None:
        super().__init__(f"{len(players)} profiles have changed")
        self.players = players


class PlayerStore(ABC):
    """Profiles of players."""

    @abstractmethod
    async def find(self, players: Sequence[str]) -> list[PlayerRecord]:
        """Return what is known of some players; those of whom nothing was ever known are left out. O(log N) each."""

    @abstractmethod
    async def changed(self, since: int, limit: int) -> list[tuple[str, int]]:
        """Return up to `limit` players recorded at a moment or later, each with the moment, the newest first. O(those)."""

    @abstractmethod
    async def named(self, prefix: str, after: tuple[str, str], limit: int) -> list[tuple[str, str]]:
        """Return up to `limit` players whose sought names begin with a prefix, each with that name, in its order.

        `after` is the name and the player behind which they come. O(log N + limit).
        """

    @abstractmethod
    async def unsettled(self, before: int, limit: int) -> list[tuple[str, int]]:
        """Return players recorded at a moment or earlier, each with the moment, for whom nobody has called `settle` since."""

    @abstractmethod
    async def settle(self, players: Sequence[tuple[str, int]]) -> None:
        """Note that what was recorded of players, one or more, at these moments has taken effect everywhere."""

    @abstractmethod
    async def unsettle(self, players: Sequence[str], now: int) -> None:
        """Note that what is recorded of players, where something is, may not have taken effect everywhere at a moment."""

    @abstractmethod
    async def change(self, players: Sequence[str], change: PlayerChange, now: int) -> None:
        """Read and record what is known of players in one transaction, in which nobody else changes them."""
