"""Reads over HTTP: pages, places, numberings, windows, segments, caching."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from tests.service.running import Service, refused, taken

Define = Callable[..., str]

STANDING = {"rank", "player_id", "name", "score", "since", "rank_change"}
LABELS = {"board", "window", "window_id", "segment", "position"}


@pytest.fixture(scope="module")
def tied(service: Service) -> str:
    """Seven players, some with equal scores, in two windows and two regions."""
    name = service.define("tied", windows=["all_time", "yearly"], segments=["region"])
    scores = [("a", 50), ("b", 40), ("c", 40), ("d", 40), ("e", 30), ("f", 30), ("g", -10)]
    for second, (player, score) in enumerate(scores):
        region = "eu" if player in "aceg" else "日本"
        service.submit(name, player, score, at=f"2026-01-01T00:00:0{second}Z", segments={"region": region})
    return name


NUMBERS = {"unique": [1, 2, 3, 4, 5, 6, 7], "standard": [1, 2, 2, 2, 5, 5, 7], "dense": [1, 2, 2, 2, 3, 3, 4]}


def test_a_page_has_the_fields_of_the_contract(service: Service, tied: str) -> None:
    page = service.get(tied, "top")
    assert set(page) == LABELS | {"total_players", "as_of", "standings", "next_cursor"}
    labels = (page["board"], page["window"], page["window_id"], page["segment"], page["total_players"], page["next_cursor"])
    assert labels == (tied, "all_time", "all_time", None, 7, None)
    assert all(set(standing) == STANDING for standing in page["standings"])
    assert page["standings"][0]["since"] == "2026-01-01T00:00:00Z"
    assert datetime.fromisoformat(page["as_of"]).tzinfo is not None
    assert [(s["player_id"], s["score"]) for s in page["standings"]][-2:] == [("f", 30), ("g", -10)]


def test_limit_and_offset(service: Service, tied: str) -> None:
    assert service.order(tied, limit=2) == ["a", "b"]
    assert service.order(tied, limit=2, offset=5) == ["f", "g"]
    assert service.order(tied, limit=1000, offset=6) == ["g"]
    assert service.get(tied, "top", offset=7) | {"as_of": "", "position": ""} == {
        "position": "",
        **dict.fromkeys(("segment", "next_cursor")),
        "board": tied,
        "window": "all_time",
        "window_id": "all_time",
        "total_players": 7,
        "as_of": "",
        "standings": [],
    }


def test_the_default_limit_is_100(service: Service, board: Define) -> None:
    name = board()
    scores = [{"player_id": f"p{number}", "score": number} for number in range(101)]
    for entry in scores:
        taken(service.post(name, "scores", entry))
    page = service.get(name, "top")
    assert (len(page["standings"]), page["total_players"]) == (100, 101)
    assert service.order(name, cursor=page["next_cursor"]) == ["p0"]
    assert len(service.get(name, "ranks/51")["standings"]) == 101, "50 above and 50 below"


@pytest.mark.parametrize("kind", NUMBERS)
def test_every_read_numbers_ranks_as_asked(service: Service, tied: str, kind: str) -> None:
    numbers = dict(zip("abcdefg", NUMBERS[kind], strict=True))
    for offset in range(7):
        page = service.get(tied, "top", rank=kind, offset=offset, limit=3)["standings"]
        assert {s["player_id"]: s["rank"] for s in page}.items() <= numbers.items()
    for player, number in numbers.items():
        place = service.get(tied, f"players/{player}", rank=kind, around=2)
        assert (place["rank"], place["ranks"][kind]) == (number, number)
        assert {s["player_id"]: s["rank"] for s in place["around"]}.items() <= numbers.items()
    around = service.get(tied, "ranks/4", rank=kind, around=2)
    assert [(s["player_id"], s["rank"]) for s in around["standings"]] == [(p, numbers[p]) for p in "bcdef"]
    answer = taken(service.client.post(f"/v1/boards/{tied}/players/lookup?rank={kind}", json={"player_ids": list("gdb")}))
    assert [(s["player_id"], s["rank"]) for s in answer["standings"]] == [(p, numbers[p]) for p in "bdg"]
    assert service.get(tied, "count", rank=kind)["count"] == 7


def test_every_read_takes_a_window_and_a_segment(service: Service, tied: str) -> None:
    for window, window_id in (("all_time", "all_time"), ("yearly", "2026")):
        labels = {"board": tied, "window": window, "window_id": window_id, "segment": "region:日本"}
        query = {"window": window, "window_id": window_id, "segment": "region:日本"}
        page = service.get(tied, "top", **query)
        place = service.get(tied, "players/d", around=1, **query)
        around = service.get(tied, "ranks/1", around=1, **query)
        found = taken(service.client.post(f"/v1/boards/{tied}/players/lookup", params=query, json={"player_ids": ["f", "a"]}))
        count = service.get(tied, "count", **query)
        for answer in (page, place, around, found, count):
            assert {label: answer[label] for label in LABELS - {"position"}} == labels
        assert [s["player_id"] for s in page["standings"]] == ["b", "d", "f"]
        assert (place["rank"], [s["player_id"] for s in place["around"]]) == (2, ["b", "d", "f"])
        assert [s["player_id"] for s in around["standings"]] == ["b", "d"]
        assert ([s["rank"] for s in found["standings"]], found["missing"]) == ([3], ["a"])
        assert count["count"] == 3


def test_a_window_without_scores_is_empty(service: Service, tied: str) -> None:
    empty = {"window": "yearly", "window_id": "2025"}
    assert service.get(tied, "top", **empty)["total_players"] == 0
    assert service.get(tied, "count", **empty)["count"] == 0
    assert service.get(tied, "ranks/1", **empty)["standings"] == []
    refused(service.client.get(f"/v1/boards/{tied}/players/a", params=empty), 404, "a", "2025")


def test_the_present_window_is_the_default(service: Service) -> None:
    now = datetime.now(UTC)
    service.submit("best", "present", 5, at=now.isoformat())
    for window, form in (("daily", "%Y-%m-%d"), ("monthly", "%Y-%m"), ("yearly", "%Y"), ("weekly", "%G-W%V")):
        named = service.get("best", "players/present", window=window, window_id=f"{now:{form}}")
        assert named["score"] == 5
    assert service.get("best", "players/present", window="all_time")["window_id"] == "all_time"


def test_a_players_place(service: Service, tied: str) -> None:
    place = service.get(tied, "players/d", around=2)
    fields = {"player_id", "name", "rank", "score", "since", "percentile", "total_players", "ranks", "around"}
    assert set(place) == LABELS | fields
    assert place["ranks"] == {"unique": 4, "standard": 2, "dense": 2}
    assert (place["score"], place["since"], place["total_players"]) == (40, "2026-01-01T00:00:03Z", 7)
    assert place["percentile"] == pytest.approx(4 / 7 * 100)
    assert [s["player_id"] for s in place["around"]] == ["b", "c", "d", "e", "f"]
    assert [s["player_id"] for s in service.get(tied, "players/a", around=1)["around"]] == ["a", "b"]
    assert [s["player_id"] for s in service.get(tied, "players/g", around=1)["around"]] == ["f", "g"]
    refused(service.client.get(f"/v1/boards/{tied}/players/nobody"), 404, "nobody", tied)


def test_players_around_a_rank(service: Service, tied: str) -> None:
    answer = service.get(tied, "ranks/4", around=1)
    assert set(answer) == LABELS | {"center_rank", "total_players", "standings"}
    assert (answer["center_rank"], answer["total_players"]) == (4, 7)
    assert [s["player_id"] for s in answer["standings"]] == ["c", "d", "e"]
    assert [s["player_id"] for s in service.get(tied, "ranks/1", around=0)["standings"]] == ["a"]
    assert [s["player_id"] for s in service.get(tied, "ranks/8", around=2)["standings"]] == ["f", "g"]
    assert service.get(tied, "ranks/1000", around=2)["standings"] == []


def test_a_lookup_is_in_rank_order(service: Service, tied: str) -> None:
    answer = taken(service.post(tied, "players/lookup", {"player_ids": ["nobody", "g", "a", "c", "a", "noone"]}))
    assert set(answer) >= {"standings", "missing"}
    assert [(s["player_id"], s["rank"]) for s in answer["standings"]] == [("a", 1), ("c", 3), ("g", 7)]
    assert all(set(standing) == STANDING for standing in answer["standings"])
    assert answer["missing"] == ["nobody", "noone"]


def test_sizes_of_a_lookup(service: Service, tied: str) -> None:
    names = [f"p{number}" for number in range(1001)]
    assert len(taken(service.post(tied, "players/lookup", {"player_ids": names[:1000]}))["missing"]) == 1000
    refused(service.post(tied, "players/lookup", {"player_ids": names}), 422, "player_ids", "1001", "1000")


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ({}, 7),
        ({"min": 40}, 4),
        ({"max": 40}, 6),
        ({"min": 30, "max": 40}, 5),
        ({"min": 41, "max": 49}, 0),
        ({"min": 40, "max": 30}, 0),
        ({"min": -10, "max": -10}, 1),
        ({"max": -11}, 0),
        ({"min": "30.0", "segment": "region:eu"}, 3),
    ],
)
def test_counts(service: Service, tied: str, query: dict[str, Any], count: int) -> None:
    assert service.get(tied, "count", **query)["count"] == count


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_counts_with_decimals(service: Service, board: Define, order: str) -> None:
    name = board(decimals=2, order=order)
    for player, score in (("a", 0.1), ("b", 0.2), ("c", 0.3), ("d", 10.5)):
        service.submit(name, player, score)
    assert service.get(name, "count", min="0.1", max="0.30")["count"] == 3
    assert service.get(name, "count", min="0.11", max="10.49")["count"] == 2
    assert service.get(name, "count", min="10.50")["count"] == 1


def test_a_cursor_shows_everybody_who_stays_once_while_others_move(service: Service, board: Define) -> None:
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    chance = random.Random(seed)
    name = board(operator="last")
    still, movers = [f"still-{n}" for n in range(60)], [f"mover-{n}" for n in range(30)]
    for player in [*still, *movers]:
        service.submit(name, player, chance.randrange(40))
    expected = [player for player in service.order(name, limit=1000) if player in still]
    seen: list[str] = []
    query: dict[str, Any] = {"limit": 7}
    while True:
        page = service.get(name, "top", **query)
        seen += [standing["player_id"] for standing in page["standings"]]
        if page["next_cursor"] is None:
            break
        query["cursor"] = page["next_cursor"]
        last = seen[-1]
        for player in [*chance.sample(movers, 5), *([last] if last in movers else [])]:
            service.submit(name, player, chance.randrange(40))
        service.submit(name, f"new-{len(seen)}", chance.randrange(40))
    assert [player for player in seen if player in still] == expected


@pytest.mark.parametrize("ties", ["first", "last", "player"])
@pytest.mark.parametrize("order", ["asc", "desc"])
def test_a_cursor_walks_the_whole_ranking(service: Service, board: Define, ties: str, order: str) -> None:
    name = board(ties=ties, order=order, segments=["region"], decimals=1)
    players = ["zoë", "Ünal", "李", "a b", "a/b", "🏆", 'q"q', "x", "y", "z"]
    for number, player in enumerate(players):
        service.submit(name, player, number % 3 / 10, segments={"region": "eu"}, at=f"2026-01-01T00:00:0{number % 2}Z")
    seen: list[tuple[str, int]] = []
    query: dict[str, Any] = {"limit": 3, "segment": "region:eu", "rank": "standard"}
    while "cursor" not in query or query["cursor"]:
        page = service.get(name, "top", **query)
        seen += [(standing["player_id"], standing["rank"]) for standing in page["standings"]]
        query["cursor"] = page["next_cursor"]
    whole = service.get(name, "top", segment="region:eu", rank="standard")["standings"]
    assert seen == [(standing["player_id"], standing["rank"]) for standing in whole]


def test_health(client: httpx.Client) -> None:
    for address in ("/healthz", "/readyz"):
        answer = client.get(address)
        assert answer.status_code == 200
        assert "status" in taken(answer)
        assert answer.headers["cache-control"] == "no-store"
        assert client.head(address).status_code == 200
