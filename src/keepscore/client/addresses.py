"""Where the service is, how a client shows itself there, and what it says when nobody answers."""

from __future__ import annotations

import time
import uuid
from urllib.parse import urlsplit

from keepscore.domain.signatures import authorization_of
from keepscore.errors import AnswerLost, ConfigError, ServiceUnreachable

try:
    import httpx
except ImportError as exc:
    raise ImportError("keepscore.client needs the package httpx: install it with pip install 'keepscore[client]'") from exc

__all__ = ["checked_key", "checked_url", "httpx", "lost", "signed", "unreachable"]


def checked_url(url: str) -> str:
    """Check the address of a service; return it without a slash at its end."""
    right = "write it as in http://127.0.0.1:8080"
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or url != url.strip():
        raise ConfigError(f"{_without_secrets(url)!r} is not the address of a service: {right}")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ConfigError(f"the address of a service has no user, no password, no ? and no #: {right}, and give a key as key=")
    return url.rstrip("/")


def _without_secrets(url: str) -> str:
    return url.rpartition("@")[2]


def checked_key(key: str) -> str:
    """Check that a header can carry a key. The key is never shown."""
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigError("the key cannot be sent: it is empty, or holds a space or a character that is not printable ASCII")
    return key


def signed(key: str, method: str, target: str, body: bytes | None) -> str:
    """Sign a request now, under an id of its own; return its Authorization header."""
    return authorization_of(key, round(time.time()), method, target, body or b"", uuid.uuid4().hex)


def unreachable(url: str, error: httpx.TransportError) -> ServiceUnreachable:
    """Return the error for a connection that could not be made."""
    if isinstance(error, httpx.PoolTimeout):
        return ServiceUnreachable(f"no connection to {url} became free: make fewer calls at once, or use a longer timeout")
    reason = "connection refused" if _is_refused(error) else str(error) or "no connection in time"
    return ServiceUnreachable(f"{url} cannot be reached: {reason}. Start the service with 'keepscore serve', or correct the URL")


def _is_refused(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, ConnectionRefusedError):
        error = error.__cause__ or error.__context__
    return error is not None


def lost(url: str, error: httpx.RequestError, timeout_s: float) -> AnswerLost:
    """Return the error for a request that was sent and got no whole answer."""
    if isinstance(error, httpx.TimeoutException):
        return AnswerLost(f"{url} did not answer within {timeout_s:.3g} s")
    reason = str(error).rstrip(".") or type(error).__name__
    return AnswerLost(f"the connection to {url} broke before the answer was complete: {reason}")
