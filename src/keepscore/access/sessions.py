"""Sessions of the console: what a browser has in the place of a key, in a cookie that scripts cannot read. Pure.

A JWT (HS256, no other algorithm) with `kid`, the id of the key whose derived secret signs it. It is worth as long as it says, and as long
as its key is. It can do no more than the key.
"""

from __future__ import annotations

from http.cookies import CookieError, SimpleCookie

from keepscore.access.api_keys import derived_secret
from keepscore.errors import Unauthenticated

__all__ = ["COOKIE", "SESSION_MS", "cookie_of", "expires_of", "session_in", "signed_session"]

#: The name of the cookie.
COOKIE = "keepscore_session"
#: How long a session lasts, in milliseconds: a working day.
SESSION_MS = 12 * 3_600_000
ALGORITHM = "HS256"
PURPOSE = "console sessions"
#: Characters of a cookie header that is looked at.
MAX_COOKIE_CHARS = 4096


def signed_session(key_id: str, key_hash: bytes, environment: str, expires_ms: int) -> str:
    """Return the text of a session."""
    import jwt  # Not where the program starts: most need none, and it takes a tenth of a second.

    payload = {"exp": expires_ms // 1000, "env": environment}
    return jwt.encode(payload, derived_secret(key_hash, PURPOSE), ALGORITHM, headers={"kid": key_id})


def expires_of(session: str, key_hash: bytes, environment: str, now: int) -> int:
    """Return until when a session lasts that is signed with a key's secret, in milliseconds, or say what is wrong with it."""
    import jwt

    options = {"verify_exp": False, "require": ["exp", "env"]}
    try:
        found = jwt.decode(session, derived_secret(key_hash, PURPOSE), [ALGORITHM], options)  # type: ignore[arg-type]
    except jwt.PyJWTError:
        raise Unauthenticated("the session is not one of this service: sign in again") from None
    expires, of = found["exp"], found["env"]
    if type(expires) is not int or of != environment or expires * 1000 <= now:
        raise Unauthenticated("the session has ended: sign in again")
    return expires * 1000


def session_in(header: bytes) -> bytes | None:
    """Return the session in a Cookie header, if there is one."""
    if COOKIE.encode() not in header or len(header) > MAX_COOKIE_CHARS:
        return None
    try:
        found = SimpleCookie(header.decode("latin-1")).get(COOKIE)
    except CookieError:
        return None
    return found.value.encode("latin-1") if found is not None and found.value else None


def cookie_of(session: str, seconds: int, secure: bool) -> bytes:
    """Return the Set-Cookie header of a session; without seconds, one that ends it."""
    attributes = f"{COOKIE}={session}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict"
    return (attributes + ("; Secure" if secure else "")).encode("latin-1")
