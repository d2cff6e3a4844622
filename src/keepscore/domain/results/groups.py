"""What callers get of groups."""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET, UnsetType

from keepscore.domain.results.plain import Result

__all__ = ["GroupList", "InviteCode", "NewGroup", "OneGroup", "PlayerGroup"]


class NewGroup(Result):
    """A new group, and the code with which others join it."""

    group_id: str
    invite_code: str
    name: str
    owner: str
    #: True where the same idempotency key was answered before: this is that answer.
    replayed: bool | UnsetType = UNSET


class PlayerGroup(Result):
    """A private group, with its members in the order in which they joined."""

    group_id: str
    name: str
    owner: str
    created: datetime
    invite_code: str
    members: list[str]


class OneGroup(Result):
    """One of a player's groups."""

    group_id: str
    name: str
    owner: str
    total_members: int


class GroupList(Result):
    """A player's groups, by name."""

    player_id: str
    groups: list[OneGroup]


class InviteCode(Result):
    """The code with which players join a group from now on."""

    group_id: str
    invite_code: str
