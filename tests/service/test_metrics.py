"""`/metrics`: what it counts, with one process and with several, and that alerts and documentation name what exists."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from keepscore import Board
from keepscore.errors import EngineUnavailable
from keepscore.leaderboards import Leaderboards
from keepscore.lifecycle import vitals
from keepscore.lifecycle.jobs.closing import Closing
from keepscore.service.app import make_app
from keepscore.service.metrics import GAUGES
from keepscore.telemetry.counters import ALL, HEALS, JOB_FAILURES, JOB_RUNS
from tests.service.redis_places import on, until
from tests.service.running import Service
from tests.support.redis_servers import RedisServer, single

ROOT = Path(__file__).parents[2]
BOARDS = """
[[board]]
name = "points"
operator = "sum"

[[board]]
name = "bests"
windows = ["daily", "all_time"]
"""


def samples(text: str) -> dict[str, float]:
    """All numbers by name and labels, such as `keepscore_ready` and `keepscore_players{board="a",window="daily"}`."""
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = ",".join(f'{name}="{value}"' for name, value in sorted(sample.labels.items()))
            found[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
    return found


def metrics(client: httpx.Client) -> dict[str, float]:
    answer = client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    return samples(answer.text)


def submissions(found: dict[str, float], board: str) -> dict[str, float]:
    """How many there were on a board, by outcome."""
    pattern = rf'keepscore_submissions_total{{board="{board}",outcome="(\w+)"}}'
    return {match[1]: value for name, value in found.items() if (match := re.fullmatch(pattern, name))}


def test_submissions_are_counted_by_board_and_outcome(service: Service, board: Callable[..., str]) -> None:
    name = board(windows=["all_time", "daily"])
    before = metrics(service.client)
    for _ in range(2):
        service.post(name, "scores", {"player_id": "secret-player", "score": 5}, **{"Idempotency-Key": "counted"})
    assert service.post(name, "scores", {"player_id": "secret-player", "score": "five"}).status_code == 422
    assert service.post(name, "scores", "nothing").status_code == 422
    entries = [{"player_id": "a", "score": 1}, {"player_id": "", "score": 1}, {"player_id": "b", "score": 1}]
    assert service.post(name, "scores/batch", {"scores": entries}).status_code == 200
    assert service.post(name, "scores/batch?dry_run=true", {"scores": entries}).status_code == 200
    assert service.post("no-such-board", "scores", {"player_id": "a", "score": 1}).status_code == 404
    service.get(name, "players/secret-player")
    text = service.client.get("/metrics").text
    after = samples(text)
    assert submissions(after, name) == {"accepted": 3, "replayed": 1, "refused": 3}
    others = [submissions(found, "other").get("refused", 0) for found in (before, after)]
    assert others[1] == others[0] + 1
    assert "secret-player" not in text
    assert "no-such-board" not in text
    assert after[f'keepscore_players{{board="{name}",window="daily"}}'] == 3
    assert after[f'keepscore_pending_events{{board="{name}"}}'] == 0
    assert after["keepscore_ready"] == 1
    read = 'cost="light",method="GET",route="/v1/boards/{board}/players/{player_id}",scope="read"'
    count = f"keepscore_request_seconds_count{{{read}}}"
    assert after[count] >= before.get(count, 0) + 1
    # Buckets are cumulative, and the last one has them all.
    infinite = f'keepscore_request_seconds_bucket{{cost="light",le="+Inf",method="GET",{read.partition("GET")[2][2:]}}}'
    assert after[infinite] == after[count]


def test_requests_without_a_route_and_pages_are_counted_together(service: Service) -> None:
    for path in ("/nowhere", "/nowhere/else"):
        service.client.get(path)
    service.client.get("/docs")
    service.client.get("/static/docs.js")
    found = metrics(service.client)
    assert found['keepscore_requests_total{method="*",route="unknown",status="404"}'] >= 2
    assert found['keepscore_requests_total{method="GET",route="page",status="200"}'] >= 2
    assert not any("nowhere" in name or "docs.js" in name for name in found)


async def test_only_so_many_boards_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vitals, "MAX_BOARDS", 2)
    boards = [Board(f"capped-{letter}") for letter in "zyx"]
    async with Leaderboards.open("sqlite:///:memory:", boards=boards) as leaderboards:
        transport = httpx.ASGITransport(make_app(leaderboards, "global"))
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            for board in boards:
                await client.post(f"/v1/boards/{board.name}/scores", json={"player_id": "ada", "score": 1})
            found = samples((await client.get("/metrics")).text)
    # The oldest ones, so that no board changes sides when another one comes.
    labels = {match[1] for name in found if (match := re.search(r'keepscore_players{board="([^"]+)"', name))}
    assert labels == {"capped-z", "capped-y", "other"}
    assert submissions(found, "capped-x") == {}
    assert submissions(found, "capped-z")["accepted"] == 1
    assert submissions(found, "other")["accepted"] >= 1


async def test_a_failing_job_of_the_keeper_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(self: Closing, now: int) -> str:
        raise EngineUnavailable("not now")

    async with Leaderboards.open("sqlite:///:memory:", boards=[Board("b")]) as leaderboards:
        worked, failed = JOB_RUNS.values["close", "worked"], JOB_RUNS.values["close", "failed"]
        with monkeypatch.context() as patched:
            patched.setattr(Closing, "run", fail)
            await leaderboards.admin.run_keeper()
            await leaderboards.admin.run_keeper()
        assert JOB_RUNS.values["close", "failed"] >= failed + 2
        assert JOB_FAILURES.values[("close",)] >= 2
        await leaderboards.admin.run_keeper()
        assert JOB_RUNS.values["close", "worked"] > worked
        assert JOB_FAILURES.values[("close",)] == 0


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    with single() as server:
        yield server


def test_any_worker_tells_of_all_of_them_and_none_forgets(tmp_path: Path, redis: RedisServer) -> None:
    service = Service(tmp_path, on(redis.url, BOARDS), "--workers", "2")
    try:
        until(lambda: "is ready at" in service.log.read_text())
        for number in range(20):
            # A connection of its own for each: the system gives them to both.
            with httpx.Client(base_url=service.url, trust_env=False, verify=False) as client:
                client.post("/v1/boards/points/increments", json={"player_id": f"p{number}", "amount": 1}).raise_for_status()

        def counted() -> list[float]:
            found = []
            for _ in range(8):
                with httpx.Client(base_url=service.url, trust_env=False, verify=False) as client:
                    found.append(submissions(metrics(client), "points").get("accepted", 0))
            return found

        until(lambda: set(counted()) == {20})
        children = Path(f"/proc/{service.process.pid}/task/{service.process.pid}/children").read_text().split()
        serving = [int(pid) for pid in children if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        assert len(serving) == 2
        os.kill(serving[0], signal.SIGKILL)
        until(lambda: "has died" in service.log.read_text())
        until(lambda: service.client.get("/readyz").status_code == 200)
        assert set(counted()) == {20}
        found = metrics(service.client)
        assert 0 < found["keepscore_engine_memory_used_bytes"] < found["keepscore_engine_memory_limit_bytes"]
        assert found["keepscore_spool_entries"] == 0
        assert found["keepscore_loop_lag_seconds_count"] > 0
    finally:
        service.stop()


def test_an_engine_that_is_away_and_comes_back_empty_is_seen(tmp_path: Path, redis: RedisServer) -> None:
    service = Service(tmp_path, on(redis.url, BOARDS))
    try:
        service.submit("bests", "ada", 5)
        redis.kill()
        answer = service.post("bests", "scores", {"player_id": "ada", "score": 6})
        assert (answer.status_code, answer.json()["pending"]) == (202, True)
        found = metrics(service.client)
        assert (found["keepscore_ready"], found["keepscore_degraded"], found["keepscore_behind"]) == (1, 1, 1)
        assert found['keepscore_engine_errors_total{kind="unreachable"}'] > 0
        assert submissions(found, "bests") == {"accepted": 1, "pending": 1}
        redis.start()
        until(lambda: metrics(service.client)["keepscore_behind"] == 0)
        # The boards that nobody has used are made anew a moment later.
        until(lambda: metrics(service.client)["keepscore_degraded"] == 0)
        found = metrics(service.client)
        assert found["keepscore_ready"] == 1
        assert found['keepscore_pending_events{board="bests"}'] == 0
        heals = {cause: found[f'keepscore_heals_total{{cause="{cause}"}}'] for (cause,) in HEALS.values}
        assert sum(heals.values()) >= 1
    finally:
        service.stop()


#: How Prometheus names what is counted.
ENDINGS = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_count", "_sum")}
NAMES = {one.name + ending for one in ALL for ending in ENDINGS[one.kind]} | set(GAUGES)


def test_alerts_name_metrics_and_labels_that_exist(service: Service) -> None:
    rules = [rule for group in yaml.safe_load((ROOT / "deploy" / "alerts.yml").read_text())["groups"] for rule in group["rules"]]
    assert len({rule["alert"] for rule in rules}) == len(rules)
    labels = {one.name: {*one.labels, "le"} for one in ALL} | {name: set(known) for name, (_, known) in GAUGES.items()}
    for rule in rules:
        used = re.findall(r"(keepscore_\w+)(?:{([^}]*)})?", rule["expr"])
        assert used, rule["alert"]
        for name, matchers in used:
            assert name in NAMES, f"{rule['alert']}: {name}"
            family = re.sub(r"_(total|bucket|count|sum)$", "", name) if name not in labels else name
            assert set(re.findall(r"(\w+)\s*!?=", matchers)) <= labels[family], rule["alert"]
        assert rule["annotations"]["summary"].endswith("."), rule["alert"]


def test_every_metric_is_documented_and_exported(service: Service) -> None:
    service.client.get("/v1/boards")
    shown = service.client.get("/metrics").text
    page = (ROOT / "docs" / "monitoring.md").read_text(encoding="utf-8")
    documented = dict(re.findall(r"^\| `(keepscore_\w+)` \|([^|]*)\|", page, re.MULTILINE))
    known = {one.name + ("_total" if one.kind == "counter" else ""): one.labels for one in ALL}
    known |= {name: labels for name, (_, labels) in GAUGES.items()}
    assert {name: tuple(re.findall(r"`(\w+)`", labels)) for name, labels in documented.items()} == known
    assert [name for name in known if f"# HELP {name} " not in shown] == []
