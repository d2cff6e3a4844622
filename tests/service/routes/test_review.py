"""The review of scores over HTTP and on the command line, and who may decide."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.service.access_rig import KeyedService, bearer, problem
from tests.service.running import Service, run

BOARDS = """
[[board]]
name = "global"
rules = {max_score = 100, on_break = "quarantine"}

[[board]]
name = "other"
rules = {max_score = 100, on_break = "quarantine"}
"""


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    found = Service(tmp_path, BOARDS)
    yield found
    found.stop()


def test_a_score_is_held_and_decided(service: Service, tmp_path: Path) -> None:
    def cli(*arguments: str) -> subprocess.CompletedProcess[str]:
        return run(*arguments, "--url", service.url, cwd=tmp_path)

    service.submit("global", "ann", 90)
    answer = service.client.post("/v1/boards/global/scores", json={"player_id": "bob", "score": 500})
    receipt = answer.json()
    assert (answer.status_code, receipt["rank"], receipt["pending"], receipt["quarantined"]) == (202, None, True, True)
    assert receipt["reasons"][0]["rule"] == "max_score"
    page = service.client.get("/v1/moderation/queue").json()
    (item,) = page["items"]
    assert page["next_cursor"] is None
    assert {"id", "board", "player_id", "score", "at", "reasons", "evidence"} <= set(item)
    assert (item["id"], item["board"], item["player_id"], item["score"]) == (receipt["queue_id"], "global", "bob", 500)
    assert item["evidence"]["distribution"] == {"players": 1, "ahead": 0, "first": 90, "median": 90, "last": 90}
    address = f"/v1/moderation/queue/{item['id']}"
    for body in ({}, {"reason": ""}, {"reason": "x" * 1001}, {"reason": 5}, {"reason": "a", "more": 1}):
        problem(service.client.post(f"{address}/approve", json=body), 422, "invalid-field")
    problem(service.client.post("/v1/moderation/queue/q_0/approve", json={"reason": "a"}), 404, "unknown-queue-item")
    problem(service.client.get("/v1/moderation/queue?cursor=x"), 422, "invalid-page")
    problem(service.client.get("/v1/moderation/queue?state=lost"), 422, "invalid-field")
    problem(service.client.get("/v1/moderation/queue?board=none"), 404, "unknown-board")
    key = {"Idempotency-Key": "once"}
    for replayed in (None, "true"):
        approved = service.client.post(f"{address}/approve", json={"reason": "seen"}, headers=key)
        assert (approved.status_code, approved.json()["state"], approved.headers.get("idempotency-replayed")) == (200, "approved", replayed)
    problem(service.client.post(f"{address}/approve", json={"reason": "seen"}), 409, "already-decided")
    problem(service.client.post(f"{address}/reject", json={"reason": "no"}), 409, "already-decided")
    assert [s["player_id"] for s in service.client.get("/v1/boards/global/top").json()["standings"]] == ["bob", "ann"]
    # The same on the command line.
    service.client.post("/v1/boards/other/scores", json={"player_id": "cem", "score": 700})
    listed = msgspec.json.decode(cli("queue", "list", "--json").stdout)["items"]
    assert [one["player_id"] for one in listed] == ["cem"]
    assert "max_score" in cli("queue", "list", "--board", "other").stdout
    assert "does not count" in cli("queue", "reject", listed[0]["id"], "--reason", "no").stdout
    assert "was rejected already" in cli("queue", "approve", listed[0]["id"], "--reason", "yes").stderr
    assert cli("queue", "list", "--state", "rejected").stdout.count("cem") == 1


def test_moderators_see_and_decide_only_what_is_on_their_boards(tmp_path: Path) -> None:
    keyed = KeyedService(tmp_path, BOARDS)
    try:
        keyed.make("own", "moderate", boards=["global"])
        keyed.make("submits", "submit")
        items = {}
        for board in ("global", "other"):
            sent = keyed.admin.post(f"/v1/boards/{board}/scores", json={"player_id": "ann", "score": 500})
            items[board] = f"/v1/moderation/queue/{sent.json()['queue_id']}"
        own, client = bearer(keyed.keys["own"]), keyed.client
        page = client.get("/v1/moderation/queue", headers=own).json()
        assert [item["board"] for item in page["items"]] == ["global"]
        problem(client.get("/v1/moderation/queue?board=other", headers=own), 403, "forbidden")
        for verb in ("approve", "reject"):
            problem(client.post(f"{items['other']}/{verb}", json={"reason": "a"}, headers=own), 403, "forbidden")
        problem(client.get("/v1/moderation/queue", headers=bearer(keyed.keys["submits"])), 403, "forbidden")
        assert client.post(f"{items['global']}/approve", json={"reason": "a"}, headers=own).status_code == 200
    finally:
        keyed.stop()


def test_scores_are_voided_by_the_address_they_came_from(service: Service, tmp_path: Path) -> None:
    for player in ("ann", "bob"):
        service.submit("global", player, 50)
    service.client.post("/v1/boards/global/scores", json={"player_id": "bob", "score": 500})
    address = service.client.get("/v1/moderation/queue").json()["items"][0]["evidence"]["address"]
    assert (address["accounts"], address["player_ids"]) == (1, ["ann"])
    problem(service.client.post("/v1/moderation/void", json={"board": "global", "address": "home", "reason": "a"}), 422, "invalid-field")
    tried = {"board": "global", "address": "127.0.0.1", "reason": "a farm", "dry_run": True}
    assert service.client.post("/v1/moderation/void", json=tried).json()["events"] == 2
    assert service.client.post("/v1/moderation/void", json={**tried, "address": "192.0.2.1"}).json()["events"] == 0
    assert service.client.post("/v1/moderation/void", json={**tried, "build": "1.4"}).json()["events"] == 0
    done = run("void", "global", "--address", "127.0.0.1", "--reason", "a farm", "--yes", "--url", service.url, cwd=tmp_path)
    assert "2 events of 2 players no longer count" in done.stdout


def test_players_appeal_for_themselves_and_moderators_reply(tmp_path: Path) -> None:
    keyed = KeyedService(tmp_path, BOARDS)
    try:
        keyed.make("own", "moderate", boards=["other"])
        sent = {player: {"player_id": player, "score": 500} for player in ("ann", "bob")}
        held = {player: keyed.admin.post("/v1/boards/global/scores", json=body).json()["queue_id"] for player, body in sent.items()}
        token = keyed.admin.post("/v1/tokens", json={"player_id": "ann"}).json()["token"]
        client, ann = keyed.client, bearer(token)
        appeal = {"decision_id": held["ann"], "player_id": "ann", "text": "I was there"}
        problem(client.post("/v1/appeals", json={**appeal, "player_id": "bob"}, headers=ann), 403, "forbidden")
        problem(client.post("/v1/appeals", json={**appeal, "decision_id": held["bob"]}, headers=ann), 404, "unknown-decision")
        problem(client.post("/v1/appeals", json={**appeal, "text": "x" * 2001}, headers=ann), 422, "invalid-field")
        made = client.post("/v1/appeals", json=appeal, headers=ann)
        assert (made.status_code, made.json()["state"]) == (201, "open")
        problem(client.post("/v1/appeals", json=appeal, headers=ann), 409, "already-appealed")
        problem(client.get("/v1/appeals", headers=ann), 403, "forbidden")
        address = f"/v1/appeals/{made.json()['id']}"
        other = keyed.admin.post("/v1/tokens", json={"player_id": "bob"}).json()["token"]
        problem(client.get(address, headers=bearer(other)), 403, "forbidden")
        problem(client.post(f"{address}/reply", json={"reply": "a"}, headers=ann), 403, "forbidden")
        problem(client.post(f"{address}/reply", json={"reply": "a"}, headers=bearer(keyed.keys["own"])), 403, "forbidden")
        assert client.get("/v1/appeals", headers=bearer(keyed.keys["own"])).json()["items"] == []
        assert [one["player_id"] for one in keyed.admin.get("/v1/appeals").json()["items"]] == ["ann"]
        problem(keyed.admin.post(f"{address}/reply", json={}), 422, "invalid-field")
        granted = keyed.admin.post(f"{address}/reply", json={"reply": "you were", "grant": True})
        assert (granted.status_code, granted.json()["state"]) == (200, "granted")
        problem(keyed.admin.post(f"{address}/reply", json={"reply": "again"}), 409, "already-decided")
        assert client.get(address, headers=ann).json()["reply"] == "you were"
        assert keyed.admin.get("/v1/boards/global/players/ann").json()["rank"] == 1
    finally:
        keyed.stop()


def test_appeals_on_the_command_line(service: Service, tmp_path: Path) -> None:
    held = service.client.post("/v1/boards/global/scores", json={"player_id": "ann", "score": 500}).json()["queue_id"]
    made = run("appeals", "create", held, "ann", "--text", "I was there", "--url", service.url, "--json", cwd=tmp_path)
    assert "I was there" in run("appeals", "list", "--url", service.url, cwd=tmp_path).stdout
    appeal_id = msgspec.json.decode(made.stdout)["id"]
    replied = run("appeals", "reply", appeal_id, "--text", "No", "--url", service.url, cwd=tmp_path)
    assert replied.stdout.strip().endswith("is upheld")
    again = run("appeals", "reply", appeal_id, "--text", "No", "--url", service.url, cwd=tmp_path)
    assert (again.returncode, "was upheld already" in again.stderr) == (2, True)


def test_rules_are_tried_on_the_past(service: Service, tmp_path: Path) -> None:
    for player, score in (("ann", 50), ("bob", 90)):
        service.submit("global", player, score)
    address = "/v1/boards/global/rules/test"
    found = service.client.post(address, json={"rules": {"max_score": 60}}).json()
    assert (found["submissions"], found["caught"], found["by_rule"], found["total_changes"]) == (2, 1, {"max_score": 1}, 1)
    assert found["changes"][0]["after"] is None
    problem(service.client.post(address, json={"rules": {}}), 422, "invalid-field")
    problem(service.client.post(address, json={"rules": {"most": 5}}), 422, "invalid-board")
    problem(service.client.post(address, json={}), 422, "invalid-field")
    problem(service.client.post("/v1/boards/none/rules/test", json={"rules": {"max_score": 5}}), 404, "unknown-board")
    given = "--rule", "max_score=60", "--rule", "max_submissions=10/1h"
    shown = run("rules", "test", "global", *given, "--url", service.url, cwd=tmp_path)
    assert "caught: 1 of 2 submissions, of 1 player (max_score 1)" in shown.stdout
    wrong = run("rules", "test", "global", "--rule", "max_score", "--url", service.url, cwd=tmp_path)
    assert (wrong.returncode, "is no rule" in wrong.stderr) == (2, True)
