"""A program of one's own needs neither server, command line nor drivers; whoever needs one is told what to install."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
#: Everything that only extras bring.
EXTRAS = [
    "asyncpg",
    "cryptography",
    "granian",
    "hiredis",
    "httpx",
    "limits",
    "openskill",
    "prometheus_client",
    "pyarrow",
    "redis",
    "rich",
    "typer",
    "uvloop",
]

LIBRARY = """
from keepscore.sync import Board, Leaderboards
with Leaderboards.open(ledger="sqlite:///:memory:", engine="embedded://", boards=[Board("b")]) as boards:
    print(boards.submit("b", "ada", 5).rank)
"""
ASYNC = """
import asyncio
from keepscore import Board, Leaderboards
async def main():
    async with Leaderboards.open(ledger="sqlite:///:memory:", engine="embedded://", boards=[Board("b")]) as boards:
        print((await boards.submit("b", "ada", 5)).rank)
asyncio.run(main())
"""


def run_without(modules: list[str], program: str) -> "subprocess.CompletedProcess[str]":
    """Run a program where some modules are not installed."""
    missing = f"import sys\nsys.modules.update(dict.fromkeys({modules}))\n"
    return subprocess.run([sys.executable, "-W", "error", "-c", missing + program], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("program", [LIBRARY, ASYNC], ids=["blocking", "async"])
def test_a_program_needs_no_extras(program: str) -> None:
    done = run_without(EXTRAS, program)
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr


@pytest.mark.parametrize(
    ("urls", "words"),
    [
        ('engine="redis://:secret@127.0.0.1/0"', "needs the package redis: install it with pip install 'keepscore[redis]'"),
        ('ledger="postgresql://a:secret@127.0.0.1/x"', "needs the package asyncpg: install it with pip install 'keepscore[postgres]'"),
    ],
)
def test_what_is_missing_is_named(urls: str, words: str) -> None:
    done = run_without(EXTRAS, f"from keepscore.sync import Leaderboards\nLeaderboards.open({urls})")
    assert done.returncode == 1
    assert words in done.stderr
    assert "secret" not in done.stderr.splitlines()[-1]


def test_a_board_says_what_it_needs() -> None:
    done = run_without(["openskill"], LIBRARY.replace('Board("b")', 'Board("b", rating={"system": "openskill"})'))
    assert done.returncode == 1
    assert "needs the package openskill: install it with pip install 'keepscore[openskill]'" in done.stderr


def test_the_command_says_what_it_needs() -> None:
    done = run_without(["typer"], "from keepscore.command import main\nmain()")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "Error: the command needs the package typer: install it with pip install 'keepscore[service]'\n"


def test_windows_is_refused_with_a_sentence() -> None:
    done = run_without([], "sys.platform = 'win32'\nimport keepscore")
    assert done.returncode == 1
    assert "ImportError: Keepscore runs on Linux and macOS" in done.stderr.splitlines()[-1]
    assert "WSL" in done.stderr


def test_every_package_that_users_install_has_a_least_version() -> None:
    extras = PROJECT["optional-dependencies"]
    needed = [
        *PROJECT["dependencies"],
        *(one for name in ("client", "parquet", "postgres", "prizes", "redis", "service") for one in extras[name]),
    ]
    assert [one for one in needed if ">=" not in one] == []
    assert {*extras["client"]} <= {*extras["service"]}, "commands call services"
    assert extras["all"] == ["keepscore[client,openskill,parquet,postgres,prizes,redis,service]"]
