"""The role of a ledger that holds the outbox: messages that are sent until their receiver acknowledges them.

A message is written in the transaction that decides what it tells, with an id that never changes. A try is counted before it is made: a
message without tries has never left, and may be taken back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

__all__ = ["Message", "OutboxCount", "OutboxStore", "message_of"]


class Message(NamedTuple):
    """A message and what has become of it. Times are in milliseconds."""

    id: str
    topic: str
    #: The number of the board that it is about.
    board: int
    body: str
    created: int
    attempts: int
    #: When it is tried next.
    next_at: int
    acknowledged_at: int | None
    #: Why the last try failed.
    error: str | None


def message_of(row: Sequence[Any]) -> Message:
    """Make a message from its row."""
    return Message(*row)


class OutboxCount(NamedTuple):
    """How many messages wait to be acknowledged, and how many of them have failed before."""

    pending: int
    failing: int


class OutboxStore(ABC):
    """Messages, durable. Rewards that they tell of are settled in the transaction that acknowledges them."""

    @abstractmethod
    async def due(self, now: int, limit: int) -> list[Message]:
        """Return messages that are to be sent now, the longest due first."""

    @abstractmethod
    async def begin(self, message_id: str, attempts: int, next_at: int) -> bool:
        """Count a try before it is made, where there were so many `attempts` before; return False where something else came first.

        Unless it is acknowledged, it is due again at `next_at`.
        """

    @abstractmethod
    async def acknowledge(self, message_id: str, now: int) -> None:
        """Record that the receiver has a message: it is sent no more, and the reward that it tells of is paid."""

    @abstractmethod
    async def fail(self, message_id: str, attempts: int, error: str) -> None:
        """Record why the last try failed, unless another began meanwhile."""

    @abstractmethod
    async def retry(self, message_id: str | None, now: int) -> int:
        """Make a message, or all, due now; return how many were not acknowledged."""

    @abstractmethod
    async def page(self, before: tuple[int, str], limit: int, is_pending: bool | None) -> list[Message]:
        """Return messages created before a moment and id, the newest first: all, those that wait, or those that do not."""

    @abstractmethod
    async def count(self) -> OutboxCount:
        """Count the messages that wait."""
