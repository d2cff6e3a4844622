"""Explanations over HTTP and on the command line: receipts, needed scores, what counts and why, one player on many boards."""

from __future__ import annotations

import json
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


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KeyedService]:
    found = KeyedService(tmp_path_factory.mktemp("explanations"), BOARDS)
    for player, score in (("ada", 50), ("bruno", 90), ("cem", 70)):
        found.admin.post("/v1/boards/global/scores", json={"player_id": player, "score": score}).raise_for_status()
    yield found
    found.stop()


def test_a_submission_explains_itself_if_asked(keyed: KeyedService) -> None:
    plain = keyed.admin.post("/v1/boards/coins/increments", json={"player_id": "ada", "amount": 5}).json()
    assert "explanation" not in plain
    told = keyed.admin.post("/v1/boards/coins/increments?explain=true", json={"player_id": "bruno", "amount": 7}).json()["explanation"]
    assert told == {"next_player": None, "overtaken": ["ada"], "overtaken_count": 1, "personal_best": True}
    body = {"player_id": "dora", "score": 60}
    told = keyed.admin.post("/v1/boards/global/scores?explain=true", json=body).json()["explanation"]
    assert (told["next_player"]["player_id"], told["next_player"]["gap"], told["overtaken"]) == ("cem", 10, ["ada"])
    problem(keyed.admin.post("/v1/boards/global/scores?explain=maybe", json=body), 422, "invalid-field")


def test_the_score_that_a_rank_needs(keyed: KeyedService) -> None:
    address = "/v1/boards/global/players/ada/needs"
    found = keyed.admin.get(f"{address}?rank=1").json()
    assert (found["needed_score"], found["gap"], found["reached"], found["target_rank"]) == (91, 41, False, 1)
    assert keyed.admin.get(f"{address}?top=1%").json()["needed_score"] == 91
    for query in ("", "rank=1&top=1%", "top=abc", "rank=x"):
        problem(keyed.admin.get(f"{address}?{query}"), 422, "invalid-field")
    problem(keyed.admin.get(f"{address}?rank=0"), 422, "invalid-page")


def test_what_counts_and_why(keyed: KeyedService) -> None:
    keyed.admin.post("/v1/boards/global/scores", json={"player_id": "cem", "score": 10}).raise_for_status()
    found = keyed.admin.get("/v1/boards/global/players/cem/why").json()
    assert [(event["amount"], event["counts"], event["reason"]) for event in found["events"]] == [
        (10, False, "worse_score"),
        (70, True, None),
    ]
    problem(keyed.admin.get("/v1/boards/global/players/nobody/why"), 404, "unknown-player")


def test_one_player_on_many_boards_and_only_oneself_with_a_token(keyed: KeyedService) -> None:
    found = keyed.admin.get("/v1/players/bruno/standings").json()
    assert "global" in [standing["board"] for standing in found["standings"]]
    assert keyed.admin.get("/v1/players/nobody/standings").json()["standings"] == []
    token = bearer(keyed.token("ada", boards=["global"]))
    own = keyed.client.get("/v1/players/ada/standings", headers=token).json()
    assert [standing["board"] for standing in own["standings"]] == ["global"]
    for path in ("/v1/players/bruno/standings", "/v1/boards/global/players/bruno/why", "/v1/boards/global/players/bruno/needs?rank=1"):
        problem(keyed.client.get(path, headers=token), 403, "forbidden")
        problem(keyed.client.get(path), 401, "unauthenticated")


def test_commands(tmp_path: Path) -> None:
    service = Service(tmp_path, BOARDS)
    try:
        for player, score in (("ada", 50), ("bruno", 90), ("ada", 40)):
            service.submit("global", player, score)

        def command(*arguments: str) -> str:
            done = run(*arguments, "--url", service.url, cwd=tmp_path)
            assert done.returncode == 0, done.stderr
            return done.stdout

        assert "Rank 1 needs 91, 41 away from 50." in command("needs", "global", "ada", "--rank", "1")
        assert json.loads(command("needs", "global", "bruno", "--top", "50%", "--json"))["reached"] is True
        assert "no: worse score" in command("why", "global", "ada")
    finally:
        service.stop()
