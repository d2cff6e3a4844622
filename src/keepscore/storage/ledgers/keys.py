"""The role of a ledger that keeps API keys, hashed, and the ids of signed requests, so that each is accepted once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from keepscore.storage.ledgers.audit import AuditNote

__all__ = ["KeyRecord", "KeyStore", "key_of"]


class KeyRecord(NamedTuple):
    """An API key as the ledger keeps it. Moments are milliseconds since 1970."""

    id: str
    name: str
    scope: str
    #: Patterns of the boards that it is for.
    boards: tuple[str, ...]
    #: SHA-256 of the key's text, which is kept nowhere.
    hash: bytes
    created: int
    expires: int | None = None
    revoked: int | None = None
    last_used: int | None = None
    #: The key that it replaces.
    replaces: str | None = None


def key_of(row: Sequence[Any]) -> KeyRecord:
    """Make a key from its row."""
    key = KeyRecord(*row)
    return key._replace(boards=tuple(msgspec.json.decode(row[3])), hash=bytes(key.hash))


class KeyStore(ABC):
    """API keys, durable. They are never removed: one that was ended stays, and is known as such."""

    @abstractmethod
    async def version(self) -> bytes:
        """Return what differs after every change of a key, uses aside; empty while there are no keys."""

    @abstractmethod
    async def all(self) -> list[KeyRecord]:
        """Return all keys, the oldest first. O(keys)."""

    @abstractmethod
    async def add(self, key: KeyRecord, ends: int | None = None, note: AuditNote | None = None) -> None:
        """Record a new key, and who did it; the one that it replaces expires at `ends`, if not before."""

    @abstractmethod
    async def revoke(self, key_id: str, now: int, note: AuditNote | None = None) -> bool:
        """End a key now, if it was not ended before, and record who did it; answer whether there is such a key."""

    @abstractmethod
    async def note_uses(self, uses: Mapping[str, int]) -> None:
        """Record when keys were used last."""

    @abstractmethod
    async def spend(self, key_id: str, request_id: str, until: int) -> bool:
        """Record that a request id of a key is used, at least until a moment; answer whether it was new."""

    @abstractmethod
    async def forget_spent(self, now: int, limit: int) -> int:
        """Forget up to `limit` request ids whose moment has passed; answer how many."""
