"""Moderation over HTTP and on the command line: voids, dry runs, undo, removal, and who may do it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.access_rig import KeyedService, bearer, problem
from tests.service.running import Service, run

BOARDS = """
[[board]]
name = "global"
windows = ["all_time", "daily"]

[[board]]
name = "coins"
operator = "sum"
"""


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    found = Service(tmp_path, BOARDS)
    for player, score in (("ann", 50), ("bob", 90), ("cem", 70)):
        found.submit("global", player, score)
    yield found
    found.stop()


def ranked(service: Service) -> list[str]:
    return [standing["player_id"] for standing in service.client.get("/v1/boards/global/top").json()["standings"]]


def test_a_void_is_tried_recorded_and_undone(service: Service) -> None:
    body = {"board": "global", "player_id": "bob", "reason": "a bot", "dry_run": True}
    tried = service.client.post("/v1/moderation/void", json=body).json()
    assert (tried["void_id"], tried["dry_run"], tried["events"], tried["players"], tried["next_cursor"]) == (None, True, 1, 1, None)
    window_id = tried["changes"][0]["window_id"]
    assert tried["changes"][0] == {
        "player_id": "bob",
        "window": "all_time",
        "window_id": window_id,
        "before": {"score": 90, "rank": 1},
        "after": None,
    }
    assert ranked(service) == ["bob", "cem", "ann"]
    done = service.client.post("/v1/moderation/void", json={**body, "dry_run": False}).json()
    assert done["void_id"].startswith("v_")
    assert done["changes"] == tried["changes"]
    assert ranked(service) == ["cem", "ann"]
    assert service.client.get(f"/v1/moderation/void/{done['void_id']}").json()["changes"] == done["changes"]
    assert service.client.get("/v1/moderation/voids?board=global").json()["voids"][0]["state"] == "standing"
    undone = service.client.post(f"/v1/moderation/void/{done['void_id']}/undo", json={"reason": "no bot"})
    assert undone.json()["state"] == "undone"
    assert ranked(service) == ["bob", "cem", "ann"]
    problem(service.client.post(f"/v1/moderation/void/{done['void_id']}/undo", json={"reason": "no bot"}), 409, "nothing-to-undo")


def test_a_removed_player_is_gone_and_a_retry_gets_the_first_answer(service: Service) -> None:
    address = "/v1/boards/global/players/bob"
    problem(service.client.delete(address), 422, "invalid-field")
    answers = [service.client.delete(f"{address}?reason=macro", headers={"Idempotency-Key": "k"}) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert [answer.headers.get("idempotency-replayed") for answer in answers] == [None, "true"]
    assert answers[0].json()["void_id"] == answers[1].json()["void_id"]
    problem(service.client.get(address), 404, "unknown-player")
    problem(service.client.delete(f"{address}?reason=macro"), 404, "unknown-player")


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"player_id": "bob"}, "invalid-field"),
        ({"player_id": "bob", "reason": ""}, "invalid-field"),
        ({"player_id": "bob", "reason": "x" * 1001}, "invalid-field"),
        ({"reason": "why"}, "invalid-field"),
        ({"reason": "why", "player": "bob"}, "invalid-field"),
        ({"reason": "why", "event_ids": ["1:2"]}, "invalid-field"),
        ({"reason": "why", "from": "2026-01-01"}, "invalid-time"),
        ({"reason": "why", "player_id": "\u0007"}, "invalid-player"),
        ({"reason": "why", "player_id": "bob", "dry_run": True, "cursor": "-1"}, "invalid-page"),
    ],
)
def test_bad_input_is_named_and_changes_nothing(service: Service, body: dict[str, object], kind: str) -> None:
    problem(service.client.post("/v1/moderation/void", json={"board": "global", **body}), 422, kind)
    assert ranked(service) == ["bob", "cem", "ann"]
    assert service.client.get("/v1/moderation/voids").json() == {"voids": []}


def test_what_is_not_there(service: Service) -> None:
    problem(service.client.post("/v1/moderation/void", json={"board": "x", "player_id": "b", "reason": "r"}), 404, "unknown-board")
    problem(service.client.get("/v1/moderation/void/v_1"), 404, "unknown-void")
    problem(service.client.post("/v1/moderation/void/v_1/undo", json={"reason": "r"}), 404, "unknown-void")
    nothing = service.client.post("/v1/moderation/void", json={"board": "global", "player_id": "nobody", "reason": "r"})
    assert (nothing.status_code, nothing.json()["void_id"], nothing.json()["events"]) == (200, None, 0)


def test_a_key_moderates_its_own_boards_only(tmp_path: Path) -> None:
    keyed = KeyedService(tmp_path)
    try:
        keyed.make("own", "moderate", boards=["season-*"])
        keyed.make("submits", "submit")
        assert keyed.admin.post("/v1/boards/other/increments", json={"player_id": "ann", "amount": 1}).status_code == 200
        body = {"board": "other", "player_id": "ann", "reason": "a bot"}
        problem(keyed.client.post("/v1/moderation/void", json=body, headers=bearer(keyed.keys["own"])), 403, "forbidden")
        problem(keyed.client.post("/v1/moderation/void", json=body, headers=bearer(keyed.keys["submits"])), 403, "forbidden")
        void = keyed.admin.post("/v1/moderation/void", json=body).json()["void_id"]
        for call in ("", "/undo"):
            method = "POST" if call else "GET"
            answer = keyed.client.request(
                method, f"/v1/moderation/void/{void}{call}", json={"reason": "r"} if call else None, headers=bearer(keyed.keys["own"])
            )
            problem(answer, 403, "forbidden")
        assert keyed.client.get("/v1/moderation/voids", headers=bearer(keyed.keys["own"])).json() == {"voids": []}
        assert len(keyed.admin.get("/v1/moderation/voids").json()["voids"]) == 1
    finally:
        keyed.stop()


def test_commands(service: Service, tmp_path: Path) -> None:
    def keepscore(*arguments: str) -> subprocess.CompletedProcess[str]:
        done = run(*arguments, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done

    tried = keepscore("remove", "global", "bob", "--reason", "a bot", "--dry-run", "--url", service.url)
    assert "1 event of 1 player would no longer count" in tried.stdout
    assert "#1 with 90" in tried.stdout
    assert "not ranked" in tried.stdout
    assert ranked(service) == ["bob", "cem", "ann"]
    done = keepscore("remove", "global", "bob", "--reason", "a bot", "--yes", "--url", service.url)
    void = done.stdout.split("keepscore undo ")[1].split()[0]
    assert ranked(service) == ["cem", "ann"]
    assert "a bot" in keepscore("voids", "--url", service.url).stdout
    undone = keepscore("undo", void, "--reason", "no bot", "--url", service.url)
    assert undone.stdout.strip() == f"void {void} on board global is undone: 1 event counts again"
    assert ranked(service) == ["bob", "cem", "ann"]
    nothing = keepscore("void", "global", "--player", "nobody", "--reason", "a bot", "--url", service.url)
    assert nothing.stdout.strip() == "no event matches: nothing to void"
