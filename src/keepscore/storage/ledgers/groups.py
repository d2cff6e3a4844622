"""The role of a ledger that holds private groups, their members, and wrong tries of invite codes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from keepscore.domain.groups import GroupCaps, TryLimit
from keepscore.errors import CapReached, RateLimited, UnknownGroup
from keepscore.storage.ledgers.claims import Effect

__all__ = ["GroupRecord", "GroupStore", "full_group", "no_group", "too_many_groups", "too_many_tries"]


class GroupRecord(NamedTuple):
    """A group. Its owner is a member, too."""

    id: str
    name: str
    owner: str
    code: str
    created: int


def no_group(group_id: str) -> UnknownGroup:
    """Return the error for a group that does not exist."""
    return UnknownGroup(f"group_id = {group_id[:40]!r} is not a group")


def too_many_groups(most: int, player: str | None = None) -> CapReached:
    """Return the error for more groups than there may be, of a player or in all."""
    what = "there are" if player is None else f"player {player[:40]!r} is in"
    return CapReached(f"{what} {most} groups, as many as the configuration allows: nothing was recorded")


def full_group(most: int) -> CapReached:
    """Return the error for a group that takes nobody else."""
    return CapReached(f"the group has {most} members, as many as the configuration allows: nothing was recorded")


def too_many_tries(player: str, limit: TryLimit, wait_ms: int) -> RateLimited:
    """Return the error for a player who has tried too many wrong codes."""
    seconds = max(1, -(-wait_ms // 1000))
    message = f"player {player[:40]!r} has tried {limit.most} wrong invite codes: try again in {seconds} s"
    return RateLimited(message, "invite", (limit.most, limit.within_ms // 1000), seconds)


class GroupStore(ABC):
    """Groups, durable. Each change is one step."""

    @abstractmethod
    async def add(self, group: GroupRecord, caps: GroupCaps, effect: Effect | None = None) -> None:
        """Record a new group, with its owner as the first member; raise CapReached where there are too many."""

    @abstractmethod
    async def find(self, group_id: str) -> GroupRecord | None:
        """Return a group."""

    @abstractmethod
    async def find_by_code(self, code: str, player: str, limit: TryLimit, now: int) -> GroupRecord | None:
        """Return the group of an invite code, or None and count a wrong try; raise RateLimited where there were too many."""

    @abstractmethod
    async def members(self, group_id: str) -> list[str]:
        """Return the members of a group, in the order in which they joined."""

    @abstractmethod
    async def of(self, player: str) -> list[tuple[GroupRecord, int]]:
        """Return a player's groups with the number of their members, by name."""

    @abstractmethod
    async def join(self, group_id: str, player: str, caps: GroupCaps, now: int) -> None:
        """Add a member, where it is none yet; raise CapReached where the group is full, or the player is in too many."""

    @abstractmethod
    async def leave(self, group_id: str, player: str) -> bool:
        """Remove a member; return whether it was one. The next member becomes the owner, and a group without members is gone."""

    @abstractmethod
    async def set_code(self, group_id: str, code: str) -> None:
        """Give a group another invite code."""

    @abstractmethod
    async def drop(self, group_id: str) -> None:
        """Drop a group with its members."""
