"""Errors for what was sent and cannot be taken."""

from __future__ import annotations

from keepscore.errors.base import BadInput

__all__ = [
    "BodyCutShort",
    "BodyTooLarge",
    "BodyTooSlow",
    "ForeignOrigin",
    "IdempotencyKeyReused",
    "InvalidBoard",
    "InvalidField",
    "InvalidPage",
    "InvalidPlayToken",
    "InvalidPlayer",
    "InvalidPosition",
    "InvalidScore",
    "InvalidSegment",
    "InvalidTime",
    "MalformedBody",
    "RuleBroken",
    "UnsupportedMediaType",
    "WrongHost",
]


class MalformedBody(BadInput):
    """The body is not JSON in UTF-8."""


class BodyCutShort(BadInput):
    """The body ends before its `Content-Length`, or without its last chunk."""


class BodyTooLarge(BadInput):
    """The body is larger than the route takes."""


class BodyTooSlow(BadInput):
    """The body took too long to arrive."""


class UnsupportedMediaType(BadInput):
    """The body's content type is not JSON."""


class WrongHost(BadInput):
    """The `Host` header names a host that this service does not answer to."""


class ForeignOrigin(BadInput):
    """A web page from another origin, which is not allowed to write here, sent the request."""


class InvalidField(BadInput):
    """A field is unknown, missing or of the wrong type."""


class InvalidPlayer(BadInput):
    """A player id or name that cannot be used."""


class InvalidScore(BadInput):
    """A score or amount outside the bounds, or with too many decimals."""


class InvalidTime(BadInput):
    """A time that cannot be read, or is in the future."""


class InvalidSegment(BadInput):
    """A segment value that cannot be used."""


class InvalidPage(BadInput):
    """A limit, offset, rank, range or cursor that cannot be used."""


class InvalidPosition(BadInput):
    """A position that is not one, or that the ranking has not reached."""


class InvalidBoard(BadInput):
    """A board definition that cannot be used."""


class InvalidPlayToken(BadInput):
    """A play token that is forged, expired, or was given for another player or board."""


class RuleBroken(BadInput):
    """A submission that a rule of its board refuses: too much, too often, or without what the rule needs."""

    def __init__(self, message: str, rule: str = "", limit: str = "", value: object = None) -> None:
        super().__init__(message)
        #: The rule, a field of the board's `rules`, and what it allows.
        self.rule, self.limit = rule, limit
        #: What the submission would have made; None where something is missing.
        self.value = value


class IdempotencyKeyReused(BadInput):
    """The same idempotency key was used for another request."""
