"""Errors as problem+json (RFC 9457), and the one table that says which status each has."""

from __future__ import annotations

import logging
from datetime import datetime

import msgspec
from msgspec import UNSET, UnsetType

from keepscore import errors
from keepscore.domain.results.standings import encode
from keepscore.service.http.messages import NO_STORE, Answer, Text

__all__ = ["INTERNAL_ERROR", "Problem", "problem_answer", "problem_of", "status_of"]

log = logging.getLogger(__name__)

#: The first class that an error belongs to decides.
STATUS: list[tuple[type[errors.KeepscoreError], int]] = [
    (errors.MalformedBody, 400),
    (errors.BodyCutShort, 400),
    (errors.BodyTooLarge, 413),
    (errors.BodyTooSlow, 408),
    (errors.UnsupportedMediaType, 415),
    (errors.WrongHost, 421),
    (errors.ForeignOrigin, 403),
    (errors.BadInput, 422),
    (errors.NotFound, 404),
    (errors.MethodNotAllowed, 405),
    (errors.Unauthenticated, 401),
    (errors.Forbidden, 403),
    (errors.RateLimited, 429),
    (errors.TooManySubscriptions, 429),
    (errors.Conflict, 409),
    # The engine itself is not there: whoever asks has a position that nobody gave, or gave for another ranking.
    (errors.PositionNotReached, 409),
    (errors.LedgerFull, 507),
    # 503 promises that nothing was recorded.
    (errors.OutcomeUnknown, 504),
    (errors.Unavailable, 503),
]


#: Seconds after which a request may come again while another one with its key is worked on.
RETRY_AFTER_S = 5


class Problem(msgspec.Struct):
    """An error as the API tells it."""

    type: str
    title: str
    status: int
    detail: str
    request_id: str
    #: Only with a player who is not found: true where scores that came after `as_of` may be missing.
    stale: bool | UnsetType = UNSET
    as_of: datetime | UnsetType = UNSET
    #: Only with a change that needs confirmation: what it would lose or rebuild.
    changes: list[str] | UnsetType = UNSET


#: The type of an error that nobody meant to raise.
INTERNAL_ERROR = "urn:keepscore:internal-error"


def status_of(error: Exception) -> int:
    """Return the HTTP status of an error; 500 for one that nobody meant to raise."""
    return next((status for kind, status in STATUS if isinstance(error, kind)), 500)


def problem_of(error: Exception, request_id: str) -> Problem:
    """Return an error as problem+json has it. What nobody meant to raise goes to the log, not to the client."""
    status = status_of(error)
    if isinstance(error, errors.KeepscoreError):
        problem = Problem(error.type, error.title, status, error.detail, request_id)
        if isinstance(error, errors.UnknownPlayer) and error.as_of is not None:
            problem.stale, problem.as_of = True, error.as_of
        if isinstance(error, errors.ConfirmationNeeded):
            problem.changes = error.changes
        return problem
    log.error("unexpected error in request %s", request_id, exc_info=error, extra={"request_id": request_id})
    return Problem(INTERNAL_ERROR, "Internal error", 500, "Something went wrong. The service's log has the cause.", request_id)


def problem_answer(error: Exception, request_id: str) -> Answer:
    """Return the answer to a request that failed."""
    problem = problem_of(error, request_id)
    headers = [(b"x-request-id", request_id.encode())]
    if isinstance(error, errors.MethodNotAllowed):
        headers.append((b"allow", error.allowed.encode()))
    if isinstance(error, errors.Unauthenticated):
        headers.append((b"www-authenticate", b'Bearer realm="keepscore"'))
    if isinstance(error, errors.RateLimited):
        headers += _limit_headers(error)
    if isinstance(error, errors.InProgress):
        headers.append((b"retry-after", b"%d" % RETRY_AFTER_S))
    if problem.stale is True:
        headers += NO_STORE
    if isinstance(error, (errors.BodyTooLarge, errors.BodyCutShort, errors.BodyTooSlow)):
        # What is left of the body is not read: the connection cannot be used for another request.
        headers.append((b"connection", b"close"))
    return Answer(Text(encode(problem), b"application/problem+json"), problem.status, tuple(headers))


def _limit_headers(error: errors.RateLimited) -> list[tuple[bytes, bytes]]:
    """Return how long to wait, and what the limit is (draft-ietf-httpapi-ratelimit-headers)."""
    allowed, seconds = error.policy
    name, wait_s = error.limit.encode(), b"%d" % error.retry_after_s
    policy = b'"%s";q=%d;w=%d' % (name, allowed, seconds)
    return [(b"retry-after", wait_s), (b"ratelimit", b'"%s";r=0;t=%s' % (name, wait_s)), (b"ratelimit-policy", policy)]
