"""kill -9 in the middle of a void of 10,000 events, and of its undo: both are finished after the next start, on both engines."""

import sqlite3
import threading
import time

import httpx
import pytest

from tests.service.redis_places import on
from tests.service.running import Service
from tests.support.redis_servers import single

EVENTS, PLAYERS = 10_000, 200
BOARD = """
[[board]]
name = "coins"
operator = "sum"
windows = ["all_time", "daily"]
"""


@pytest.fixture(params=["embedded", "redis"])
def service(request, tmp_path):
    if request.param == "embedded":
        service = Service(tmp_path, BOARD)
        yield service
        service.stop()
        return
    with single() as redis:
        service = Service(tmp_path, on(redis.url, BOARD))
        yield service
        service.stop()


def verdicts(service, kind):
    """How many verdicts of a kind are recorded."""
    with sqlite3.connect(f"file:{service.ledger}?mode=ro", uri=True) as database:
        (count,) = database.execute("SELECT count(*) FROM events WHERE kind = ?", (kind,)).fetchone()
    database.close()
    return count


def killed_in_the_middle(service, kind, path, body):
    """Ask for something, and kill the service when some of its verdicts are recorded."""

    def ask():
        # It gets no answer.
        with pytest.raises(httpx.HTTPError):
            httpx.post(service.url + path, json=body, timeout=60, trust_env=False, verify=False)

    asking = threading.Thread(target=ask)
    asking.start()
    while not verdicts(service, kind):
        time.sleep(0.001)
    service.stop(kill=True)
    asking.join()
    assert 0 < verdicts(service, kind) < EVENTS
    service.start()


def until_finished(service, state):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        (void,) = service.client.get("/v1/moderation/voids").json()["voids"]
        if void["state"] == state:
            return void["void_id"]
        time.sleep(0.1)
    raise AssertionError(f"the void is still {void}")


@pytest.mark.timeout(180)
def test_a_void_of_10_000_events_survives_kill_9(service):
    for first in range(0, EVENTS, 5000):
        scores = [{"player_id": f"p{n % PLAYERS}", "amount": 1, "game_id": "bot"} for n in range(first, first + 5000)]
        assert service.client.post("/v1/boards/coins/scores/batch", json={"scores": scores}).json()["accepted"] == 5000
    service.client.post("/v1/boards/coins/increments", json={"player_id": "p1", "amount": 7})
    body = {"board": "coins", "game_id": "bot", "reason": "a bot"}
    killed_in_the_middle(service, "void", "/v1/moderation/void", body)
    void_id = until_finished(service, "standing")
    top = service.client.get("/v1/boards/coins/top").json()
    assert [(s["player_id"], s["score"]) for s in top["standings"]] == [("p1", 7)]
    killed_in_the_middle(service, "restore", f"/v1/moderation/void/{void_id}/undo", {"reason": "no bot"})
    until_finished(service, "undone")
    top = service.client.get("/v1/boards/coins/top?limit=1000").json()
    assert sorted(s["score"] for s in top["standings"]) == [50] * (PLAYERS - 1) + [57]
    assert service.client.post("/v1/boards/coins/verify").json()["differences"] == []
