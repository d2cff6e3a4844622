"""Scores that are set, and accounts that are merged, over HTTP and on the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.service.access_rig import KeyedService, bearer, problem
from tests.service.running import run

BOARDS = """
[[board]]
name = "global"
windows = ["all_time", "daily"]

[[board]]
name = "season-1"
operator = "sum"
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KeyedService]:
    found = KeyedService(tmp_path_factory.mktemp("corrected"), BOARDS)
    for player, score in (("ann", 50), ("bob", 90), ("guest", 70)):
        for board in ("global", "season-1"):
            sent = found.admin.post(f"/v1/boards/{board}/scores", json={"player_id": player, "score": score})
            assert sent.status_code == 200, sent.text
    yield found
    found.stop()


def ranked(service: KeyedService, board: str = "global") -> list[tuple[str, int]]:
    return [(one["player_id"], one["score"]) for one in service.admin.get(f"/v1/boards/{board}/top").json()["standings"]]


def keepscore(service: KeyedService, *arguments: str) -> str:
    done = run(*arguments, "--url", service.url, cwd=service.directory, KEEPSCORE_KEY=service.keys["admin"])
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_score_is_corrected_and_that_is_undone(service: KeyedService) -> None:
    body = {"board": "global", "player_id": "bob", "score": 60, "reason": "a wrong result"}
    tried = service.admin.post("/v1/moderation/correct", json={**body, "dry_run": True}).json()
    assert (tried["void_id"], tried["changes"][0]["after"]) == (None, {"score": 60, "rank": 2})
    done = service.admin.post("/v1/moderation/correct", json=body).json()
    assert done["changes"] == tried["changes"]
    assert ranked(service) == [("guest", 70), ("bob", 60), ("ann", 50)]
    (listed,) = service.admin.get("/v1/moderation/voids").json()["voids"]
    assert (listed["void_id"], listed["events"], listed["state"]) == (done["void_id"], 1, "standing")
    undone = service.admin.post(f"/v1/moderation/void/{done['void_id']}/undo", json={"reason": "it was right"})
    assert undone.json()["state"] == "undone"
    assert ranked(service) == [("bob", 90), ("guest", 70), ("ann", 50)]
    assert "keepscore undo v_" in keepscore(service, "correct", "season-1", "ann", "55", "--reason", "a wrong result")
    assert ("ann", 55) in ranked(service, "season-1")


def test_a_guest_is_merged_and_split(service: KeyedService) -> None:
    before = ranked(service), ranked(service, "season-1")
    assert "2 events on 2 boards count as ann's" in keepscore(service, "merge", "guest", "ann", "--reason", "signed up", "--yes")
    assert ranked(service) == [("bob", 90), ("ann", 70)]
    refused = service.admin.post("/v1/boards/global/scores", json={"player_id": "guest", "score": 1})
    problem(refused, 409, "player-merged")
    again = service.admin.post("/v1/moderation/merge", json={"from": "guest", "into": "bob", "reason": "x"})
    problem(again, 409, "player-merged")
    assert "two players again" in keepscore(service, "split", "guest", "--reason", "two people")
    assert (ranked(service), ranked(service, "season-1")) == before
    problem(service.admin.post("/v1/moderation/split", json={"from": "guest", "reason": "x"}), 409, "nothing-to-undo")


@pytest.mark.parametrize(
    ("action", "body", "status", "kind"),
    [
        ("correct", {"player_id": "bob", "score": 1}, 422, "invalid-field"),
        ("correct", {"player_id": "bob", "score": "x", "reason": "r"}, 422, "invalid-field"),
        ("correct", {"player_id": "bob", "score": 1, "reason": "r", "windows": ["weekly"]}, 422, "invalid-field"),
        ("correct", {"player_id": "bob", "score": 1, "reason": "r", "window": "daily", "windows": ["daily"]}, 422, "invalid-field"),
        ("correct", {"player_id": "bob", "score": 1, "reason": "r", "board": "none"}, 404, "unknown-board"),
        ("merge", {"from": "bob", "into": "bob", "reason": "r"}, 422, "invalid-field"),
        ("merge", {"from": "", "into": "bob", "reason": "r"}, 422, "invalid-player"),
        ("merge", {"from": "ann", "into": "bob"}, 422, "invalid-field"),
        ("split", {"from": "ann", "reason": ""}, 422, "invalid-field"),
    ],
)
def test_bad_requests_are_refused(service: KeyedService, action: str, body: dict[str, object], status: int, kind: str) -> None:
    before = ranked(service)
    given = {"board": "global", **body} if action == "correct" else body
    problem(service.admin.post(f"/v1/moderation/{action}", json=given), status, kind)
    assert ranked(service) == before


def test_a_limited_key_corrects_on_its_boards_and_merges_nobody(service: KeyedService) -> None:
    made = service.admin.post("/v1/keys", json={"name": "mod", "scope": "moderate", "boards": ["season-*"]}).json()["key"]
    body = {"board": "global", "player_id": "bob", "score": 60, "reason": "r"}
    problem(service.admin.post("/v1/moderation/correct", json=body, headers=bearer(made)), 403, "forbidden")
    own = service.admin.post("/v1/moderation/correct", json={**body, "board": "season-1", "dry_run": True}, headers=bearer(made))
    assert own.status_code == 200
    merge = {"from": "guest", "into": "ann", "reason": "r"}
    problem(service.admin.post("/v1/moderation/merge", json=merge, headers=bearer(made)), 403, "forbidden")
    problem(service.admin.post("/v1/moderation/split", json={"from": "guest", "reason": "r"}, headers=bearer(made)), 403, "forbidden")


def test_everything_about_a_player_is_exported(service: KeyedService) -> None:
    service.admin.put("/v1/players/dan", json={"name": "Dan"})
    service.admin.post("/v1/boards/global/scores", json={"player_id": "dan", "score": 5, "metadata": {"note": "hi"}, "game_id": "g"})
    service.admin.post("/v1/moderation/hide", json={"player_id": "dan", "reason": "a bot"})
    found = service.admin.get("/v1/players/dan/export")
    assert (found.status_code, found.headers["cache-control"]) == (200, "no-store")
    told = found.json()
    assert (told["player_id"], told["profile"]["name"], told["restrictions"][0]["kind"]) == ("dan", "Dan", "hide")
    (event,) = [one for board in told["boards"] if board["board"] == "global" for one in board["events"] if one["kind"] == "score"]
    assert (event["amount"], event["metadata"], event["game_id"]) == (5, {"note": "hi"}, "g")
    assert json.loads(keepscore(service, "players", "export", "dan"))["boards"] == told["boards"]
    assert service.admin.get("/v1/players/nobody/export").json()["boards"] == []
    made = service.admin.post("/v1/keys", json={"name": "mod", "scope": "moderate"}).json()["key"]
    problem(service.admin.get("/v1/players/dan/export", headers=bearer(made)), 403, "forbidden")


def test_a_player_is_erased_over_http_and_on_the_command_line(service: KeyedService) -> None:
    sent = {"player_id": "eve", "score": 5, "metadata": {"said": "hello"}}
    assert service.admin.post("/v1/boards/global/scores", json=sent).status_code == 200
    body = {"player_id": "eve", "reason": "asked for"}
    keyed = {"Idempotency-Key": "erase-1"}
    moderator = bearer(service.make("erasing", "moderate"))
    problem(service.client.post("/v1/moderation/erase", json=body, headers=moderator), 403, "forbidden")
    limited = bearer(service.make("limited", "admin", boards=["season-*"]))
    problem(service.client.post("/v1/moderation/erase", json=body, headers=limited), 403, "forbidden")
    for wrong in ({"player_id": "eve"}, {**body, "reason": ""}, {**body, "player_id": ""}, {**body, "board": "global"}):
        assert service.admin.post("/v1/moderation/erase", json=wrong).status_code in (400, 422)
    done = service.admin.post("/v1/moderation/erase", json=body, headers=keyed)
    assert (done.status_code, done.json()["player_id"], done.json()["events"]) == (200, "eve", 1)
    again = service.admin.post("/v1/moderation/erase", json=body, headers=keyed)
    assert again.json() == {**done.json(), "replayed": True}
    other = service.admin.post("/v1/moderation/erase", json={**body, "player_id": "ann"}, headers=keyed)
    problem(other, 422, "idempotency-key-reused")
    assert (done.json()["pseudonym"], 5) in ranked(service)
    assert service.admin.get("/v1/boards/global/players/eve").status_code == 404
    assert "nothing is stored about nobody" in keepscore(service, "erase", "nobody", "--reason", "asked for", "--yes")
    assert service.admin.post("/v1/boards/global/scores", json=sent).status_code == 200
    assert "1 event and 0 archived ranks stay under erased-" in keepscore(service, "erase", "eve", "--reason", "asked for", "--yes")
