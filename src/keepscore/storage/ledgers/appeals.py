"""The role of a ledger that holds appeals of players against decisions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

from keepscore.domain.results.review import AppealState
from keepscore.storage.ledgers.audit import AuditNote

__all__ = ["AppealFilter", "AppealReply", "AppealStore", "KeptAppeal"]


class KeptAppeal(NamedTuple):
    """An appeal. Times are in milliseconds."""

    id: str
    #: The void, or the item of the queue.
    decision: str
    board: int
    player: str
    text: str
    at: int
    state: AppealState = "open"
    reply: str | None = None
    replied: int | None = None


class AppealReply(NamedTuple):
    """What a moderator replies."""

    state: AppealState
    reply: str
    at: int


class AppealFilter(NamedTuple):
    """Which appeals are meant: of some boards, in a state, and of one player or (None) of all."""

    boards: Sequence[int]
    state: AppealState
    player: str | None = None


class AppealStore(ABC):
    """Appeals, durable. A player has one for each decision."""

    @abstractmethod
    async def add(self, appeal: KeptAppeal) -> bool:
        """Record an appeal; return whether it is the player's first against that decision."""

    @abstractmethod
    async def get(self, appeal_id: str) -> KeptAppeal | None:
        """Return an appeal."""

    @abstractmethod
    async def page(self, wanted: AppealFilter, after: tuple[int, str], limit: int) -> list[KeptAppeal]:
        """Return up to `limit` appeals behind one, by time and by id, the oldest first."""

    @abstractmethod
    async def reply(self, appeal_id: str, reply: AppealReply, note: AuditNote) -> bool:
        """Reply to an open appeal, and note that; return whether it was open."""
