"""The keeper in real processes: status, one among many, taken over when its holder dies, and windows that end under load."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import threading
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.service.redis_places import on, open_redis, until
from tests.service.running import KEEPSCORE, PATIENCE, Service, environment, refused, run, taken
from tests.support.postgres_servers import shared_postgres

BOARD = """
[[board]]
name = "game"
operator = "sum"
windows = ["daily"]
"""


def jobs_of(service: Service) -> dict[str, dict[str, Any]]:
    return {job["name"]: job for job in taken(service.client.get("/v1/keeper"))["jobs"]}


def test_status_and_run_once(tmp_path: Path) -> None:
    service = Service(tmp_path, BOARD)
    try:
        late = {"player_id": "p", "amount": 3, "at": "2026-01-01T00:00:00Z"}
        taken(service.client.post("/v1/boards/game/scores/batch?backfill=true", json={"scores": [late]}))
        until(lambda: jobs_of(service)["close"]["last_run"] is not None)
        assert taken(service.client.get("/v1/keeper"))["leader"] is True
        assert set(jobs_of(service)) == {
            "expire",
            "close",
            "retire",
            "snapshot",
            "baselines",
            "inactivity",
            "prune",
            "checkpoint",
            "compare",
            "forget keys",
            "prepare",
            "drop events",
            "finish voids",
            "finish reviews",
            "finish erasures",
            "note addresses",
            "note scores",
            "restore players",
            "follow profiles",
            "decide prizes",
            "decide leagues",
            "deliver webhooks",
            "verify",
        }
        shown = run("keeper", "status", "--url", service.url, cwd=tmp_path)
        assert re.search(r"^close +1 s +2", shown.stdout, re.MULTILINE), shown.stdout
        early = run("keeper", "run-once", "--now", "2026-01-01T00:00:00Z", "--url", service.url, cwd=tmp_path)
        assert (early.returncode, "closed" in early.stdout) == (0, False)
        now = run("keeper", "run-once", "--url", service.url, cwd=tmp_path)
        assert "closed 1 window: game 2026-01-01" in now.stdout
        refused(service.client.post("/v1/keeper/run", json={"now": "2126-01-01T00:00:00Z"}), 422, "future")
        path = "/v1/boards/game/windows/daily/{}/revise"
        today = f"{datetime.now(UTC):%Y-%m-%d}"
        refused(service.client.post(path.format(today), json={"reason": "x"}), 409, today)
        refused(service.client.post(path.format("2026-01-01"), json={"reason": " "}), 422, "reason")
        refused(service.client.post(path.format("tomorrow"), json={"reason": "x"}), 404, "tomorrow")
        arguments = ["--window", "daily", "--window-id", "2026-01-01", "--reason", "a look", "--url", service.url]
        assert "revision 2, 1 player," in run("revise", "game", *arguments, cwd=tmp_path).stdout
    finally:
        service.stop()
    # On the ledger itself, what became of the jobs is known, too.
    kept = json.loads(run("keeper", "status", "--json", "--config", str(service.config), cwd=tmp_path).stdout)
    assert {job["name"]: job["result"] for job in kept["jobs"]}["close"] == "closed 1 window: game 2026-01-01"
    with closing(sqlite3.connect(service.ledger)) as database:
        found = database.execute("SELECT number, rank, player, score FROM archived_standings ORDER BY number").fetchall()
    assert found == [(1, 1, "p", 3), (2, 1, "p", 3)]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_another_process_takes_over_within_ten_seconds(tmp_path: Path, kind: str) -> None:
    address = open_redis().url.removesuffix("/0") + ("/11" if kind == "sqlite" else "/12")
    ledger = f"sqlite:///{tmp_path}/shared.db" if kind == "sqlite" else shared_postgres().new_database()
    folders = [tmp_path / str(n) for n in range(2)]
    for folder in folders:
        folder.mkdir()
    services = [Service(folder, on(address, BOARD), ledger=ledger) for folder in folders]
    try:

        def leaders() -> list[Service]:
            return [one for one in services if one.process.poll() is None and taken(one.client.get("/v1/keeper"))["leader"]]

        until(lambda: len(leaders()) == 1)
        (leader,) = leaders()
        os.kill(leader.process.pid, signal.SIGKILL)
        leader.process.wait()
        until(lambda: len(leaders()) == 1, 10)
    finally:
        for service in services:
            service.stop()


class Player(threading.Thread):
    """Adds one point after the other until it is told to stop, and counts those that are acknowledged, by window."""

    def __init__(self, service: Service, name: str) -> None:
        super().__init__()
        self.service, self.player = service, name
        self.stopping = threading.Event()
        self.counted: dict[str, int] = {"season": 0, "all_time": 0}
        self.trouble: list[str] = []

    def run(self) -> None:
        with httpx.Client(base_url=self.service.url, timeout=20, trust_env=False, verify=False) as client:
            while not self.stopping.is_set():
                answer = client.post("/v1/boards/game/increments", json={"player_id": self.player, "amount": 1})
                if answer.status_code != 200:
                    self.trouble.append(answer.text)
                    return
                for window in answer.json()["windows"]:
                    self.counted[window] += 1


@pytest.mark.parametrize("kind", ["one process", "two processes"])
def test_a_window_ends_while_submissions_pour_in(tmp_path: Path, kind: str) -> None:
    """Each submission is counted in the window, or came after it: what is archived is what was acknowledged as counted there."""
    ledger = f"sqlite:///{tmp_path}/shared.db"
    config = "" if kind == "one process" else on(open_redis().url.removesuffix("/0") + "/13")
    folders = [tmp_path / str(n) for n in range(1 if kind == "one process" else 2)]
    for folder in folders:
        folder.mkdir()
    services = [Service(folder, config, ledger=ledger) for folder in folders]
    players = [Player(services[n % len(services)], f"p{n}") for n in range(6)]
    try:
        end = datetime.fromtimestamp(int(time.time()) + 6, UTC)
        season = {"start": "2026-01-01", "end": end.isoformat()}
        services[0].define("game", operator="sum", grace="0s", windows={"all_time": {}, "season": season})
        for service in services:
            until(lambda: service.client.get("/v1/boards/game").status_code == 200)  # noqa: B023 - called at once
        for player in players:
            player.start()
        time.sleep(max(0.0, end.timestamp() - time.time()) + 1)
        for player in players:
            player.stopping.set()
        for player in players:
            player.join()
        until(lambda: any("closed 1 window" in (jobs_of(one)["close"]["result"] or "") for one in services), 30)
    finally:
        for player in players:
            player.stopping.set()
        for service in services:
            service.stop()
    assert [player.trouble for player in players] == [[]] * 6
    with closing(sqlite3.connect(tmp_path / "shared.db")) as database:
        archived = dict(database.execute("SELECT player, score FROM archived_standings WHERE \"window\" = 'season'").fetchall())
        recorded = dict(database.execute("SELECT player, sum(amount) FROM events GROUP BY player").fetchall())
    assert archived == {player.player: player.counted["season"] for player in players}
    assert recorded == {player.player: player.counted["all_time"] for player in players}
    assert all(player.counted["all_time"] > player.counted["season"] > 0 for player in players)


def test_a_keeper_without_a_service(tmp_path: Path) -> None:
    """It works on what the configuration names, beside nobody: the process ends as a user ends it."""
    (tmp_path / "keepscore.toml").write_text(f'[ledger]\nurl = "sqlite:///{tmp_path}/scores.db"\n{BOARD}')
    with (tmp_path / "keeper.log").open("wb") as log:
        process = subprocess.Popen([KEEPSCORE, "keeper"], cwd=tmp_path, env=environment(), stdout=log, stderr=log)
    try:
        until(lambda: "The keeper is running" in (tmp_path / "keeper.log").read_text(), PATIENCE)
        process.terminate()
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.wait()
    kept = json.loads(run("keeper", "status", "--json", cwd=tmp_path).stdout)
    assert all(job["last_run"] for job in kept["jobs"] if job["name"] == "close")
