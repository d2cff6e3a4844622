"""What becomes of submissions while the ledger is away: Redis keeps them, and they go into the ledger when it is back."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.redis_places import on, until, verified
from tests.service.running import Service, refused, run
from tests.service.test_metrics import metrics
from tests.support.postgres_servers import PostgresServer
from tests.support.redis_servers import RedisServer, single

BOARDS = """
[server]
default_board = "xp"

[[board]]
name = "points"
operator = "sum"
windows = ["all_time", "daily"]
also = ["xp"]

[[board]]
name = "xp"
operator = "sum"

[[board]]
name = "lasts"
operator = "last"

[[board]]
name = "prize"
consistency = "strong"
"""


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        yield server


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    with single() as server:
        yield server


def recorded(postgres: PostgresServer, url: str) -> list[str]:
    """Board, player and amount of all events, in the order of their numbers."""
    rows = postgres.sql("SELECT board, player, amount FROM events ORDER BY received, writer, board, n", url)
    return rows.splitlines()


def test_submissions_are_kept_and_drained_in_order(tmp_path: Path, postgres: PostgresServer, redis: RedisServer) -> None:
    url = postgres.new_database()
    service = Service(tmp_path, on(redis.url, BOARDS), ledger=url + "?deadline=2")
    try:
        service.increment("points", "alice", 5)
        service.submit("lasts", "alice", 50)
        before = recorded(postgres, url)
        postgres.stop(signal.SIGQUIT)
        # The first group may have been on its way: nobody knows yet whether it was recorded.
        until(lambda: service.post("lasts", "scores", {"player_id": "nobody", "score": 1}).status_code == 200)
        for number in range(1, 6):
            answer = service.post("points", "increments", {"player_id": "alice", "amount": number})
            assert (answer.status_code, answer.json()["spooled"]) == (200, True), answer.text
            assert answer.json()["score"] == 5 + sum(range(number + 1))
            assert answer.json()["rank"] == 1
        older = service.client.post("/api/v1/leaderboard/score/increment", json={"player_id": "dora", "score_delta": 3})
        assert (older.status_code, older.json()["score"], older.json()["spooled"], "pending" in older.json()) == (200, 3, True, False)
        shown = metrics(service.client)
        assert (shown["keepscore_spooling"], shown["keepscore_ready"], shown["keepscore_degraded"]) == (1, 1, 1)
        assert shown["keepscore_spooled_events_total"] >= 11
        assert shown["keepscore_spool_entries"] > 0
        assert shown['keepscore_ledger_errors_total{kind="unavailable"}'] > 0
        late = {"player_id": "alice", "score": 20, "at": "2026-01-01T00:00:00Z"}
        refused(service.post("prize", "scores", {"player_id": "alice", "score": 1}), 503)
        keyed = {"player_id": "alice", "amount": 1, "idempotency_key": "k"}
        refused(service.post("points", "increments", keyed), 503)
        assert service.post("lasts", "scores", late).json()["score"] == 50
        assert service.get("points", "players/alice")["score"] == 20
        batch = service.post("points", "scores/batch", {"scores": [{"player_id": "bob", "amount": n} for n in (7, 8)]})
        assert (batch.status_code, batch.json()["accepted"], batch.json()["spooled"]) == (200, 2, True)
        # The process that kept them is killed, and another one takes over what it has left.
        service.stop(kill=True)
        postgres.start()
        service.start()
        until(lambda: len(recorded(postgres, url)) >= len(before) + 16)
        assert [row for row in recorded(postgres, url) if row.startswith("1|alice")] == [f"1|alice|{n}" for n in (5, 1, 2, 3, 4, 5)]
        assert service.get("points", "top")["standings"][0]["score"] == 20
        assert service.get("lasts", "players/alice")["score"] == 50
        again = service.post("points", "increments", keyed)
        assert (again.status_code, again.json()["score"]) == (200, 21)
        assert "spooled" not in again.json()
        verified(service)
        assert not [key for key in redis.client().scan_iter("*spool*") if redis.client().xlen(key)]
        assert "Traceback" not in service.log.read_text()
    finally:
        service.stop()


def test_the_process_goes_on_when_the_ledger_is_back(tmp_path: Path, postgres: PostgresServer, redis: RedisServer) -> None:
    url = postgres.new_database()
    service = Service(tmp_path, on(redis.url, BOARDS), "--workers", "2", ledger=url + "?deadline=2")
    try:
        until(lambda: "is ready at" in service.log.read_text())
        acknowledged = 0
        for _ in range(2):
            service.increment("points", "carol", 1)
            acknowledged += 1
            postgres.stop(signal.SIGQUIT)
            until(lambda: service.post("xp", "increments", {"player_id": "probe", "amount": 1}).status_code == 200)
            for _ in range(10):
                acknowledged += service.post("points", "increments", {"player_id": "carol", "amount": 1}).status_code == 200
            postgres.start()
            until(lambda: "spooled" not in service.post("xp", "increments", {"player_id": "probe", "amount": 1}).json())
        assert service.get("points", "players/carol")["score"] == acknowledged
        verified(service)
        assert postgres.sql("SELECT sum(amount) FROM events WHERE board = 1 AND player = 'carol'", url).strip() == str(acknowledged)
    finally:
        service.stop()


def test_the_ledger_comes_back_while_redis_is_away(tmp_path: Path, postgres: PostgresServer, redis: RedisServer) -> None:
    url = postgres.new_database()
    service = Service(tmp_path, on(redis.url, BOARDS), ledger=url + "?deadline=2")
    try:
        postgres.stop(signal.SIGQUIT)
        until(lambda: service.post("xp", "increments", {"player_id": "alice", "amount": 5}).json().get("spooled"))
        # What somebody else has put there is not for the ledger.
        (key,) = redis.client().scan_iter("*spool*")
        redis.client().xadd(key, {"foo": "bar"})
        redis.ask("SAVE")
        redis.stop()
        refused(service.post("lasts", "scores", {"player_id": "bob", "score": 1}), 503)
        postgres.start()
        until(lambda: service.post("lasts", "scores", {"player_id": "bob", "score": 2}).status_code == 202)
        assert service.post("xp", "increments", {"player_id": "alice", "amount": 1}).json()["pending"] is True
        redis.start()
        until(lambda: service.client.get("/v1/boards/xp/players/alice").json().get("score") == 6)
        until(lambda: len([row for row in recorded(postgres, url) if "alice" in row]) == 2)
        assert service.get("lasts", "players/bob")["score"] == 2
        assert redis.client().xlen(key) == 1
        verified(service)
        assert "Traceback" not in service.log.read_text()
    finally:
        service.stop()


def test_a_ledger_that_is_read_only_is_as_good_as_none(tmp_path: Path, postgres: PostgresServer, redis: RedisServer) -> None:
    url = postgres.new_database()
    service = Service(tmp_path, on(redis.url, BOARDS), ledger=url + "?deadline=2")
    try:
        service.increment("xp", "alice", 1)
        name = url.rpartition("/")[2]
        cut = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
        postgres.sql(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        postgres.sql(cut)
        until(lambda: service.post("xp", "increments", {"player_id": "alice", "amount": 1}).json().get("spooled"))
        before = service.get("xp", "players/alice")["score"]
        for number in range(1, 4):
            assert service.post("xp", "increments", {"player_id": "alice", "amount": 1}).json()["score"] == before + number
        assert "read-only" in refused(service.post("prize", "scores", {"player_id": "alice", "score": 1}), 503)["detail"]
        postgres.sql(f"ALTER DATABASE {name} RESET default_transaction_read_only")
        postgres.sql(cut)
        until(lambda: "spooled" not in service.post("xp", "increments", {"player_id": "bob", "amount": 1}).json())
        assert postgres.sql("SELECT sum(amount) FROM events WHERE player = 'alice'", url) == str(before + 3)
        verified(service)
    finally:
        service.stop()


def test_tables_are_brought_up_to_date_beside_a_service_that_shares_them(
    tmp_path: Path, postgres: PostgresServer, redis: RedisServer
) -> None:
    url = postgres.new_database()
    service = Service(tmp_path, on(redis.url, BOARDS), ledger=url)
    try:
        (tmp_path / "elsewhere").mkdir()
        done = run("migrate", "--ledger", url, cwd=tmp_path / "elsewhere")
        assert (done.returncode, "up to date" in done.stdout) == (0, True), done.stderr
    finally:
        service.stop()
