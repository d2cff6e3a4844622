"""One service for all tests of the API; each test has boards or players of its own."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from tests.service.running import Service

#: Boards of every kind. `global` is the one behind /api/v1/leaderboard.
BOARDS = """
[[board]]
name = "global"
operator = "last"
windows = ["all_time", "daily", "weekly", "monthly"]
segments = ["region", "country"]

[[board]]
name = "best"
windows = ["daily", "weekly", "monthly", "yearly", "all_time"]
segments = ["region"]
min_score = -1000000
max_score = 1000000

[[board]]
name = "laps"
order = "asc"
decimals = 2
min_score = 0

[[board]]
name = "xp"
operator = "sum"

[[board]]
name = "prize"
consistency = "strong"
"""


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A running service that all tests share: only boards that a test made are its own."""
    running = Service(tmp_path_factory.mktemp("service"), BOARDS)
    yield running
    running.stop()


@pytest.fixture(scope="session")
def client(service: Service) -> httpx.Client:
    """A client of the shared service."""
    return service.client


_numbers = itertools.count(1)


@pytest.fixture
def board(service: Service) -> Callable[..., str]:
    """Makes boards that nobody else uses; gives their names."""

    def define(**fields: Any) -> str:
        return service.define(f"board-{next(_numbers)}", **fields)

    return define
