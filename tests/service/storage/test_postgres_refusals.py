"""What a service on PostgreSQL refuses at the start: in a sentence that names the way out, with no secret in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.service.running import run
from tests.support.ports import free_port
from tests.support.postgres_servers import shared_postgres

#: No part of these may be told.
SECRETS = ("hunter2", ":secret")
EXAMPLE = "postgresql://user:password@127.0.0.1:5432/keepscore"


def refusal(directory: Path, url: str, *command: str) -> str:
    """The sentence with which a command on that ledger ends."""
    words = command or ("serve", "--port", str(free_port()))
    done = run(*words, "--ledger", url, cwd=directory, timeout=30)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.startswith("Error: ")
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    for secret in SECRETS:
        assert secret not in done.stdout + done.stderr
    return done.stderr


def has(said: str, *words: str) -> None:
    for word in words:
        assert word in said, said


def split(url: str) -> tuple[str, str]:
    """The server's part of an address, and the database."""
    server, _, database = url.rpartition("/")
    return server, database


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgres:hunter2@127.0.0.1/db", ["names no host", EXAMPLE]),
        ("postgresql:/user:hunter2@127.0.0.1/db", ["names no host", EXAMPLE]),
        ("postgresql://user:hunter2@/db", ["names no host", EXAMPLE]),
        ("postgresql://user:hunter2@127.0.0.1", ["names no database", EXAMPLE]),
        ("postgresql://user:hunter2@127.0.0.1/", ["names no database", EXAMPLE]),
        ("postgresql://user:hunter2@127.0.0.1/a/b", ["names no database", EXAMPLE]),
        ("postgresql://user:hunter2@127.0.0.1:abc/db", ["port", EXAMPLE]),
        ("postgresql://user:hunter2@127.0.0.1:0/db", ["port", "1 to 65535"]),
        ("postgresql://user:hunter2@127.0.0.1:70000/db", ["port"]),
        ("postgresql://user:hunter2@one,two/db", ["one host"]),
        ("postgresql://user:hunter2@127.0.0.1/db?timeout=5", ["timeout", "unknown parameter", "sslmode", "deadline"]),
        ("postgresql://127.0.0.1/db?user=user&password=hunter2", ["unknown parameter"]),
        ("postgresql://user:hunter2@127.0.0.1/db?sslmode=maybe", ["sslmode", "maybe", "verify-full"]),
        ("postgresql://user:hunter2@127.0.0.1/db?deadline=soon", ["deadline", "soon", "0.05 to 60"]),
        ("postgresql://user:hunter2/x@127.0.0.1/db", ["%2F"]),
        ("postgresql://user:hunter2#x@127.0.0.1/db", ["%2F"]),
        ("postgresql://user:hunter2?x@127.0.0.1/db", ["%2F"]),
        ("postgresql://user:hunter2@x@127.0.0.1/db", ["%2F"]),
        ("postgresql://user:hunter2[@127.0.0.1/db", ["%2F"]),
        ("postgresq://user:hunter2@127.0.0.1/db", ["postgresq", EXAMPLE, "sqlite:///"]),
        ("mysql://user:hunter2@127.0.0.1/db", ["mysql", EXAMPLE]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_address_with_a_mistake(tmp_path: Path, url: str, words: list[str]) -> None:
    has(refusal(tmp_path, url), "ledger url", *words)


def test_wrong_credentials(tmp_path: Path) -> None:
    server = f"127.0.0.1:{shared_postgres().port}/postgres"
    for user in ("postgres:hunter2", "somebody:hunter2", "postgres"):
        has(refusal(tmp_path, f"postgresql://{user}@{server}"), server, "user or the password", "postgresql://user:password@host/database")


def test_no_such_database(tmp_path: Path) -> None:
    has(refusal(tmp_path, shared_postgres().url_of("nowhere")), "nowhere", "no such database", "createdb")


def test_nobody_listens_or_there_is_no_such_host(tmp_path: Path) -> None:
    port = free_port()
    has(refusal(tmp_path, f"postgresql://user:hunter2@127.0.0.1:{port}/db"), f"127.0.0.1:{port}", "refuses connections", "start PostgreSQL")
    has(refusal(tmp_path, f"postgresql://user:hunter2@localhost:{port}/db", "migrate"), f"localhost:{port}", "refuses connections")
    has(refusal(tmp_path, "postgresql://user:hunter2@no-such-host.invalid/db", "migrate"), "no-such-host.invalid", "cannot be found")
    has(refusal(tmp_path, f"postgresql://user:hunter2@/db?host={tmp_path}", "migrate"), str(tmp_path), "refuses connections")


def test_encryption_that_the_server_does_not_have(tmp_path: Path) -> None:
    has(refusal(tmp_path, f"{shared_postgres().url}?sslmode=require"), "SSL", "sslmode")


@contextmanager
def changed(url: str, change: str, back: str) -> Iterator[None]:
    """A database whose settings are others for a while."""
    _, name = split(url)
    shared_postgres().sql(f"ALTER DATABASE {name} {change}")
    try:
        yield
    finally:
        shared_postgres().sql(f"ALTER DATABASE {name} {back}")


def test_a_server_that_is_read_only(tmp_path: Path) -> None:
    url = shared_postgres().new_database()
    with changed(url, "SET default_transaction_read_only = on", "RESET default_transaction_read_only"):
        for command in ((), ("migrate",)):
            has(refusal(tmp_path, url, *command), "read-only", "name the primary")
    assert run("migrate", "--ledger", url, cwd=tmp_path).returncode == 0


def test_too_many_connections(tmp_path: Path) -> None:
    server = shared_postgres()
    server.sql(f"CREATE ROLE few LOGIN PASSWORD '{server.password}' CONNECTION LIMIT 0")
    has(refusal(tmp_path, server.url_of("postgres", "few")), "no more connections", "fewer workers")


def test_tables_of_another_program_and_of_a_newer_keepscore(tmp_path: Path) -> None:
    server, url = shared_postgres(), shared_postgres().new_database()
    server.sql("CREATE TABLE events (name text)", url)
    has(refusal(tmp_path, url), "another program", "events", "database of its own")
    server.sql("DROP TABLE events", url)
    done = run("migrate", "--ledger", url, cwd=tmp_path)
    assert (done.returncode, "from schema version 0 to" in done.stdout) == (0, True), done.stderr
    done = run("migrate", "--ledger", url, cwd=tmp_path)
    assert (done.returncode, "up to date" in done.stdout) == (0, True), done.stderr
    server.sql("INSERT INTO migrations (version) VALUES (999)", url)
    for command in ((), ("migrate",)):
        has(refusal(tmp_path, url, *command), "schema version 999", "use a newer Keepscore")


def test_migrate_on_a_file(tmp_path: Path) -> None:
    for words in (["from schema version 0 to"], ["up to date"]):
        done = run("migrate", "--ledger", "sqlite:///scores.db", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        has(done.stdout, *words)
