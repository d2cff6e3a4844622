"""Connections that do nothing, by the thousand, from real sockets: everybody else is served."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from keepscore.service.connections import ConnectionWatch, client_network, connections_allowed, give_up_unread
from tests.service.running import PATIENCE, Service

HEAD = b"POST /v1/boards/b/scores HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
#: A board, and deadlines that tests can wait for.
SHORT = '[server]\nidle_timeout = "1s"\nbody_timeout = "1s"\nmax_connections_per_address = 0\n[[board]]\nname = "b"\n'

Start = Callable[..., Service]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start services that are stopped at the end."""
    started: list[Service] = []

    def begin(config: str) -> Service:
        started.append(Service(tmp_path, config))
        return started[-1]

    yield begin
    for service in started:
        service.stop()


@pytest.fixture
def many_files() -> Iterator[None]:
    """Let this process have as many open files as it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def connected(service: Service, sent: bytes = b"", address: str = "127.0.0.1") -> socket.socket:
    one = socket.create_connection(("127.0.0.1", service.port), PATIENCE, source_address=(address, 0))
    if sent:
        one.sendall(sent)
    return one


def is_closed(one: socket.socket) -> bool:
    """Whether the other side has closed a connection, whatever it has sent before."""
    one.settimeout(0)
    try:
        while one.recv(1 << 16):
            pass
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline, "it does not happen"
        time.sleep(0.05)


def is_served(service: Service) -> bool:
    with httpx.Client(base_url=service.url, timeout=PATIENCE, trust_env=False, verify=False) as other:
        return other.get("/v1/boards/b/top").status_code == 200


def test_thousands_of_idle_and_half_sent_connections_lock_nobody_out(start: Start, many_files: None) -> None:
    service = start('[server]\nidle_timeout = "5m"\nbody_timeout = "5m"\n[[board]]\nname = "b"\n')
    with contextlib.ExitStack() as stack:
        idle = [stack.enter_context(connected(service, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")) for _ in range(1500)]
        for _ in range(3000):
            stack.enter_context(connected(service, HEAD))
        for one in idle:
            assert one.recv(1 << 16).startswith(b"HTTP/1.1 200")
        # None of them is closed before its deadline, which is far away: others are served beside them.
        assert is_served(service)
        assert service.submit("b", "ada", 5)["rank"] == 1
        assert not any(map(is_closed, idle[::100]))


@pytest.mark.parametrize(
    "sent",
    [b"", b"P", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", HEAD, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"],
    ids=["nothing", "one byte", "HTTP/2", "half a head", "idle after an answer"],
)
def test_a_connection_that_does_nothing_is_closed(start: Start, sent: bytes) -> None:
    with connected(start(SHORT), sent) as one:
        until(lambda: is_closed(one))


@pytest.mark.parametrize(
    "rest", [b"Content-Length: 40\r\n\r\n", b"Content-Length: 40\r\n\r\n{}", b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"]
)
def test_a_body_that_does_not_come_is_refused_and_its_connection_closed(start: Start, rest: bytes) -> None:
    service = start(SHORT)
    with service.nothing_left_behind("b"), connected(service, HEAD + rest) as one:
        answer = one.recv(1 << 16)
        assert answer.startswith(b"HTTP/1.1 408"), answer
        assert b"urn:keepscore:body-too-slow" in answer
        assert b"server.body_timeout" in answer
        until(lambda: is_closed(one))


def test_a_connection_whose_client_does_not_read_is_given_up(start: Start) -> None:
    service = start(SHORT)
    entries = [{"player_id": f"player-{n:04}" + "x" * 100, "score": n} for n in range(1000)]
    assert service.post("b", "scores/batch", {"scores": entries}).status_code == 200
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.connect(("127.0.0.1", service.port))
        one.sendall(b"GET /v1/boards/b/top?limit=1000 HTTP/1.1\r\nHost: localhost\r\n\r\n" * 200)

        def is_given_up() -> bool:
            # Nothing is read: only sending tells.
            try:
                one.send(b"\r\n", socket.MSG_DONTWAIT)
            except BlockingIOError:
                return False
            except OSError:
                return True
            return False

        until(is_given_up)
    assert is_served(service)


def test_an_address_has_so_many_connections_and_others_are_served(start: Start, many_files: None) -> None:
    service = start('[server]\nmax_connections = 1000\nmax_connections_per_address = 200\n[[board]]\nname = "b"\n')
    with contextlib.ExitStack() as stack:
        theirs = [stack.enter_context(connected(service, HEAD, "127.0.0.2")) for _ in range(900)]
        until(lambda: sum(map(is_closed, theirs)) >= 700)
        assert not is_closed(theirs[0]), "who came first stays"
        assert 0 < len(theirs) - sum(map(is_closed, theirs)) <= 200
        assert is_served(service)
        assert service.submit("b", "ada", 5)["rank"] == 1
    assert "127.0.0.2 has more than 200 connections (server.max_connections_per_address)" in service.log.read_text()


def test_with_zero_an_address_has_as_many_connections_as_it_likes(start: Start, many_files: None) -> None:
    service = start('[server]\nmax_connections_per_address = 0\n[[board]]\nname = "b"\n')
    with contextlib.ExitStack() as stack:
        many = [stack.enter_context(connected(service)) for _ in range(300)]
        assert is_served(service)
        assert not any(map(is_closed, many))


async def test_only_connections_to_the_port_are_looked_at() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.create_server(("127.0.0.1", 0)) as elsewhere:
        ours = [socket.create_connection(listening.getsockname()) for _ in range(5)]
        others = [socket.create_connection(elsewhere.getsockname()) for _ in range(5)]
        taken = [listening.accept()[0] for _ in ours] + [elsewhere.accept()[0] for _ in others]
        try:
            watch = ConnectionWatch(listening.getsockname()[1], 3, 30)
            assert await watch.look() == 2
            assert await watch.look() == 2, "they are not closed by their owner, and shut down once more, to no effect"
            assert [is_closed(one) for one in ours] == [False, False, False, True, True]
            assert not any(map(is_closed, others))
        finally:
            for one in (*ours, *others, *taken):
                one.close()


def test_no_file_loses_its_locks_when_sockets_are_looked_at(tmp_path: Path) -> None:
    """A process that closes any number of a file loses its locks on it: SQLite would take the file for nobody's."""
    asks = "import fcntl, sys; fcntl.lockf(open(sys.argv[1], 'r+'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    with (tmp_path / "locked").open("w+") as file, socket.create_server(("127.0.0.1", 0)) as listening:
        fcntl.lockf(file, fcntl.LOCK_EX)
        port = listening.getsockname()[1]
        assert give_up_unread(port, 30)
        asyncio.run(_look(port))
        asked = subprocess.run([sys.executable, "-c", asks, file.name], capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert "BlockingIOError" in asked.stderr


async def _look(port: int) -> None:
    await ConnectionWatch(port, 1, 30).look()


def test_an_ipv6_network_counts_as_one_client() -> None:
    assert client_network("2001:db8:1:2::3") == client_network("2001:db8:1:2:ffff::9") != client_network("2001:db8:1:3::3")
    assert client_network("fe80::1%eth0") == "fe80::/64"


def test_what_the_system_does_not_allow_is_told(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    limits = [1024, 4096]

    def allow(_: int, new: tuple[int, int]) -> None:
        if new[1] > limits[1]:
            raise ValueError("not allowed to raise maximum limit")
        limits[:] = new

    monkeypatch.setattr(resource, "getrlimit", lambda _: tuple(limits))
    monkeypatch.setattr(resource, "setrlimit", allow)
    assert connections_allowed(2000) == 2000
    assert limits == [2200, 4096]
    with caplog.at_level(logging.WARNING):
        assert connections_allowed(20_000) == 3896
    assert limits == [4096, 4096]
    assert "server.max_connections = 20000 needs 20200 open files, and this process may have 4096" in caplog.text
    assert "LimitNOFILE" in caplog.text
