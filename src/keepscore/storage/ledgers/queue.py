"""The role of a ledger that holds the queue of scores that moderators decide about.

An item is recorded in the transaction of its events (`EventStore.append`), so that neither is there without the other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from keepscore.domain.results.review import Reason
from keepscore.domain.scoring import Kind
from keepscore.storage.ledgers.audit import AuditNote

__all__ = ["Decision", "ItemState", "QueueFilter", "QueueStore", "Queued", "queued_of"]

#: How far an item is. What is decided is `approving` or `rejecting` until the verdicts are recorded.
ItemState = Literal["open", "approving", "rejecting", "approved", "rejected"]


class Queued(NamedTuple):
    """An item of the queue. Times are in milliseconds, the amount is as stored."""

    id: str
    board: int
    player: str
    kind: Kind
    amount: int
    at: int
    received: int
    #: Whether it does not count until it is approved.
    is_held: bool
    reasons: tuple[Reason, ...]
    #: Board, writer and number of each of its events, those of its own board first.
    events: tuple[tuple[int, int, int], ...]
    state: ItemState = "open"
    decided: int | None = None
    reason: str | None = None
    #: The idempotency key of the request that has decided.
    key: str | None = None


class Decision(NamedTuple):
    """What becomes of an item, and why."""

    state: ItemState
    at: int
    reason: str
    key: str | None


class QueueFilter(NamedTuple):
    """Which items are meant: of some boards, in some states, and of one player or (None) of all."""

    boards: Sequence[int]
    states: Sequence[ItemState]
    player: str | None = None


_reasons = msgspec.json.Decoder(tuple[Reason, ...]).decode
_events = msgspec.json.Decoder(tuple[tuple[int, int, int], ...]).decode


def queued_of(row: Sequence[Any]) -> Queued:
    """Make an item from its row."""
    told, decided = tuple(row[:7]), tuple(row[10:])
    return Queued._make((*told, bool(row[7]), _reasons(row[8]), _events(row[9]), *decided))


class QueueStore(ABC):
    """Scores that moderators decide about, durable."""

    @abstractmethod
    async def get(self, item_id: str) -> Queued | None:
        """Return an item."""

    @abstractmethod
    async def page(self, wanted: QueueFilter, after: tuple[int, str], limit: int) -> list[Queued]:
        """Return up to `limit` items behind one, by when they were received and by id, the oldest first."""

    @abstractmethod
    async def open_of(self, board_id: int, player: str) -> int:
        """Return how many items of a player on a board are open."""

    @abstractmethod
    async def decide(self, item_id: str, before: ItemState, decision: Decision, note: AuditNote) -> bool:
        """Decide about an item that is in a given state, and note that; return whether it was in that state."""

    @abstractmethod
    async def settle(self, item_id: str, before: ItemState, after: ItemState) -> None:
        """Note that the verdicts of a decision are recorded."""

    @abstractmethod
    async def unsettled(self, limit: int) -> list[Queued]:
        """Return items whose verdicts may not be recorded yet."""
