"""What a web page from elsewhere may do to a service that its reader's browser reaches: nothing, unless its origin is listed."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from keepscore import Board
from keepscore.leaderboards import Leaderboards
from keepscore.service.app import EdgeOptions, make_app
from keepscore.service.http.layer import Answer, App, Request, Route
from keepscore.service.http.origins import host_link, origin_link
from tests.service.running import JSON, PATIENCE, Service, refused, taken

GAME = "https://game.example.com"
SCORE = b'{"player_id": "ada", "score": 5}'


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that lists a host and an origin."""
    config = f'[server]\nallowed_hosts = ["scores.example.com"]\ncors_origins = ["{GAME}"]\n[[board]]\nname = "b"\n'
    running = Service(tmp_path_factory.mktemp("listed"), config)
    yield running
    running.stop()


# -- content types ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/json", "application/jsonp"]
)
def test_a_body_that_any_page_could_send_is_refused(service: Service, board: Any, kind: str | None) -> None:
    name = board()
    headers = {} if kind is None else {"content-type": kind}
    with service.nothing_left_behind(name):
        for method, route in (
            ("POST", "/scores"),
            ("POST", "/scores/batch"),
            ("PUT", ""),
            ("POST", "/imports"),
            ("POST", "/players/lookup"),
        ):
            answer = service.client.request(method, f"/v1/boards/{name}{route}", content=SCORE, headers=headers)
            problem = refused(answer, 415, "content-type: application/json", "--json", *([kind] if kind else []))
            assert problem["type"] == "urn:keepscore:unsupported-media-type"


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded"])
def test_a_write_without_a_body_is_refused_where_it_declares_a_form(service: Service, board: Any, kind: str) -> None:
    name = board()
    service.client.post(f"/v1/boards/{name}/scores", content=SCORE, headers=JSON)
    with service.nothing_left_behind(name):
        for method, route in (("POST", "reset"), ("POST", "rebuild"), ("POST", "verify"), ("DELETE", "players/ada?reason=x")):
            refused(service.client.request(method, f"/v1/boards/{name}/{route}", headers={"content-type": kind}), 415, kind)
            if method == "POST":
                refused(service.client.post(f"/v1/boards/{name}/{route}", content=SCORE, headers={"content-type": kind}), 415, kind)
    assert service.client.post(f"/v1/boards/{name}/reset").status_code == 200


@pytest.mark.parametrize("kind", ["application/json", "application/json; charset=utf-8", "Application/JSON", "application/vnd.game+json"])
def test_json_is_taken_however_it_is_declared(service: Service, board: Any, kind: str) -> None:
    assert service.client.post(f"/v1/boards/{board()}/scores", content=SCORE, headers={"content-type": kind}).status_code == 200


# -- hosts --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    ["evil.example.com", "evil.example.com:8080", "localhost.evil.com", "127.0.0.1.evil.com", "10.0.0.1", "[2001:db8::1]:80", "[", ":"],
)
def test_a_service_on_loopback_answers_for_no_other_host(service: Service, board: Any, host: str) -> None:
    name = board()
    with service.nothing_left_behind(name):
        for method, route in (("GET", "top"), ("POST", "scores"), ("POST", "reset")):
            answer = service.client.request(method, f"/v1/boards/{name}/{route}", content=SCORE, headers={"host": host, **JSON})
            problem = refused(answer, 421, repr(host), "localhost", "server.allowed_hosts")
            assert problem["type"] == "urn:keepscore:wrong-host"
    assert service.client.get("/nowhere", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:8080", "127.9.9.9", "[::1]", "[::1]:8080", "game.localhost"])
def test_it_answers_for_all_names_of_loopback(client: httpx.Client, host: str) -> None:
    assert client.get("/healthz", headers={"host": host}).status_code == 200


def test_a_program_may_send_no_host(service: Service) -> None:
    with socket.create_connection(("127.0.0.1", service.port), PATIENCE) as one:
        one.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
        assert b"200 OK" in one.recv(1000)


def test_a_listed_host_is_answered(listed: Service) -> None:
    assert listed.client.get("/healthz", headers={"host": "Scores.example.com:443"}).status_code == 200
    refused(listed.client.get("/healthz", headers={"host": "other.example.com"}), 421, "localhost, scores.example.com")


@pytest.mark.parametrize(
    ("bound", "names", "host", "good"),
    [
        ("0.0.0.0", [], "anything.example.com", True),
        ("0.0.0.0", ["a.example.com"], "anything.example.com", False),
        ("0.0.0.0", ["a.example.com"], "a.example.com", True),
        ("0.0.0.0", ["a.example.com"], "10.0.0.1:8080", True),
        ("0.0.0.0", ["a.example.com"], "localhost", True),
        ("127.0.0.1", ["*"], "anything.example.com", True),
        ("localhost", [], "anything.example.com", False),
        ("::1", [], "[::1]:8080", True),
    ],
)
async def test_which_hosts_are_answered_for(bound: str, names: list[str], host: str, good: bool) -> None:
    link = host_link(bound, names)
    app = App([Route("GET", "/a", _hello, "a test", scope="open")], links=[] if link is None else [link])
    async with _client(app) as client:
        assert (await client.get("/a", headers={"host": host})).status_code == (200 if good else 421)


# -- origins ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("origin", ["https://evil.example.com", "null", "http://localhost:1", "http://127.0.0.1", "file://", ""])
def test_a_page_from_elsewhere_writes_nothing(service: Service, board: Any, origin: str) -> None:
    name = board()
    writes = [("POST", "/scores"), ("POST", "/reset"), ("POST", "/rebuild"), ("PUT", ""), ("DELETE", ""), ("POST", "/players/lookup")]
    with service.nothing_left_behind(name):
        for method, route in writes:
            answer = service.client.request(method, f"/v1/boards/{name}{route}", content=SCORE, headers={"origin": origin, **JSON})
            problem = refused(answer, 403, repr(origin), "server.cors_origins")
            assert problem["type"] == "urn:keepscore:foreign-origin"
            assert "access-control-allow-origin" not in answer.headers
    read = service.client.get(f"/v1/boards/{name}/top", headers={"origin": origin})
    assert read.status_code == 200, "the browser does not show it to the page"
    assert not [header for header in read.headers if header.startswith("access-control")]


def test_a_page_of_the_service_itself_writes(service: Service, board: Any) -> None:
    answer = service.client.post(f"/v1/boards/{board()}/scores", content=SCORE, headers={"origin": service.url, **JSON})
    assert answer.status_code == 200


def test_without_listed_origins_there_is_no_preflight(client: httpx.Client) -> None:
    asked = {"origin": GAME, "access-control-request-method": "POST"}
    answer = client.options("/v1/boards/global/scores", headers=asked)
    refused(answer, 405)
    assert not [header for header in answer.headers if header.startswith("access-control")]


def test_pages_of_a_listed_origin_read_and_write(listed: Service) -> None:
    asked = {"origin": GAME, "access-control-request-method": "POST", "access-control-request-headers": "content-type, idempotency-key"}
    preflight = listed.client.options("/v1/boards/b/scores", headers=asked)
    assert preflight.status_code == 204
    assert preflight.content == b""
    assert preflight.headers["access-control-allow-origin"] == GAME
    assert preflight.headers["access-control-allow-methods"] == "POST"
    assert preflight.headers["vary"] == "origin"
    allowed = preflight.headers["access-control-allow-headers"].lower().split(", ")
    assert {"content-type", "idempotency-key", "authorization", "if-match", "if-none-match"} <= set(allowed)
    assert int(preflight.headers["access-control-max-age"]) > 0
    both = listed.client.options("/v1/boards/b", headers={**asked, "access-control-request-method": "PUT"})
    assert both.headers["access-control-allow-methods"] == "DELETE, GET, PATCH, PUT"

    headers = {"origin": GAME, "idempotency-key": "once", **JSON}
    for _ in range(2):
        answer = listed.client.post("/v1/boards/b/scores", content=SCORE, headers=headers)
        taken(answer)
        assert answer.headers["access-control-allow-origin"] == GAME
    assert answer.headers["idempotency-replayed"] == "true"
    exposed = answer.headers["access-control-expose-headers"].split(", ")
    assert {"ETag", "RateLimit", "Retry-After", "Idempotency-Replayed", "X-Request-Id"} <= set(exposed)

    page = listed.client.get("/v1/boards/b/top", headers={"origin": GAME})
    known = listed.client.get("/v1/boards/b/top", headers={"origin": GAME, "if-none-match": page.headers["etag"]})
    assert (page.status_code, known.status_code) == (200, 304)
    for one in (page, known):
        assert one.headers["access-control-allow-origin"] == GAME
        assert one.headers["vary"] == "origin"


def test_errors_are_readable_by_a_listed_origin(listed: Service) -> None:
    for method, path, status in (("GET", "/v1/boards/none/top", 404), ("GET", "/nowhere", 404), ("POST", "/v1/boards/b/scores", 422)):
        answer = listed.client.request(method, path, content=b"{}", headers={"origin": GAME, **JSON})
        refused(answer, status)
        assert answer.headers["access-control-allow-origin"] == GAME
    bad = listed.client.options("/nowhere", headers={"origin": GAME, "access-control-request-method": "GET"})
    refused(bad, 404)


def test_an_origin_that_is_not_listed_learns_nothing(listed: Service) -> None:
    foreign = {"origin": "https://evil.example.com"}
    preflight = listed.client.options("/v1/boards/b/scores", headers={**foreign, "access-control-request-method": "POST"})
    answers = [
        preflight,
        listed.client.get("/v1/boards/b/top", headers=foreign),
        listed.client.get("/v1/boards/b/top"),
        listed.client.post("/v1/boards/b/scores", content=SCORE, headers={**foreign, **JSON}),
    ]
    assert answers[-1].status_code == 403
    for answer in answers:
        assert answer.headers["vary"] == "origin", "a cache must not give it to a page that may read it"
        assert not [header for header in answer.headers if header.startswith("access-control")]


async def test_with_a_star_pages_of_all_origins_read_and_write() -> None:
    async with Leaderboards.open("sqlite:///:memory:") as leaderboards:
        await leaderboards.admin.put_board(Board("b"))
        async with _client(make_app(leaderboards, "b", EdgeOptions(cors_origins=("*",)))) as client:
            answer = await client.post("/v1/boards/b/scores", content=SCORE, headers={"origin": "https://any.example.com", **JSON})
            assert answer.status_code == 200
            assert answer.headers["access-control-allow-origin"] == "*"
            assert "vary" not in answer.headers


async def test_a_page_from_elsewhere_opens_no_websocket() -> None:
    opened: list[str] = []

    async def serve(request: Request[Any, Any]) -> Answer:
        await request.body.accept()
        opened.append(request.header(b"origin") or "")
        return Answer(None)

    link = origin_link([GAME])
    assert link is not None
    app = App([Route("WS", "/live", serve, "a test", scope="open")], links=[link])
    assert (await _socket(app, "https://evil.example.com"), opened) == (1008, [])
    for good in (GAME, "http://localhost:8080"):
        assert await _socket(app, good) == 1000
    assert await _socket(app, None) == 1000
    assert opened == [GAME, "http://localhost:8080", ""]


def test_what_is_no_host_or_origin_is_refused_at_the_start(tmp_path: Path) -> None:
    from keepscore.config import load_settings
    from keepscore.errors import ConfigError

    file = tmp_path / "keepscore.toml"
    for setting, bad in (
        ("allowed_hosts", '["https://a.example.com"]'),
        ("allowed_hosts", '["a.example.com:8080"]'),
        ("allowed_hosts", '"a.example.com"'),
        ("allowed_hosts", "[5]"),
        ("cors_origins", '["game.example.com"]'),
        ("cors_origins", '["https://game.example.com/"]'),
        ("max_connections", "10"),
        ("max_connections_per_address", "-1"),
        ("idle_timeout", '"0s"'),
        ("body_timeout", "30"),
        ("cache_bytes", '"64MB"'),
    ):
        file.write_text(f"[server]\n{setting} = {bad}\n", encoding="utf-8")
        with pytest.raises(ConfigError, match=rf"server.{setting} = .* cannot be used; allowed: "):
            load_settings(str(file), environment={})
    file.write_text(
        '[server]\nallowed_hosts = ["*", "::1", "a-b.example.com"]\ncors_origins = ["http://localhost:3000"]\n', encoding="utf-8"
    )
    assert load_settings(str(file), environment={}).cors_origins == ["http://localhost:3000"]


# -- helpers ------------------------------------------------------------------------------------------------------------------


async def _hello(request: Request[Any, Any]) -> Answer:
    return Answer({"hello": True})


@contextlib.asynccontextmanager
async def _client(app: App) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost:8080") as client:
        yield client


async def _socket(app: App, origin: str | None) -> int:
    """Ask for a WebSocket, and return the code with which it is closed."""
    sent: list[Any] = []

    async def receive() -> Any:
        await asyncio.sleep(0)
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", b"localhost:8080")] + ([] if origin is None else [(b"origin", origin.encode())])
    await app({"type": "websocket", "path": "/live", "query_string": b"", "headers": headers}, receive, send)
    return int(sent[-1]["code"])
