"""Resets over HTTP and on the command line, under load, with several processes, and with one that is killed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.service.redis_places import on, open_redis, until, verified
from tests.service.running import Service, refused, run, taken
from tests.support.redis_load import Load, call

SUM = '[[board]]\nname = "{name}"\noperator = "sum"\nwindows = ["all_time", "daily"]\n'


def added_up(service: Service, board: str) -> dict[str, int]:
    """The scores of each player in the present ranking and all versions, added up."""
    definition = taken(service.client.get(f"/v1/boards/{board}"))
    sums: dict[str, int] = {}
    for version in [f"all_time.v{number}" for number in range(1, len(definition["resets"]) + 1)] + ["all_time"]:
        for standing in service.get(board, "top", window_id=version, limit=1000)["standings"]:
            sums[standing["player_id"]] = sums.get(standing["player_id"], 0) + standing["score"]
    return sums


def sent_amounts(load: Load) -> dict[str, int]:
    """What acknowledged submissions add up to, by player."""
    sums: dict[str, int] = {}
    for sent in load.sent:
        if sent.is_acknowledged:
            sums[sent.body["player_id"]] = sums.get(sent.body["player_id"], 0) + sent.body["amount"]
    return sums


def test_a_reset_is_answered_and_undone(service: Service, board: Callable[..., str]) -> None:
    name = board(operator="sum", windows=["all_time", "daily"])
    service.increment(name, "alice", 5)
    ended = taken(service.client.post(f"/v1/boards/{name}/reset"))
    day = service.get(name, "top", window="daily")["window_id"]
    assert ended["version"] == 1
    assert set(ended) == {"board", "version", "window_ids", "at"}
    assert ended["window_ids"]["all_time"] == "all_time.v1"
    assert ended["window_ids"]["daily"].split(".")[0] in (day, ended["at"][:10])
    assert service.order(name) == []
    assert service.order(name, window_id="all_time.v1") == ["alice"]
    assert service.get(name, "players/alice", window_id="all_time.v1")["score"] == 5
    definition = taken(service.client.get(f"/v1/boards/{name}"))
    assert definition["resets"] == [ended["at"]]
    # What was read can be written back.
    assert taken(service.client.put(f"/v1/boards/{name}", json=definition))["version"] == definition["version"]
    undone = taken(service.client.post(f"/v1/boards/{name}/reset/undo"))
    assert (undone["undone"], undone["version"]) == (True, 1)
    assert service.order(name) == ["alice"]
    refused(service.client.post(f"/v1/boards/{name}/reset/undo"), 409, name, "no reset to undo")
    refused(service.client.post("/v1/boards/nobody/reset"), 404, "nobody")
    refused(service.client.put(f"/v1/boards/{name}", json={"resets": ["2026-11-15T12:00:00Z"]}), 422, "resets", "cannot be set")
    refused(service.client.put(f"/v1/boards/{name}", json={"resets": ["yesterday"]}), 422, "resets", "in order")


def test_after_the_grace_there_is_nothing_to_undo(service: Service, board: Callable[..., str]) -> None:
    name = board(grace="0s")
    taken(service.client.post(f"/v1/boards/{name}/reset"))
    refused(service.client.post(f"/v1/boards/{name}/reset/undo"), 409, "grace")


def test_a_version_of_all_time_is_archived_and_outlives_its_ttl(service: Service, board: Callable[..., str]) -> None:
    name = board(grace="0s", windows={"all_time": {"ttl": "3s"}, "daily": {}})
    service.submit(name, "champ", 10)
    taken(service.client.post(f"/v1/boards/{name}/reset"))

    def windows() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = service.get(name, "windows", window="all_time")["windows"]
        return found

    until(lambda: [(one["window_id"], one["state"], one["start"]) for one in windows()] == [("all_time.v1", "closed", None)], 15)
    until(lambda: service.get(name, "top", window_id="all_time.v1").get("archived") is True, 15)
    assert service.order(name, window_id="all_time.v1") == ["champ"]


def test_a_key_makes_a_reset_count_once(service: Service, board: Callable[..., str]) -> None:
    name = board()
    first, again = (taken(service.client.post(f"/v1/boards/{name}/reset", headers={"Idempotency-Key": "k"})) for _ in range(2))
    assert again == {**first, "replayed": True}


def test_the_command_line_resets(service: Service, board: Callable[..., str]) -> None:
    name = board()
    done = run("reset", name, "--url", service.url, cwd=service.directory)
    assert (done.returncode, done.stdout, "--yes" in done.stderr) == (2, "", True), done
    assert taken(service.client.get(f"/v1/boards/{name}"))["version"] == 1
    done = run("reset", name, "--yes", "--url", service.url, cwd=service.directory)
    assert (done.returncode, "version 1 ended" in done.stdout, "all_time.v1" in done.stdout) == (0, True, True), done
    done = run("reset", name, "--undo", "--url", service.url, cwd=service.directory)
    assert (done.returncode, "undid the reset" in done.stdout) == (0, True), done
    done = run("reset", name, "--undo", "--url", service.url, cwd=service.directory)
    assert (done.returncode, "no reset to undo" in done.stderr) == (2, True), done


@pytest.fixture(params=["embedded", "workers"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """A service in a process of its own, or in two on one Redis; it can be started again."""
    name = f"reset-{request.param}"
    if request.param == "embedded":
        running = Service(tmp_path, SUM.format(name=name))
    else:
        url = open_redis().url.removesuffix("/0") + "/9"
        running = Service(tmp_path, on(url, SUM.format(name=name)), "--workers", "2")
        until(lambda: "is ready at" in running.log.read_text())
    yield running, name
    running.stop(kill=True)


def test_resets_under_load_lose_nothing_and_count_nothing_twice(place: Any) -> None:
    service, name = place
    with Load(service.url, {name: "sum"}, clients=3, reconnect=True, pause=0.002).running() as load:
        for _ in range(4):
            load.reach(60)
            answer = call(service.url, "POST", f"/v1/boards/{name}/reset")
            assert answer.status == 200, answer
    assert set(load.statuses) == {200}, load.statuses
    until(lambda: added_up(service, name) == sent_amounts(load), 5)
    verified(service)


def test_a_service_that_is_killed_while_it_resets_has_reset_or_not(tmp_path: Path) -> None:
    name = "killed"
    service = Service(tmp_path, SUM.format(name=name))
    try:
        for number in range(3):
            for player in range(40):
                service.increment(name, f"p{player}", 1)
            asked = threading.Thread(target=call, args=(service.url, "POST", f"/v1/boards/{name}/reset"))
            asked.start()
            asked.join(0.002 * number)
            service.stop(kill=True)
            asked.join()
            service.start()
            assert added_up(service, name) == {f"p{player}": number + 1 for player in range(40)}
        verified(service)
    finally:
        service.stop()
