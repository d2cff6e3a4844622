"""Scores and amounts over HTTP: what the answers say, and that each counts once."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from tests.service.running import JSON, Service, refused, taken

Define = Callable[..., str]

WINDOW_FIELDS = {"id", "score", "rank", "previous_rank", "rank_change", "percentile", "total_players", "position"}
RECEIPT_FIELDS = (WINDOW_FIELDS - {"id"}) | {"board", "player_id", "updated", "windows"}


def ids_of(moment: datetime) -> dict[str, str]:
    year, week, _ = moment.isocalendar()
    return {
        "daily": f"{moment:%Y-%m-%d}",
        "weekly": f"{year}-W{week:02d}",
        "monthly": f"{moment:%Y-%m}",
        "yearly": f"{moment:%Y}",
        "all_time": "all_time",
    }


def test_an_answer_has_the_fields_of_the_contract(service: Service, board: Define) -> None:
    name = board(windows=["daily", "weekly", "monthly", "yearly", "all_time"], segments=["region"])
    now = datetime.now(UTC)
    answer = service.submit(
        name, "alice", 1500, at=now.isoformat(), segments={"region": "eu"}, game_id="abc123", metadata={"level": [1, None, {"x": 2.5}]}
    )
    assert set(answer) == RECEIPT_FIELDS
    headline = {key: value for key, value in answer.items() if key not in ("windows", "position")}
    assert headline == {
        "board": name,
        "player_id": "alice",
        "score": 1500,
        "updated": True,
        "rank": 1,
        "previous_rank": None,
        "rank_change": 0,
        "percentile": 100.0,
        "total_players": 1,
    }
    assert {window: state["id"] for window, state in answer["windows"].items()} == ids_of(now)
    assert list(answer["windows"]) == ["daily", "weekly", "monthly", "yearly", "all_time"]
    assert all(set(state) == WINDOW_FIELDS for state in answer["windows"].values())


def test_a_season_that_is_over_says_when_it_was(service: Service, board: Define) -> None:
    name = board(windows={"season": {"start": "2026-01-01", "end": "2026-02-01T06:00"}}, timezone="Europe/Berlin")
    answer = service.post(name, "scores", {"player_id": "alice", "score": 1})
    problem = refused(answer, 409, name, "its season is from 2026-01-01T00:00:00+01:00 to 2026-02-01T06:00:00+01:00")
    assert "Window(" not in problem["detail"]
    service.define(name, windows={"season": {"cron": "0 0 1 1 *"}}, timezone="Europe/Berlin")
    assert service.submit(name, "alice", 1)["rank"] == 1


def test_an_increment_answers_the_same(service: Service, board: Define) -> None:
    name = board(operator="sum", windows=["all_time", "daily"])
    service.increment(name, "bob", 50)
    answer = service.increment(name, "alice", 100, game_id="g", metadata="m")
    assert set(answer) == RECEIPT_FIELDS
    assert (answer["score"], answer["rank"], answer["total_players"]) == (100, 1, 2)
    assert service.increment(name, "alice", -60)["score"] == 40
    assert service.order(name) == ["bob", "alice"]


def test_ranks_before_and_after(service: Service, board: Define) -> None:
    name = board(operator="last")
    for player, score in (("alice", 30), ("bob", 20), ("carol", 10)):
        service.submit(name, player, score)
    up = service.submit(name, "carol", 40)
    assert (up["previous_rank"], up["rank"], up["rank_change"]) == (3, 1, 2)
    down = service.submit(name, "carol", 1)
    assert (down["previous_rank"], down["rank"], down["rank_change"]) == (1, 3, -2)
    new = service.submit(name, "dave", 25)
    assert (new["previous_rank"], new["rank"], new["rank_change"]) == (None, 2, 0)
    assert new["windows"]["all_time"]["previous_rank"] is None


def test_ranks_before_and_after_are_numbered_as_the_board_says(service: Service, board: Define) -> None:
    name = board(operator="last", rank="dense")
    for player, score in (("alice", 30), ("bob", 30), ("carol", 20), ("dave", 10)):
        service.submit(name, player, score)
    moved = service.submit(name, "dave", 30)
    assert (moved["previous_rank"], moved["rank"], moved["rank_change"]) == (3, 1, 2)
    assert moved["percentile"] == 50.0, "percentiles come from the unique rank"


def test_a_worse_score_on_a_best_board_updates_nothing(service: Service, board: Define) -> None:
    name = board()
    assert service.submit(name, "alice", 10)["updated"] is True
    worse = service.submit(name, "alice", 5)
    assert (worse["updated"], worse["score"], worse["rank"], worse["previous_rank"], worse["rank_change"]) == (False, 10, 1, 1, 0)
    assert service.submit(name, "alice", 11)["updated"] is True
    assert service.footprint(name)["events"] == 3


def test_only_the_first_score_counts_on_a_first_board(service: Service, board: Define) -> None:
    name = board(operator="first", windows=["daily"])
    service.submit(name, "alice", 10)
    again = service.submit(name, "alice", 99)
    assert (again["score"], again["updated"]) == (10, False)


@pytest.mark.parametrize("players", [1, 3, 7])
def test_percentile_is_the_share_that_is_not_ahead(service: Service, board: Define, players: int) -> None:
    name = board()
    for number in range(players):
        service.submit(name, f"p{number}", number)
    for rank in range(1, players + 1):
        place = service.get(name, f"players/p{players - rank}")
        assert place["rank"] == rank
        assert place["percentile"] == pytest.approx((players - (rank - 1)) / players * 100)


def test_low_is_good_on_an_ascending_board(service: Service, board: Define) -> None:
    name = board(order="asc", decimals=2)
    service.submit(name, "alice", 83.25)
    service.submit(name, "bob", 82.5)
    assert service.submit(name, "alice", 90)["updated"] is False
    faster = service.submit(name, "alice", 80.01)
    assert (faster["rank"], faster["previous_rank"], faster["percentile"]) == (1, 2, 100.0)
    assert service.order(name) == ["alice", "bob"]


def raw_score(service: Service, board: str, route: str, field: str, text: str, player: str = "alice") -> Decimal:
    body = f'{{"player_id": "{player}", "{field}": {text}}}'
    answer = service.client.post(f"/v1/boards/{board}/{route}", content=body, headers=JSON)
    assert answer.status_code == 200, answer.text
    score: Decimal = json.loads(answer.text, parse_float=Decimal)["score"]
    return score


def test_ten_times_a_tenth_is_one(service: Service, board: Define) -> None:
    name = board(operator="sum", decimals=1)
    for _ in range(10):
        last = raw_score(service, name, "increments", "amount", "0.1")
    assert last == 1
    assert service.get(name, "players/alice")["score"] == 1


@pytest.mark.parametrize(
    ("decimals", "amounts", "total"),
    [
        (1, ["0.1", "0.2"], "0.3"),
        (2, ["10.50"], "10.50"),
        (2, ["1e1", "5E-1"], "10.50"),
        (2, ["-0.01", "0.01"], "0"),
        (9, ["0.000000001"], "0.000000001"),
        (9, ["9007199.254740991"], "9007199.254740991"),
        (2, ["90071992547409.91", "-0.01"], "90071992547409.90"),
        (0, ["1500.0"], "1500"),
        (0, ["9007199254740991"], "9007199254740991"),
        (0, ["-9007199254740991"], "-9007199254740991"),
        (0, ["1e3"], "1000"),
        (2, ["7.1000000000000000000000000000000000000000"], "7.10"),
    ],
)
def test_decimals_are_exact(service: Service, board: Define, decimals: int, amounts: list[str], total: str) -> None:
    name = board(operator="sum", decimals=decimals)
    for amount in amounts:
        last = raw_score(service, name, "increments", "amount", amount)
    assert last == Decimal(total)
    shown = service.client.get(f"/v1/boards/{name}/players/alice").text
    assert json.loads(shown, parse_float=Decimal)["score"] == Decimal(total)


def test_decimals_are_written_out(service: Service, board: Define) -> None:
    name = board(decimals=2)
    service.submit(name, "alice", 10.5)
    for route in ("top", "players/alice", "ranks/1"):
        assert '"score":10.50' in service.client.get(f"/v1/boards/{name}/{route}").text


def test_an_absolute_score_corrects_a_sum(service: Service, board: Define) -> None:
    name = board(operator="sum")
    service.increment(name, "alice", 10)
    assert service.submit(name, "alice", 4)["score"] == 4
    assert service.increment(name, "alice", 1)["score"] == 5


def test_a_last_board_takes_scores_and_amounts_in_the_order_of_their_times(service: Service, board: Define) -> None:
    name = board(operator="last")
    service.submit(name, "alice", 100, at="2026-01-01T00:00:10Z")
    service.increment(name, "alice", 5, at="2026-01-01T00:00:20Z")
    assert service.submit(name, "alice", 1, at="2026-01-01T00:00:05Z")["score"] == 105
    assert service.submit(name, "alice", 200, at="2026-01-01T00:00:15Z")["score"] == 205


def test_a_late_score_counts_in_its_own_window(service: Service, board: Define) -> None:
    name = board(windows=["daily"], grace="48h")
    yesterday = datetime.now(UTC) - timedelta(hours=24)
    answer = service.submit(name, "alice", 5, at=yesterday.isoformat())
    assert answer["windows"]["daily"]["id"] == f"{yesterday:%Y-%m-%d}"
    assert service.order(name, window_id=f"{yesterday:%Y-%m-%d}") == ["alice"]
    assert service.order(name, window_id=f"{yesterday + timedelta(days=1):%Y-%m-%d}") == []
    assert service.get(name, "players/alice", window_id=f"{yesterday:%Y-%m-%d}")["rank"] == 1


@pytest.mark.parametrize("at", ["2026-01-02T03:04:05Z", "2026-01-02T05:04:05+02:00", "2026-01-01T22:04:05.000-05:00"])
def test_since_is_the_time_that_was_given(service: Service, board: Define, at: str) -> None:
    name = board()
    service.submit(name, "alice", 5, at=at)
    since = service.get(name, "players/alice")["since"]
    assert datetime.fromisoformat(since) == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


# -- batches ------------------------------------------------------------------------------------------------------------


def batch(service: Service, board: str, scores: list[Any], query: str = "", **headers: str) -> Any:
    return taken(service.client.post(f"/v1/boards/{board}/scores/batch{query}", json={"scores": scores}, headers=headers))


def test_a_batch_of_scores_and_amounts(service: Service, board: Define) -> None:
    name = board(operator="last")
    entries = [
        {"player_id": "alice", "score": 10},
        {"player_id": "bob", "amount": 5},
        {"player_id": "alice", "amount": 3},
        {"player_id": "carol", "score": 1, "at": "2026-01-01T00:00:00Z", "game_id": "g", "metadata": {}},
    ]
    assert batch(service, name, entries) == {"accepted": 4, "rejected": []}
    assert [(s["player_id"], s["score"]) for s in service.get(name, "top")["standings"]] == [("alice", 13), ("bob", 5), ("carol", 1)]


def test_bad_entries_of_a_batch_are_told_one_by_one(service: Service, board: Define) -> None:
    name = board(max_score=100)
    entries: list[Any] = [
        {"player_id": "alice", "score": 1},
        {"player_id": "", "score": 1},
        {"player_id": "bob", "score": 101},
        {"player_id": "bob"},
        {"player_id": "bob", "score": 1, "amount": 1},
        {"player_id": "bob", "amount": 1},
        {"player_id": "bob", "score": "1"},
        {"player_id": "bob", "score": 1, "colour": "red"},
        {"player_id": "bob", "score": 1, "at": "2999-01-01T00:00:00Z"},
        {"score": 1},
        "bob",
        None,
        {"player_id": "bob", "score": True},
        {"player_id": "carol", "score": 2},
    ]
    answer = batch(service, name, entries)
    assert answer["accepted"] == 2
    assert [rejection["index"] for rejection in answer["rejected"]] == list(range(1, 13))
    assert all(set(rejection) == {"index", "type", "detail"} for rejection in answer["rejected"])
    details = {rejection["index"]: rejection["detail"] for rejection in answer["rejected"]}
    for index, word in {2: "101", 5: "increment", 6: "score", 7: "colour", 8: "2999", 9: "player_id"}.items():
        assert word in details[index]
    assert service.order(name) == ["carol", "alice"]
    assert service.footprint(name)["events"] == 2


def test_results_of_a_batch(service: Service, board: Define) -> None:
    name = board(windows=["all_time", "daily"])
    entries = [{"player_id": "alice", "score": 1}, {"player_id": ""}, {"player_id": "bob", "score": 2}]
    answer = batch(service, name, entries, "?results=true")
    assert answer["accepted"] == 2
    assert [(r["player_id"], r["score"], r["total_players"]) for r in answer["results"]] == [("alice", 1, 1), ("bob", 2, 2)]
    assert all(set(result) == RECEIPT_FIELDS for result in answer["results"])
    assert "results" not in batch(service, name, entries, "?results=false")


def test_sizes_of_a_batch(service: Service, board: Define) -> None:
    name = board()
    scores = [{"player_id": f"p{number}", "score": number} for number in range(10_001)]
    with service.nothing_left_behind(name):
        refused(service.post(name, "scores/batch", {"scores": scores}), 422, "10001", "10000")
        refused(service.post(name, "scores/batch", {"scores": []}), 422, "scores")
    assert batch(service, name, scores[:10_000])["accepted"] == 10_000
    assert service.get(name, "top", limit=1)["total_players"] == 10_000


def test_a_correction_counts_in_the_windows_that_it_names(service: Service, board: Define) -> None:
    name = board(operator="sum", windows=["all_time", "daily"])
    service.increment(name, "ada", 1410)
    answer = service.submit(name, "ada", 500)
    assert (answer["score"], list(answer["windows"])) == (500, ["all_time"])
    assert service.get(name, "players/ada", window="daily")["score"] == 1410
    answer = service.submit(name, "ada", 400, windows=["daily", "all_time"])
    assert {window: state["score"] for window, state in answer["windows"].items()} == {"all_time": 400, "daily": 1310}
    batch = taken(service.post(name, "scores/batch", {"scores": [{"player_id": "ada", "score": 7, "windows": ["daily"]}]}))
    assert batch["accepted"] == 1
    assert service.get(name, "players/ada", window="daily")["score"] == 7
    events = service.get(name, "players/ada/events")["events"]
    assert [event["scope"] for event in events] == [
        {"windows": ["daily"]},
        {"windows": ["all_time", "daily"]},
        {"windows": ["all_time"]},
        None,
    ]


def test_windows_are_for_corrections(service: Service, board: Define) -> None:
    sums, bests = board(operator="sum", windows=["all_time", "daily"]), board()
    for name, body, words in [
        (bests, {"score": 5, "windows": ["all_time"]}, ["is for corrections", "'best'"]),
        (sums, {"score": 5, "windows": []}, ["all_time, daily"]),
        (sums, {"score": 5, "windows": ["monthly"]}, ["['monthly']", "all_time, daily"]),
        (sums, {"score": 5, "windows": "daily"}, ["windows"]),
    ]:
        refused(service.post(name, "scores", {"player_id": "ada", **body}), (400, 422), *words)
    refused(service.post(sums, "increments", {"player_id": "ada", "amount": 5, "windows": ["daily"]}), (400, 422), "windows")


def test_a_late_score_counts_in_the_windows_that_are_open(service: Service, board: Define) -> None:
    name, strict = board(windows=["daily", "all_time"], late="open_windows"), board(windows=["daily", "all_time"])
    before = (datetime.now(UTC) - timedelta(days=2)).isoformat()
    refused(service.post(strict, "scores", {"player_id": "ada", "score": 5, "at": before}), 409)
    answer = service.submit(name, "ada", 5, at=before)
    assert list(answer["windows"]) == ["all_time"]
