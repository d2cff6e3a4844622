"""An older ledger comes back under a running service: found, told and healed; nothing that comes after it is lost or counts twice."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import subprocess
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.rig import RECOVERY, until
from tests.service.running import Service, run
from tests.support.postgres_servers import PostgresServer
from tests.support.redis_load import call
from tests.support.redis_servers import RedisServer, single

BOARDS = """
[[board]]
name = "coins"
operator = "sum"

[[board]]
name = "prize"
operator = "sum"
consistency = "strong"
"""
#: What is sent to each board: before the backup, after it, while there is no ledger, right after it is back, and when all is well.
BEFORE, LOST, AWAY, SOON, AFTER = 20, 30, 10, 30, 20


class Place(ABC):
    """Where a ledger is, and how an older one comes there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url: str | None = None

    @abstractmethod
    def back_up(self) -> None:
        """Copy the ledger."""

    @abstractmethod
    def put_back(self, meanwhile: Callable[[], None]) -> None:
        """Put the copy in its place; `meanwhile` there is none."""

    @abstractmethod
    def games(self) -> list[str]:
        """The game of every event."""


class SqlitePlace(Place):
    @property
    def _path(self) -> Path:
        return self.folder / "scores.db"

    def back_up(self) -> None:
        with contextlib.closing(sqlite3.connect(self._path)) as source, contextlib.closing(sqlite3.connect(self.folder / "copy")) as copy:
            source.backup(copy)

    def put_back(self, meanwhile: Callable[[], None]) -> None:
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self._path}{suffix}").unlink(missing_ok=True)
        meanwhile()
        shutil.copy(self.folder / "copy", self.folder / "restored")
        (self.folder / "restored").rename(self._path)

    def games(self) -> list[str]:
        with contextlib.closing(sqlite3.connect(f"file:{self._path}?mode=ro", uri=True)) as database:
            return [game for (game,) in database.execute("SELECT game_id FROM events")]


class PostgresPlace(Place):
    def __init__(self, folder: Path, server: PostgresServer) -> None:
        super().__init__(folder)
        self._server = server
        self._database = server.new_database()
        self.url = f"{self._database}?deadline=1"

    def back_up(self) -> None:
        self._server.stop()
        subprocess.run(["cp", "-a", self._server.data, f"{self._server.data}.copy"], check=True)
        self._server.start()

    def put_back(self, meanwhile: Callable[[], None]) -> None:
        self._server.stop()
        meanwhile()
        shutil.rmtree(self._server.data)
        subprocess.run(["cp", "-a", f"{self._server.data}.copy", self._server.data], check=True)
        self._server.start()

    def games(self) -> list[str]:
        return self._server.sql("SELECT game_id FROM events", self._database).splitlines()


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    with single() as running:
        yield running


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "sqlite":
        yield SqlitePlace(tmp_path)
    else:
        with PostgresServer() as server:
            yield PostgresPlace(tmp_path, server)


class Sender:
    """Sends increments one by one, and remembers which games were acknowledged."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.acknowledged: list[str] = []

    def send(self, count: int, name: str) -> None:
        """Send some to both boards."""
        for n in range(count):
            for board in ("coins", "prize"):
                body = {"player_id": f"p{n % 3}", "amount": 1, "game_id": f"{name}-{board}-{n}"}
                if call(self.service.url, "POST", f"/v1/boards/{board}/increments", body).status in (200, 202):
                    self.acknowledged.append(body["game_id"])

    def shown(self, board: str) -> int:
        """What a board shows in all; -1 while it shows nothing."""
        answer = call(self.service.url, "GET", f"/v1/boards/{board}/top?limit=100")
        return sum(standing["score"] for standing in answer.body["standings"]) if answer.status == 200 else -1


def is_ready(service: Service) -> bool:
    answer = call(service.url, "GET", "/readyz")
    return answer.status == 200 and answer.body["status"] == "ready"


@pytest.mark.parametrize("engine", ["embedded", "redis"])
def test_an_older_ledger_comes_back(place: Place, engine: str, redis: RedisServer, tmp_path: Path) -> None:
    url = "embedded://" if engine == "embedded" else f"{redis.url}?deadline=1"
    service = Service(tmp_path, f'[engine]\nurl = "{url}"\n{BOARDS}', ledger=place.url)
    try:
        sender = Sender(service)
        sender.send(BEFORE, "before")
        place.back_up()
        until(lambda: is_ready(service), RECOVERY)
        sender.send(LOST, "lost")
        assert len(sender.acknowledged) == 2 * (BEFORE + LOST)
        place.put_back(lambda: sender.send(AWAY, "away"))
        sender.send(SOON, "soon")
        until(lambda: is_ready(service), RECOVERY)
        sender.send(AFTER, "after")
        kept = [game for game in sender.acknowledged if not game.startswith("lost")]
        assert sum(game.startswith("after") for game in kept) == 2 * AFTER
        boards = Counter(game.split("-")[1] for game in kept)
        for board, total in boards.items():
            until(lambda board=board, total=total: sender.shown(board) == total, RECOVERY)
        until(lambda: Counter(place.games()) == Counter(kept), RECOVERY)
        done = run("verify", "--url", service.url, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        log = service.log.read_text()
        assert f"{LOST} events of board 'coins' that were counted are lost" in log, log[-3000:]
        assert "Traceback" not in log
        assert call(service.url, "GET", "/v1/keeper").body["older_ledger_events"] == 2 * LOST
    finally:
        service.stop()
