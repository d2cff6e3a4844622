"""Friends and views over HTTP and on the command line, and who may see and change them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.access_rig import KeyedService, bearer, problem
from tests.service.running import Service, run

BOARDS = """
[server]
default_board = "global"

[players]
friends = "mutual"

[[board]]
name = "global"
windows = ["all_time", "daily"]
read = "public"
"""
FRIENDS = "/v1/players/ada/friends"
STANDING = {"rank", "global_rank", "player_id", "name", "score", "is_current_player"}


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KeyedService]:
    found = KeyedService(tmp_path_factory.mktemp("friends"), BOARDS)
    for player, score in (("ada", 50), ("bruno", 90), ("cem", 70), ("dora", 10)):
        found.admin.post("/v1/boards/global/scores", json={"player_id": player, "score": score}).raise_for_status()
    yield found
    found.stop()


def test_lists_and_rankings_have_the_fields_of_the_contract(keyed: KeyedService) -> None:
    put = keyed.admin.put(FRIENDS, json={"friend_ids": ["dora", "bruno", "ada", "dora"]})
    assert (put.status_code, put.json()) == (200, {"player_id": "ada", "total_friends": 2, "friend_ids": ["bruno", "dora"]})
    assert keyed.admin.post(FRIENDS, json={"friend_ids": ["nobody"]}).json()["friend_ids"] == ["bruno", "dora", "nobody"]
    assert keyed.admin.delete(f"{FRIENDS}/dora").json()["friend_ids"] == ["bruno", "nobody"]
    assert keyed.admin.get(FRIENDS).json()["friend_ids"] == ["bruno", "nobody"]
    # Friendship is mutual here.
    assert keyed.admin.get("/v1/players/bruno/friends").json()["friend_ids"] == ["ada"]
    board = keyed.admin.get("/v1/boards/global/friends/ada").json()
    assert {"player_id", "total_friends", "standings", "missing"} <= set(board)
    assert all(set(standing) == STANDING for standing in board["standings"])
    assert [(s["rank"], s["global_rank"], s["player_id"], s["is_current_player"]) for s in board["standings"]] == [
        (1, 1, "bruno", False),
        (2, 3, "ada", True),
    ]
    assert (board["total_friends"], board["missing"]) == (2, ["nobody"])
    assert len(keyed.admin.get("/v1/boards/global/friends/ada?limit=1&window=daily").json()["standings"]) == 1
    sent = keyed.admin.post("/v1/boards/global/friends", json={"player_id": "ada", "friend_ids": ["cem", "ada"]}).json()
    assert [s["player_id"] for s in sent["standings"]] == ["cem", "ada"]
    view = keyed.admin.get("/v1/boards/global/view?player_id=ada&top=1&around=1&friends=2&windows=daily,all_time").json()
    assert list(view["windows"]) == ["daily", "all_time"]
    seen = view["windows"]["daily"]
    assert set(seen) == {"window_id", "total_players", "top", "me", "around", "friends"}
    assert [s["player_id"] for part in ("top", "around", "friends") for s in seen[part]] == ["bruno", "cem", "ada", "dora", "bruno", "ada"]
    assert (seen["me"]["rank"], seen["me"]["score"], seen["total_players"]) == (3, 50, 4)
    assert keyed.admin.get("/v1/boards/global/view").json()["windows"]["daily"]["me"] is None


def test_bad_requests_are_refused_and_change_nothing(keyed: KeyedService) -> None:
    before = keyed.admin.get(FRIENDS).json()
    problem(keyed.admin.put(FRIENDS, json={"friend_ids": [f"f{i}" for i in range(5001)]}), 422, "invalid-field")
    for body in ({"friend_ids": "bob"}, {"friend_ids": [1]}, {}, {"friend_ids": [], "x": 1}):
        problem(keyed.admin.put(FRIENDS, json=body), 422, "invalid-field")
    problem(keyed.admin.post(FRIENDS, json={"friend_ids": ["a\n"]}), 422, "invalid-player")
    assert keyed.admin.get(FRIENDS).json() == before
    board = "/v1/boards/global"
    for query, kind in (("limit=0", "invalid-page"), ("limit=x", "invalid-field"), ("limit=5002", "invalid-page")):
        problem(keyed.admin.get(f"{board}/friends/ada?{query}"), 422, kind)
    for query, kind in (("windows=", "invalid-field"), ("top=-1", "invalid-page"), ("friends=9999", "invalid-page")):
        problem(keyed.admin.get(f"{board}/view?player_id=ada&{query}"), 422, kind)
    problem(keyed.admin.get(f"{board}/view?windows=hourly"), 404, "unknown-window")
    problem(keyed.admin.get("/v1/boards/nowhere/friends/ada"), 404, "unknown-board")
    empty = keyed.admin.get(f"{board}/friends/zoe").json()
    assert (empty["total_friends"], empty["standings"], empty["missing"]) == (0, [], [])


def test_a_player_manages_only_the_own_friends(keyed: KeyedService) -> None:
    token = bearer(keyed.token("cem"))
    own, others = "/v1/players/cem/friends", "/v1/players/dora/friends"
    assert keyed.client.put(own, json={"friend_ids": ["dora"]}, headers=token).status_code == 200
    assert keyed.client.get(own, headers=token).json()["friend_ids"] == ["dora"]
    for method in ("PUT", "POST"):
        problem(keyed.client.request(method, others, json={"friend_ids": []}, headers=token), 403, "forbidden")
    for method, path in (("GET", others), ("DELETE", f"{others}/cem"), ("GET", "/v1/boards/global/friends/dora")):
        problem(keyed.client.request(method, path, headers=token), 403, "forbidden")
    body = {"player_id": "dora", "friend_ids": []}
    problem(keyed.client.post("/v1/boards/global/friends", json=body, headers=token), 403, "forbidden")
    problem(keyed.client.get("/v1/boards/global/view?player_id=dora", headers=token), 403, "forbidden")
    assert keyed.client.get("/v1/boards/global/view", headers=token).json()["player_id"] == "cem"
    assert [s["player_id"] for s in keyed.client.get("/v1/boards/global/friends/cem", headers=token).json()["standings"]] == ["cem", "dora"]


def test_who_is_whose_friend_is_not_public(keyed: KeyedService) -> None:
    for path in (FRIENDS, "/v1/boards/global/friends/ada", "/v1/boards/global/view?player_id=ada"):
        problem(keyed.client.get(path), 401, "unauthenticated")
    assert keyed.client.get("/v1/boards/global/view?player_id=ada&friends=0").status_code == 200
    problem(keyed.client.post("/v1/boards/global/friends", json={"player_id": "ada", "friend_ids": ["cem"]}), 401, "unauthenticated")
    assert keyed.client.get("/leaderboard/friends?userIds=cem,ada").json() == [
        {"userId": "cem", "score": 70, "rank": 1},
        {"userId": "ada", "score": 50, "rank": 2},
    ]
    read = bearer(keyed.make("reader", "read"))
    problem(keyed.client.put(FRIENDS, json={"friend_ids": []}, headers=read), 403, "forbidden")
    assert keyed.client.get("/v1/boards/global/friends/ada", headers=read).status_code == 200


def test_scores_of_friends_as_existing_clients_ask_for_them(keyed: KeyedService) -> None:
    day = keyed.admin.get("/v1/boards/global/top?window=daily").json()["window_id"]
    for query in ("userIds=dora,nobody,ada", "userIds=dora&userIds=ada&mode=global", f"userIds[]=dora&userIds[]=ada&date={day}"):
        found = keyed.admin.get(f"/leaderboard/friends?{query}").json()
        assert [(one["userId"], one["score"]) for one in found] == [("ada", 50), ("dora", 10)], query
    assert keyed.admin.get("/leaderboard/friends?userIds=ada&date=2025-02-22").json() == []
    for query in ("", "userIds=", "mode=global", "userIds=ada&x=1", "userIds=ada&mode=global&mode=global"):
        problem(keyed.admin.get(f"/leaderboard/friends?{query}"), 422, "invalid-player" if query == "userIds=" else "invalid-field")
    problem(keyed.admin.get("/leaderboard/friends?userIds=ada&mode=nowhere"), 404, "unknown-board")
    assert keyed.admin.get("/leaderboard/friends?userIds=ada&date=yesterday").status_code in (404, 422)


def test_existing_clients_rank_friends(keyed: KeyedService) -> None:
    base = "/api/v1/leaderboard"
    keyed.admin.put(FRIENDS, json={"friend_ids": ["bruno", "dora"]}).raise_for_status()
    top = keyed.admin.get(f"{base}/top?n=2&type=friends&player_id=ada").json()
    assert (top["leaderboard_type"], top["total_players"]) == ("friends", 3)
    assert [(one["rank"], one["player_id"]) for one in top["players"]] == [(1, "bruno"), (2, "ada")]
    place = keyed.admin.get(f"{base}/rank/ada?type=friends").json()
    assert (place["rank"], place["score"], place["total_players"], round(place["percentile"])) == (2, 50, 3, 67)
    around = keyed.admin.get(f"{base}/around/3?type=friends&player_id=ada&range=1").json()
    assert [one["player_id"] for one in around["players"]] == ["ada", "dora"]
    sent = keyed.admin.post(f"{base}/score", json={"player_id": "ada", "score": 95, "leaderboard_type": "friends"}).json()
    assert (sent["rank"], sent["rank_change"], sent["percentile"]) == (1, 1, 100.0)
    problem(keyed.admin.get(f"{base}/top?type=friends"), 422, "invalid-field")
    problem(keyed.admin.get(f"{base}/rank/zoe?type=friends"), 404, "unknown-player")
    token = bearer(keyed.token("dora"))
    keyed.admin.put("/v1/players/dora/friends", json={"friend_ids": ["ada"]}).raise_for_status()
    assert [one["player_id"] for one in keyed.client.get(f"{base}/top?type=friends", headers=token).json()["players"]] == [
        "ada",
        "dora",
    ]
    problem(keyed.client.get(f"{base}/top?type=friends&player_id=ada", headers=token), 403, "forbidden")
    problem(keyed.client.get(f"{base}/top?type=friends&player_id=ada"), 401, "unauthenticated")


def test_commands(tmp_path: Path) -> None:
    service = Service(tmp_path, BOARDS)
    try:
        for player, score in (("ada", 50), ("bruno", 90)):
            service.submit("global", player, score)

        def command(*arguments: str) -> str:
            done = run(*arguments, "--url", service.url, cwd=tmp_path)
            assert done.returncode == 0, done.stderr
            return done.stdout

        assert json.loads(command("friends", "set", "ada", "bruno", "cem", "--json"))["total_friends"] == 2
        assert "2 friends" in command("friends", "add", "ada", "cem")
        assert command("friends", "remove", "ada", "zoe") == command("friends", "show", "ada")
        ranked = command("friends", "rank", "global", "ada", "--window", "daily")
        assert "2 friends of 2 players" in ranked
        assert "Not ranked: cem" in ranked
        seen = command("view", "global", "ada", "--window", "daily", "--top", "1")
        assert "ada: rank 2, score 50" in seen
        assert "Friends" in seen
        assert json.loads(command("view", "global", "ada", "--json"))["windows"]["daily"]["me"]["rank"] == 2
    finally:
        service.stop()
