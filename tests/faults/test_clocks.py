"""Services on hosts whose clocks differ or are put back: what a client saw happen in order counts in that order."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.service.redis_places import on
from tests.service.running import Service, taken
from tests.support.postgres_servers import shared_postgres
from tests.support.redis_servers import single

HOUR_MS = 3_600_000
PLAYERS = [f"p{n}" for n in range(15)]
BOARDS = """
[[board]]
name = "last"
operator = "last"
consistency = "strong"
resolution = "{resolution}"

[[board]]
name = "first"
operator = "first"
resolution = "{resolution}"
"""
#: A service whose clock is as far off as a file says.
SHIFTED = """
import sys, time
exact, path = time.time_ns, sys.argv.pop(1)
time.time_ns = lambda: exact() + int(open(path).read()) * 1_000_000
from keepscore.cli import main
main()
"""


class Host(Service):
    """A service on a host of its own, with its own clock."""

    def __init__(self, directory: Path, config: str, off_ms: int, ledger: str | None = None) -> None:
        self._clock = directory / "off_ms"
        self.set_clock(off_ms)
        self.program = (sys.executable, "-c", SHIFTED, str(self._clock))
        super().__init__(directory, config, ledger=ledger)

    def set_clock(self, off_ms: int) -> None:
        """Put the clock forward or back."""
        new = self._clock.with_suffix(".new")
        new.write_text(str(off_ms))
        new.rename(self._clock)


@contextmanager
def host(directory: Path, config: str, off_ms: int, ledger: str | None = None) -> Iterator[Host]:
    directory.mkdir()
    service = Host(directory, config, off_ms, ledger)
    try:
        yield service
    finally:
        service.stop()


def scores(service: Service, board: str) -> dict[str, int]:
    return {standing["player_id"]: standing["score"] for standing in service.get(board, "top", limit=100)["standings"]}


def check(service: Service, board: str, score: int) -> None:
    """Every player has that score, and the ledger says the same."""
    assert scores(service, board) == dict.fromkeys(PLAYERS, score)
    assert taken(service.client.post(f"/v1/boards/{board}/verify"))["differences"] == []


@pytest.mark.parametrize(("resolution", "off_ms"), [("1s", 0), ("1ms", 50), ("1ms", -HOUR_MS)])
def test_two_hosts(tmp_path: Path, resolution: str, off_ms: int) -> None:
    ledger = shared_postgres().new_database()
    with ExitStack() as running:
        config = on(running.enter_context(single()).url, BOARDS.format(resolution=resolution))
        one = running.enter_context(host(tmp_path / "one", config, off_ms, ledger))
        other = running.enter_context(host(tmp_path / "other", config, 0, ledger))
        for player in PLAYERS:
            assert one.submit("last", player, 100)["score"] == 100
            assert other.increment("last", player, 5)["score"] == 105
            assert one.submit("last", player, 50)["score"] == 50
            assert other.increment("last", player, 7)["score"] == 57
            assert one.submit("first", player, 1)["score"] == 1
            assert other.submit("first", player, 2)["score"] == 1
        check(one, "last", 57)
        check(other, "first", 1)


def test_a_clock_that_is_put_back(tmp_path: Path) -> None:
    with host(tmp_path / "one", BOARDS.format(resolution="1s"), 0) as one:
        for number, off_ms in enumerate((0, -HOUR_MS, -HOUR_MS, 0)):
            one.set_clock(off_ms)
            if number == 2:
                one.stop()
                one.start()
            for player in PLAYERS:
                assert one.submit("last", player, number)["score"] == number
                assert one.submit("first", player, number)["score"] == 0
            check(one, "last", number)
            check(one, "first", 0)
