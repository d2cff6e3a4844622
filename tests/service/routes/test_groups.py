"""Private groups over HTTP and on the command line, and who may do what."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.service.access_rig import KeyedService, bearer, problem
from tests.service.running import Service, run

BOARDS = """
[limits]
group_members = 3

[[board]]
name = "global"
windows = ["all_time", "daily"]
read = "public"
"""


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KeyedService]:
    found = KeyedService(tmp_path_factory.mktemp("groups"), BOARDS)
    for player, score in (("ada", 50), ("bruno", 90), ("cem", 70)):
        found.admin.post("/v1/boards/global/scores", json={"player_id": player, "score": score}).raise_for_status()
    yield found
    found.stop()


def new(service: KeyedService, owner: str = "ada", **headers: str) -> dict[str, str]:
    answer = service.admin.post("/v1/groups", json={"name": "Lunch", "owner": owner}, headers=headers)
    assert answer.status_code == 201, answer.text
    found: dict[str, str] = answer.json()
    return found


def test_a_group_is_created_joined_ranked_and_left(keyed: KeyedService) -> None:
    group = new(keyed)
    assert len(group["invite_code"]) == 8
    address = f"/v1/groups/{group['group_id']}"
    joined = keyed.admin.post("/v1/groups/join", json={"player_id": "bruno", "invite_code": group["invite_code"].lower()})
    assert joined.json()["members"] == ["ada", "bruno"]
    assert keyed.admin.post(f"{address}/members", json={"player_id": "dora"}).json()["members"] == ["ada", "bruno", "dora"]
    problem(keyed.admin.post(f"{address}/members", json={"player_id": "cem"}), 409, "cap-reached")
    board = keyed.admin.get(f"/v1/boards/global/groups/{group['group_id']}?player_id=ada").json()
    assert {"player_id", "total_friends", "standings", "missing"} <= set(board)
    assert [(s["rank"], s["global_rank"], s["player_id"], s["is_current_player"]) for s in board["standings"]] == [
        (1, 1, "bruno", False),
        (2, 3, "ada", True),
    ]
    assert (board["group_id"], board["total_friends"], board["missing"]) == (group["group_id"], 3, ["dora"])
    groups = keyed.admin.get("/v1/players/dora/groups").json()["groups"]
    assert groups == [{"group_id": group["group_id"], "name": "Lunch", "owner": "ada", "total_members": 3}]
    assert keyed.admin.delete(f"{address}/members/dora").status_code == 204
    problem(keyed.admin.delete(f"{address}/members/dora"), 404, "unknown-player")
    code = keyed.admin.post(f"{address}/rotate").json()["invite_code"]
    assert code != group["invite_code"]
    problem(keyed.admin.post("/v1/groups/join", json={"player_id": "cem", "invite_code": group["invite_code"]}), 404, "unknown-invite")
    assert keyed.admin.post("/v1/groups/join", json={"player_id": "cem", "invite_code": code}).status_code == 200
    assert keyed.admin.delete(address).status_code == 204
    for answer in (keyed.admin.get(address), keyed.admin.post(f"{address}/rotate"), keyed.admin.delete(address)):
        problem(answer, 404, "unknown-group")
    problem(keyed.admin.get("/v1/boards/global/groups/g_nowhere"), 404, "unknown-group")


def test_a_retry_gets_the_first_answer(keyed: KeyedService) -> None:
    key = {"Idempotency-Key": "create-1"}
    first, again = new(keyed, "zoe", **key), new(keyed, "zoe", **key)
    assert again == {**first, "replayed": True}
    assert len(keyed.admin.get("/v1/players/zoe/groups").json()["groups"]) == 1


def test_wrong_codes_are_limited(keyed: KeyedService) -> None:
    group = new(keyed, "fred")

    def join(code: str, player: str = "guesser") -> httpx.Response:
        return keyed.admin.post("/v1/groups/join", json={"player_id": player, "invite_code": code})

    for _ in range(10):
        problem(join("WRONGXYZ"), 404, "unknown-invite")
    refused = join(group["invite_code"])
    problem(refused, 429, "rate-limited")
    assert 0 < int(refused.headers["retry-after"]) <= 600
    assert join(group["invite_code"], "bruno").status_code == 200


def test_bad_requests_are_refused(keyed: KeyedService) -> None:
    for body in ({"name": "", "owner": "ada"}, {"name": "x" * 129, "owner": "ada"}, {"name": "x"}, {"name": 1, "owner": "ada"}):
        problem(keyed.admin.post("/v1/groups", json=body), 422, "invalid-field")
    problem(keyed.admin.post("/v1/groups", json={"name": "x", "owner": ""}), 422, "invalid-player")
    problem(keyed.admin.post("/v1/groups/join", json={"player_id": "a"}), 422, "invalid-field")
    problem(keyed.admin.post("/v1/groups/g_x/members", json={"player_id": "a"}), 404, "unknown-group")


def test_players_act_for_themselves(keyed: KeyedService) -> None:
    ada, bruno, eve = (bearer(keyed.token(player)) for player in ("ada", "bruno", "eve"))
    problem(keyed.client.post("/v1/groups", json={"name": "x", "owner": "bruno"}, headers=ada), 403, "forbidden")
    group = keyed.client.post("/v1/groups", json={"name": "x", "owner": "ada"}, headers=ada).json()
    address, code = f"/v1/groups/{group['group_id']}", group["invite_code"]
    body = {"player_id": "bruno", "invite_code": code}
    problem(keyed.client.post("/v1/groups/join", json=body, headers=eve), 403, "forbidden")
    problem(keyed.client.post(f"{address}/members", json={"player_id": "bruno"}, headers=bruno), 422, "invalid-field")
    assert keyed.client.post(f"{address}/members", json=body, headers=bruno).status_code == 200
    board = f"/v1/boards/global/groups/{group['group_id']}"
    for path in (address, board):
        problem(keyed.client.get(path, headers=eve), 403, "forbidden")
        assert keyed.client.get(path, headers=bruno).status_code == 200
    assert keyed.client.get(board, headers=bruno).json()["player_id"] == "bruno"
    problem(keyed.client.get(board), 401, "unauthenticated")
    problem(keyed.client.post(f"{address}/rotate", headers=bruno), 403, "forbidden")
    problem(keyed.client.delete(address, headers=bruno), 403, "forbidden")
    problem(keyed.client.delete(f"{address}/members/ada", headers=bruno), 403, "forbidden")
    problem(keyed.client.get("/v1/players/ada/groups", headers=bruno), 403, "forbidden")
    assert keyed.client.delete(f"{address}/members/bruno", headers=ada).status_code == 204
    assert keyed.client.delete(f"{address}/members/ada", headers=ada).status_code == 204
    problem(keyed.admin.get(address), 404, "unknown-group")


def test_commands(tmp_path: Path) -> None:
    service = Service(tmp_path, BOARDS)
    try:
        service.submit("global", "ada", 50)

        def command(*arguments: str) -> str:
            done = run(*arguments, "--url", service.url, cwd=tmp_path)
            assert done.returncode == 0, done.stderr
            return done.stdout

        group = json.loads(command("groups", "create", "Lunch", "ada", "--json"))
        assert "2 members" in command("groups", "join", "bruno", group["invite_code"])
        assert "ada (owner)" in command("groups", "show", group["group_id"])
        assert "Lunch" in command("groups", "list", "bruno")
        assert "Not ranked: bruno" in command("groups", "rank", "global", group["group_id"])
        assert group["invite_code"] not in command("groups", "rotate", group["group_id"])
        command("groups", "leave", group["group_id"], "bruno")
        command("groups", "delete", group["group_id"], "--yes")
        assert json.loads(command("groups", "list", "ada", "--json"))["groups"] == []
    finally:
        service.stop()
