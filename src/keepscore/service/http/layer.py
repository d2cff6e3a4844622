"""A thin ASGI layer: routes by the raw path, typed queries and bodies, problem+json, ETags, streams, WebSockets.

Why no framework: the hottest routes are answered within a few microseconds of a constant answer, which `make bench-edge` measures beside
raw ASGI and Starlette. What wraps requests is an explicit chain of links. It is built once, at start: a link that is off costs nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any

import msgspec

from keepscore.domain.results.standings import encode
from keepscore.errors import KeepscoreError, UnknownBoard
from keepscore.service.http.deadlines import Deadlines
from keepscore.service.http.decoding import check_declared_type, decoded, query_of, read_body
from keepscore.service.http.direct import direct_sender
from keepscore.service.http.messages import (
    NO_STORE,
    Answer,
    AnyQuery,
    AsgiReceive,
    AsgiScope,
    AsgiSend,
    NoBody,
    NoQuery,
    Prepared,
    Request,
    Stream,
    Text,
    start_of,
)
from keepscore.service.http.problems import problem_answer, problem_of
from keepscore.service.http.request_ids import request_id_of
from keepscore.service.http.sockets import FAILED, POLICY, WebSocket
from keepscore.service.http.table import SAFE, UNROUTED, Endpoint, Example, Route, Table, check_route

__all__ = [
    "BODY_SECONDS",
    "NO_STORE",
    "Answer",
    "AnyQuery",
    "App",
    "Example",
    "Link",
    "NoBody",
    "NoQuery",
    "Prepared",
    "Request",
    "Route",
    "Stream",
    "Text",
    "decoded",
    "start_of",
]

#: Wraps the endpoint of a route. It may refuse a request by raising, before the query and body are read.
Link = Callable[[Route, Endpoint], Endpoint]

#: Seconds in which a body has to come, unless the settings say otherwise.
BODY_SECONDS = 30.0

log = logging.getLogger(__name__)


class App:
    """An ASGI application that answers the given routes. The first link is the outermost."""

    def __init__(
        self,
        routes: Sequence[Route],
        refresh: Callable[[], Awaitable[bool]] | None = None,
        links: Sequence[Link] = (),
        body_seconds: float = BODY_SECONDS,
    ) -> None:
        self.has_sockets = any(route.method == "WS" for route in routes)
        self._links = links
        self._table: Table[Endpoint] = Table()
        deadlines = Deadlines(body_seconds)
        for route in routes:
            check_route(route)
            endpoint = _socket_endpoint(route) if route.method == "WS" else _endpoint(route, refresh, deadlines)
            self._table.add(route.method, route.path, self._linked(route, endpoint))

    def _linked(self, route: Route, endpoint: Endpoint) -> Endpoint:
        for link in reversed(self._links):
            endpoint = link(route, endpoint)
        return endpoint

    async def __call__(self, scope: AsgiScope, receive: AsgiReceive, send: AsgiSend) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await (self._connect if scope["type"] == "websocket" else _live)(scope, receive, send)
            return
        try:
            endpoint, path = self._table.find(scope, scope["method"])
        except KeepscoreError as error:
            endpoint, path = self._refusal(error), []
        request: Request[Any, Any] = Request(path, scope, receive)
        try:
            answer = await endpoint(request)
            if type(answer) is Prepared and scope["method"] == "GET" and not _is_known(answer.etag, request.headers):
                # Nearly all reads.
                await send(answer.start)
                await send(answer.body)
                return
        except Exception as error:
            answer = problem_answer(error, request_id_of(request.headers))
        await _send(answer, request, scope["method"] == "HEAD", send)

    def _refusal(self, error: Exception) -> Endpoint:
        """Return an endpoint that raises an error, within the chain: links see requests without a route, too."""

        async def refuse(request: Any) -> Answer:
            raise error

        return self._linked(UNROUTED, refuse)

    async def _connect(self, scope: AsgiScope, receive: AsgiReceive, send: AsgiSend) -> None:
        """Serve a WebSocket until its handler returns, fails, or the client has gone."""
        await receive()
        socket = WebSocket(receive, send)
        try:
            endpoint, path = self._table.find(scope, "WS")
            request: Request[Any, Any] = Request(path, scope, receive)
            request.body = socket
            await endpoint(request)
            await socket.close()
        except Exception as error:
            problem = problem_of(error, request_id_of(scope["headers"]))
            await socket.close(POLICY if problem.status < 500 else FAILED, problem.detail)


def _endpoint(route: Route, refresh: Callable[[], Awaitable[bool]] | None, deadlines: Deadlines) -> Endpoint:
    """Return what answers a request to a route, within all links: query, body, handler."""
    handler, kind, default, limit = route.handler, route.query, route.query(), route.max_body
    decoder = None if route.body is NoBody else msgspec.json.Decoder(route.body)
    writes = route.method not in SAFE

    async def endpoint(request: Request[Any, Any]) -> Answer | Prepared:
        query_string = request.query_string
        request.query = query_of(kind, query_string) if query_string else default
        if decoder is not None and (not route.takes_no_body or _has_body(request.headers)):
            request.body = decoded(decoder, await read_body(request.receive, request.headers, limit, deadlines))
        elif writes:
            check_declared_type(request.headers)
            request.body = route.body()
        try:
            return await handler(request)
        except UnknownBoard:
            if refresh is None:
                raise
            # Another process may have defined it.
            await refresh()
            return await handler(request)

    return endpoint


def _has_body(headers: list[tuple[bytes, bytes]]) -> bool:
    """Return whether a request has a body."""
    return any(name == b"transfer-encoding" or (name == b"content-length" and value != b"0") for name, value in headers)


def _socket_endpoint(route: Route) -> Endpoint:
    kind = route.query

    async def connected(request: Request[Any, Any]) -> Answer | Prepared:
        request.query = query_of(kind, request.query_string)
        return await route.handler(request)

    return connected


async def _live(scope: AsgiScope, receive: AsgiReceive, send: AsgiSend) -> None:
    """Tell a server that asks that the application has started and stopped: whoever made it opens and closes its parts."""
    while (await receive())["type"] != "lifespan.shutdown":
        await send({"type": "lifespan.startup.complete"})
    await send({"type": "lifespan.shutdown.complete"})


def _is_known(etag: bytes, headers: list[tuple[bytes, bytes]]) -> bool:
    """Return whether the client has what the tag stands for."""
    for name, value in headers:
        if name == b"if-none-match":
            return etag in value or value == b"*"
    return False


async def _send(answer: Answer | Prepared, request: Request[Any, Any], head: bool, send: AsgiSend) -> None:
    if isinstance(answer, Prepared):
        size = (b"content-length", b"%d" % len(answer.body["body"]))
        known = _is_known(answer.etag, request.headers)
        kept = answer.start["headers"][1:] if known else [*answer.start["headers"], size]
        await send({"type": "http.response.start", "status": 304 if known else 200, "headers": kept})
        await send({"type": "http.response.body", "body": b"" if known or head else answer.body["body"]})
        return
    content, status, extra = answer
    if type(content) is Stream:
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", content.kind), *extra]})
        if head:
            await content.parts.aclose()
            await send({"type": "http.response.body", "body": b""})
        else:
            await _send_parts(content, request.receive, send)
        return
    if type(content) is Text:
        body, kind = content
    elif content is None:
        body, kind = b"", b"text/plain"
    else:
        body, kind = encode(content), b"application/json"
    start = [(b"content-type", kind), *extra]
    if head:
        # The server tells the length of a body by itself, but here there is none.
        start.append((b"content-length", b"%d" % len(body)))
        body = b""
    await send({"type": "http.response.start", "status": status, "headers": start})
    await send({"type": "http.response.body", "body": body})


async def _send_parts(stream: Stream, receive: AsgiReceive, send: AsgiSend) -> None:
    """Send parts as they come, until there are no more or the client has gone."""
    sending = asyncio.current_task()
    assert sending is not None, "a server answers in a task"
    is_gone = is_done = False

    def leave(_: asyncio.Future[None]) -> None:
        nonlocal is_gone
        if not is_done:
            is_gone = True
            sending.cancel()

    gone = asyncio.ensure_future(_until_gone(receive))
    gone.add_done_callback(leave)
    try:
        if stream.attach is not None and (direct := direct_sender(send)) is not None:
            stream.attach(direct)
        async with aclosing(stream.parts) as parts:
            async for part in parts:
                await send({"type": "http.response.body", "body": part, "more_body": True})
        is_done = True
        await send({"type": "http.response.body", "body": b""})
    except asyncio.CancelledError:
        if not is_gone:
            raise
        sending.uncancel()
    except Exception:
        # The status is sent already: a client sees an answer that ends early.
        log.exception("a stream failed")
        is_done = True
        await send({"type": "http.response.body", "body": b""})
    finally:
        is_done = True
        gone.cancel()


async def _until_gone(receive: AsgiReceive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
