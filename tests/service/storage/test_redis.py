"""A service on Redis, wherever that is: one server, behind TLS, with replicas, under Sentinels, a Cluster."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.service.redis_places import locked_redis, on, open_redis, shared_cluster, shared_sentinels, until, verified
from tests.service.running import Service, run, taken
from tests.support.redis_servers import Replicated, replicated, single

BOARDS = """
[[board]]
name = "games"
operator = "last"
windows = ["all_time", "daily", "weekly"]
segments = ["region"]

[[board]]
name = "points"
operator = "sum"
max_score = 1000000
windows = ["daily"]

[[board]]
name = "plain"
ties = "player"
"""

#: One board of each layout, and for some more words of the reason.
LAYOUTS = [
    ({"ties": "player"}, {"all_time": "plain"}, ["ties = 'player'"]),
    ({"ties": "player", "max_score": 10, "windows": ["daily", "all_time"]}, {"daily": "plain", "all_time": "plain"}, []),
    ({"max_score": 1_000_000, "windows": ["daily"]}, {"daily": "composite"}, ["53 bits"]),
    ({"windows": ["daily"]}, {"daily": "timed"}, ["no max_score"]),
    ({"max_score": 2**40, "windows": ["daily"]}, {"daily": "timed"}, ["1099511627776", "1ms", "53"]),
    ({"max_score": 1_000_000, "windows": ["daily", "all_time"]}, {"daily": "composite", "all_time": "timed"}, ["53 bits", "need"]),
    ({"max_score": 1_000_000, "resolution": "1s"}, {"all_time": "composite"}, ["53 bits"]),
]


class Place(NamedTuple):
    """A Redis: its address, and a condition under which its replicas have everything."""

    url: str
    in_sync: Callable[[], bool] = lambda: True
    replicated: Replicated | None = None


@pytest.fixture(params=["password", "tls", "replicas", "sentinels", "cluster"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """Every kind of Redis."""
    with ExitStack() as stack:
        if request.param == "password":
            yield Place(locked_redis().url.removesuffix("/0") + "/3")
        elif request.param == "tls":
            yield Place(stack.enter_context(single(tls=True, password="hidden")).url)
        elif request.param == "replicas":
            found = stack.enter_context(replicated(2))
            hosts = ",".join(f"127.0.0.1:{replica.port}" for replica in found.replicas)
            yield Place(f"{found.primary.url}?replicas={hosts}", found.in_sync, found)
        elif request.param == "sentinels":
            yield Place(f"{shared_sentinels().url}?replicas=true", shared_sentinels().in_sync)
        else:
            yield Place(shared_cluster().url)


def seen(service: Service) -> dict[str, Any]:
    """What the boards show, in every way to look at them."""
    pages = {(board, window): service.get(board, "top", window=window) for board, window in WINDOWS}
    return {
        "pages": {key: (page["total_players"], page["standings"]) for key, page in pages.items()},
        "segment": service.order("games", segment="region:eu"),
        "player": service.get("games", "players/bob", around=1, rank="dense"),
        "ranks": service.get("games", "ranks/2", around=1),
        "count": service.get("games", "count", min=15, max=30),
        "lookup": taken(service.post("games", "players/lookup", {"player_ids": ["carol", "nobody", "alice"]})),
    }


WINDOWS = [("games", "all_time"), ("games", "daily"), ("games", "weekly"), ("points", "daily"), ("plain", "all_time")]


def test_it_takes_and_shows_scores_and_has_them_after_a_restart(place: Place, tmp_path: Path) -> None:
    service = Service(tmp_path, on(place.url, BOARDS))
    try:
        assert service.submit("games", "alice", 10, segments={"region": "eu"})["rank"] == 1
        assert service.submit("games", "bob", 20, segments={"region": "us"})["total_players"] == 2
        receipt = service.increment("games", "alice", 15, segments={"region": "eu"})
        assert (receipt["score"], receipt["rank"], receipt["previous_rank"], receipt["windows"]["weekly"]["rank"]) == (25, 1, 2, 1)
        entries = [{"player_id": player, "score": score} for player, score in (("carol", 30), ("dave", 5), ("erin", 1.5))]
        batch = taken(service.client.post("/v1/boards/games/scores/batch?results=true", json={"scores": entries}))
        assert (batch["accepted"], [r["index"] for r in batch["rejected"]], [r["rank"] for r in batch["results"]]) == (2, [2], [1, 4])
        for _ in range(2):
            assert service.increment("points", "alice", 7, idempotency_key="once")["score"] == 7
        service.increment("points", "bob", 7)
        for player in ("alice", "bob"):
            service.submit("plain", player, 3)
        until(place.in_sync)
        # Dense ranks need an index of scores, which nobody has asked for yet.
        assert service.get("games", "players/bob")["ranks"] == {"unique": 3, "standard": 3, "dense": None}
        before = seen(service)
        until(lambda: service.get("games", "players/bob")["ranks"] == {"unique": 3, "standard": 3, "dense": 3})
        assert [s["player_id"] for s in before["pages"]["games", "all_time"][1]] == ["carol", "alice", "bob", "dave"]
        assert [(s["player_id"], s["score"]) for s in before["pages"]["points", "daily"][1]] == [("alice", 7), ("bob", 7)]
        assert [(s["player_id"], s["since"]) for s in before["pages"]["plain", "all_time"][1]] == [("bob", None), ("alice", None)]
        assert before["segment"] == ["alice"]
        assert ([s["player_id"] for s in before["player"]["around"]], before["player"]["ranks"]["dense"]) == (["alice", "bob", "dave"], 3)
        assert [s["player_id"] for s in before["ranks"]["standings"]] == ["carol", "alice", "bob"]
        assert before["count"]["count"] == 3
        assert ([s["player_id"] for s in before["lookup"]["standings"]], before["lookup"]["missing"]) == (["carol", "alice"], ["nobody"])
        verified(service)
        service.stop()
        assert service.process.returncode == 0
        service.start()
        assert seen(service) == before
        assert service.increment("games", "dave", 100)["rank"] == 1
        verified(service, beside=True)
        assert "Traceback" not in service.log.read_text()
    finally:
        service.stop()


def calls(found: Replicated) -> list[int]:
    """How many scripts each replica has run."""
    stats = [replica.ask("INFO", "commandstats") for replica in found.replicas]
    return [sum(stat.get(name, {}).get("calls", 0) for name in ("cmdstat_eval", "cmdstat_evalsha")) for stat in stats]


@pytest.mark.parametrize("place", ["replicas"], indirect=True)
def test_replicas_are_read_from_and_may_go_away(place: Place, tmp_path: Path) -> None:
    found = place.replicated
    assert found is not None
    service = Service(tmp_path, on(f"{place.url}&deadline=0.5", f'{BOARDS}\n[[board]]\nname = "prize"\nconsistency = "strong"\n'))
    try:
        for number in range(4):
            service.submit("games", f"p{number}", number)
            service.submit("prize", f"p{number}", number)
            assert len(service.order("prize")) == number + 1, "what a strong board shows is never old"
        until(place.in_sync)
        before = calls(found)
        for number in range(8):
            assert service.get("games", f"players/p{number % 4}")["rank"] == 4 - number % 4
        after = calls(found)
        assert sum(after) > sum(before), "replicas answer"
        strong = calls(found)
        service.get("prize", "players/p1")
        assert calls(found) == strong, "a strong board is read from the primary"
        for replica in found.replicas:
            replica.kill()
        for number in range(4):
            assert service.get("games", f"players/p{number}")["rank"] == 4 - number
        assert service.submit("games", "p0", 100)["rank"] == 1
        assert service.order("games")[0] == "p0"
    finally:
        service.stop()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service whose boards the tests make themselves."""
    running = Service(tmp_path_factory.mktemp("layouts"), on(open_redis().url))
    yield running
    running.stop()


@pytest.mark.parametrize(("fields", "layouts", "words"), LAYOUTS, ids=lambda value: json.dumps(value)[:60])
def test_boards_show_tells_the_layout_and_why(service: Service, fields: Any, layouts: dict[str, str], words: list[str]) -> None:
    name = f"layout-{LAYOUTS.index((fields, layouts, words))}"
    service.define(name, **fields)
    told = json.loads(run("boards", "show", name, "--json", "--url", service.url, cwd=service.directory).stdout)
    assert {window: layout["layout"] for window, layout in told["layouts"].items()} == layouts
    shown = run("boards", "show", name, "--config", str(service.config), cwd=service.directory)
    assert shown.returncode == 0, shown.stderr
    for window, layout in layouts.items():
        assert f"layout of {window}" in shown.stdout
        assert f"{layout}: " in shown.stdout
    for word in words:
        assert word in shown.stdout, shown.stdout
    # What GET tells can be PUT.
    assert taken(service.client.put(f"/v1/boards/{name}", json=told))["version"] == 1


def test_keys_and_members_are_those_of_the_layout(service: Service) -> None:
    service.define("readable", ties="player", windows={"all_time": {"key": "lb:readable"}})
    for player, score in (("alice", 30), ("bob", 10), ("carol", 20)):
        service.submit("readable", player, score)
    found = open_redis().ask("ZREVRANGE", "lb:readable", 0, -1, "WITHSCORES")
    assert [(member.decode(), score) for member, score in pairs(found)] == [("alice", 30), ("carol", 20), ("bob", 10)]


def pairs(found: list[Any]) -> list[tuple[bytes, float]]:
    """Members and scores, in whichever form the client gives them."""
    if found and not isinstance(found[0], list | tuple):
        return [(found[i], float(found[i + 1])) for i in range(0, len(found), 2)]
    return [(member, float(score)) for member, score in found]
