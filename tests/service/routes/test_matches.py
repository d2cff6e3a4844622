"""Matches over HTTP, with the client and on the command line: contract, bad input, and who may send them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keepscore.client import SyncClient
from tests.service.access_rig import KeyedService, bearer, problem
from tests.service.running import Service, run

BOARDS = """
[[board]]
name = "duels"
rating = {system = "elo", k = 32, initial = 1000}

[[board]]
name = "teams"
rating = {system = "openskill", initial = 1500, ranked_from = {games = 2}}

[[board]]
name = "global"
"""
MATCHES = "/v1/boards/duels/matches"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    found = Service(tmp_path_factory.mktemp("matches"), BOARDS)
    yield found
    found.stop()


def test_a_match_over_http(service: Service) -> None:
    body = {"a": "ada", "b": "bo", "result": 1, "match_id": "m1"}
    first = service.client.post(MATCHES, json=body)
    assert first.status_code == 200
    told = first.json()
    assert told == {
        "match_id": "m1",
        "board": "duels",
        "at": told["at"],
        "players": [
            {"player_id": "ada", "rating": 1016, "change": 16, "rank": 1},
            {"player_id": "bo", "rating": 984, "change": -16, "rank": 2},
        ],
        "replayed": False,
    }
    again = service.client.post(MATCHES, json=body)
    assert again.json() == {**told, "replayed": True}
    assert again.headers["idempotency-replayed"] == "true"
    problem(service.client.post(MATCHES, json={**body, "result": 0}), 409, "match-recorded")
    keyed = [service.client.post(MATCHES, json={"a": "x", "b": "y", "result": 0.5}, headers={"Idempotency-Key": "k"}) for _ in range(2)]
    assert [answer.json()["replayed"] for answer in keyed] == [False, True]
    assert keyed[0].json()["match_id"] == "k"
    assert service.client.get(f"{MATCHES}/m1").json() == told
    listed = service.client.get("/v1/boards/duels/players/bo/matches").json()
    assert (listed["total"], listed["matches"][0]["result"], listed["matches"][0]["rating"]) == (1, 0, 984)
    assert service.client.get("/v1/boards/duels/players/bo/matches/ada").json()["losses"] == 1
    assert service.client.get("/v1/boards/duels/players/bo/ratings").json()["points"][0]["rating"] == 984


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        ({"a": "p", "b": "p", "result": 1}, 422, "invalid-player"),
        ({"a": "p", "b": "q", "result": 2}, 422, "invalid-field"),
        ({"a": "p", "b": "q", "result": "win"}, 422, "invalid-field"),
        ({"a": "p", "b": "q", "result": None}, 422, "invalid-field"),
        ({"a": "p", "b": "q", "result": 1e999}, 422, "invalid-field"),
        ({"a": "p", "b": "q"}, 422, "invalid-field"),
        ({"a": "p", "b": 7, "result": 1}, 422, "invalid-field"),
        ({"a": "p", "b": "q", "result": 1, "k": 3}, 422, "invalid-field"),
        ({"a": "p", "b": "q", "result": 1, "match_id": ""}, 422, "invalid-field"),
        ({"a": "p", "b": "q", "result": 1, "at": "yesterday"}, 422, "invalid-time"),
        ({"a": "p", "b": "q", "result": 1, "at": "2199-01-01T00:00:00Z"}, 422, "invalid-time"),
    ],
)
def test_bad_matches(service: Service, body: dict[str, object], status: int, kind: str) -> None:
    text = json.dumps(body).replace("Infinity", "1e999")
    problem(service.client.post(MATCHES, content=text, headers={"Content-Type": "application/json"}), status, kind)
    problem(service.client.get("/v1/boards/duels/players/p"), 404, "unknown-player")


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"teams": [["p"]]}, "invalid-field"),
        ({"teams": [["p"], ["p"]]}, "invalid-player"),
        ({"teams": [["p"], ["q"]], "ranks": [1, 0]}, "invalid-field"),
        ({"teams": [["p"], ["q"]], "ranks": [1, 2, 3]}, "invalid-field"),
        ({"teams": [["p"], ["q"]], "ranks": ["1", "2"]}, "invalid-field"),
        ({"teams": [["p"], ["q"]], "result": 1}, "invalid-field"),
        ({"teams": "pq"}, "invalid-field"),
        ({}, "invalid-field"),
    ],
)
def test_bad_teams(service: Service, body: dict[str, object], kind: str) -> None:
    problem(service.client.post("/v1/boards/teams/matches", json=body), 422, kind)


def test_teams_over_http_and_on_the_command_line(service: Service, tmp_path: Path) -> None:
    problem(service.client.post(MATCHES, json={"teams": [["p", "q"], ["r"]]}), 422, "invalid-field")
    body = {"teams": [["ada", "bo"], ["cy"]], "ranks": [1, 2], "match_id": "t1"}
    told = service.client.post("/v1/boards/teams/matches", json=body).json()
    assert [(one["player_id"], one["rank"], one["provisional"]) for one in told["players"]] == [
        ("ada", None, True),
        ("bo", None, True),
        ("cy", None, True),
    ]
    assert service.client.post("/v1/boards/teams/matches", json=body).json() == {**told, "replayed": True}
    problem(service.client.get("/v1/boards/teams/players/ada"), 404, "unknown-player")
    where = ("--url", service.url)
    assert "provisional" in run("match", "ratings", "teams", "ada", *where, cwd=tmp_path).stdout
    assert "t2" in run("match", "teams", "teams", "ada,bo", "cy", "--ranks", "2,1", "--id", "t2", *where, cwd=tmp_path).stdout
    top = service.client.get("/v1/boards/teams/top").json()["standings"]
    assert {one["player_id"] for one in top} == {"ada", "bo", "cy"}
    now = service.client.get("/v1/boards/teams/players/ada/ratings").json()
    assert (now["provisional"], now["rating"]) == (False, next(one["score"] for one in top if one["player_id"] == "ada"))
    assert now["rating"] == pytest.approx(now["mean"] - 3 * now["deviation"], abs=2)
    played = service.client.get("/v1/boards/teams/players/ada/matches").json()["matches"]
    assert [(one["place"], one["allies"], one["against"], one["result"]) for one in played] == [
        (2, ["bo"], ["cy"], 0),
        (1, ["bo"], ["cy"], 1),
    ]


def test_batches_over_http_and_on_the_command_line(service: Service, tmp_path: Path) -> None:
    one = {"a": "ivy", "b": "joe", "result": 1, "match_id": "b1"}
    told = service.client.post(f"{MATCHES}/batch", json={"matches": [one, {"a": "ivy", "b": "joe", "result": 7}, one]}).json()
    assert (told["accepted"], told["duplicates"], told["matches"][0]["players"][0]["rating"]) == (2, 1, 1016)
    assert [(bad["index"], bad["type"]) for bad in told["rejected"]] == [(1, "urn:keepscore:invalid-field")]
    for body in ({"matches": []}, {"matches": "x"}, {}):
        problem(service.client.post(f"{MATCHES}/batch", json=body), 422, "invalid-field")
    problem(service.client.post("/v1/boards/none/matches/batch", json={"matches": [one]}), 404, "unknown-board")
    file = tmp_path / "matches.jsonl"
    file.write_text(json.dumps(one) + "\n" + json.dumps({**one, "match_id": "b2"}) + "\n")
    done = run("match", "import", "duels", str(file), "--url", service.url, cwd=tmp_path)
    assert "2 matches recorded, 1 of them before, 0 rejected" in done.stdout


def test_scores_and_matches_do_not_mix(service: Service) -> None:
    problem(service.client.post("/v1/boards/duels/scores", json={"player_id": "p", "score": 5}), 409, "takes-matches")
    problem(service.client.post("/v1/boards/duels/increments", json={"player_id": "p", "amount": 5}), 409, "takes-matches")
    batch = service.client.post("/v1/boards/duels/scores/batch", json={"scores": [{"player_id": "p", "score": 5}]}).json()
    assert batch["rejected"][0]["type"] == "urn:keepscore:takes-matches"
    problem(service.client.post("/v1/boards/global/matches", json={"a": "p", "b": "q", "result": 1}), 409, "not-rated")
    problem(service.client.get(f"{MATCHES}/none"), 404, "unknown-match")
    problem(service.client.post("/v1/boards/none/matches", json={"a": "p", "b": "q", "result": 1}), 404, "unknown-board")


def test_the_client_and_the_commands(service: Service, tmp_path: Path) -> None:
    with SyncClient(service.url) as client:
        receipt = client.matches.record("duels", "eve", "fay", 0.5)
        assert [player.rating for player in receipt.players] == [1000, 1000]
        assert client.matches.get("duels", receipt.match_id) == receipt
        assert client.matches.of_player("duels", "eve", opponent_id="fay").total == 1
        assert client.matches.head_to_head("duels", "eve", "fay").draws == 1
        assert client.matches.ratings("duels", "eve").peak is not None
    where = ("--url", service.url)
    told = run("match", "record", "duels", "eve", "fay", "1", "--id", "c1", *where, cwd=tmp_path)
    assert "1016" in told.stdout
    assert "match c1" in told.stdout
    assert "c1" in run("match", "list", "duels", "eve", *where, cwd=tmp_path).stdout
    assert "1 won, 1 drawn, 0 lost" in run("match", "versus", "duels", "eve", "fay", *where, cwd=tmp_path).stdout
    assert "highest: 1016" in run("match", "ratings", "duels", "eve", *where, cwd=tmp_path).stdout


def test_only_servers_send_matches(tmp_path: Path) -> None:
    keyed = KeyedService(tmp_path, BOARDS)
    try:
        body = {"a": "ada", "b": "bo", "result": 1}
        token = keyed.token("ada")
        problem(keyed.client.post(MATCHES, json=body, headers=bearer(token)), 403, "forbidden")
        problem(keyed.client.post(MATCHES, json=body, headers=bearer(keyed.make("reads", "read"))), 403, "forbidden")
        assert keyed.client.post(MATCHES, json=body, headers=bearer(keyed.make("submits", "submit"))).status_code == 200
        assert keyed.client.get("/v1/boards/duels/players/ada/matches", headers=bearer(token)).status_code == 200
    finally:
        keyed.stop()


def test_everybody_sees_what_players_show(tmp_path: Path) -> None:
    boards = BOARDS.replace('name = "duels"', 'name = "duels"\nread = "public"')
    keyed = KeyedService(tmp_path, boards)
    try:
        key = bearer(keyed.make("game", "submit"))
        keyed.client.post(MATCHES, json={"a": "ada", "b": "hid", "result": 1, "match_id": "m1"}, headers=key)
        keyed.client.post(MATCHES, json={"a": "ada", "b": "pen", "result": 1, "match_id": "m2"}, headers=key)
        keyed.client.put("/v1/players/hid", json={"visibility": "hidden"}, headers=key)
        keyed.client.put("/v1/players/pen", json={"visibility": "pseudonym"}, headers=key)
        where = "/v1/boards/duels"

        def get(path: str, **headers: str) -> dict[str, Any]:
            found: dict[str, Any] = keyed.client.get(where + path, headers=headers).json()
            return found

        assert [one["player_id"] for one in get("/matches/m1")["players"]] == ["ada"]
        pen = get("/matches/m2")["players"][1]["player_id"]
        assert pen != "pen"
        assert [one["against"] for one in get("/players/ada/matches")["matches"]] == [[pen], []]
        assert get("/players/hid/matches")["total"] == get("/players/ada/matches/hid")["total"] == get("/players/hid/ratings")["total"] == 0
        assert (get("/players/pen/ratings")["player_id"], get("/players/ada/matches/pen")["opponent_id"]) == (pen, pen)
        assert get("/players/hid/matches?viewer=hid", **key)["total"] == 1
        assert get("/players/hid/ratings", **bearer(keyed.token("hid")))["total"] == 1
        # Whoever shows no key is nobody's viewer, and is not told what concerns one player.
        for path in ("/players/hid?viewer=hid", "/top?viewer=hid", "/players/hid/needs?rank=1", "/players/hid/why"):
            problem(keyed.client.get(where + path), 401, "unauthenticated")
            assert keyed.client.get(where + path, headers=key).status_code == 200
    finally:
        keyed.stop()
