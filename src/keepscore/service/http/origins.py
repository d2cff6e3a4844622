"""Who a request comes from and whom it is meant for: the links that check `Host` and `Origin`, and the one that answers for CORS.

A browser lets any web page send requests to any address that its user reaches, this machine's own included. It tells where the page comes
from (`Origin`) and which name it looked up (`Host`), and neither can be forged by the page. So a service on loopback answers only
requests for loopback names: a foreign name that was made to point at this machine is refused. A request that writes is refused where it
comes from a page of another origin. Programs other than browsers send no `Origin`, and are not affected.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Sequence
from typing import Any

from keepscore.errors import ForeignOrigin, MethodNotAllowed, WrongHost
from keepscore.service.http.layer import Answer, Link, Prepared, Request, Route
from keepscore.service.http.messages import with_headers
from keepscore.service.http.problems import problem_answer
from keepscore.service.http.request_ids import request_id_of
from keepscore.service.http.table import SAFE, UNROUTED, Endpoint

__all__ = ["ANY", "cors_link", "host_link", "is_loopback", "origin_link"]

#: In a list of hosts or origins: all of them.
ANY = "*"
#: Seconds for which a browser may remember what it may send.
PREFLIGHT_S = 600
#: Headers of answers that pages of other origins may read, beside those that they may always read.
EXPOSED = "ETag, Idempotency-Replayed, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id"
#: Headers that they may send.
ALLOWED = "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, X-Request-Id"


def is_loopback(host: str) -> bool:
    """Return whether a host name or address is this machine's own.

    >>> is_loopback("localhost"), is_loopback("127.8.0.1"), is_loopback("::1"), is_loopback("localhost.example.com")
    (True, True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def host_link(bound: str, names: Sequence[str]) -> Link | None:
    """Return the link that refuses requests for other hosts, for a service that listens on `bound`; None where all may be asked for.

    Listening on loopback, that is every name but loopback's and the given ones. Elsewhere, addresses are allowed as well, as no name
    was looked up for them; and where no names are given, everything is.
    """
    at_home = is_loopback(bound)
    if ANY in names or (not names and not at_home):
        return None
    allowed = {name.lower() for name in names}
    # Nearly all requests have the same.
    last = b""

    def check(host: bytes) -> None:
        nonlocal last
        name = host_name(host.decode("latin-1"))
        # Only programs other than browsers send none.
        if host and name not in allowed and not is_loopback(name) and (at_home or not _is_address(name)):
            also = "".join(f", {one}" for one in sorted(allowed))
            raise WrongHost(
                f"Host: {host.decode('latin-1')[:100]!r} is not a name of this service: use localhost{also}, or add the name to "
                "server.allowed_hosts"
            )
        last = host

    def link(route: Route, endpoint: Endpoint) -> Endpoint:
        # Not a coroutine: that would cost more than the check.
        def checked(request: Request[Any, Any]) -> Awaitable[Answer | Prepared]:
            found = b""
            for name, value in request.headers:
                if name == b"host":
                    found = value
                    break
            if found != last:
                check(found)
            return endpoint(request)

        return checked

    return link


def host_name(host: str) -> str:
    """Return the name or address in a Host header, without its port.

    >>> host_name("Scores.example.com:8080"), host_name("[::1]:8080"), host_name("[::1]"), host_name("127.0.0.1")
    ('scores.example.com', '::1', '::1', '127.0.0.1')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0].lower() if ":" in host else host.lower()


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def origin_link(origins: Sequence[str]) -> Link | None:
    """Return the link that refuses writes and WebSockets from pages of other origins than the service's own and the given ones."""
    if ANY in origins:
        return None
    allowed = {origin.encode() for origin in origins}

    def link(route: Route, endpoint: Endpoint) -> Endpoint:
        if route.method in SAFE or route is UNROUTED:
            return endpoint

        def checked(request: Request[Any, Any]) -> Awaitable[Answer | Prepared]:
            origin, host = None, b""
            for name, value in request.headers:
                if name == b"origin":
                    origin = value
                elif name == b"host":
                    host = value
            if origin is not None and origin not in allowed and origin.partition(b"://")[2] != host:
                raise ForeignOrigin(
                    f"Origin: {origin.decode('latin-1')[:100]!r} may not write here: add it to server.cors_origins if its pages should"
                )
            return endpoint(request)

        return checked

    return link


def cors_link(origins: Sequence[str]) -> Link | None:
    """Return the link that lets pages of the given origins read answers, errors included; None where there are none.

    It has to be the outermost: whatever the others refuse is readable, too.
    """
    if not origins:
        return None
    allowed = None if ANY in origins else {origin.encode() for origin in origins}
    vary = (b"vary", b"origin")

    def headers_for(request: Request[Any, Any]) -> tuple[tuple[bytes, bytes], ...]:
        origin = next((value for name, value in request.headers if name == b"origin"), None)
        if allowed is None:
            return (b"access-control-allow-origin", b"*"), (b"access-control-expose-headers", EXPOSED.encode())
        if origin is None or origin not in allowed:
            return (vary,)
        return vary, (b"access-control-allow-origin", origin), (b"access-control-expose-headers", EXPOSED.encode())

    def link(route: Route, endpoint: Endpoint) -> Endpoint:
        if route.method == "WS":
            return endpoint

        async def shared(request: Request[Any, Any]) -> Answer | Prepared:
            headers = headers_for(request)
            try:
                return with_headers(await endpoint(request), headers)
            except MethodNotAllowed as error:
                if request.scope["method"] != "OPTIONS" or request.header(b"access-control-request-method") is None:
                    return with_headers(problem_answer(error, request_id_of(request.headers)), headers)
                return Answer(None, 204, (*headers, *_preflight(error.allowed)) if len(headers) > 1 else headers)
            except Exception as error:
                return with_headers(problem_answer(error, request_id_of(request.headers)), headers)

        return shared

    return link


def _preflight(methods: str) -> tuple[tuple[bytes, bytes], ...]:
    """Return what a browser may send to an address that takes these methods."""
    return (
        (b"access-control-allow-methods", methods.encode()),
        (b"access-control-allow-headers", ALLOWED.encode()),
        (b"access-control-max-age", b"%d" % PREFLIGHT_S),
    )
