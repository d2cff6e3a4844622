"""The error that all others are, and the branches of their tree."""

from __future__ import annotations

import re

__all__ = [
    "BadInput",
    "ConfigError",
    "Conflict",
    "Forbidden",
    "KeepscoreError",
    "MethodNotAllowed",
    "NotFound",
    "NotInstalled",
    "NotUsable",
    "RateLimited",
    "ServiceError",
    "TooManySubscriptions",
    "Unauthenticated",
    "Unavailable",
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
    """The request cannot be accepted."""


class NotFound(KeepscoreError):
    """It does not exist."""


class MethodNotAllowed(KeepscoreError):
    """The route exists, but not with that method."""

    def __init__(self, message: str, allowed: str) -> None:
        super().__init__(message)
        #: The methods that the address takes, comma-separated.
        self.allowed = allowed


class Unauthenticated(KeepscoreError):
    """There is no key or token, or one that is malformed, unknown, expired or revoked."""


class Forbidden(KeepscoreError):
    """The key or token does not allow it: too little scope, or someone else's board or player."""


class RateLimited(KeepscoreError):
    """More requests than a limit allows: try again later."""

    def __init__(self, message: str, limit: str = "", policy: tuple[int, int] = (0, 0), retry_after_s: int = 1) -> None:
        super().__init__(message)
        #: The name of the limit: key, player, address or board.
        self.limit = limit
        #: How much it allows, and in how many seconds.
        self.policy = policy
        #: Seconds after which it is worth to try again.
        self.retry_after_s = retry_after_s


class TooManySubscriptions(KeepscoreError):
    """More live subscriptions than a limit allows: end some, or wait."""


class Conflict(KeepscoreError):
    """The request conflicts with the current state."""


class Unavailable(KeepscoreError):
    """It cannot be done now; try again later."""


class ServiceError(KeepscoreError):
    """An answer of a service, or of something in front of it, that fits no other error."""

    def __init__(self, message: str, status: int | None = None, type: str | None = None) -> None:
        super().__init__(message)
        #: The status of the answer.
        self.status = status
        # A kind of error that this version does not know keeps the identifier that the service gave.
        self.type = type or self.type


class NotUsable(KeepscoreError):
    """The leaderboards are closed, or are used where they cannot be used: in another event loop, or from within their own."""


class ConfigError(KeepscoreError):
    """The configuration is wrong."""


class NotInstalled(ConfigError, ImportError):
    """The program or its configuration needs a package that is not installed."""
