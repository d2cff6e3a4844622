"""What callers get about players as people."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from keepscore.domain.profiles import Visibility
from keepscore.domain.results.plain import Result
from keepscore.domain.results.standings import Rejection, Standing

__all__ = ["DeletedProfile", "FoundPlayers", "Profile", "ProfileBatch", "SegmentInfo", "Segments"]


class Profile(Result):
    """What is known about a player besides scores. What is not known is left out, but the name, which is null."""

    player_id: str
    name: str | None
    avatar_url: str | UnsetType = UNSET
    region: str | UnsetType = UNSET
    country: str | UnsetType = UNSET
    level: int | UnsetType = UNSET
    team: str | UnsetType = UNSET
    attributes: dict[str, Any] | UnsetType = UNSET
    #: Left out where everybody sees the player (`public`).
    visibility: Visibility | UnsetType = UNSET
    #: True where the same idempotency key was answered before: this is that answer.
    replayed: bool | UnsetType = UNSET


class DeletedProfile(Result):
    """A player about whom nothing is known any more besides scores."""

    player_id: str
    #: True where the same idempotency key was answered before: this is that answer.
    replayed: bool | UnsetType = UNSET


class ProfileBatch(Result):
    """The answer to a batch of profiles: how many were taken, and the places and errors of the others."""

    accepted: int
    rejected: list[Rejection]
    #: True where the same idempotency key was answered before: this is that answer.
    replayed: bool | UnsetType = UNSET


class FoundPlayers(Result):
    """Ranked players whose names begin with some letters, in rank order."""

    board: str
    window: str
    window_id: str
    segment: str | None
    standings: list[Standing]
    #: Whether there may be more: name more letters.
    more: bool


class SegmentInfo(Result):
    """A slice of a ranking, and how many players it has."""

    segment: str
    name: str
    value: str
    total_players: int


class Segments(Result):
    """The slices of a window, by name and value."""

    board: str
    window: str
    window_id: str
    #: How many there are in all.
    total: int
    segments: list[SegmentInfo]
