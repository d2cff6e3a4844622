"""A service whose ledger is in PostgreSQL, with rankings in the process and on Redis."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.service.redis_places import on, until, verified
from tests.service.running import Service, refused, run, taken
from tests.support.ports import free_port
from tests.support.postgres_servers import PostgresServer, shared_postgres
from tests.support.redis_servers import single

BOARDS = """
[[board]]
name = "games"
operator = "last"
windows = ["all_time", "daily"]
segments = ["region"]

[[board]]
name = "points"
operator = "sum"
decimals = 2

[[board]]
name = "prize"
consistency = "strong"
"""


@pytest.fixture(params=["embedded", "redis"])
def config(request: pytest.FixtureRequest) -> Iterator[str]:
    """A configuration with each engine."""
    if request.param == "embedded":
        yield BOARDS
    else:
        with single() as redis:
            yield on(redis.url, BOARDS)


def seen(service: Service) -> list[object]:
    return [service.get(board, "top")["standings"] for board in ("games", "points", "prize")]


def test_scores_answers_and_names_are_there_after_a_stop_and_a_crash(tmp_path: Path, config: str) -> None:
    url = shared_postgres().new_database()
    service = Service(tmp_path, config, ledger=url)
    try:
        assert service.submit("games", "alice", 10, segments={"region": "eu"})["rank"] == 1
        assert service.submit("games", "bob", 20)["total_players"] == 2
        assert service.increment("games", "alice", 15, game_id="g-7")["rank"] == 1
        entries = [{"player_id": player, "score": score} for player, score in (("carol", 30), ("dave", 5), ("erin", 1.5))]
        batch = taken(service.client.post("/v1/boards/games/scores/batch?results=true", json={"scores": entries}))
        assert (batch["accepted"], [r["index"] for r in batch["rejected"]]) == (2, [2])
        service.submit("prize", "alice", 3)
        assert service.increment("points", "alice", 7.25, idempotency_key="once")["score"] == 7.25
        assert service.client.put("/v1/players/alice", json={"name": "Ann"}).status_code == 200
        before = seen(service)
        verified(service)
        for kill in (False, True):
            service.stop(kill)
            service.start()
            again = service.increment("points", "alice", 7.25, idempotency_key="once")
            assert (again["score"], again["replayed"]) == (7.25, True)
            refused(service.post("points", "increments", {"player_id": "alice", "amount": 9, "idempotency_key": "once"}), 422, "once")
            assert seen(service) == before
        assert service.increment("games", "dave", 100)["rank"] == 1
        verified(service, beside=True)
        assert "Traceback" not in service.log.read_text()
        assert shared_postgres().password not in service.log.read_text()
        assert (
            shared_postgres().sql("SELECT action, board FROM audit ORDER BY id", url)
            == "put_board|games\nput_board|points\nput_board|prize"
        )
    finally:
        service.stop()


def test_what_is_recorded_of_a_player_is_shown(tmp_path: Path) -> None:
    service = Service(tmp_path, BOARDS, ledger=shared_postgres().new_database())
    try:
        for number in range(5):
            service.increment("games", "alice", number, game_id=f"g-{number}", segments={"region": "eu"}, metadata={"level": number})
        service.increment("points", "alice", -1.5)
        found = service.get("games", "players/alice/events", limit=2)
        assert (found["board"], found["player_id"], found["total"]) == ("games", "alice", 5)
        assert [(e["kind"], e["amount"], e["game_id"]) for e in found["events"]] == [("increment", 4, "g-4"), ("increment", 3, "g-3")]
        assert (found["events"][0]["metadata"], found["events"][0]["segments"]) == ({"level": 4}, {"region": "eu"})
        assert service.get("points", "players/alice/events")["events"][0]["amount"] == -1.5
        assert service.get("games", "players/nobody/events") == {"board": "games", "player_id": "nobody", "total": 0, "events": []}
        for limit in (0, 1001, -1):
            refused(service.client.get(f"/v1/boards/games/players/alice/events?limit={limit}"), 422, "limit", "1 to 1000")
        refused(service.client.get("/v1/boards/nothing/players/alice/events"), 404, "nothing")
        for reach in (["--url", service.url], ["--config", str(service.config)]):
            shown = run("events", "alice", *reach, cwd=tmp_path)
            assert shown.returncode == 0, shown.stderr
            rows = [line.split() for line in shown.stdout.splitlines()]
            assert rows[0] == ["received", "at", "board", "kind", "amount", "segments", "game", "event"]
            # A time is a day, a time and UTC.
            assert [row[6] for row in rows[1:]] == ["points"] + ["games"] * 5
            assert rows[2][7:-1] == ["increment", "4", "region:eu", "g-4"]
            assert rows[2][-1].endswith("-5")
        told = json.loads(run("events", "alice", "--board", "points", "--json", "--url", service.url, cwd=tmp_path).stdout)
        assert [(answer["board"], answer["total"]) for answer in told] == [("points", 1)]
        cut = run("events", "alice", "--board", "games", "--limit", "2", "--url", service.url, cwd=tmp_path)
        assert "3 older events" in cut.stdout
    finally:
        service.stop()


def test_with_rankings_in_the_process_one_serves(tmp_path: Path) -> None:
    url = shared_postgres().new_database()
    service = Service(tmp_path, BOARDS, ledger=url)
    try:
        service.submit("games", "alice", 1)
        for command, word in ((["serve", "--port", str(free_port())], "Redis"), (["migrate"], "stop it first")):
            second = run(*command, "--config", str(service.config), cwd=tmp_path)
            assert second.returncode == 2
            assert len(second.stderr.strip().splitlines()) == 1, second.stderr
            assert all(words in second.stderr for words in ("in use by the service at", service.url, word)), second.stderr
        # Commands find the service that has it open.
        shown = run("top", "games", "--config", str(service.config), cwd=tmp_path)
        assert "alice" in shown.stdout, shown.stderr
    finally:
        service.stop()
    assert run("migrate", "--config", str(service.config), cwd=tmp_path).returncode == 0


def test_the_server_goes_down_and_comes_back_under_the_service(tmp_path: Path) -> None:
    with PostgresServer() as server:
        service = Service(tmp_path, BOARDS, ledger=f"{server.url}?deadline=2")
        try:
            for score, how in ((1, signal.SIGINT), (3, signal.SIGKILL)):
                service.submit("prize", "alice", score)
                server.stop(how)
                # One that was under way may be recorded, or not.
                refused(service.post("prize", "scores", {"player_id": "alice", "score": 1000}), (503, 504), "PostgreSQL")
                refused(service.client.get("/readyz"), 503, "PostgreSQL")
                refused(service.client.get("/v1/boards/prize/players/alice/events"), 503, "PostgreSQL")
                assert service.client.get("/healthz").status_code == 200
                server.start()
                until(lambda: service.client.get("/readyz").status_code == 200)
                assert service.submit("prize", "bob", score + 1)["rank"] == 1
                assert service.get("prize", "players/alice")["score"] == score
            verified(service)
            service.stop(kill=True)
            service.start()
            assert service.order("prize") == ["bob", "alice"]
            verified(service)
            assert "Traceback" not in service.log.read_text()
        finally:
            service.stop()


def answers(service: Service) -> bool:
    try:
        return httpx.get(f"{service.url}/healthz", trust_env=False, verify=False).status_code == 200
    except httpx.TransportError:
        return False


def test_a_retry_counts_before_it_is_answered(tmp_path: Path) -> None:
    """The first try was recorded by a process that neither applied it nor answered."""
    url = shared_postgres().new_database()
    with single() as redis:
        service = Service(tmp_path, on(redis.url, BOARDS), ledger=url)
        try:
            service.submit("prize", "alice", 1)
            before = {key: redis.ask("DUMP", key) for key in redis.ask("KEYS", "*")}
            assert service.submit("prize", "alice", 7, idempotency_key="once")["score"] == 7
            until(lambda: shared_postgres().sql("SELECT count(answer) FROM idempotency", url) == "1")
            shared_postgres().sql("UPDATE idempotency SET answer = NULL", url)
            for key, value in before.items():
                redis.ask("RESTORE", key, 0, value, "REPLACE")
            again = service.submit("prize", "alice", 7, idempotency_key="once")
            assert (again["score"], again["replayed"]) == (7, True)
            verified(service)
        finally:
            service.stop()


def test_many_workers_on_several_hosts(tmp_path: Path) -> None:
    """Each service is a host of its own, with two workers; a crash of one takes nothing along."""
    with single() as redis:
        url = shared_postgres().new_database()
        folders = [tmp_path / "one", tmp_path / "two"]
        for folder in folders:
            folder.mkdir()
        hosts = [Service(folder, on(redis.url, BOARDS), "--workers", "2", ledger=url) for folder in folders]
        try:

            def increment(number: int) -> None:
                with httpx.Client(base_url=hosts[number % 2].url, timeout=30, trust_env=False, verify=False) as client:
                    for key in range(10):
                        body = {"player_id": f"p{number // 2 % 3}", "amount": 1, "idempotency_key": f"{number // 2}-{key}"}
                        taken(client.post("/v1/boards/points/increments", json=body))

            with ThreadPoolExecutor(8) as pool:
                # The same requests through both hosts at once.
                for done in [pool.submit(increment, number) for number in range(12)]:
                    done.result()
            assert [s["score"] for s in hosts[0].get("points", "top")["standings"]] == [20, 20, 20]
            hosts[0].stop(kill=True)
            # Its workers end, and do not keep the port.
            until(lambda: not answers(hosts[0]))
            assert hosts[1].increment("points", "p9", 1)["rank"] == 4
            verified(hosts[1])
            assert shared_postgres().sql("SELECT count(*), count(DISTINCT writer) >= 2 FROM events", url) == "61|t"
        finally:
            for host in hosts:
                host.stop()
