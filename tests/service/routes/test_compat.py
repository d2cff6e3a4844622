"""The routes of /api/v1/leaderboard, as their existing clients use them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.service.redis_places import on, until
from tests.service.running import Service, refused, taken
from tests.support.redis_servers import single

BASE = "/api/v1/leaderboard"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A client of a service with the demo configuration's boards and six players."""
    demo = (Path(__file__).parents[3] / "examples" / "demo.toml").read_text(encoding="utf-8")
    boards = demo[demo.index("[[board]]") :]
    running = Service(tmp_path_factory.mktemp("compat"), boards)
    for number, (player, score) in enumerate([(111, 600), (222, 500), ("alice", 400), (444, 300), (555, 200), (666, 100)]):
        body = {"player_id": player, "score": score, "region": "eu" if number % 2 else "us"}
        assert taken(running.client.post(f"{BASE}/score", json=body))["rank"] == number + 1
    running.client.put("/v1/players/111", json={"name": "ProGamer"})
    yield running.client
    running.stop()


def post(client: httpx.Client, route: str, **body: Any) -> dict[str, Any]:
    return taken(client.post(f"{BASE}/{route}", json=body))


def players(client: httpx.Client, **query: Any) -> list[tuple[Any, int]]:
    return [(player["player_id"], player["score"]) for player in taken(client.get(f"{BASE}/top", params=query))["players"]]


def test_a_score_is_set_and_answered(client: httpx.Client) -> None:
    answer = post(client, "score", player_id=12345, score=50, leaderboard_type="global", game_id="abc123")
    assert answer == {"player_id": 12345, "score": 50, "rank": 7, "rank_change": 0, "percentile": pytest.approx(100 / 7)}
    assert type(answer["player_id"]) is int
    up = post(client, "score", player_id=12345, score=450)
    assert up == {"player_id": 12345, "score": 450, "rank": 3, "rank_change": 4, "percentile": pytest.approx(500 / 7)}
    down = post(client, "score", player_id=12345, score=50)
    assert (down["score"], down["rank"], down["rank_change"]) == (50, 7, -4)


def test_a_score_is_added_to(client: httpx.Client) -> None:
    answer = post(client, "score/increment", player_id=12345, score_delta=100)
    assert set(answer) == {"player_id", "score", "rank", "rank_change", "percentile"}
    assert (answer["player_id"], answer["score"], answer["rank"]) == (12345, 150, 6)
    assert post(client, "score/increment", player_id=12345, score_delta=-100)["score"] == 50


def test_a_time_and_a_text_id(client: httpx.Client) -> None:
    now = datetime.now(UTC)
    answer = post(client, "score", player_id="bob-7", score=-5, game_id="abc123", timestamp=f"{now:%Y-%m-%dT%H:%M:%SZ}")
    assert (answer["player_id"], answer["score"], answer["rank"]) == ("bob-7", -5, 8)
    place = taken(client.get("/v1/boards/global/players/bob-7"))
    assert datetime.fromisoformat(place["since"]) == now.replace(microsecond=0)
    refused(client.post(f"{BASE}/score", json={"player_id": 1, "score": 1, "timestamp": "2999-01-01T00:00:00Z"}), 422, "2999-01-01")
    refused(
        client.post(f"{BASE}/score", json={"player_id": 1, "score": 1, "timestamp": "2024-01-15T10:30:00Z"}),
        409,
        "timestamp",
        "daily window 2024-01-15",
    )


def test_the_top_has_the_fields_of_the_contract(client: httpx.Client) -> None:
    answer = taken(client.get(f"{BASE}/top", params={"n": 3, "type": "global", "period": "daily"}))
    assert set(answer) == {"leaderboard_type", "period", "total_players", "players"}
    assert (answer["leaderboard_type"], answer["period"]) == ("global", "daily")
    assert answer["total_players"] >= 6
    assert answer["players"][0] == {"rank": 1, "player_id": 111, "player_name": "ProGamer", "score": 600, "rank_change": 0}
    assert [player["player_id"] for player in answer["players"]] == [111, 222, "alice"]


@pytest.mark.parametrize("period", ["daily", "weekly", "monthly", "all_time"])
def test_every_period(client: httpx.Client, period: str) -> None:
    assert players(client, n=2, period=period) == [(111, 600), (222, 500)]
    assert taken(client.get(f"{BASE}/rank/222", params={"period": period}))["rank"] == 2
    assert taken(client.get(f"{BASE}/top", params={"period": period}))["period"] == period


def test_a_region(client: httpx.Client) -> None:
    assert players(client, type="regional", region="eu") == [(222, 500), (444, 300), (666, 100)]
    answer = taken(client.get(f"{BASE}/top", params={"type": "regional", "region": "us", "period": "weekly", "n": 1}))
    assert (answer["leaderboard_type"], answer["period"], answer["total_players"]) == ("regional", "weekly", 3)
    place = taken(client.get(f"{BASE}/rank/555", params={"type": "regional", "region": "us"}))
    assert (place["rank"], place["total_players"]) == (3, 3)
    near = taken(client.get(f"{BASE}/around/1", params={"type": "regional", "region": "us", "range": 1}))
    assert [player["player_id"] for player in near["players"]] == [111, "alice"]
    refused(client.get(f"{BASE}/rank/555", params={"type": "regional", "region": "eu"}), 404, "555")


def test_a_regional_submission_is_answered_with_the_regional_rank(client: httpx.Client) -> None:
    assert post(client, "score", player_id=771, score=1, region="apac")["rank"] > 1
    answer = post(client, "score", player_id=772, score=2, leaderboard_type="regional", region="apac")
    assert (answer["score"], answer["rank"], answer["rank_change"], answer["percentile"]) == (2, 1, 0, 100)
    up = post(client, "score/increment", player_id=771, score_delta=5, leaderboard_type="regional")
    assert (up["score"], up["rank"], up["rank_change"]) == (6, 1, 1), "the region is the one that the player has sent before"
    assert taken(client.get(f"{BASE}/rank/772?type=regional"))["rank"] == 2
    assert players(client, type="regional", region="apac") == [(771, 6), (772, 2)]
    assert players(client, leaderboard_type="regional", region="apac") == [(771, 6), (772, 2)]
    assert taken(client.get(f"{BASE}/rank/772?leaderboard_type=regional"))["rank"] == 2
    refused(client.get(f"{BASE}/rank/772?leaderboard_type=regional&type=friends"), 422, "regional", "friends")
    for answer in (
        client.post(f"{BASE}/score", json={"player_id": 773, "score": 1, "leaderboard_type": "regional"}),
        client.get(f"{BASE}/rank/773?type=regional"),
    ):
        refused(answer, 422, "needs a region", "773")


BEST = """
[server]
default_board = "best"

[[board]]
name = "best"
increments = true
segments = ["region"]
"""


def test_best_scores_and_amounts_that_wait(tmp_path: Path) -> None:
    """A score that is not better says so; an amount that is only recorded does not pass for the score."""
    with single() as server:
        running = Service(tmp_path, BEST + on(server.url))
        try:
            assert "updated" not in post(running.client, "score", player_id=888, score=500)
            worse = post(running.client, "score", player_id=888, score=5)
            assert (worse["score"], worse["updated"]) == (500, False)
            assert post(running.client, "score/increment", player_id=888, score_delta=7)["score"] == 507
            server.ask("CLIENT", "PAUSE", 4000, "ALL")
            answer = running.client.post(f"{BASE}/score/increment", json={"player_id": 888, "score_delta": 3}, timeout=20)
            assert (answer.status_code, answer.json()["score"], answer.json()["pending"]) == (202, None, True), answer.text
            until(lambda: running.client.get(f"{BASE}/rank/888").json()["score"] == 510, 20)
        finally:
            running.stop()


def test_a_players_rank(client: httpx.Client) -> None:
    answer = taken(client.get(f"{BASE}/rank/222?type=global"))
    assert set(answer) == {"player_id", "rank", "score", "total_players", "percentile"}
    assert (answer["player_id"], answer["rank"], answer["score"]) == (222, 2, 500)
    total = answer["total_players"]
    assert answer["percentile"] == pytest.approx((total - 1) / total * 100)
    assert taken(client.get(f"{BASE}/rank/alice"))["player_id"] == "alice"
    refused(client.get(f"{BASE}/rank/999999"), 404, "999999")


def test_players_around_a_rank(client: httpx.Client) -> None:
    answer = taken(client.get(f"{BASE}/around/3?range=1"))
    assert answer == {
        "center_rank": 3,
        "players": [
            {"rank": 2, "player_id": 222, "score": 500},
            {"rank": 3, "player_id": "alice", "score": 400},
            {"rank": 4, "player_id": 444, "score": 300},
        ],
    }
    assert [player["rank"] for player in taken(client.get(f"{BASE}/around/1"))["players"]][:6] == [1, 2, 3, 4, 5, 6]
    assert taken(client.get(f"{BASE}/around/1?range=0"))["players"] == [{"rank": 1, "player_id": 111, "score": 600}]


@pytest.mark.parametrize("player", [0, -7, 2**53, 123456789012345678])
def test_whole_numbers_stay_whole_numbers(client: httpx.Client, player: int) -> None:
    assert post(client, "score", player_id=player, score=-1000)["player_id"] == player
    assert taken(client.get(f"{BASE}/rank/{player}"))["player_id"] == player
    assert player in [found for found, _ in players(client)]


@pytest.mark.parametrize("player", ["007", "1.5", "+1", "--1", "1e3", "１２", "guild/a b", "🏆"])
def test_texts_stay_texts(client: httpx.Client, player: str) -> None:
    assert post(client, "score", player_id=player, score=-2000)["player_id"] == player
    assert player in [found for found, _ in players(client)]


def test_an_idempotency_key_counts_once(client: httpx.Client) -> None:
    for _ in range(3):
        headers = {"Idempotency-Key": "compat-1"}
        answer = taken(client.post(f"{BASE}/score/increment", json={"player_id": 777, "score_delta": 5}, headers=headers))
        assert answer["score"] == 5
    refused(client.post(f"{BASE}/score/increment", json={"player_id": 777, "score_delta": 6}, headers=headers), (409, 422), "compat-1")


def test_both_kinds_of_routes_show_the_same_board(client: httpx.Client) -> None:
    taken(client.post("/v1/boards/global/scores", json={"player_id": "888", "score": -3000}))
    assert taken(client.get(f"{BASE}/rank/888"))["player_id"] == 888


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("top?type=friends", ["type", "friends", "player_id"]),
        ("around/1?type=friends", ["type", "friends", "player_id"]),
        ("top?type=regional", ["region"]),
        ("around/1?type=regional", ["region"]),
        ("top?type=galactic", ["type", "galactic", "global"]),
        ("top?period=hourly", ["period", "hourly", "daily"]),
        ("top?n=0", ["n = 0"]),
        ("top?n=-5", ["n = -5"]),
        ("top?n=1001", ["n = 1001"]),
        ("top?n=many", ["n = ", "many"]),
        ("top?limit=5", ["limit"]),
        ("around/0", ["rank", "0"]),
        ("around/-1", ["rank", "-1"]),
        ("around/abc", ["rank", "abc"]),
        ("around/1?range=-1", ["range = -1"]),
        ("around/1?range=1000000", ["range = 1000000"]),
    ],
)
def test_a_query_that_cannot_be_answered(client: httpx.Client, target: str, words: list[str]) -> None:
    refused(client.get(f"{BASE}/{target}"), (400, 422), *words)


@pytest.mark.parametrize(
    ("route", "body", "words"),
    [
        ("score", {"player_id": 1, "score": 5, "leaderboard_type": "regional"}, ["region"]),
        ("score", {"player_id": 1}, ["score"]),
        ("score", {"score": 5}, ["player_id"]),
        ("score", {"player_id": 1, "score": "5"}, ["score", "5"]),
        ("score", {"player_id": 1, "score": 2**53}, ["score", str(2**53)]),
        ("score", {"player_id": 1, "score": 1.5}, ["score", "1.5"]),
        ("score", {"player_id": 1.5, "score": 5}, ["player_id", "1.5"]),
        ("score", {"player_id": True, "score": 5}, ["player_id", "true"]),
        ("score", {"player_id": None, "score": 5}, ["player_id", "null"]),
        ("score", {"player_id": "", "score": 5}, ["player_id"]),
        ("score", {"player_id": 1, "score": 5, "colour": "red"}, ["colour", "red"]),
        ("score/increment", {"player_id": 1, "score": 5}, ["score"]),
        ("score/increment", {"player_id": 1, "score_delta": None}, ["score_delta", "null"]),
        ("score/increment", {"player_id": 1, "score_delta": 0.5}, ["score_delta", "0.5"]),
        ("score/increment", {"player_id": 1, "score_delta": 5, "timestamp": "soon"}, ["timestamp", "soon"]),
    ],
)
def test_a_body_that_cannot_be_taken(client: httpx.Client, route: str, body: dict[str, Any], words: list[str]) -> None:
    before = taken(client.post("/v1/boards/global/verify"))
    refused(client.post(f"{BASE}/{route}", json=body), 422, *words)
    assert taken(client.post("/v1/boards/global/verify")) == before


def test_pages_may_be_kept(client: httpx.Client) -> None:
    for route, seconds in (("top", 60), ("rank/111", 10), ("around/1", 60)):
        headers = client.get(f"{BASE}/{route}").headers
        assert headers["cache-control"] == "public, max-age=0, must-revalidate"
        assert headers["surrogate-control"] == f"max-age={seconds}"


@pytest.mark.parametrize("route", ["top", "top?n=2&type=regional&region=eu", "rank/111", "around/1?range=1"])
def test_a_known_answer_is_not_sent_again(client: httpx.Client, route: str) -> None:
    body = {"player_id": 111, "score": 1500, "region": "eu"}
    assert client.post(f"{BASE}/score", json=body).status_code == 200
    first = client.get(f"{BASE}/{route}")
    again = client.get(f"{BASE}/{route}", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get(f"{BASE}/{route}").content == first.content
    assert client.post(f"{BASE}/score", json={**body, "score": 1501}).status_code == 200
    changed = client.get(f"{BASE}/{route}", headers={"If-None-Match": first.headers["etag"]})
    assert changed.status_code == 200
    assert "1501" in changed.text
