"""What the service refuses to start with."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from tests.service.running import Service, run
from tests.support.ports import free_port


def refusal(directory: Path, *flags: str, config: str | None = None, **variables: str) -> str:
    """The sentence with which a service does not start."""
    if config is not None:
        (directory / "keepscore.toml").write_text(config, encoding="utf-8")
    flags = flags if "--port" in flags or config or variables else ("--port", str(free_port()), *flags)
    done = run("serve", *flags, cwd=directory, timeout=30, **variables)
    assert done.returncode not in (0, 1), done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert not (directory / "data").exists(), "nothing is made before the settings are right"
    return done.stderr


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ("[server]\nprot = 8080\n", ["prot", "port", "host"]),
        ("[sever]\nport = 8080\n", ["sever", "[server]"]),
        ("port = 8080\n", ["port", "[server]"]),
        ('[server]\nport = "8080"\n', ["server.port", "8080", "1 to 65535"]),
        ("[server]\nport = 0\n", ["server.port", "0", "1 to 65535"]),
        ("[server]\nport = 65536\n", ["server.port", "65536"]),
        ("[server]\nport = true\n", ["server.port", "True"]),
        ("[server]\nhost = 5\n", ["server.host", "5"]),
        ('[server]\nhost = ""\n', ["server.host"]),
        ("[server]\nworkers = 0\n", ["server.workers", "0"]),
        ("[server]\nworkers = 4\n", ["server.workers", "4", "1"]),
        ('[server]\ninsecure = "yes"\n', ["server.insecure", "yes", "true or false"]),
        ("[server]\ndefault_board = 1\n", ["server.default_board", "1"]),
        ('[engine]\nurl = "memcached://"\n', ["engine", "memcached://", "embedded://"]),
        ("[engine]\nurl = 1\n", ["engine.url", "1"]),
        ('[ledger]\nurl = "mysql://here"\n', ["ledger", "mysql://here", "sqlite:///"]),
        ('[ledger]\nurl = "scores.db"\n', ["ledger", "scores.db", "sqlite:///"]),
        ('[ledger]\nurl = "sqlite://"\n', ["ledger", "sqlite://"]),
        ("[server\nport = 1\n", ["keepscore.toml", "line 1"]),
        ("[server]\nport = 8080\nport = 8081\n", ["keepscore.toml", "line 3"]),
        ('[[board]]\noperator = "sum"\n', ["board", "name"]),
        ('[[board]]\nname = "x"\noperator = "total"\n', ["operator", "total", "best, sum, last, first"]),
        ('[[board]]\nname = "x"\ncolour = "red"\n', ["colour", "operator"]),
        ('[[board]]\nname = "x"\ndecimals = "2"\n', ["decimals", "2"]),
        ('[[board]]\nname = "x"\nwindows = ["hourly"]\n', ["windows", "hourly", "daily"]),
        ('[[board]]\nname = "x"\n[board.windows.daily]\ntll = "7d"\n', ["tll", "ttl"]),
        ('[[board]]\nname = "x"\nalso = ["y"]\n', ["also", "y"]),
        ('[[board]]\nname = "x"\n[[board]]\nname = "x"\n', ["x", "twice"]),
        ('[board]\nname = "x"\n', ["board", "[[board]]"]),
        ("board = 5\n", ["board", "[[board]]"]),
        ("[[server]]\nport = 1\n", ["server"]),
    ],
    ids=lambda value: value.replace("\n", " ")[:50] if isinstance(value, str) else "",
)
def test_a_wrong_configuration(tmp_path: Path, config: str, words: list[str]) -> None:
    said = refusal(tmp_path, config=config if "[ledger]" in config else f'{config}\n[ledger]\nurl = "sqlite:///:memory:"\n')
    for word in words:
        assert word in said, said


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("KEEPSCORE_SERVER_PROT", "1", ["KEEPSCORE_SERVER_PROT", "KEEPSCORE_SERVER_PORT"]),
        ("KEEPSCORE_PORT", "1", ["KEEPSCORE_PORT", "KEEPSCORE_SERVER_PORT"]),
        ("KEEPSCORE_SERVER_PORT", "abc", ["KEEPSCORE_SERVER_PORT", "abc", "65535"]),
        ("KEEPSCORE_SERVER_PORT", "", ["KEEPSCORE_SERVER_PORT"]),
        ("KEEPSCORE_SERVER_PORT", "-1", ["KEEPSCORE_SERVER_PORT", "-1"]),
        ("KEEPSCORE_SERVER_INSECURE", "maybe", ["KEEPSCORE_SERVER_INSECURE", "maybe"]),
        ("KEEPSCORE_SERVER_WORKERS", "4", ["workers", "4"]),
        ("KEEPSCORE_ENGINE_URL", "nothing://", ["nothing://", "embedded://"]),
        ("KEEPSCORE_CONFIG", "missing.toml", ["missing.toml"]),
        ("KEEPSCORE_SERVER_HOST", "0.0.0.0", ["0.0.0.0", "--insecure"]),
    ],
)
def test_a_wrong_variable(tmp_path: Path, variable: str, value: str, words: list[str]) -> None:
    said = refusal(tmp_path, **{variable: value})
    for word in words:
        assert word in said, said


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--host", "0.0.0.0"], ["0.0.0.0", "--insecure", "API keys"]),
        (["--host", "::"], ["::", "--insecure"]),
        (["--host", "192.0.2.1"], ["192.0.2.1", "--insecure"]),
        (["--host", "192.0.2.1", "--insecure"], ["192.0.2.1", "listen"]),
        (["--port", "0"], ["port", "0"]),
        (["--port", "70000"], ["port", "70000"]),
        (["--workers", "4"], ["workers", "4"]),
        (["--engine", "nothing"], ["engine", "nothing"]),
        (["--ledger", "nothing"], ["ledger", "nothing"]),
        (["--config", "missing.toml"], ["missing.toml"]),
        (["--config", "."], ["."]),
    ],
    ids=" ".join,
)
def test_wrong_flags(tmp_path: Path, flags: list[str], words: list[str]) -> None:
    said = refusal(tmp_path, *flags)
    for word in words:
        assert word in said, said


def test_a_port_that_is_in_use(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert port in refusal(tmp_path, "--port", port)


@pytest.mark.parametrize("content", [b"this is no database" * 100, b"\x00" * 4096])
def test_a_ledger_that_is_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "notes.txt").write_bytes(content)
    said = refusal(tmp_path, "--ledger", "sqlite:///notes.txt")
    assert "notes.txt" in said
    assert (tmp_path / "notes.txt").read_bytes() == content


def test_a_ledger_that_is_a_directory(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    assert "here" in refusal(tmp_path, "--ledger", "sqlite:///here")


def test_it_listens_where_it_is_told(tmp_path: Path) -> None:
    running = Service(tmp_path, "", "--host", "0.0.0.0", "--insecure")
    running.stop()
    log = running.log.read_text()
    assert "--insecure" in log
    assert "anyone" in log


def test_it_starts_with_nothing_but_defaults_and_ends_cleanly(tmp_path: Path) -> None:
    running = Service(tmp_path, '[[board]]\nname = "one"\n')
    assert running.url in running.log.read_text()
    running.submit("one", "alice", 1)
    running.stop()
    assert running.process.returncode == 0
    assert "Traceback" not in running.log.read_text()
    assert os.path.exists(running.ledger)
