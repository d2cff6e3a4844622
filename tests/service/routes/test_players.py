"""Profiles over HTTP, with the client and on the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from keepscore.client import SyncClient
from tests.service.access_rig import KeyedService, bearer, problem
from tests.service.running import Service, run

BOARDS = """
[[board]]
name = "global"
windows = ["all_time", "daily"]
"""
PICTURE = "https://example.org/ada.png"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    found = Service(tmp_path_factory.mktemp("players"), BOARDS)
    yield found
    found.stop()


def test_a_profile_is_replaced_changed_and_deleted(service: Service) -> None:
    client, ada = service.client, "/v1/players/ada"
    whole = {"name": "Ada", "avatar_url": PICTURE, "region": "eu", "country": "BR", "level": 3, "team": "owls", "attributes": {"x": 1}}
    whole["visibility"] = "friends"
    assert client.put(ada, json=whole).json() == client.get(ada).json() == {"player_id": "ada", **whole}
    changed = client.patch(ada, json={"level": None, "attributes": {"y": 2}, "visibility": "public"}).json()
    assert (changed["attributes"], "level" in changed, "visibility" in changed) == ({"x": 1, "y": 2}, False, False)
    assert client.put(ada, json={"country": "DE"}).json() == {"player_id": "ada", "name": None, "country": "DE"}
    assert client.delete(ada).status_code == 204
    assert client.get(ada).json() == {"player_id": "ada", "name": None}
    problem(client.patch(ada, json={}), 422, "invalid-field")
    problem(client.patch(ada, json={"level": "high"}), 422, "invalid-field")
    problem(client.put(ada, json={"visibility": "none"}), 422, "invalid-field")
    problem(client.put("/v1/players/" + "x" * 129, json={"name": "X"}), 422, "invalid-player")


def test_a_batch_of_profiles_rejects_the_bad_ones(service: Service) -> None:
    players = [{"player_id": "p1", "name": "One"}, {"player_id": "p2", "level": -1}, {"player_id": "batch", "country": "BR"}]
    answer = service.client.post("/v1/players/batch", json={"players": players}).json()
    assert (answer["accepted"], [(one["index"], one["type"]) for one in answer["rejected"]]) == (2, [(1, "urn:keepscore:invalid-field")])
    assert service.client.get("/v1/players/batch").json()["country"] == "BR"
    problem(service.client.post("/v1/players/batch", json={"players": []}), 422, "invalid-field")
    problem(service.client.post("/v1/players/batch", json={"players": players * 4000}), 422, "invalid-field")


def test_a_score_brings_name_and_picture(service: Service) -> None:
    body = {"player_id": "eve", "score": 5, "name": "Eve", "avatar_url": PICTURE}
    assert service.client.post("/v1/boards/global/scores", json=body).status_code == 200
    batch = {"scores": [{"player_id": "cem", "score": 4, "name": "Cem"}]}
    assert service.client.post("/v1/boards/global/scores/batch", json=batch).json()["accepted"] == 1
    standings = service.client.get("/v1/boards/global/top").json()["standings"]
    assert [(one["player_id"], one["name"], one.get("avatar_url")) for one in standings] == [("eve", "Eve", PICTURE), ("cem", "Cem", None)]
    problem(service.client.post("/v1/boards/global/scores", json={**body, "avatar_url": "x"}), 422, "invalid-field")


def test_the_client_and_the_commands_manage_profiles(service: Service, tmp_path: Path) -> None:
    with SyncClient(service.url) as client:
        assert client.players.put("zoe", {"name": "Zoe", "level": 1}).level == 1
        assert client.players.name("zoe", "Zoé").level == 1
        assert client.players.change_many([{"player_id": "zoe", "level": 2}]).accepted == 1
        assert client.players.profile("zoe").to_dict() == {"player_id": "zoe", "name": "Zoé", "level": 2}
        assert client.players.delete("zoe").player_id == "zoe"
    file = tmp_path / "players.csv"
    file.write_text("player_id,name,level,clan\nkim,Kim,7,owls\nlea,Lea,high,\n", encoding="utf-8")
    reach = ["--url", service.url]
    answer = run("players", "import", str(file), *reach, cwd=tmp_path)
    assert (answer.returncode, "1 profile imported, 1 rejected" in answer.stdout, "row 2: level = high" in answer.stderr) == (1, True, True)
    assert run("players", "set", "kim", "--country", "BR", "--attribute", "a=b", "--clear", "level", *reach, cwd=tmp_path).returncode == 0
    shown = json.loads(run("players", "show", "kim", "--json", *reach, cwd=tmp_path).stdout)
    assert shown == {"player_id": "kim", "name": "Kim", "country": "BR", "attributes": {"clan": "owls", "a": "b"}}
    assert "owls" in run("players", "show", "kim", *reach, cwd=tmp_path).stdout
    assert run("players", "set", "kim", *reach, cwd=tmp_path).returncode == 2
    service.client.post("/v1/boards/global/scores", json={"player_id": "kim", "score": 3})
    found = run("players", "search", "global", "ki", *reach, cwd=tmp_path)
    assert ("Kim" in found.stdout, "1 player" in found.stdout) == (True, True)
    assert "0 of 0" in run("players", "segments", "global", *reach, cwd=tmp_path).stdout


@pytest.fixture
def keyed(tmp_path: Path) -> Iterator[KeyedService]:
    found = KeyedService(tmp_path)
    yield found
    found.stop()


def test_a_player_manages_their_own_profile_only(keyed: KeyedService) -> None:
    mine = bearer(keyed.token("zoe", boards=["season-*"]))
    assert keyed.client.put("/v1/players/zoe", json={"name": "Zoe"}, headers=mine).json()["name"] == "Zoe"
    assert keyed.client.patch("/v1/players/zoe", json={"level": 2}, headers=mine).json()["level"] == 2
    assert keyed.client.get("/v1/players/zoe", headers=mine).json()["level"] == 2
    for method in ("PUT", "PATCH"):
        problem(keyed.client.request(method, "/v1/players/eve", json={"name": "Boss"}, headers=mine), 403, "forbidden")
    problem(keyed.client.delete("/v1/players/eve", headers=mine), 403, "forbidden")
    assert keyed.client.delete("/v1/players/zoe", headers=mine).status_code == 204
