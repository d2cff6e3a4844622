"""Every error that Keepscore raises on purpose.

    KeepscoreError
    ├── BadInput                    what was sent cannot be taken
    │   ├── MalformedBody           not JSON, or not UTF-8
    │   ├── BodyTooLarge
    │   ├── InvalidField            unknown, missing or of the wrong type
    │   ├── InvalidPlayer
    │   ├── InvalidScore
    │   ├── InvalidTime
    │   ├── InvalidSegment
    │   ├── InvalidPage             limit, offset, rank, around, cursor
    │   ├── InvalidBoard            a definition
    │   └── IdempotencyKeyReused
    ├── NotFound
    │   ├── UnknownBoard
    │   ├── UnknownWindow
    │   ├── UnknownSegment
    │   ├── UnknownPlayer
    │   ├── NotKept             players beyond the archived ones, events that were dropped
    │   └── UnknownRoute
    ├── MethodNotAllowed
    ├── Conflict
    │   ├── BoardInUse              a roll-up is made from it
    │   ├── EventsDropped           a definition that needs them
    │   ├── RolledUp                a roll-up takes nothing itself
    │   ├── NotIncrementable
    │   ├── NothingToUndo           no reset, or one whose grace is over
    │   ├── VersionConflict
    │   ├── WindowClosed
    │   └── WindowOpen              there are no final standings yet
    ├── Unavailable                 try again later
    │   ├── Overloaded
    │   ├── LedgerUnavailable
    │   │   ├── LedgerAway
    │   │   ├── LedgerFull
    │   │   └── LedgerInUse
    │   └── EngineUnavailable
    │       └── KeyTaken            one board's key holds something else
    ├── ServiceError                a running service answered a command with an error
    └── ConfigError                 the configuration is wrong

The message says what was wrong, with the value, and what would be right. Status codes are decided at the edge, in one table
(`web/problems.py`). `type` is stable: programs may compare it.
"""

from __future__ import annotations

import re

__all__ = [
    "BadInput",
    "BoardInUse",
    "BodyTooLarge",
    "ConfigError",
    "Conflict",
    "EngineUnavailable",
    "EventsDropped",
    "IdempotencyKeyReused",
    "InvalidBoard",
    "InvalidField",
    "InvalidPage",
    "InvalidPlayer",
    "InvalidScore",
    "InvalidSegment",
    "InvalidTime",
    "KeepscoreError",
    "KeyTaken",
    "LedgerAway",
    "LedgerFull",
    "LedgerInUse",
    "LedgerUnavailable",
    "MalformedBody",
    "MethodNotAllowed",
    "NotFound",
    "NotIncrementable",
    "NotKept",
    "NothingToUndo",
    "Overloaded",
    "RolledUp",
    "ServiceError",
    "Unavailable",
    "UnknownBoard",
    "UnknownPlayer",
    "UnknownRoute",
    "UnknownSegment",
    "UnknownWindow",
    "VersionConflict",
    "WindowClosed",
    "WindowOpen",
]


class KeepscoreError(Exception):
    """Something that Keepscore refuses or cannot do, and why."""

    #: A stable identifier of the kind of error, such as ``urn:keepscore:unknown-board``.
    type = "urn:keepscore:error"
    #: The kind of error in a few words.
    title = "Error"

    def __init_subclass__(cls) -> None:
        words = re.findall(r"[A-Z][a-z]+", cls.__name__)
        cls.type = "urn:keepscore:" + "-".join(words).lower()
        cls.title = " ".join(words).capitalize()

    @property
    def detail(self) -> str:
        """What was wrong, with the value, and what would be right."""
        return str(self)


class BadInput(KeepscoreError):
    """What was sent cannot be taken."""


class MalformedBody(BadInput):
    """The body is not JSON in UTF-8."""


class BodyTooLarge(BadInput):
    """The body is larger than the route takes."""


class InvalidField(BadInput):
    """A field is unknown, missing or of the wrong type."""


class InvalidPlayer(BadInput):
    """A player id or name that cannot be used."""


class InvalidScore(BadInput):
    """A score or amount outside the bounds, or with too many decimals."""


class InvalidTime(BadInput):
    """A timestamp that cannot be read or lies in the future."""


class InvalidSegment(BadInput):
    """A segment value that cannot be used."""


class InvalidPage(BadInput):
    """A limit, offset, rank, range or cursor that cannot be used."""


class InvalidBoard(BadInput):
    """A board definition that cannot be used."""


class IdempotencyKeyReused(BadInput):
    """The same idempotency key came with another request."""


class NotFound(KeepscoreError):
    """What was asked for is not there."""


class UnknownBoard(NotFound):
    """There is no board of that name."""


class UnknownWindow(NotFound):
    """The board has no such window."""


class UnknownSegment(NotFound):
    """The board has no such segment."""


class UnknownPlayer(NotFound):
    """The player is not in the ranking."""


class NotKept(NotFound):
    """What was asked for was not kept: it needs more players than were archived, or events that were dropped."""


class UnknownRoute(NotFound):
    """The service has no such address."""


class MethodNotAllowed(KeepscoreError):
    """The address exists, but not with that method."""

    def __init__(self, message: str, allowed: str) -> None:
        super().__init__(message)
        #: The methods that the address takes, comma-separated.
        self.allowed = allowed


class Conflict(KeepscoreError):
    """The request does not fit what is there."""


class BoardInUse(Conflict):
    """Another board is made from this one."""


class EventsDropped(Conflict):
    """Another definition would need events that were dropped."""


class RolledUp(Conflict):
    """The board is made from others, and takes no scores and no resets itself."""


class NotIncrementable(Conflict):
    """An increment was sent to a board whose operator takes scores only."""


class NothingToUndo(Conflict):
    """The board was not reset, or too long ago."""


class VersionConflict(Conflict):
    """A board definition was changed by somebody else meanwhile."""


class WindowClosed(Conflict):
    """A score for a window that has ended, its grace included."""


class WindowOpen(Conflict):
    """A window whose standings are not final yet."""


class Unavailable(KeepscoreError):
    """It cannot be done now; try again later."""


class Overloaded(Unavailable):
    """More submissions are waiting than the service takes on."""


class LedgerUnavailable(Unavailable):
    """The ledger does not take or give anything now."""

    #: Whether it is sure that what was sent is not recorded. Where it is not, that has to be settled before anything is sent again.
    nothing_recorded = False


class LedgerAway(LedgerUnavailable):
    """The ledger could not be reached at all."""

    nothing_recorded = True


class LedgerFull(LedgerUnavailable):
    """The ledger's disk is full."""

    nothing_recorded = True


class LedgerInUse(LedgerUnavailable):
    """Another process has the ledger open."""

    def __init__(self, message: str, url: str | None = None) -> None:
        super().__init__(message)
        #: Where the service that has the ledger open can be reached, if it is a service.
        self.url = url


class EngineUnavailable(Unavailable):
    """The ranking engine does not answer now."""


class KeyTaken(EngineUnavailable):
    """A key that a board's ranking needs holds something that is not a ranking of that board."""


class ServiceError(KeepscoreError):
    """A running service answered with an error, whose type is `problem` where it has told one."""

    def __init__(self, message: str, problem: str | None = None) -> None:
        super().__init__(message)
        self.problem = problem


class ConfigError(KeepscoreError):
    """The configuration is wrong."""
