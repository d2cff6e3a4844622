"""Request ids: the client's own where it sends a sane one, or a new one."""

from __future__ import annotations

import re
import secrets
from contextvars import ContextVar

__all__ = ["CURRENT_REQUEST", "request_id_of"]

#: What a client may send as X-Request-Id. Anything else could forge lines of the log.
_SANE = re.compile(rb"[A-Za-z0-9._:/+=@-]{1,128}")

#: The id of the request that is being handled, for lines of the log; set where the access log is on.
CURRENT_REQUEST: ContextVar[str | None] = ContextVar("request", default=None)


def request_id_of(headers: list[tuple[bytes, bytes]]) -> str:
    """Return the id that the client sent, or a new one."""
    for name, value in headers:
        if name == b"x-request-id" and _SANE.fullmatch(value):
            return value.decode()
    return secrets.token_hex(8)
