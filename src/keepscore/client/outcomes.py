"""What becomes of a request: its result, the error that the service tells, or another try."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Generic, NamedTuple, TypeVar

import msgspec

from keepscore.client.calls import Call, HttpAnswer
from keepscore.errors import (
    AnswerLost,
    ConfirmationNeeded,
    KeepscoreError,
    LedgerAway,
    LedgerUnavailable,
    MethodNotAllowed,
    ServiceError,
    ServiceUnreachable,
    UnknownPlayer,
)

__all__ = ["Patience", "Pause", "Tries", "error_of"]

#: Statuses after which a request is sent again; after the second group, nobody knows whether it was done.
NOT_DONE, MAYBE_DONE = (429, 503), (502, 504)
#: Seconds before the second try, doubled for each one after it, and the longest pause.
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 5.0
#: Characters of an unreadable answer that are shown.
MAX_SHOWN_CHARS = 80

T = TypeVar("T")


class Pause(NamedTuple):
    """How long to wait before the next try."""

    seconds: float


class Patience(NamedTuple):
    """How often a request is tried, how long one try may take, and how long all of them; `long_deadline_s` is for long requests."""

    attempts: int
    timeout_s: float
    deadline_s: float
    long_deadline_s: float


class Tries(Generic[T]):
    """The tries of one request."""

    def __init__(self, call: Call[T], patience: Patience, now: float) -> None:
        self._call = call
        self._attempts = patience.attempts
        #: Long requests have all their time for one try: they are not to be done twice at once.
        self._timeout_s = patience.long_deadline_s if call.is_long else patience.timeout_s
        self._until = now + (patience.long_deadline_s if call.is_long else patience.deadline_s)
        self._made = 0
        self._in_doubt = False
        #: Whether the next try goes without the key, as the service can keep only such requests while its ledger is away.
        self._without_key = False

    def timeout(self, now: float) -> float:
        """Return how many seconds the next try may take."""
        return max(min(self._timeout_s, self._until - now), 0.001)

    @property
    def header_key(self) -> str | None:
        """The key that the header of the next try has."""
        return None if self._without_key or self._call.key_in_body else self._call.key

    def judge(self, outcome: HttpAnswer | ServiceUnreachable | AnswerLost, now: float) -> T | Pause:
        """Give the result, or the pause before the next try; raise the error that ends the tries."""
        self._made += 1
        wait_s = 0.0
        if isinstance(outcome, HttpAnswer):
            if outcome.status not in NOT_DONE + MAYBE_DONE:
                try:
                    return result_of(self._call, outcome)
                except AnswerLost as exc:
                    error: KeepscoreError = exc
                except KeepscoreError as exc:
                    # A service that fails says nothing of the tries before.
                    raise self._final(exc, repeatable=True) if outcome.status >= 500 else exc from None
            else:
                error, wait_s = error_of(outcome), _retry_after_s(outcome)
            in_doubt = outcome.status in MAYBE_DONE or isinstance(error, AnswerLost)
            in_doubt = in_doubt or (isinstance(error, LedgerUnavailable) and not error.nothing_recorded)
        else:
            error, in_doubt = outcome, isinstance(outcome, AnswerLost)
        self._in_doubt = self._in_doubt or in_doubt
        pause_s = max(wait_s, _pause_s(self._made))
        in_time = now + pause_s < self._until
        if isinstance(error, LedgerAway) and self._call.may_spool and in_time and not self._without_key and not self._in_doubt:
            self._without_key = True
            return Pause(0)
        repeatable = self._call.is_repeatable and not self._without_key
        self._without_key = False
        if self._made >= self._attempts or not in_time or (in_doubt and not repeatable):
            raise self._final(error, repeatable)
        return Pause(pause_s)

    def _final(self, error: KeepscoreError, repeatable: bool) -> KeepscoreError:
        """Return the error that covers all tries: the last one does not say that an earlier one may have been done."""
        if not self._in_doubt or not self._call.is_change:
            return error
        key = self._call.key if repeatable else None
        again = f"; send it again with idempotency_key = {key!r}, and it takes effect once" if key else ""
        lost = AnswerLost(f"{error}. It is not known whether {self._call.method} {self._call.target} took effect{again}", key)
        lost.__cause__ = error
        return lost


def result_of(call: Call[T], answer: HttpAnswer) -> T:
    """Return the result in an answer, or raise the error in it."""
    if not 200 <= answer.status < 300:
        raise error_of(answer)
    try:
        return call.decode(answer)
    except (msgspec.MsgspecError, UnicodeDecodeError, KeepscoreError, KeyError) as exc:
        if isinstance(exc, msgspec.DecodeError) and not isinstance(exc, msgspec.ValidationError) and _is_json(answer):
            raise AnswerLost(f"the answer is cut off: {_shown(answer.body)}") from None
        if _is_json(answer):
            raise ServiceError(f"the answer cannot be read: {exc}. Do service and client have the same version?", answer.status) from None
        raise ServiceError(f"the answer is not JSON: is that a Keepscore service? {_shown(answer.body)}", answer.status) from None


def error_of(answer: HttpAnswer) -> KeepscoreError:
    """Return the error in an answer, of the class that the library raises."""
    if 300 <= answer.status < 400 and "location" in answer.headers:
        place = answer.headers["location"]
        return ServiceError(
            f"the service answered {answer.status}, a redirect to {place}: use that URL, as redirects are not followed", answer.status
        )
    try:
        problem = msgspec.json.decode(answer.body, type=dict[str, object])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ServiceError(f"the service answered {answer.status}: {_shown(answer.body)}", answer.status)
    detail, told = str(problem.get("detail") or f"the service answered {answer.status}"), problem.get("type")
    kind = next((kind for kind in _kinds(KeepscoreError) if kind.type == told), None)
    if kind is MethodNotAllowed:
        return MethodNotAllowed(detail, answer.headers.get("allow", ""))
    if kind is UnknownPlayer:
        with suppress(msgspec.ValidationError):
            return UnknownPlayer(detail, msgspec.convert(problem.get("as_of"), datetime | None))
    if kind is ConfirmationNeeded:
        with suppress(msgspec.ValidationError):
            return ConfirmationNeeded(detail, msgspec.convert(problem.get("changes"), list[str]))
    if kind is None or kind in (KeepscoreError, ServiceError):
        return ServiceError(detail, answer.status, told if isinstance(told, str) else None)
    return kind(detail)


def _kinds(kind: type[KeepscoreError]) -> Iterator[type[KeepscoreError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _kinds(child)


def _is_json(answer: HttpAnswer) -> bool:
    return answer.headers.get("content-type", "").partition(";")[0].strip() == "application/json"


def _shown(body: bytes) -> str:
    text = " ".join(body[: 4 * MAX_SHOWN_CHARS].decode("utf-8", "replace").split())
    return repr(text[:MAX_SHOWN_CHARS] + "…" if len(text) > MAX_SHOWN_CHARS else text) if text else "an empty body"


def _pause_s(made: int) -> float:
    """Draw a pause that grows with the tries, and differs between clients, so that they do not come all at once."""
    return min(FIRST_PAUSE_S * 2.0 ** (made - 1), LONGEST_PAUSE_S) * random.uniform(0.5, 1)


def _retry_after_s(answer: HttpAnswer) -> float:
    """Return how long the service asks to wait: a number of seconds, or a date."""
    text = answer.headers.get("retry-after", "")
    if text.isascii() and text.isdecimal():
        return float(text[:9])
    try:
        return max((parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds(), 0.0)
    except (ValueError, TypeError):
        return 0.0
