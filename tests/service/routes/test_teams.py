"""Teams over HTTP, with the client and on the command line: contract and bad input."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from keepscore.client import SyncClient
from tests.service.running import Service, run

BOARDS = """
[[board]]
name = "clans"
operator = "sum"
by = "team"
members = {mean_of_best = 1}

[[board]]
name = "global"
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    found = Service(tmp_path_factory.mktemp("teams"), BOARDS)
    for player, team, amount in (("ada", "red", 50), ("bo", "red", 40), ("cy", "blue", 45)):
        found.client.put(f"/v1/players/{player}", json={"name": player.title(), "team": team})
        found.client.post("/v1/boards/clans/increments", json={"player_id": player, "amount": amount}).raise_for_status()
    yield found
    found.stop()


def test_a_team_over_http(service: Service) -> None:
    top = service.client.get("/v1/boards/clans/top").json()
    assert [(one["rank"], one["player_id"], one["score"]) for one in top["standings"]] == [(1, "red", 50), (2, "blue", 45)]
    red = service.client.get("/v1/boards/clans/teams/red").json()
    for member in red["members"]:
        assert member.pop("since")
    assert red == {
        "board": "clans",
        "window": "all_time",
        "window_id": red["window_id"],
        "team_id": "red",
        "rank": 1,
        "score": 50,
        "total_teams": 2,
        "total_members": 2,
        "members": [
            {"rank": 1, "player_id": "ada", "name": "Ada", "score": 50, "counts": True},
            {"rank": 2, "player_id": "bo", "name": "Bo", "score": 40, "counts": False},
        ],
        "next_cursor": None,
    }
    assert [board["name"] for board in service.client.get("/v1/boards").json()["boards"]] == ["clans", "global"]


@pytest.mark.parametrize(
    ("path", "status", "kind"),
    [
        ("/v1/boards/clans/teams/green", 404, "unknown-team"),
        ("/v1/boards/clans/teams/red?limit=0", 422, "invalid-page"),
        ("/v1/boards/clans/teams/red?window=daily", 404, "unknown-window"),
        ("/v1/boards/global/teams/red", 422, "invalid-field"),
        ("/v1/boards/nowhere/teams/red", 404, "unknown-board"),
        ("/v1/boards/clans/friends/ada", 422, "invalid-field"),
    ],
)
def test_what_cannot_be_asked(service: Service, path: str, status: int, kind: str) -> None:
    answer = service.client.get(path)
    assert (answer.status_code, answer.json()["type"]) == (status, f"urn:keepscore:{kind}")


@pytest.mark.parametrize(
    ("definition", "words"),
    [({"by": "team", "members": "sum"}, "add up"), ({"by": "team", "transfers": "sell"}, "stay, follow"), ({"members": "best"}, "by =")],
)
def test_boards_that_are_refused(service: Service, definition: dict[str, object], words: str) -> None:
    answer = service.client.put("/v1/boards/new", json=definition)
    assert answer.status_code == 422
    assert words in answer.json()["detail"]
    assert service.client.get("/v1/boards/new").status_code == 404


def test_the_client_and_the_command_line(service: Service, tmp_path: Path) -> None:
    with SyncClient(service.url) as client:
        found = client.players.team("clans", "red", limit=1)
        assert ([one.player_id for one in found.members], found.total_members) == (["ada"], 2)
        assert [one.player_id for one in client.players.team("clans", "red", cursor=found.next_cursor).members] == ["bo"]
    told = json.loads(run("team", "clans", "blue", "--url", service.url, "--json", cwd=tmp_path).stdout)
    assert (told["rank"], told["members"][0]["player_id"]) == (2, "cy")
    assert "rank 1 of 2 teams with 50, 2 members" in run("team", "clans", "red", "--url", service.url, cwd=tmp_path).stdout
