"""The same request, many times at once: one effect, and one answer for everybody, whichever service is asked."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.service.redis_places import on
from tests.service.running import Service, refused, taken
from tests.support.postgres_servers import shared_postgres
from tests.support.redis_servers import single

#: How often each request is sent at once.
COPIES = 50

BOARDS = """
[[board]]
name = "xp"
operator = "sum"
windows = ["all_time", "daily"]
"""

PART = {"after": "a" * 32, "before": "0" * 32, "rows": 1, "bad": [], "digests": ["b" * 32], "name": "scores.csv"}
REVISE = "/v1/boards/xp/windows/daily/2026-01-01/revise"


class Services:
    """Services on one ledger, asked by turns."""

    def __init__(self, *services: Service) -> None:
        self.services = services

    def send(self, number: int, method: str, path: str, body: Any, key: str | None = None) -> httpx.Response:
        client = self.services[number % len(self.services)].client
        return client.request(method, path, json=body, headers={} if key is None else {"Idempotency-Key": key})

    def at_once(self, method: str, path: str, body: Any, key: str) -> list[httpx.Response]:
        """Send one request many times at once."""
        together = threading.Barrier(COPIES)

        def one(number: int) -> httpx.Response:
            # A client of its own: threads that share one may close each other's connections.
            with httpx.Client(base_url=self.services[number % len(self.services)].url, timeout=60, trust_env=False, verify=False) as client:
                together.wait()
                return client.request(method, path, json=body, headers={"Idempotency-Key": key})

        with ThreadPoolExecutor(COPIES) as pool:
            return list(pool.map(one, range(COPIES)))

    def get(self, path: str) -> Any:
        return taken(self.services[0].client.get(path))


@pytest.fixture(params=["sqlite", "two on sqlite", "postgres", "two on postgres"])
def services(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Services]:
    """One service on each ledger, and two that share one."""
    folders = [tmp_path / name for name in ("one", "two")[: 2 if request.param.startswith("two") else 1]]
    ledger = f"sqlite:///{tmp_path / 'scores.db'}" if request.param.endswith("sqlite") else shared_postgres().new_database()
    with single() as redis:
        config = on(redis.url, BOARDS) if len(folders) == 2 else BOARDS
        running = []
        try:
            for folder in folders:
                folder.mkdir()
                running.append(Service(folder, config, ledger=ledger))
            yield Services(*running)
        finally:
            for service in running:
                service.stop()
    for service in running:
        assert "Traceback" not in service.log.read_text()


@pytest.mark.timeout(180)
def test_fifty_at_once_are_one(services: Services) -> None:
    entry = {"player_id": "early", "amount": 3, "at": "2026-01-01T12:00:00Z"}
    backfill = "/v1/boards/xp/scores/batch?backfill=true"
    taken(services.send(0, "POST", backfill, {"scores": [entry]}))
    taken(services.send(0, "POST", "/v1/keeper/run", {}))
    kinds = [
        ("POST", "/v1/boards/xp/increments", {"player_id": "alice", "amount": 5}, 200),
        ("POST", "/v1/boards/xp/scores", {"player_id": "bob", "score": 7}, 200),
        ("POST", "/v1/boards/xp/scores/batch?results=true", {"scores": [{"player_id": "carol", "amount": 5}] * 3}, 200),
        ("POST", "/v1/boards/xp/imports", {"scores": [{"player_id": "dave", "amount": 9}], "part": PART}, 200),
        ("PUT", "/v1/boards/made", {"operator": "sum"}, 201),
        ("PUT", "/v1/boards/made", {"operator": "last", "version": 1}, 200),
        ("PATCH", "/v1/boards/made", {"max_score": 9, "version": 2}, 200),
        ("DELETE", "/v1/boards/made", None, 204),
        ("PUT", "/v1/players/alice", {"name": "Ann"}, 200),
        ("POST", REVISE, {"reason": "a look"}, 200),
        ("POST", "/v1/boards/xp/reset", None, 200),
        ("POST", "/v1/boards/xp/reset/undo", None, 200),
    ]
    for number, (method, path, body, status) in enumerate(kinds):
        answers = services.at_once(method, path, body, f"key-{number}")
        assert {answer.status_code for answer in answers} == {status}, (path, [answer.text for answer in answers])
        replayed = [answer.headers.get("Idempotency-Replayed") for answer in answers]
        assert sorted(replayed, key=str) == [None] + ["true"] * (COPIES - 1), path
        if status != 204:
            told = [answer.json() for answer in answers]
            assert [answer.pop("replayed", None) for answer in told] == [mark and True for mark in replayed], path
            assert all(answer == told[0] for answer in told), (path, told)
    found = {s["player_id"]: s["score"] for s in services.get("/v1/boards/xp/top")["standings"]}
    assert found == {"alice": 5, "bob": 7, "carol": 15, "dave": 9, "early": 3}
    assert services.get("/v1/boards/xp")["version"] == 3, "one reset, one undone"
    assert taken(services.send(1, "POST", REVISE, {"reason": "one more"}))["number"] == 3
    refused(services.send(1, "POST", "/v1/boards/xp/reset/undo", None, "key-10"), 422, "key-10")


def test_targets_and_keys_that_look_alike_do_not_collide(service: Service) -> None:
    for player, key in (("x", "y:z"), ("x:y", "z"), ("x/y", "z"), ("x", "y/z")):
        answer = service.client.put(
            f"/v1/players/{player.replace('/', '%2F')}", json={"name": f"{player} {key}"}, headers={"Idempotency-Key": key}
        )
        assert taken(answer) == {"player_id": player, "name": f"{player} {key}"}
