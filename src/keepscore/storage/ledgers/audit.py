"""The role of a ledger that notes who did what: append-only, and chained (`domain.audit_chain`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from keepscore.domain.actors import Actor
from keepscore.domain.audit_chain import EMPTY_HEAD, AuditEntry, ChainHead, chained

__all__ = ["CHAINS_AUDIT", "AuditFilter", "AuditLog", "AuditNote", "ends_of", "entry_of"]

#: The mark of the migration after which the entries that there are get their hashes.
CHAINS_AUDIT = "-- then: chain the audit"

_encode = msgspec.json.Encoder(order="sorted").encode


class AuditNote(NamedTuple):
    """Something that is done, to be noted in the transaction that does it."""

    at: int
    action: str
    #: Empty where it is about no board.
    board: str
    detail: Mapping[str, object]
    reason: str | None = None
    #: Who does it; None: this process. Ask `current_actor` before work goes to another thread.
    by: Actor | None = None

    def behind(self, head: ChainHead | None, last_id: int, writer: int) -> tuple[AuditEntry, ChainHead]:
        """Return the entry behind a head, and the head that it becomes.

        Where somebody has removed the head, or put entries behind it, work goes on: a check names the broken link.
        """
        head = EMPTY_HEAD if head is None else head
        by = self.by or Actor(f"local writer {writer}")
        detail = _encode(self.detail).decode()
        number = max(head.last_id, last_id) + 1
        return chained(head, AuditEntry(number, self.at, by.name, by.address, self.action, self.board, self.reason, detail))


class AuditFilter(NamedTuple):
    """Which entries are meant; None: all."""

    board: str | None = None
    #: The whole text of an actor, or the id of a key.
    actor: str | None = None
    action: str | None = None


def entry_of(row: Sequence[Any]) -> AuditEntry:
    """Make an entry from its row. A value of a wrong type stays as it is: the chain shows that it was changed."""
    return AuditEntry(*row)


def ends_of(row: Sequence[Any]) -> tuple[ChainHead | None, int]:
    """Return the head, if there is one, and the highest id, from their row."""
    last_id, entries, head_id, digest = row
    return None if entries is None else ChainHead(entries, head_id, bytes(digest)), last_id


class AuditLog(ABC):
    """What was done, by whom, from where and why. Definitions and keys are noted in the transaction that records them."""

    @abstractmethod
    async def note(self, action: str, board: str, detail: Mapping[str, object], now: int, reason: str | None = None) -> None:
        """Note that whoever is at work does something to a board."""

    @abstractmethod
    async def page(self, wanted: AuditFilter, before: int, limit: int) -> list[AuditEntry]:
        """Return up to `limit` entries with ids below `before`, the newest first. O(entries) where few are wanted."""

    @abstractmethod
    async def head(self) -> tuple[ChainHead | None, int]:
        """Return the head, if it is there, and the highest id of an entry at the same moment."""

    @abstractmethod
    async def chunk(self, first: int, last: int, limit: int) -> list[AuditEntry]:
        """Return up to `limit` entries with ids from `first` to `last`, the oldest first."""
