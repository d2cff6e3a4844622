"""Errors as problem+json (RFC 9457), and the one table that says which status each has."""

from __future__ import annotations

import logging

import msgspec

from keepscore import errors

__all__ = ["Problem", "problem_of", "status_of"]

log = logging.getLogger(__name__)

#: The first class that an error belongs to decides.
STATUS: list[tuple[type[errors.KeepscoreError], int]] = [
    (errors.MalformedBody, 400),
    (errors.BodyTooLarge, 413),
    (errors.BadInput, 422),
    (errors.NotFound, 404),
    (errors.MethodNotAllowed, 405),
    (errors.Conflict, 409),
    (errors.LedgerFull, 507),
    (errors.Unavailable, 503),
]


class Problem(msgspec.Struct):
    """An error as the API tells it."""

    type: str
    title: str
    status: int
    detail: str


def status_of(error: Exception) -> int:
    """The HTTP status of an error; 500 for one that nobody meant to raise."""
    return next((status for kind, status in STATUS if isinstance(error, kind)), 500)


def problem_of(error: Exception) -> Problem:
    """An error as problem+json tells it. What nobody meant to raise goes to the log, not to the client."""
    status = status_of(error)
    if isinstance(error, errors.KeepscoreError):
        return Problem(error.type, error.title, status, error.detail)
    log.error("unexpected error", exc_info=error)
    return Problem("urn:keepscore:internal-error", "Internal error", 500, "Something went wrong; the service's log says what.")
