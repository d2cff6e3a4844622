"""Hidden and shadowed players over HTTP and on the command line: who sees them, and who may decide that."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.access_rig import KeyedService, bearer, problem
from tests.service.running import run

BOARDS = """
[[board]]
name = "global"
windows = ["all_time", "daily"]

[[board]]
name = "season-1"
read = "public"
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KeyedService]:
    folder: Path = tmp_path_factory.mktemp("restricted")
    found = KeyedService(folder, BOARDS)
    for player, score in (("ann", 50), ("bob", 90), ("cem", 70)):
        for board in ("global", "season-1"):
            sent = found.admin.post(f"/v1/boards/{board}/scores", json={"player_id": player, "score": score})
            assert sent.status_code == 200, sent.text
    yield found
    found.stop()


def token(service: KeyedService, player: str) -> dict[str, str]:
    return bearer(service.admin.post("/v1/tokens", json={"player_id": player}).json()["token"])


def ranked(service: KeyedService, query: str = "", headers: dict[str, str] | None = None) -> list[str]:
    answer = service.admin.get(f"/v1/boards/global/top{query}", headers=headers)
    assert answer.status_code == 200, answer.text
    return [one["player_id"] for one in answer.json()["standings"]]


def decide(service: KeyedService, action: str, **body: object) -> dict[str, object]:
    answer = service.admin.post(f"/v1/moderation/{action}", json={"reason": "a bot", **body})
    assert answer.status_code == 200, answer.text
    found: dict[str, object] = answer.json()
    return found


def test_a_shadowed_player_sees_themselves(service: KeyedService) -> None:
    # So that the page is kept.
    assert ranked(service) == ["bob", "cem", "ann"]
    done = decide(service, "shadow", player_id="bob")
    assert (done["action"], done["player_id"], done["boards"]) == ("shadow", "bob", None)
    bob, ann = token(service, "bob"), token(service, "ann")
    assert ranked(service) == ranked(service, headers=ann) == ranked(service, "?viewer=ann") == ["cem", "ann"]
    for query, headers in (("?viewer=bob", None), ("", bob)):
        page = service.admin.get(f"/v1/boards/global/top{query}", headers=headers)
        assert [one["player_id"] for one in page.json()["standings"]] == ["bob", "cem", "ann"]
        assert (page.json()["total_players"], page.headers["cache-control"]) == (3, "no-store")
    assert ranked(service) == ["cem", "ann"]
    for path in ("/players/bob?around=1", "/players/bob", "/ranks/1?viewer=bob&around=0", "/count?viewer=bob"):
        answer = service.admin.get(f"/v1/boards/global{path}")
        assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    assert service.admin.get("/v1/boards/global/count").json()["count"] == 2
    problem(service.admin.get("/v1/boards/global/players/bob", headers=ann), 403, "forbidden")
    problem(service.admin.get("/v1/boards/global/players/bob?viewer=ann"), 404, "unknown-player")
    problem(service.admin.get("/v1/boards/global/top?viewer=bob", headers=ann), 403, "forbidden")
    looked_up = {"player_ids": ["bob", "ann"]}
    assert service.admin.post("/v1/boards/global/players/lookup", json=looked_up).json()["missing"] == ["bob"]
    assert service.admin.post("/v1/boards/global/players/lookup?viewer=bob", json=looked_up).json()["missing"] == []
    receipt = service.admin.post("/v1/boards/global/scores", json={"player_id": "bob", "score": 95}, headers=bob).json()
    assert (receipt["rank"], receipt["score"], receipt["total_players"], "pending" in receipt) == (1, 95, 3, False)
    assert [one["board"] for one in service.admin.get("/v1/me/standings", headers=bob).json()["standings"]] == ["global", "season-1"]
    # Whoever asks first, nothing of what one sees is kept for the other.
    for one, other, n in ((bob, ann, 8), (ann, bob, 9)):
        for path in (f"/v1/boards/global/distribution?bins={n}", f"/api/v1/leaderboard/top?n={n}"):
            seen = {id(who): service.admin.get(path, headers=who) for who in (one, other)}
            assert [str(seen[id(who)].json().get("total_players")) for who in (bob, ann)] == ["3", "2"], path
            assert [seen[id(who)].headers["cache-control"] == "no-store" for who in (bob, ann)] == [True, False]
    (place,) = service.admin.get("/v1/boards/global/history/bob?window=daily").json()["history"]
    assert place["rank"] == 1
    decide(service, "restore", player_id="bob")
    assert ranked(service) == ["bob", "cem", "ann"]


def test_a_hidden_player_is_listed_and_restored_on_the_command_line(service: KeyedService) -> None:
    def keepscore(*arguments: str) -> str:
        done = run(*arguments, "--url", service.url, cwd=service.directory, KEEPSCORE_KEY=service.keys["admin"])
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "ann is hidden on global until 2030-01-01" in keepscore(
        "hide", "ann", "--board", "global", "--until", "2030-01-01T00:00:00Z", "--reason", "a bot"
    )
    assert ranked(service) == ranked(service, headers=token(service, "ann")) == ["bob", "cem"]
    (listed,) = json.loads(keepscore("restricted", "--json"))["players"]
    assert (listed["player_id"], listed["state"], listed["boards"]) == ("ann", "hidden", ["global"])
    assert "ann" in keepscore("restricted", "--board", "global")
    assert "is ranked again on all boards" in keepscore("restore", "ann", "--reason", "no bot")
    assert "cem is shadowed on all boards" in keepscore("shadow", "cem", "--reason", "a cheat")
    assert ranked(service) == ["bob", "ann"]
    keepscore("restore", "cem", "--reason", "no cheat")
    problem(service.admin.post("/v1/moderation/restore", json={"player_id": "cem", "reason": "x"}), 409, "nothing-to-undo")


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        ({"player_id": "bob"}, 422, "invalid-field"),
        ({"player_id": "bob", "reason": ""}, 422, "invalid-field"),
        ({"player_id": "", "reason": "x"}, 422, "invalid-player"),
        ({"player_id": "bob", "reason": "x", "boards": []}, 422, "invalid-field"),
        ({"player_id": "bob", "reason": "x", "boards": ["none"]}, 404, "unknown-board"),
        ({"player_id": "bob", "reason": "x", "until": "2020-01-01T00:00:00Z"}, 422, "invalid-time"),
        ({"player_id": "bob", "reason": "x", "until": "soon"}, 422, "invalid-time"),
        ({"player_id": "bob", "reason": "x", "day": 1}, 422, "invalid-field"),
    ],
)
def test_bad_decisions_are_refused(service: KeyedService, body: dict[str, object], status: int, kind: str) -> None:
    for action in ("hide", "shadow"):
        problem(service.admin.post(f"/v1/moderation/{action}", json=body), status, kind)
    assert service.admin.get("/v1/moderation/restricted").json()["players"] == []


def test_a_key_decides_about_its_own_boards(service: KeyedService) -> None:
    made = service.admin.post("/v1/keys", json={"name": "mod", "scope": "moderate", "boards": ["season-*"]}).json()["key"]
    body = {"player_id": "bob", "reason": "a bot"}
    for action in ("hide", "shadow", "restore"):
        problem(service.admin.post(f"/v1/moderation/{action}", json=body, headers=bearer(made)), 403, "forbidden")
        foreign = {**body, "boards": ["season-1", "global"]}
        problem(service.admin.post(f"/v1/moderation/{action}", json=foreign, headers=bearer(made)), 403, "forbidden")
    own = service.admin.post("/v1/moderation/hide", json={**body, "boards": ["season-1"]}, headers=bearer(made))
    assert own.status_code == 200
    problem(service.admin.get("/v1/moderation/restricted?board=global", headers=bearer(made)), 403, "forbidden")
    assert len(service.admin.get("/v1/moderation/restricted", headers=bearer(made)).json()["players"]) == 1
    decide(service, "restore", player_id="bob")
