"""What readers get while the engine is away or takes no scores: answers that say so."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from keepscore.client import SyncClient
from keepscore.errors import UnknownPlayer
from tests.service.redis_places import on, until, verified
from tests.service.running import Service, refused, run, taken
from tests.support.postgres_servers import shared_postgres
from tests.support.redis_servers import RedisServer, single

BOARDS = """
[server]
default_board = "lasts"

[[board]]
name = "best"
windows = ["all_time", "daily"]
segments = ["region"]
rank = "standard"

[[board]]
name = "times"
order = "asc"
ties = "last"
decimals = 1

[[board]]
name = "lasts"
operator = "last"
ties = "player"
rank = "dense"

[[board]]
name = "prize"
consistency = "strong"
"""
READS = [
    ("best", "top?limit=5"),
    ("best", "top?limit=4&offset=7&rank=dense"),
    ("best", "top?window=daily"),
    ("best", "top?segment=region:eu&rank=unique"),
    ("best", "players/p3?around=2"),
    ("best", "ranks/6?around=2"),
    ("best", "count?min=2&max=4"),
    ("times", "top"),
    ("times", "players/p5?around=3&rank=dense"),
    ("lasts", "top"),
    ("lasts", "players/p1?around=20"),
]
#: What is never cached.
PAST = [("best", "windows"), ("best", "history/p3?window=daily"), ("times", "history/p5")]


@pytest.fixture(params=["sqlite", "postgresql"])
def away(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Service, RedisServer]]:
    """A service with some scores, and its Redis."""
    ledger = shared_postgres().new_database() if request.param == "postgresql" else None
    with single() as redis:
        service = Service(tmp_path, on(redis.url, BOARDS), ledger=ledger)
        chance = random.Random(7)
        for number in range(60):
            player = f"p{chance.randrange(20)}"
            service.submit("best", player, chance.randint(1, 5), segments={"region": chance.choice(["eu", "us"])})
            service.submit("times", player, chance.randint(1, 9) / 2)
            service.submit("lasts", player, chance.randint(1, 9), game_id=f"g{number}")
        service.submit("prize", "p1", 3)
        yield service, redis
        service.stop()
        assert "Traceback" not in service.log.read_text()


def shown(service: Service, board: str, path: str) -> dict[str, Any]:
    answer = service.client.get(f"/v1/boards/{board}/{path}")
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    assert (answer.headers["cache-control"] == "no-store") is bool(body.get("stale"))
    return body


def past_of(service: Service, board: str, path: str) -> dict[str, Any]:
    return taken(service.client.get(f"/v1/boards/{board}/{path}"))


def as_of(service: Service, board: str) -> datetime:
    """The moment of the checkpoint that readers get."""
    return datetime.fromisoformat(shown(service, board, "count").get("as_of", "2000-01-01T00:00:00Z"))


def plain(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name not in ("stale", "as_of", "next_cursor", "position")}


def test_reads_come_from_the_checkpoint_and_say_so(away: tuple[Service, RedisServer]) -> None:
    service, redis = away
    before = {read: plain(shown(service, *read)) for read in READS}
    past = {read: past_of(service, *read) for read in PAST}
    players = {"player_ids": ["p2", "nobody", "p9", "p4"]}
    looked_up = plain(service.post("best", "players/lookup", players).json())
    redis.stop()
    stopped = datetime.now(UTC)
    # A page may be a second old, and there may be an older checkpoint.
    until(lambda: all(as_of(service, board) >= stopped for board in ("best", "times", "lasts")))
    until(lambda: all(shown(service, *read).get("stale") for read in READS))
    for read, body in before.items():
        stale = shown(service, *read)
        assert stale["stale"] is True
        assert plain(stale) == body, read
    assert plain(service.post("best", "players/lookup", players).json()) == looked_up
    for read, body in past.items():
        stale = past_of(service, *read)
        assert "stale" not in body
        assert stale["stale"] is True
        assert datetime.fromisoformat(stale["as_of"]) >= stopped
        assert plain(stale) == body, read
    first = shown(service, "best", "top?limit=8")
    second = shown(service, "best", f"top?limit=100&cursor={first['next_cursor']}")
    assert first["standings"] + second["standings"] == shown(service, "best", "top?limit=100")["standings"]
    refused(service.client.get("/v1/boards/prize/top"), 503)
    refused(service.client.get("/v1/boards/prize/windows"), 503)
    for path in ("/v1/boards/best/players/newcomer", "/api/v1/leaderboard/rank/newcomer"):
        answer = service.client.get(path)
        refused(answer, 404, "newcomer")
        assert answer.headers["cache-control"] == answer.headers["surrogate-control"] == "no-store"
        assert answer.json()["stale"] is True
        assert datetime.fromisoformat(answer.json()["as_of"]) >= stopped
    with SyncClient(service.url) as client, pytest.raises(UnknownPlayer) as unknown:
        client.rank("best", "newcomer")
    assert unknown.value.as_of is not None
    assert unknown.value.as_of >= stopped
    # What is submitted meanwhile is in the next checkpoint.
    assert service.post("lasts", "scores", {"player_id": "newcomer", "score": 99}).status_code == 202
    until(lambda: service.client.get("/v1/boards/lasts/top").json()["standings"][0]["player_id"] == "newcomer")
    redis.start()
    until(lambda: "stale" not in service.client.get("/v1/boards/lasts/top").json())
    assert shown(service, "lasts", "top")["standings"][0]["player_id"] == "newcomer"
    found = service.client.get("/v1/boards/best/players/newcomer")
    assert (found.status_code, "stale" in found.json(), "cache-control" in found.headers) == (404, False, False)
    verified(service)


def test_a_redis_that_takes_no_scores_is_read_with_a_label(away: tuple[Service, RedisServer]) -> None:
    service, redis = away
    reads = ["/v1/boards/lasts/top", "/v1/boards/lasts/players/p1", "/v1/boards/lasts/count", "/api/v1/leaderboard/top"]
    tags = {read: service.client.get(read).headers.get("etag", "") for read in reads}
    redis.ask("CONFIG SET", "maxmemory", "1")
    now = datetime.now(UTC)
    before = now.replace(microsecond=now.microsecond // 1000 * 1000)
    assert service.post("lasts", "scores", {"player_id": "newcomer", "score": 99}).status_code == 202
    for read in reads:
        # At once, although a page was kept just before.
        answer = service.client.get(read, headers={"If-None-Match": tags[read]})
        body = taken(answer)
        assert (body.get("stale"), answer.headers["cache-control"]) == (True, "no-store"), read
        assert before <= datetime.fromisoformat(body["as_of"]) <= datetime.now(UTC)
    answer = service.client.get("/v1/boards/lasts/players/newcomer")
    assert (answer.status_code, answer.json().get("stale"), answer.headers["cache-control"]) == (404, True, "no-store")
    assert "stale" not in service.get("best", "top")
    redis.ask("CONFIG SET", "maxmemory", "0")
    until(lambda: "stale" not in service.get("lasts", "top"))
    assert service.order("lasts")[0] == "newcomer"


def test_the_older_routes_say_so_too(away: tuple[Service, RedisServer]) -> None:
    service, redis = away
    base = "/api/v1/leaderboard"
    reads = [f"{base}/{path}" for path in ("top?n=5", "rank/p3", "around/6?range=2")]
    before = {read: taken(service.client.get(read)) for read in reads}
    assert not [body for body in before.values() if {"stale", "as_of"} & set(body)]
    assert all("max-age" in service.client.get(read).headers["cache-control"] for read in reads)
    redis.stop()
    stopped = datetime.now(UTC)
    until(lambda: as_of(service, "lasts") >= stopped)
    for read, body in before.items():
        answer = service.client.get(read)
        assert answer.headers["cache-control"] == answer.headers["surrogate-control"] == "no-store"
        stale = taken(answer)
        assert datetime.fromisoformat(stale["as_of"]) >= stopped
        assert stale == {**body, "stale": True, "as_of": stale["as_of"]}, read
    for route, amount in (("score", {"score": 7}), ("score/increment", {"score_delta": 2})):
        pending = service.client.post(f"{base}/{route}", json={"player_id": 12, **amount})
        assert pending.status_code == 202
        nothing = {"rank": None, "rank_change": None, "percentile": None}
        # An amount alone says nothing of the score.
        assert pending.json() == {"player_id": 12, "score": amount.get("score"), **nothing, "pending": True}
    redis.start()
    until(lambda: "stale" not in service.client.get(reads[0]).json())
    assert taken(service.client.get(f"{base}/rank/12"))["score"] == 9
    assert "pending" not in taken(service.client.post(f"{base}/score", json={"player_id": 12, "score": 7}))


def test_the_command_line_says_so_too(away: tuple[Service, RedisServer]) -> None:
    service, redis = away
    commands = [("top", "best"), ("rank", "best", "p3"), ("around", "best", "6")]

    def said(*command: str) -> str:
        done = run(*command, "--url", service.url, cwd=service.directory)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return done.stdout

    assert not [command for command in commands if "As of" in said(*command)]
    redis.stop()
    stopped = datetime.now(UTC)
    until(lambda: as_of(service, "best") >= stopped)
    for command in commands:
        assert re.search(r"\nAs of 20[-0-9]+ [:0-9]+ UTC: later scores may be missing\.\n$", said(*command)), command
        answer = json.loads(said(*command, "--json"))
        assert answer["stale"] is True
        assert answer["as_of"]
