"""The keys that the five systems have in Redis already become rankings of the examples' boards, by the commands of their page."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.service.running import Service, run
from tests.support.redis_servers import RedisServer, single

EXAMPLES = Path(__file__).parents[2] / "examples"
LINES = (EXAMPLES / "README.md").read_text(encoding="utf-8").splitlines()
COMMANDS = [shlex.split(line) for line in LINES if line.startswith("keepscore import ")]

Sets = dict[str, dict[str, float]]


class Migrated:
    """An example's service, on a Redis that had its sets before."""

    def __init__(self, server: RedisServer, folder: Path, name: str) -> None:
        self.server, self.folder, self.name = server, folder, name
        self.config = EXAMPLES / name / "boards.toml"
        self.places = {"KEEPSCORE_ENGINE_URL": server.url, "KEEPSCORE_LEDGER_URL": f"sqlite:///{folder}/scores.db"}

    def bring(self, sets: Sets) -> None:
        """Fill Redis as the old program did, and run the commands of the page."""
        self.server.ask("FLUSHALL")
        with self.server.client() as client:
            for key, members in sets.items():
                client.zadd(key, members)
        commands = [words for words in COMMANDS if f"examples/{self.name}/boards.toml" in words]
        assert commands
        for words in commands:
            named = [self.server.url if word == "redis://127.0.0.1:6379/0" else word for word in words[1:]]
            done = run(*[str(self.config) if word.endswith("boards.toml") else word for word in named], cwd=self.folder, **self.places)
            assert done.returncode == 0, done.stdout + done.stderr

    def start(self) -> Service:
        flags = "--config", str(self.config), "--engine", self.server.url, "--ledger", self.places["KEEPSCORE_LEDGER_URL"]
        return Service(self.folder, "", *flags)

    def sets(self, *keys: str) -> Sets:
        with self.server.client() as client:
            return {key: {m.decode(): s for m, s in client.zrange(key, 0, -1, withscores=True)} for key in keys}


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with single() as running:
        yield running


@pytest.fixture
def migrated(server: RedisServer, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Callable[[Sets], Service]]:
    """Bring the sets of the example that a test is for; gives its service."""
    # No day ends while a system moves.
    left = 86_400 - time.time() % 86_400
    if left < 30:
        time.sleep(left + 5)
    name = request.node.get_closest_marker("example").args[0]
    here, started = Migrated(server, tmp_path, name), []

    def bring(sets: Sets) -> Service:
        here.bring(sets)
        started.append(here.start())
        return started[0]

    bring.__dict__["here"] = here
    yield bring
    for service in started:
        for board in service.client.get("/v1/boards").json()["boards"]:
            assert service.post(board["name"], "verify", {}).json()["differences"] == [], board["name"]
        service.stop()


def scores(service: Service, board: str, **query: Any) -> dict[str, float]:
    return {standing["player_id"]: standing["score"] for standing in service.get(board, "top", **query)["standings"]}


@pytest.mark.example("projects")
def test_projects(migrated: Any) -> None:
    now = datetime.now(UTC)
    times = {"all_time": "", "weekly": f":{now:%G-w%V}", "monthly": f":{now:%Y-%m}", "yearly": f":{now:%Y}"}
    sets = {
        f"leaderboard:{who}:{window}{time}": {"101": 100.0 * n + len(window), "102": float(n)}
        for n, who in enumerate(("global", "1", "2"), 1)
        for window, time in times.items()
    }
    service = migrated(sets)
    for window, moment in times.items():
        assert scores(service, "points", window=window) == sets[f"leaderboard:global:{window}{moment}"]
        assert scores(service, "points", window=window, segment="project:2") == sets[f"leaderboard:2:{window}{moment}"]
    service.increment("points", "101", 5, segments={"project": "1"})
    assert scores(service, "points", segment="project:1")["101"] == sets["leaderboard:1:all_time"]["101"] + 5
    assert scores(service, "points", segment="project:2")["101"] == sets["leaderboard:2:all_time"]["101"]


@pytest.mark.example("game")
def test_a_game(migrated: Any) -> None:
    now = datetime.now(UTC)
    early, late = int(now.timestamp()) - 3, int(now.timestamp()) - 1
    keys = f"game:leaderboard:daily:{now:%Y%m%d}", f"game:leaderboard:weekly:{now:%GW%V}", "game:leaderboard:alltime"
    encoded = {"zoe": 500 + (10**10 - early) / 10**10, "ann": 500 + (10**10 - late) / 10**10, "bob": 20 + (10**10 - early) / 10**10}
    service = migrated(dict.fromkeys(keys, encoded))
    for window in ("daily", "weekly", "all_time"):
        standings = service.get("game", "top", window=window)["standings"]
        assert [(s["player_id"], s["score"]) for s in standings] == [("zoe", 500), ("ann", 500), ("bob", 20)], "the earlier one is ahead"
    assert service.increment("game", "bob", 480)["rank"] == 3


@pytest.mark.example("platform")
def test_a_platform(migrated: Any) -> None:
    today, past = (f"{datetime.now(UTC) - timedelta(days=days):%Y-%m-%d}" for days in (0, 2))
    sets = {
        "leaderboard:global": {"12345": 9500.0, "777": 4000.0},
        f"leaderboard:daily:{today}": {"777": 4000.0},
        f"leaderboard:daily:{past}": {"12345": 9500.0},
        "leaderboard:region:us-east": {"12345": 9500.0},
    }
    service = migrated(sets)
    assert scores(service, "global") == sets["leaderboard:global"]
    assert scores(service, "global", window="daily") == sets[f"leaderboard:daily:{today}"]
    assert scores(service, "global", window="daily", window_id=past) == sets[f"leaderboard:daily:{past}"]
    assert scores(service, "global", segment="region:us-east") == {"12345": 9500}
    assert service.client.get("/api/v1/leaderboard/rank/12345").json()["rank"] == 1


@pytest.mark.example("weekly_xp")
def test_weekly_points(migrated: Any) -> None:
    now = datetime.now(UTC)
    week, before = (f"leaderboard:weekly:{now - timedelta(days=days):%G-W%V}" for days in (0, 7))
    sets = {"leaderboard:global": {"ada": 5000.0, "ben": 3000.0}, week: {"ada": 50.0}, before: {"ben": 70.0}}
    service = migrated(sets)
    here = migrated.here
    assert here.sets(*sets) == sets, "the same keys and numbers, for everybody who reads them"
    with here.server.client() as client:
        assert 7 * 86_400 < client.ttl(week) <= 14 * 86_400
    service.increment("xp", "ada", 10)
    assert here.sets("leaderboard:global", week) == {"leaderboard:global": {"ada": 5010, "ben": 3000}, week: {"ada": 60}}


@pytest.mark.example("daily_frame")
def test_a_daily_puzzle(migrated: Any) -> None:
    now = datetime.now(UTC)
    days = [now - timedelta(days=days) for days in range(7)]
    sets: Sets = {f"lb:daily_frame:{day:%Y-%m-%d}": {"ana": 100.0, "bo": 10.0} for day in days}
    sets |= {f"lb:daily_frame:{now:%Y-%m-%d}:country:BR": {"ana": 100.0}, "lb:alltime:xp": {"ana": 12_000.0}}
    service = migrated(sets)
    assert scores(service, "daily_frame") == {"ana": 100, "bo": 10}
    assert scores(service, "daily_frame", segment="country:BR") == {"ana": 100}
    assert scores(service, "xp") == {"ana": 12_000}, "what is brought is not sent on"
    assert scores(service, "daily_frame_week")["ana"] == 100 * (now.isoweekday())
    service.submit("daily_frame", "cy", 50)
    assert scores(service, "xp") == {"ana": 12_000, "cy": 50}
