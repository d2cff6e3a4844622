"""Signing in to the console, and out: a key becomes a session in a cookie that scripts cannot read.

They are for the console's own page, and no part of the API. Writes with a session need the header `X-Keepscore-Console`, which no other
site can send.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from keepscore.access.gate import Gate
from keepscore.access.principals import LEVELS, OPEN, Principal
from keepscore.access.sessions import SESSION_MS, cookie_of, session_in
from keepscore.domain.durations import time_of
from keepscore.domain.results.plain import Result
from keepscore.errors import Forbidden, Unauthenticated
from keepscore.service.http.layer import NO_STORE, Answer, NoBody, NoQuery, Request, Route

__all__ = ["ConsoleRoutes", "SessionInfo"]


class SignInBody(msgspec.Struct, forbid_unknown_fields=True):
    """Who signs in."""

    key: str


class SessionInfo(Result):
    """Who is signed in. Where no keys are asked for, everybody is."""

    key_id: str | None
    name: str | None
    scope: str
    boards: list[str]
    expires: datetime | None


class ConsoleRoutes:
    """Handlers of one service."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._keyring = gate.keyring

    def routes(self) -> list[Route]:
        """Return them all."""
        return [
            Route("POST", "/console/session", self.sign_in, "Sign in to the console", scope="open", body=SignInBody),
            Route("GET", "/console/session", self.who, "Get who is signed in", scope="open"),
            Route("DELETE", "/console/session", self.sign_out, "Sign out of the console", scope="open"),
        ]

    async def sign_in(self, request: Request[NoQuery, SignInBody]) -> Answer:
        """Begin a session."""
        principal = await self._keyring.principal_of(b"Bearer " + request.body.key.strip().encode("latin-1", "replace"))
        if principal.player is not None or principal.level < LEVELS["moderate"]:
            raise Forbidden(f"the console is for keys with the scope 'moderate' or 'admin', and this one has {principal.scope!r}")
        session, expires = self._keyring.begin_session(principal)
        cookie = cookie_of(session, SESSION_MS // 1000, _is_secure(request))
        return Answer(_info(principal, expires), headers=(*NO_STORE, (b"set-cookie", cookie)))

    async def who(self, request: Request[NoQuery, NoBody]) -> Answer:
        """Return who is signed in; nothing where nobody is."""
        if self._gate.is_open:
            return Answer(_info(OPEN, None), headers=NO_STORE)
        session = session_in((request.header(b"cookie") or "").encode("latin-1"))
        try:
            principal = await self._keyring.session_principal(session or b"")
        except Unauthenticated:
            return Answer(None, 204, NO_STORE)
        return Answer(_info(principal, principal.expires_ms), headers=NO_STORE)

    async def sign_out(self, request: Request[NoQuery, NoBody]) -> Answer:
        """End the session."""
        return Answer(None, 204, (*NO_STORE, (b"set-cookie", cookie_of("", 0, _is_secure(request)))))


def _info(principal: Principal, expires_ms: int | None) -> SessionInfo:
    boards = [pattern for some in principal.patterns for pattern in some] or ["*"]
    expires = None if expires_ms is None or expires_ms > 1 << 50 else time_of(expires_ms)
    return SessionInfo(principal.key_id, principal.key_name or None, principal.scope, boards, expires)


def _is_secure(request: Request[NoQuery, SignInBody] | Request[NoQuery, NoBody]) -> bool:
    """Return whether the browser has come over HTTPS, as far as the service or the proxy before it can tell."""
    return request.scope.get("scheme") == "https" or request.header(b"x-forwarded-proto") == "https"
