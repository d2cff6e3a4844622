"""Definitions over HTTP: made, read, changed, refused, deleted, kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.service.running import JSON, Service, refused, taken

Define = Callable[..., str]

FIELDS = {
    "name",
    "operator",
    "order",
    "decimals",
    "ties",
    "rank",
    "resolution",
    "windows",
    "timezone",
    "week_start",
    "segments",
    "min_score",
    "max_score",
    "decay",
    "grace",
    "consistency",
    "also",
    "movement",
    "version",
}


def test_all_boards_are_listed(client: httpx.Client) -> None:
    boards = taken(client.get("/v1/boards"))["boards"]
    assert {"global", "best", "laps", "xp", "prize"} <= {board["name"] for board in boards}
    assert all(set(board) >= FIELDS for board in boards)


def test_a_board_is_shown_whole_with_its_defaults(client: httpx.Client, board: Define) -> None:
    name = board()
    assert taken(client.get(f"/v1/boards/{name}")) == {
        "name": name,
        "operator": "best",
        "order": "desc",
        "increments": False,
        "decimals": 0,
        "ties": "first",
        "rank": "unique",
        "resolution": "1ms",
        "windows": ["all_time"],
        "timezone": "UTC",
        "week_start": "monday",
        "segments": [],
        "min_score": None,
        "max_score": None,
        "decay": None,
        "grace": "1h",
        "late": "refuse",
        "consistency": "eventual",
        "read": "key",
        "cdn_top": "60s",
        "cdn_rank": "10s",
        "submit": "auto",
        "also": [],
        "movement": None,
        "inactivity": None,
        "rollup": None,
        "rules": None,
        "prize": None,
        "rating": None,
        "tiers": [],
        "league": None,
        "by": "player",
        "members": None,
        "transfers": None,
        "resets": [],
        "keep_top": None,
        "following": False,
        "version": 1,
    }


def test_put_creates_then_changes_and_counts_versions(client: httpx.Client) -> None:
    created = client.put("/v1/boards/versions", json={})
    assert (created.status_code, created.json()["version"]) == (201, 1)
    changed = client.put("/v1/boards/versions", json={"max_score": 10})
    assert (changed.status_code, changed.json()["version"], changed.json()["max_score"]) == (200, 2, 10)
    again = client.put("/v1/boards/versions", json={"max_score": 10})
    assert (again.status_code, again.json()["version"]) == (200, 2), "the same definition is no change"


def test_what_get_gives_put_takes(client: httpx.Client, board: Define) -> None:
    name = board(windows={"daily": {"ttl": "7d", "archive": "all"}, "all_time": {}}, segments=["region"], rank="dense")
    shown = taken(client.get(f"/v1/boards/{name}"))
    assert taken(client.put(f"/v1/boards/{name}", json=shown)) == shown


def test_a_full_definition_is_kept_as_it_was_given(client: httpx.Client, board: Define) -> None:
    definition: dict[str, Any] = {
        "operator": "first",
        "order": "asc",
        "decimals": 3,
        "ties": "player",
        "rank": "standard",
        "resolution": "1s",
        "windows": {
            "daily": {"key": "lb:{board}:{start:%Y-%m-%d}", "segment_key": "lb:{board}:{segment}:{value}", "ttl": "7d", "archive": 10},
            "season": {"cron": "0 0 1 */3 *"},
        },
        "timezone": "America/New_York",
        "week_start": "sunday",
        "segments": ["region", "country"],
        "min_score": 0.5,
        "max_score": 1000,
        "grace": "10m",
        "consistency": "strong",
        "also": [],
        "movement": "1d",
    }
    shown = taken(client.get(f"/v1/boards/{board(**definition)}"))
    assert {field: shown[field] for field in definition} == definition


def test_a_version_that_another_changed_is_a_conflict(client: httpx.Client, board: Define) -> None:
    name = board()
    taken(client.put(f"/v1/boards/{name}", json={"version": 1, "max_score": 5}))
    refused(client.put(f"/v1/boards/{name}", json={"version": 1, "max_score": 6}), 409, "version 2", "1")
    assert taken(client.get(f"/v1/boards/{name}"))["max_score"] == 5


FULL = {"operator": "sum", "windows": ["all_time", "weekly"], "segments": ["region"], "max_score": 100}


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_a_change_that_loses_or_rebuilds_something_needs_a_confirmation(service: Service, board: Define, method: str) -> None:
    name, client = board(**FULL), service.client
    address, body = f"/v1/boards/{name}", {} if method == "PUT" else {"operator": "best", "windows": ["all_time"], "segments": []}
    service.submit(name, "alice", 5, segments={"region": "eu"}, windows=["all_time", "weekly"])
    before = client.get(address)
    problem = refused(client.request(method, address, json=body), 409, name, "confirm=true", "If-Match", "PATCH")
    assert problem["type"] == "urn:keepscore:confirmation-needed"
    lost = ["operator changes from 'sum' to 'best'", "window 'weekly'", "segment 'region'"] + (
        ["max_score = 100"] if method == "PUT" else []
    )
    assert [change.startswith(start) for change, start in zip(problem["changes"], lost, strict=True)] == [True] * len(lost)
    assert client.get(address).json() == before.json()
    assert service.get(name, "players/alice", window="weekly", segment="region:eu")["score"] == 5
    refused(client.request(method, address, params={"confirm": "perhaps"}, json=body), 422, "confirm")
    changed = client.request(method, address, params={"confirm": "true"}, json=body)
    assert (taken(changed)["version"], changed.headers["etag"]) == (2, '"2"')
    assert service.get(name, "players/alice")["score"] == 5


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_the_version_that_was_read_confirms_a_change(client: httpx.Client, board: Define, method: str) -> None:
    name = board(**FULL)
    address, body = f"/v1/boards/{name}", {"operator": "last"}
    tag = client.get(address).headers["etag"]
    assert tag == '"1"'
    changed = client.request(method, address, json=body, headers={"If-Match": tag})
    assert (taken(changed)["version"], taken(changed)["operator"], changed.headers["etag"]) == (2, "last", '"2"')
    refused(client.request(method, address, json={"operator": "best"}, headers={"If-Match": tag}), 409, "version 2", "1")
    assert taken(client.request(method, address, json={"operator": "best", "version": 2}))["version"] == 3
    for wrong in ("*", '"x"', "", "9" * 30):
        refused(client.request(method, address, json=body, headers={"If-Match": wrong}), 422, "If-Match")
    refused(client.request(method, address, json={**body, "version": 2}, headers={"If-Match": '"3"'}), 422, "differ")


def test_a_patch_changes_the_fields_it_names(client: httpx.Client, board: Define) -> None:
    name = board(**FULL)
    address = f"/v1/boards/{name}"
    before = taken(client.get(address))
    changed = taken(client.patch(address, json={"rank": "dense", "max_score": 50}))
    assert changed == {**before, "rank": "dense", "max_score": 50, "version": 2}
    assert taken(client.patch(address, json={})) == changed
    assert taken(client.patch(address, json={"max_score": None}))["max_score"] is None
    refused(client.patch(address, json={"name": "other"}), 422, "keeps its name")
    refused(client.patch(address, json={"colour": "red"}), 422, "colour")
    refused(client.patch(address, json=[]), 422)
    refused(client.patch("/v1/boards/nowhere", json={"rank": "dense"}), 404, "nowhere")
    first, again = (client.patch(address, json={"rank": "unique"}, headers={"Idempotency-Key": "k"}) for _ in range(2))
    assert (taken(first)["version"], taken(again)["replayed"]) == (4, True)


def test_limits_take_effect_at_once_and_keep_the_rankings(service: Service, board: Define) -> None:
    name = board(windows=["all_time"])
    service.submit(name, "alice", 500)
    service.define(name, max_score=100, rank="dense")
    refused(service.post(name, "scores", {"player_id": "bob", "score": 101}), 422, "101", "100")
    service.submit(name, "bob", 100)
    assert service.order(name) == ["alice", "bob"]


def test_the_default_numbering_takes_effect_at_once(service: Service, board: Define) -> None:
    name = board()
    for player in ("alice", "bob", "carol"):
        service.submit(name, player, 7)
    numbers = []
    for rank in ("unique", "standard", "dense"):
        service.define(name, rank=rank)
        numbers.append([standing["rank"] for standing in service.get(name, "top")["standings"]])
    assert numbers == [[1, 2, 3], [1, 1, 1], [1, 1, 1]]


@pytest.mark.parametrize(
    ("change", "scores"),
    [
        ({"operator": "best"}, [("alice", 30), ("bob", 20)]),
        ({"operator": "sum"}, [("alice", 40), ("bob", 35)]),
        ({"operator": "first"}, [("bob", 15), ("alice", 10)]),
        ({"operator": "last", "order": "asc"}, [("bob", 20), ("alice", 30)]),
    ],
    ids=lambda value: "-".join(map(str, value.values())) if isinstance(value, dict) else None,
)
def test_another_meaning_rebuilds_the_rankings(service: Service, board: Define, change: dict[str, str], scores: list[Any]) -> None:
    name = board(operator="last")
    for player, score in (("alice", 10), ("bob", 15), ("alice", 30), ("bob", 20)):
        service.submit(name, player, score)
    service.define(name, **change)
    assert [(s["player_id"], s["score"]) for s in service.get(name, "top")["standings"]] == scores
    assert service.footprint(name)["events"] == 4


def test_another_tie_rule_rebuilds_the_rankings(service: Service, board: Define) -> None:
    name = board()
    for seconds, player in enumerate(("mike", "alice", "zoe")):
        service.submit(name, player, 5, at=f"2026-01-01T00:00:0{seconds}Z")
    assert service.order(name) == ["mike", "alice", "zoe"]
    service.define(name, ties="last")
    assert service.order(name) == ["zoe", "alice", "mike"]
    service.define(name, ties="player")
    assert service.order(name) == ["zoe", "mike", "alice"]


def test_new_windows_and_segments_are_filled_from_the_ledger(service: Service, board: Define) -> None:
    name = board(segments=["region"])
    service.submit(name, "alice", 5, segments={"region": "eu"})
    service.submit(name, "bob", 6, segments={"region": "us"})
    service.define(name, windows=["all_time", "yearly"], segments=["region"])
    assert service.order(name, window="yearly") == ["bob", "alice"]
    assert service.order(name, window="yearly", segment="region:eu") == ["alice"]
    service.define(name, windows=["all_time"])
    refused(service.client.get(f"/v1/boards/{name}/top", params={"window": "yearly"}), 404, "yearly")
    refused(service.client.get(f"/v1/boards/{name}/top", params={"segment": "region:eu"}), 404, "region")


def test_decimals_cannot_change_under_stored_scores(client: httpx.Client, board: Define) -> None:
    name = board(decimals=2)
    refused(client.put(f"/v1/boards/{name}", json={"decimals": 3}), (409, 422), "decimals", "3")
    assert taken(client.get(f"/v1/boards/{name}"))["version"] == 1


BAD = [
    ({"operator": "total"}, "operator", "total", "best, sum, last, first"),
    ({"operator": None}, "operator"),
    ({"order": "up"}, "order", "up", "desc, asc"),
    ({"decimals": -1}, "decimals", "-1"),
    ({"decimals": 10}, "decimals", "10"),
    ({"decimals": "2"}, "decimals", "2"),
    ({"decimals": 1.5}, "decimals", "1.5"),
    ({"decimals": True}, "decimals"),
    ({"ties": "random"}, "ties", "random", "first, last, player"),
    ({"rank": "olympic"}, "rank", "olympic", "unique, standard, dense"),
    ({"resolution": "0ms"}, "resolution", "0ms"),
    ({"resolution": "fast"}, "resolution", "fast"),
    ({"windows": []}, "windows"),
    ({"windows": {}}, "windows"),
    ({"windows": None}, "windows"),
    ({"windows": "daily"}, "windows", "daily"),
    ({"windows": ["hourly"]}, "windows", "hourly", "weekly"),
    ({"windows": {"hourly": {}}}, "windows", "hourly", "weekly"),
    ({"windows": {"daily": None}}, "windows", "daily"),
    ({"windows": {"daily": {"tll": "7d"}}}, "tll", "ttl"),
    ({"windows": {"daily": {"ttl": "soon"}}}, "ttl", "soon"),
    ({"windows": {"daily": {"ttl": 7}}}, "ttl", "7"),
    ({"windows": {"daily": {"archive": -1}}}, "archive", "-1"),
    ({"windows": {"daily": {"archive": "some"}}}, "archive", "some"),
    ({"windows": {"daily": {"key": "{nothing}"}}}, "key", "{nothing}"),
    ({"windows": {"daily": {"key": "{board[a]}"}}}, "key", "{board[a]}"),
    ({"windows": {"daily": {"key": "{board"}}}, "key", "{board"),
    ({"windows": {"daily": {"start": "2026-01-01", "end": "2026-02-01"}}}, "daily", "season"),
    ({"windows": {"season": {}}}, "season", "cron"),
    ({"windows": ["season"]}, "season", "cron"),
    ({"windows": {"season": {"start": "2026-01-01"}}}, "season"),
    ({"windows": {"season": {"start": "2026-02-01", "end": "2026-01-01"}}}, "end", "2026-01-01"),
    ({"windows": {"season": {"start": "soon", "end": "2026-01-01"}}}, "start", "soon"),
    ({"windows": {"season": {"cron": "every day"}}}, "cron", "every day"),
    ({"windows": {"season": {"cron": "0 0 30 2 *"}}}, "cron", "0 0 30 2 *"),
    ({"timezone": "Mars/Base"}, "timezone", "Mars/Base"),
    ({"timezone": ""}, "timezone"),
    ({"timezone": "Europe"}, "timezone", "Europe"),
    ({"timezone": "../../etc/passwd"}, "timezone", "../../etc/passwd"),
    ({"week_start": "someday"}, "week_start", "someday", "monday"),
    ({"segments": ["Region"]}, "segments", "Region"),
    ({"segments": ["region", "region"]}, "segments", "region"),
    ({"segments": [5]}, "segments", "5"),
    ({"segments": [f"s{i}" for i in range(9)]}, "segments", "8"),
    ({"min_score": 2, "max_score": 1}, "min_score", "2"),
    ({"min_score": "low"}, "min_score", "low"),
    ({"max_score": 2**53}, "max_score", str(2**53)),
    ({"max_score": 10**400}, "max_score"),
    ({"max_score": 0.5}, "max_score", "0.5"),
    ({"grace": "1 hour"}, "grace", "1 hour"),
    ({"grace": -1}, "grace", "-1"),
    ({"consistency": "maybe"}, "consistency", "maybe", "eventual, strong"),
    ({"also": ["nowhere"]}, "also", "nowhere"),
    ({"also": ["laps"]}, "also", "laps", "decimals"),
    ({"also": ["bad"]}, "also", "bad"),
    ({"also": "xp"}, "also", "xp"),
    ({"colour": "red"}, "colour"),
    ({"name": "other"}, "name", "other"),
    ({"name": 5}, "name", "5"),
    ({"version": "one"}, "version", "one"),
    ({"version": True}, "version"),
]


@pytest.mark.parametrize(("definition", "words"), [(bad[0], bad[1:]) for bad in BAD], ids=[str(bad[0])[:60] for bad in BAD])
def test_a_bad_definition_is_refused_with_field_and_value(client: httpx.Client, definition: dict[str, Any], words: list[str]) -> None:
    refused(client.put("/v1/boards/bad", json=definition), 422, *words)
    refused(client.get("/v1/boards/bad"), 404, "bad")


@pytest.mark.parametrize("body", [b"[]", b"5", b"null", b'"bad"', b"[{}]"])
def test_a_definition_is_an_object(client: httpx.Client, body: bytes) -> None:
    refused(client.put("/v1/boards/bad", content=body, headers=JSON), (400, 422))
    refused(client.get("/v1/boards/bad"), 404)


@pytest.mark.parametrize("body", [b"", b"{", b'{"operator": "sum"', b'{"operator": "sum",}', b'{"timezone": "\xff"}', b"{} {}"])
def test_a_definition_is_json(client: httpx.Client, body: bytes) -> None:
    refused(client.put("/v1/boards/bad", content=body, headers=JSON), 400)
    refused(client.get("/v1/boards/bad"), 404)


@pytest.mark.parametrize("name", ["-x", ".x", "a%20b", "a%2Fb", "x" * 65, "%F0%9F%8F%86", "a%00b"])
def test_names_that_cannot_be_used(client: httpx.Client, name: str) -> None:
    refused(client.put(f"/v1/boards/{name}", json={}), 422, "name")


@pytest.mark.parametrize("name", ["x", "0", "A-b_c.d", "x" * 64, "scores", "batch"])
def test_names_that_can_be_used(client: httpx.Client, name: str) -> None:
    assert client.put(f"/v1/boards/{name}", json={}).status_code == 201
    assert client.delete(f"/v1/boards/{name}").status_code == 204


def test_an_unknown_board_is_404_everywhere(client: httpx.Client) -> None:
    routes = ["", "/top", "/players/alice", "/ranks/1", "/count"]
    answers = [client.get("/v1/boards/nowhere" + route) for route in routes]
    bodies: dict[str, Any] = {
        "/scores": {"player_id": "alice", "score": 1},
        "/increments": {"player_id": "alice", "amount": 1},
        "/scores/batch": {"scores": [{"player_id": "alice", "score": 1}]},
        "/players/lookup": {"player_ids": ["alice"]},
    }
    answers += [client.post("/v1/boards/nowhere" + route, json=body) for route, body in bodies.items()]
    answers += [client.delete("/v1/boards/nowhere")]
    for answer in answers:
        refused(answer, 404, "nowhere")


def test_a_deleted_board_is_gone_and_starts_empty_when_made_again(service: Service, board: Define) -> None:
    name = board(segments=["region"])
    service.submit(name, "alice", 5, segments={"region": "eu"}, idempotency_key="once")
    answer = service.client.delete(f"/v1/boards/{name}")
    assert (answer.status_code, answer.content) == (204, b"")
    for route in ("", "/top", "/players/alice"):
        refused(service.client.get(f"/v1/boards/{name}{route}"), 404, name)
    refused(service.client.delete(f"/v1/boards/{name}"), 404, name)
    refused(service.post(name, "scores", {"player_id": "alice", "score": 1}), 404, name)
    assert service.client.put(f"/v1/boards/{name}", json={"segments": ["region"]}).status_code == 201
    assert service.get(name, "top")["total_players"] == 0
    assert service.order(name, segment="region:eu") == []
    assert "replayed" not in service.submit(name, "alice", 5, idempotency_key="once")
    assert service.footprint(name)["events"] == 1


def test_a_board_without_its_link_takes_scores(service: Service, board: Define) -> None:
    target = board(operator="sum")
    name = board(also=[target])
    assert service.client.delete(f"/v1/boards/{target}").status_code == 204
    assert service.submit(name, "alice", 5)["rank"] == 1


def test_boards_and_scores_survive_a_restart_and_a_kill(tmp_path: Path) -> None:
    running = Service(tmp_path, '[[board]]\nname = "configured"\n')
    try:
        for kill in (False, True):
            name = f"made-{kill}"
            running.define(name, operator="sum", windows=["daily", "all_time"])
            running.define(name, operator="sum", windows=["daily", "all_time"], max_score=99)
            gone = running.define("gone", operator="sum")
            running.submit(gone, "ghost", 1)
            running.client.delete("/v1/boards/gone")
            shown = taken(running.client.get(f"/v1/boards/{name}"))
            for amount in (1, 2, 3):
                running.increment(name, "alice", amount, idempotency_key=f"key-{amount}")
            running.client.put("/v1/players/alice", json={"name": f"Alice {kill}"})
            top = running.get(name, "top", window="all_time")["standings"]
            running.stop(kill)
            running.start()
            assert taken(running.client.get(f"/v1/boards/{name}")) == shown
            assert shown["version"] == 2
            assert running.get(name, "top", window="all_time")["standings"] == top
            assert top[0] | {"since": ""} == {
                "rank": 1,
                "player_id": "alice",
                "name": f"Alice {kill}",
                "score": 6,
                "since": "",
                "rank_change": 0,
            }
            assert running.increment(name, "alice", 3, idempotency_key="key-3")["replayed"] is True
            assert running.footprint(name)["events"] == 3
            refused(running.client.get("/v1/boards/gone"), 404)
            assert taken(running.client.get("/v1/boards/configured"))["version"] == 1
    finally:
        running.stop()
