"""The client and the command line while the engine or the ledger of the service is away."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from keepscore import Entry
from keepscore.client import SyncClient
from keepscore.errors import LedgerUnavailable, UnknownPlayer
from tests.service.redis_places import on, until
from tests.service.running import Service, run
from tests.support.postgres_servers import PostgresServer
from tests.support.redis_servers import RedisServer, single

BOARDS = """
[[board]]
name = "points"
operator = "sum"
windows = ["all_time", "daily"]

[[board]]
name = "prize"
consistency = "strong"
"""


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    with single() as server:
        yield server


def score_of(client: SyncClient, player: str) -> object:
    """A player's score. Until the engine is back, one who is not in the checkpoint is not ranked."""
    try:
        return client.rank("points", player).score
    except UnknownPlayer:
        return None


def test_what_is_recorded_and_not_ranked_yet_is_no_error(tmp_path: Path, redis: RedisServer) -> None:
    service = Service(tmp_path, on(redis.url, BOARDS))
    try:
        with SyncClient(service.url) as client:
            client.increment("points", "alice", 5)
            redis.stop(signal.SIGKILL)
            receipt = client.increment("points", "alice", 5)
            assert (receipt.pending, receipt.rank, receipt.percentile) == (True, None, None)
            assert client.submit_many("points", [Entry(player_id="alice", amount=1)]).pending is True
            shown = run("increment", "points", "alice", "5", "--url", service.url, cwd=tmp_path)
            assert (shown.returncode, "Recorded" in shown.stdout, shown.stderr) == (0, True, "")
            told = run("increment", "points", "alice", "5", "--url", service.url, "--json", cwd=tmp_path)
            assert (told.returncode, json.loads(told.stdout)["pending"]) == (0, True)
            redis.start()
            until(lambda: score_of(client, "alice") == 21)
    finally:
        service.stop()


def test_while_the_ledger_is_away_the_engine_keeps_submissions(tmp_path: Path, redis: RedisServer) -> None:
    with PostgresServer() as postgres:
        service = Service(tmp_path, on(redis.url, BOARDS), ledger=postgres.new_database() + "?deadline=2")
        try:
            with SyncClient(service.url, attempts=3) as client:
                client.increment("points", "alice", 5)
                postgres.stop(signal.SIGQUIT)
                # The first group may have been on its way: nobody knows yet whether it was recorded.
                until(lambda: service.post("points", "increments", {"player_id": "nobody", "amount": 1}).status_code == 200)
                receipt = client.increment("points", "alice", 5)
                assert (receipt.score, receipt.rank, receipt.spooled) == (10, 1, True)
                assert client.submit_many("points", [Entry(player_id="alice", amount=1)]).spooled is True
                shown = run("increment", "points", "alice", "5", "--url", service.url, cwd=tmp_path)
                assert (shown.returncode, "16" in shown.stdout, "ledger" in shown.stdout) == (0, True, True), shown.stderr
                for refused in (("points", "mine"), ("prize", None)):
                    with pytest.raises(LedgerUnavailable):
                        client.submit(refused[0], "alice", 5, idempotency_key=refused[1])
                postgres.start()
            with SyncClient(service.url) as patient:
                assert patient.increment("points", "alice", 0, idempotency_key="back").score == 16
                assert patient.history.events("points", "alice").total == 5
        finally:
            service.stop()
