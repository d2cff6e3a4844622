"""What a service on Redis refuses, at the start and as a board: in a sentence that names the way out."""

from __future__ import annotations

import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.service.redis_places import PASSWORD, locked_redis, on, open_redis, shared_cluster, shared_sentinels
from tests.service.running import KEEPSCORE, Service, environment, refused, run, taken
from tests.support.ports import free_port
from tests.support.redis_servers import replicated, single

#: Passwords of these tests, no part of which may be told.
SECRETS = ("s3cr3t", "hunter2")


def refusal(directory: Path, url: str, boards: str = "") -> str:
    """The sentence with which a service on that engine does not start."""
    (directory / "keepscore.toml").write_text(on(url, boards), encoding="utf-8")
    done = run("serve", "--port", str(free_port()), "--ledger", "sqlite:///scores.db", cwd=directory, timeout=30)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.startswith("Error: ")
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    for secret in SECRETS:
        assert secret not in done.stdout + done.stderr
    return done.stderr


def has(said: str, *words: str) -> None:
    for word in words:
        assert word in said, said


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("redis:/:hunter2@127.0.0.1:6379/0", ["names no host", "redis://127.0.0.1:6379/0"]),
        ("redis:127.0.0.1:6379", ["names no host", "redis://127.0.0.1:6379/0"]),
        ("rediss://", ["names no host", "rediss://"]),
        ("rediss://:hunter2@/0", ["names no host", "rediss://"]),
        ("reddis://:hunter2@127.0.0.1:6379/0", ["reddis", "redis://127.0.0.1:6379/0", "rediss://", "redis+sentinel", "redis+cluster"]),
        ("redis+cluser://:hunter2@127.0.0.1:6379", ["redis+cluser", "redis+cluster"]),
        ("redis://:hunter2@127.0.0.1:abc/0", ["port", "1 to 65535"]),
        ("redis://127.0.0.1:0/0", ["port", "1 to 65535"]),
        ("redis://127.0.0.1:70000/0", ["port", "1 to 65535"]),
        ("redis://:hunter2@127.0.0.1/first", ["first", "number of a database"]),
        ("redis://127.0.0.1/-1", ["-1", "number of a database"]),
        ("redis://127.0.0.1/0/1", ["0/1", "number of a database"]),
        ("redis://:hunter2@127.0.0.1/0?timeout=5", ["timeout", "unknown parameter", "deadline", "replicas"]),
        ("redis://127.0.0.1/0?deadline=soon", ["deadline", "soon", "0.05 to 60"]),
        ("redis://127.0.0.1/0?deadline=0", ["deadline", "0.05 to 60"]),
        ("redis://127.0.0.1/0?replicas=:5", ["replicas", "host:port"]),
        ("rediss://127.0.0.1/0?ssl_check=maybe", ["ssl_check", "maybe", "false"]),
        ("redis+sentinel://:hunter2@127.0.0.1:26379", ["names no service", "redis+sentinel://host1:26379,host2:26379/service"]),
        ("redis+sentinel://127.0.0.1:26379/boards?replicas=127.0.0.1:6380", ["replicas", "true or false"]),
        ("redis://:hunter2@127.0.0.1:6379,127.0.0.1:6380/0", ["several hosts", "redis+sentinel", "redis+cluster"]),
        ("redis+cluster://127.0.0.1:6379/3", ["Cluster", "databases"]),
        ("redis+cluster://127.0.0.1:6379?replicas=true", ["replicas", "Cluster"]),
        ("redis://:hunter2[@127.0.0.1:6379/0", ["engine url"]),
        ("redis://:hunter2/x@127.0.0.1:6379/0", ["engine url"]),
        ("redis://:hunter2#x@127.0.0.1:6379/0", ["engine url"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_address_with_a_mistake(tmp_path: Path, url: str, words: list[str]) -> None:
    has(refusal(tmp_path, url), *words)
    assert not (tmp_path / "scores.db").exists(), "nothing is made before the settings are right"


def test_a_wrong_password(tmp_path: Path) -> None:
    has(refusal(tmp_path, f"redis://:hunter2@127.0.0.1:{locked_redis().port}/0"), "password", "redis://:password@host")
    has(refusal(tmp_path, f"redis://somebody:hunter2@127.0.0.1:{locked_redis().port}/0"), "password")


def test_no_password_where_one_is_needed(tmp_path: Path) -> None:
    has(refusal(tmp_path, f"redis://127.0.0.1:{locked_redis().port}/0"), "password", "redis://:password@host")


def test_a_database_that_does_not_exist(tmp_path: Path) -> None:
    has(refusal(tmp_path, f"redis://127.0.0.1:{open_redis().port}/99"), "no database 99", "name another", "databases")


def test_a_host_where_nobody_listens(tmp_path: Path) -> None:
    port = free_port()
    for scheme, path in (("redis", "/0"), ("redis+sentinel", "/boards"), ("redis+cluster", "")):
        has(refusal(tmp_path, f"{scheme}://:hunter2@127.0.0.1:{port}{path}"), str(port), "running" if scheme == "redis" else "")


def test_a_host_that_does_not_answer(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        has(refusal(tmp_path, f"redis://127.0.0.1:{port}/0?deadline=0.3"), str(port), "cannot be reached", "running")


def test_a_host_that_has_no_address(tmp_path: Path) -> None:
    has(refusal(tmp_path, "redis://no-such-host.invalid:6379/0"), "no-such-host.invalid", "cannot be reached", "address right")


def test_an_address_of_something_else(tmp_path: Path) -> None:
    with listening(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n") as port:
        has(refusal(tmp_path, f"redis://127.0.0.1:{port}/0?deadline=0.5"), str(port), "cannot be reached")


def test_tls_that_does_not_fit(tmp_path: Path) -> None:
    with single(tls=True) as server:
        has(refusal(tmp_path, f"rediss://127.0.0.1:{server.port}/0"), "TLS", "ssl_ca_certs")
        has(refusal(tmp_path, f"rediss://127.0.0.1:{server.port}/0?ssl_ca_certs={tmp_path}/missing.pem"), "missing.pem")
        has(refusal(tmp_path, f"redis://127.0.0.1:{server.port}/0?deadline=0.5"), str(server.port), "cannot be reached")
    has(refusal(tmp_path, f"rediss://127.0.0.1:{open_redis().port}/0?deadline=0.5"), str(open_redis().port), "TLS")


def test_sentinels_that_do_not_know_the_service(tmp_path: Path) -> None:
    found = shared_sentinels()
    has(refusal(tmp_path, found.url.replace("/boards", "/bords")), "bords", "service", "name")
    has(refusal(tmp_path, found.url.replace("s3cr3t", "wrong")), "password")


def test_sentinels_as_if_one_were_a_server(tmp_path: Path) -> None:
    has(refusal(tmp_path, f"redis://127.0.0.1:{shared_sentinels().sentinels[0]}/0"), "Sentinel", "redis+sentinel://")


def test_a_replica_by_itself(tmp_path: Path) -> None:
    with replicated(1) as found:
        has(refusal(tmp_path, found.replicas[0].url, '[[board]]\nname = "one"\n'), "replica", str(found.replicas[0].port))


def test_a_cluster_as_if_it_were_one_server(tmp_path: Path) -> None:
    port = shared_cluster().nodes[0].port
    has(refusal(tmp_path, f"redis://127.0.0.1:{port}/0"), "part of a Cluster", f"redis+cluster://127.0.0.1:{port}")


def test_one_server_as_if_it_were_a_cluster(tmp_path: Path) -> None:
    has(refusal(tmp_path, f"redis+cluster://127.0.0.1:{open_redis().port}"), "not a Cluster", "redis://host:port")


@contextmanager
def listening(answer: bytes | None = None) -> Iterator[int]:
    """Something on a port that gives one answer to everything; without one, it is a Redis of 2018."""

    def reply(connection: socket.socket) -> None:
        info = b"redis_version:5.0.14\r\nredis_mode:standalone\r\n"
        known = {b"INFO": b"$%d\r\n%s\r\n" % (len(info), info), b"EXISTS": b":0\r\n", b"PING": b"+PONG\r\n"}
        with connection, suppress(OSError):
            while request := connection.recv(1 << 16):
                if answer is not None:
                    return connection.sendall(answer)
                lines = request.split(b"\r\n")
                for name in [lines[i + 2] for i, line in enumerate(lines) if line[:1] == b"*"]:
                    connection.sendall(known.get(name.upper(), b"-ERR unknown command `%s`\r\n" % name))
        return None

    def serve() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=reply, args=(listener.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


def test_a_redis_that_is_too_old(tmp_path: Path) -> None:
    with listening() as port:
        has(refusal(tmp_path, f"redis://127.0.0.1:{port}/0?deadline=1"), "5.0.14", "6.2")


def test_a_key_that_holds_something_else(tmp_path: Path) -> None:
    boards = '[[board]]\nname = "used"\n[board.windows.all_time]\nkey = "lb:used"\n'
    open_redis().ask("SET", "lb:used", "mine")
    has(refusal(tmp_path, open_redis().url, boards), "used", "'lb:used'", "string", "rename", "key template")
    # In processes that are not forked from one that has done all of this before.
    for _ in range(3):
        command = [KEEPSCORE, "serve", "--port", str(free_port()), "--ledger", "sqlite:///scores.db"]
        done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=10, check=False)
        assert (done.returncode, "lb:used" in done.stderr) == (2, True), done.stderr
    assert open_redis().ask("GET", "lb:used") == b"mine"


# -- boards ---------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service whose boards the tests make themselves."""
    running = Service(tmp_path_factory.mktemp("templates"), on(open_redis().url))
    yield running
    running.stop()
    assert "Traceback" not in running.log.read_text()


@pytest.mark.parametrize(
    "fields",
    [
        {"segments": ["region"], "windows": {"all_time": {"segment_key": "seg:{{{board}}}"}}},
        {"segments": ["region", "country"], "windows": {"all_time": {"segment_key": "seg:{{{board}}}:{value}"}}},
        {"segments": ["region"], "windows": {"all_time": {"key": "lb:{{{board}}}", "segment_key": "lb:{{{board}}}"}}},
        {"windows": {"daily": {"key": "lb:{{{board}}}"}}},
        {"windows": {"daily": {"key": "lb:{{{board}}}:{start:%Y}"}}},
        {"windows": {"daily": {"key": "lb:{{{board}}}:{start:%d}"}}},
        {"windows": {"weekly": {"key": "lb:{{{board}}}:{start:%m}"}}},
        {"windows": {"monthly": {"key": "lb:{{{board}}}:{start:%m}"}}},
        {"windows": {"all_time": {"key": "lb:{{{board}}}"}, "yearly": {"key": "lb:{{{board}}}"}}},
        {"windows": {"daily": {"key": "lb:{{{board}}}:{start:%Y-%m-%d}"}, "monthly": {"key": "lb:{{{board}}}:{start:%Y-%m-%d}"}}},
        {"windows": {"season": {"cron": "0 0 1 * *", "key": "lb:{{{board}}}"}}},
    ],
    ids=lambda value: str(value["windows"]),
)
def test_templates_that_give_two_rankings_one_key(service: Service, fields: dict[str, Any]) -> None:
    answer = service.client.put("/v1/boards/doubled", json=fields)
    if answer.status_code == 201:
        service.client.delete("/v1/boards/doubled")
    assert refused(answer, 422, "doubled", "key")["type"] == "urn:keepscore:invalid-board"


def test_templates_that_give_two_boards_one_key(service: Service) -> None:
    taken_key = {"windows": {"all_time": {"key": "lb:{{all}}"}}}
    service.define("first", **taken_key)
    for fields in (taken_key, {"windows": {"yearly": {}, **taken_key["windows"]}}):
        problem = refused(service.client.put("/v1/boards/second", json=fields), 422, "second", "first", "{board}")
        assert problem["type"] == "urn:keepscore:invalid-board"
    # Not with itself.
    assert taken(service.client.put("/v1/boards/first?confirm=true", json={**taken_key, "max_score": 5}))["version"] == 2


def test_a_segment_that_would_be_taken_for_the_whole(service: Service) -> None:
    windows = {"all_time": {"key": "lb:{{{board}}}:everybody", "segment_key": "lb:{{{board}}}:{value}"}}
    service.define("slices", segments=["region"], windows=windows)
    body = {"player_id": "alice", "score": 5, "segments": {"region": "everybody"}}
    problem = refused(service.post("slices", "scores", body), 422, "region", "everybody", "lb:{slices}:everybody")
    assert problem["type"] == "urn:keepscore:invalid-segment"
    batch = taken(service.post("slices", "scores/batch", {"scores": [body, {**body, "segments": {"region": "eu"}}]}))
    assert (batch["accepted"], [rejection["index"] for rejection in batch["rejected"]]) == (1, [0])
    assert service.order("slices") == service.order("slices", segment="region:eu") == ["alice"]


@pytest.fixture(scope="module")
def spread(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service on a Cluster."""
    running = Service(tmp_path_factory.mktemp("spread"), on(shared_cluster().url))
    yield running
    running.stop()


@pytest.mark.parametrize(
    "windows",
    [
        {"daily": {"key": "lb:{board}:{start:%Y-%m-%d}"}},
        {"all_time": {}, "daily": {"key": "lb:{{{board}-x}}:{start:%Y-%m-%d}"}},
        {"all_time": {"key": "lb:{{{board}}}", "segment_key": "lb:{segment}:{value}"}},
    ],
    ids=str,
)
def test_a_template_without_a_hash_tag_on_a_cluster(spread: Service, tmp_path: Path, windows: Any) -> None:
    answer = spread.client.put("/v1/boards/spread", json={"segments": ["region"], "windows": windows})
    assert refused(answer, 422, "spread", "Cluster", "hash tag", "{{{board}}}")["type"] == "urn:keepscore:invalid-board"
    tables = "".join(
        f"[board.windows.{name}]\n" + "".join(f'{key} = "{value}"\n' for key, value in window.items()) for name, window in windows.items()
    )
    boards = f'[[board]]\nname = "spread"\nsegments = ["region"]\n{tables}'
    has(refusal(tmp_path, shared_cluster().url, boards), "spread", "Cluster", "hash tag", "{{{board}}}")


def test_a_board_on_a_key_that_holds_something_else(service: Service) -> None:
    """It is refused: what cannot be ranked must not be acknowledged as if it could be, some day."""
    open_redis().ask("SET", "lb:somebody", "mine")
    answer = service.client.put("/v1/boards/somebody", json={"windows": {"all_time": {"key": "lb:somebody"}}})
    refused(answer, (409, 422), "lb:somebody", "string")
    assert open_redis().ask("GET", "lb:somebody") == b"mine"


def test_a_key_that_is_overwritten_by_something_else(service: Service, tmp_path: Path) -> None:
    service.define("mine", windows={"all_time": {"key": "lb:mine"}})
    service.submit("mine", "alice", 1)
    open_redis().ask("SET", "lb:mine", "theirs")
    for command in (["verify", "mine"], ["verify", "mine", "--repair"], ["rebuild", "mine"]):
        done = run(*command, "--url", service.url, cwd=tmp_path)
        assert done.returncode == 2
        has(done.stderr, "mine", "'lb:mine'", "string", "rename")
    open_redis().ask("DEL", "lb:mine")
    assert run("rebuild", "mine", "--url", service.url, cwd=tmp_path).returncode == 0
    assert service.get("mine", "top")["standings"][0]["score"] == 1


def test_a_password_never_reaches_the_log(tmp_path: Path) -> None:
    server = locked_redis()
    service = Service(tmp_path, on(server.url.removesuffix("/0") + "/5?deadline=0.3", '[[board]]\nname = "one"\n'))
    try:
        service.submit("one", "alice", 1)
        server.pause()
        answer = service.client.get("/v1/boards/one/top")
        assert (answer.status_code, answer.json().get("stale")) in ((503, None), (200, True))
        assert "s3cr3t" not in answer.text
    finally:
        server.resume()
        service.stop()
    assert "s3cr3t" not in service.log.read_text()
    assert PASSWORD not in service.log.read_text()
