"""The HTTP layer by itself: what routes declare, the chain around them, and every kind of ASGI scope."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from keepscore.errors import InvalidField, Overloaded
from keepscore.leaderboards import Leaderboards
from keepscore.service.app import make_app
from keepscore.service.http.layer import Answer, App, NoBody, Request, Route, Stream, Text
from keepscore.service.http.sockets import WebSocket
from keepscore.service.http.table import COSTS, SCOPES
from keepscore.service.serve import make_server
from tests.support.ports import free_port


async def hello(request: Request[Any, Any]) -> Answer:
    return Answer({"hello": request.path})


def route(path: str, handler: Callable[[Any], Awaitable[Any]] = hello, method: str = "GET", **fields: Any) -> Route:
    return Route(method, path, handler, "a test", **{"scope": "open", **fields})


@asynccontextmanager
async def serving(app: App) -> AsyncIterator[int]:
    """The server of the service, in this process."""
    port = free_port()
    server = make_server(app, "127.0.0.1", port, websockets=app.has_sockets)
    running = asyncio.create_task(server.serve())
    while True:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            break
        except OSError:
            await asyncio.sleep(0.01)
    writer.close()
    try:
        yield port
    finally:
        server.stop()
        await running


async def asked(app: App, path: str, method: str = "GET", body: bytes = b"", **headers: str) -> httpx.Response:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        return await client.request(method, path, content=body, headers={"Content-Type": "application/json", **names})


@pytest.mark.parametrize("fields", [{"scope": None}, {"scope": "everybody"}, {"cost": "free"}])
def test_a_route_that_does_not_declare_who_may_use_it_cannot_be_registered(fields: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=r"GET /a has scope .* declare a scope \(open, read, submit, moderate, admin\)"):
        App([route("/a", **fields)])


async def test_every_route_of_the_service_declares_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Route] = []
    monkeypatch.setattr("keepscore.service.app.App", lambda routes, *_: seen.extend(routes))
    async with Leaderboards.open("sqlite:///:memory:") as leaderboards:
        make_app(leaderboards, "global")
    assert len(seen) > 40
    for one in seen:
        place = f"{one.method} {one.path}"
        assert one.scope in SCOPES, place
        assert one.cost in COSTS, place
        # Only what shows nothing of the boards is for everybody, such as the key that verifies what is signed.
        assert one.scope != "open" or one.path == "/v1/certificates/key" or not one.path.startswith(("/v1", "/api", "/metrics")), place
        assert one.scope != "read" or not one.keyed, place
        # To revoke a key again, or to say again who is a friend or a member, changes nothing.
        repeatable = place in ("DELETE /v1/keys/{key_id}", "DELETE /console/session") or "/friends" in one.path or "/groups" in one.path
        assert one.method in ("GET", "POST", "WS") or one.keyed or repeatable, place
        if one.method == "GET":
            assert not one.keyed, place
            assert one.body is NoBody, place


async def test_links_wrap_every_request_in_their_order_and_see_what_fails() -> None:
    told: list[str] = []

    def link(name: str) -> Callable[[Route, Any], Any]:
        def wrap(one: Route, endpoint: Any) -> Any:
            async def wrapped(request: Request[Any, Any]) -> Any:
                told.append(f"{name} {one.path}")
                try:
                    return await endpoint(request)
                except Exception as error:
                    told.append(f"{name} {type(error).__name__}")
                    raise

            return wrapped

        return wrap

    app = App([route("/a/{b}"), route("/body", method="POST", body=list[int])], links=[link("outer"), link("inner")])
    assert (await asked(app, "/a/1")).json() == {"hello": ["1"]}
    assert told == ["outer /a/{b}", "inner /a/{b}"]
    for path, method, body, error in (
        ("/a/1?b=c", "GET", b"", "InvalidField"),
        ("/body", "POST", b"{", "MalformedBody"),
        ("/body", "DELETE", b"", "MethodNotAllowed"),
        ("/nowhere", "GET", b"", "UnknownRoute"),
    ):
        told.clear()
        answer = await asked(app, path, method, body)
        assert answer.headers["content-type"] == "application/problem+json"
        assert told[2:] == [f"inner {error}", f"outer {error}"]


async def test_a_link_may_refuse_before_the_body_is_read() -> None:
    def closed(one: Route, endpoint: Any) -> Any:
        async def refuse(request: Any) -> Any:
            raise Overloaded("come back later")

        return refuse

    async def receive() -> Any:
        raise AssertionError("the body was read")

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/b", "query_string": b"", "headers": []}
    await App([route("/b", method="POST", body=dict)], links=[closed])(scope, receive, send)
    assert sent[0]["status"] == 503


async def test_an_error_has_the_id_of_its_request() -> None:
    app = App([route("/a")])
    answer = await asked(app, "/b", X_Request_Id="abc-1")
    assert answer.headers["x-request-id"] == answer.json()["request_id"] == "abc-1"
    for bad in ("a b", "x" * 129, '"'):
        made = await asked(app, "/b", X_Request_Id=bad)
        assert made.headers["x-request-id"] == made.json()["request_id"]
        assert made.json()["request_id"].isalnum()
    assert "x-request-id" not in (await asked(app, "/a")).headers


async def test_lifespan_is_acknowledged() -> None:
    messages = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])
    sent: list[str] = []

    async def receive() -> Any:
        return next(messages)

    async def send(message: Any) -> None:
        sent.append(message["type"])

    await App([route("/a")])({"type": "lifespan"}, receive, send)
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


async def test_a_stream_is_sent_part_by_part_and_closed_when_the_client_goes_away() -> None:
    closed, more = asyncio.Event(), asyncio.Event()

    async def events() -> AsyncGenerator[bytes, None]:
        try:
            yield b"data: 1\n\n"
            await more.wait()
            yield b"data: 2\n\n"
            await asyncio.Event().wait()
        finally:
            closed.set()

    async def live(request: Any) -> Answer:
        return Answer(Stream(events(), b"text/event-stream"))

    async def short(request: Any) -> Answer:
        async def parts() -> AsyncGenerator[bytes, None]:
            yield b"a"
            yield b"b"

        return Answer(Stream(parts(), b"text/plain"))

    async with (
        serving(App([route("/live", live), route("/short", short)])) as port,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False, verify=False) as client,
    ):
        assert (await client.get("/short")).text == "ab"
        async with asyncio.timeout(10), client.stream("GET", "/live") as answer:
            assert answer.headers["content-type"] == "text/event-stream"
            parts = answer.aiter_bytes()
            assert await anext(parts) == b"data: 1\n\n"
            # The first part has come before there was a second one.
            more.set()
            assert await anext(parts) == b"data: 2\n\n"
        async with asyncio.timeout(10):
            await closed.wait()


async def test_a_websocket_is_a_route_like_the_others() -> None:
    async def echo(request: Request[Any, WebSocket]) -> None:
        socket = request.body
        if request.path == ["closed"]:
            raise InvalidField("this one is closed")
        await socket.accept()
        while (message := await socket.receive()) is not None:
            await socket.send(f"{request.path[0]}: {message!s}")

    seen: list[str] = []

    def link(one: Route, endpoint: Any) -> Any:
        async def noted(request: Any) -> Any:
            seen.append(one.method)
            return await endpoint(request)

        return noted

    async with serving(App([route("/echo/{name}", echo, "WS"), route("/echo/{name}")], links=[link])) as port:
        reader, writer = await _upgraded(port, "/echo/ada")
        assert b"101" in await reader.readline()
        await reader.readuntil(b"\r\n\r\n")
        # A masked text frame, with a mask of zeros.
        writer.write(b"\x81\x82\0\0\0\0hi")
        assert await reader.readexactly(2 + len("ada: hi")) == b"\x81\x07ada: hi"
        writer.close()
        for path in ("/echo/closed", "/nowhere"):
            reader, writer = await _upgraded(port, path)
            assert b"403" in await reader.readline()
            writer.close()
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False, verify=False) as client:
            assert (await client.get("/echo/ada")).json() == {"hello": ["ada"]}
    assert seen == ["WS", "WS", "GET"]


async def _upgraded(port: int, path: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    headers = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
    writer.write(f"GET {path} HTTP/1.1\r\nHost: test\r\n{headers}\r\n\r\n".encode())
    return reader, writer


async def test_a_constant_text_is_sent_as_it_is() -> None:
    async def text(request: Any) -> Answer:
        return Answer(Text(b"plain", b"text/plain"), 418)

    answer = await asked(App([route("/t", text)]), "/t")
    assert (answer.status_code, answer.text) == (418, "plain")
    head = await asked(App([route("/t", text)]), "/t", "HEAD")
    assert (head.headers["content-length"], head.content) == ("5", b"")
    assert json.loads((await asked(App([]), "/t")).content)["status"] == 404
