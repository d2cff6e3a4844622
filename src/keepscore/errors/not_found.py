"""Errors for what was asked for and is not there."""

from __future__ import annotations

from datetime import datetime

from keepscore.errors.base import NotFound

__all__ = [
    "NotKept",
    "UnknownAppeal",
    "UnknownBoard",
    "UnknownDecision",
    "UnknownDelivery",
    "UnknownGroup",
    "UnknownInvite",
    "UnknownKey",
    "UnknownLeague",
    "UnknownMatch",
    "UnknownPlayer",
    "UnknownPrize",
    "UnknownQueueItem",
    "UnknownRoute",
    "UnknownSegment",
    "UnknownSnapshot",
    "UnknownTeam",
    "UnknownVoid",
    "UnknownWindow",
]


class UnknownBoard(NotFound):
    """There is no board of that name."""


class UnknownWindow(NotFound):
    """The board has no such window."""


class UnknownSegment(NotFound):
    """The board has no such segment."""


class UnknownPlayer(NotFound):
    """The player is not in the ranking."""

    def __init__(self, message: str, as_of: datetime | None = None) -> None:
        super().__init__(message)
        #: The moment up to which that is known, if later scores may be missing.
        self.as_of = as_of


class UnknownTeam(NotFound):
    """The team is not in the ranking."""


class UnknownGroup(NotFound):
    """There is no such group."""


class UnknownInvite(NotFound):
    """No group has that invite code."""


class UnknownLeague(NotFound):
    """The board has no league."""


class UnknownPrize(NotFound):
    """The board, or the window, has no prize."""


class UnknownDelivery(NotFound):
    """There is no such webhook delivery that waits."""


class UnknownKey(NotFound):
    """There is no such API key."""


class UnknownMatch(NotFound):
    """The board has no such match."""


class UnknownAppeal(NotFound):
    """There is no such appeal."""


class UnknownDecision(NotFound):
    """There is no such decision about the player, or it was taken back."""


class UnknownQueueItem(NotFound):
    """There is no such score in the queue."""


class UnknownSnapshot(NotFound):
    """The board has no such snapshot."""


class UnknownVoid(NotFound):
    """There is no such void."""


class NotKept(NotFound):
    """It was not kept: it needs more players than were archived, or events that were dropped."""


class UnknownRoute(NotFound):
    """The service has no such route."""
