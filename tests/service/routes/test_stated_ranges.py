"""The ranges, lengths and patterns that the API's description states are the ones that the service checks."""

from __future__ import annotations

import re
from typing import Any

import httpx
import jsonschema
import pytest

from tests.service.routes.test_openapi import operations, resolved
from tests.service.running import Service, asked, refused, taken

BOARD = "stated"
TOO_LONG = "x" * 129
MOST = 2**53 - 1

#: What is in every path, and what is needed beside the parameter that is tried.
LEAGUE = {"tiers": ["low", "high"], "promote": [1]}
PARTS = {"board": BOARD, "player_id": "ada", "rank": "1", "window": "all_time", "window_id": "all_time", "id": "1", "team_id": "red"}
#: A board on which a team has a place.
CLANS = "clans"


@pytest.fixture(scope="module")
def description(service: Service) -> dict[str, Any]:
    service.define(BOARD, operator="last", segments=["region"], windows={"all_time": {"snapshot": "hourly"}, "daily": {}}, league=LEAGUE)
    service.define("summed", operator="sum", windows=["all_time", "daily"])
    service.define(CLANS, operator="best", windows=["all_time", "daily"], by="team")
    taken(service.client.put("/v1/players/ada", json={"team": PARTS["team_id"]}))
    service.submit(CLANS, "ada", 5)
    service.submit(BOARD, "ada", 5, segments={"region": "eu"})
    taken(service.client.post("/api/v1/leaderboard/score", json={"player_id": "ada", "score": 5, "region": "eu"}))
    taken(service.client.post("/v1/keeper/run", json={}))
    PARTS["id"] = str(taken(service.client.get(f"/v1/boards/{BOARD}/snapshots"))["snapshots"][0]["id"])
    made = service.client.post("/v1/groups", json={"name": "Club", "owner": "ada"})
    assert made.status_code in (200, 201), made.text
    PARTS["group_id"] = made.json()["group_id"]
    return taken(service.client.get("/openapi.json"))


def read(client: httpx.Client, path: str, parameter: dict[str, Any], value: object) -> httpx.Response:
    is_part = parameter["in"] == "path"
    parts = {**PARTS, **({parameter["name"]: str(value)} if is_part else {})}
    query = {} if is_part else {parameter["name"]: str(value)}
    if "{team_id}" in path:
        parts["board"] = CLANS
    if value == "regional":
        query["region"] = "eu"
    if path.endswith("/needs") and parameter["name"] not in ("rank", "top"):
        query["rank"] = "1"
    if value == "friends" and "{player_id}" not in path:
        query["player_id"] = "ada"
    if path.endswith("/me/standings"):
        query["player_id"] = "ada"
    if path.endswith("/as-of"):
        query.setdefault("at", "2026-01-01T00:00:00Z")
    if path == "/v1/boards/{board}/players":
        query.setdefault("name", "a")
    if path == "/v1/live":
        query |= {"board": BOARD} | ({"player_id": "ada"} if parameter["name"] == "around" else {})
    return asked(client, "GET", path.format(**parts), params=query)


def test_every_range_of_a_parameter_is_the_one_that_is_checked(client: httpx.Client, description: dict[str, Any]) -> None:
    tried = 0
    for (method, path), operation in operations(description).items():
        for parameter in (resolved(description, one) for one in operation["parameters"]):
            schema, name = parameter["schema"], parameter["name"]
            if method != "get" or "minimum" not in schema:
                assert schema.get("type") != "integer", f"{name} of {path} has no range"
                continue
            for bound, step in (("minimum", -1), ("maximum", 1)):
                tried += 1
                refused(read(client, path, parameter, schema[bound] + step), 422, name)
                good = read(client, path, parameter, schema[bound])
                # There may be no snapshot of that number, and no prize.
                assert good.status_code in ((200, 404) if path.endswith(("/{id}", "/winners")) else (200,)), (
                    f"{name} = {schema[bound]} of {path}: {good.text}"
                )
    assert tried >= 30


def test_every_choice_of_a_parameter_is_the_one_that_is_checked(client: httpx.Client, description: dict[str, Any]) -> None:
    tried = 0
    for (method, path), operation in operations(description).items():
        for parameter in (resolved(description, one) for one in operation["parameters"]):
            choices = parameter["schema"].get("enum", [])
            if method == "get" and choices:
                tried += 1
                refused(read(client, path, parameter, "none-of-these"), (404, 422))
            for choice in choices if method == "get" else ():
                if choice is not None:
                    assert read(client, path, parameter, choice).status_code in (200, 404), f"{parameter['name']} of {path}"
    assert tried >= 10


def test_patterns_of_parameters_are_stated(description: dict[str, Any]) -> None:
    found = description["paths"]["/v1/boards/{board}/players/{player_id}"]["get"]["parameters"]
    schemas = {parameter["name"]: parameter["schema"] for parameter in found}
    for name, good, bad in (
        ("board", ["global", "laps-2026", "a" * 64], ["", "-a", "a b", "a" * 65, "é"]),
        ("player_id", ["ada", "çélia", "a b", "x" * 128], ["", TOO_LONG, "a\nb", "a\x00", "\x7f"]),
        ("segment", ["region:eu", "region:a:b"], ["region", "Region:eu", ":eu", "region:"]),
    ):
        validator = jsonschema.Draft202012Validator(schemas[name])
        assert all(validator.is_valid(value) for value in good), name
        assert not any(validator.is_valid(value) for value in bad), name
    key = jsonschema.Draft202012Validator(description["components"]["parameters"]["IdempotencyKey"]["schema"])
    assert (key.is_valid("k" * 128), key.is_valid(""), key.is_valid(TOO_LONG)) == (True, False, False)


ENTRY = {"player_id": "ada", "score": 5}
BODIES: list[tuple[str, str, Any, bool]] = [
    ("post", "/v1/boards/{board}/scores", {**ENTRY, "player_id": ""}, False),
    ("post", "/v1/boards/{board}/scores", {**ENTRY, "player_id": "x" * 128}, True),
    ("post", "/v1/boards/{board}/scores", {**ENTRY, "player_id": TOO_LONG}, False),
    ("post", "/v1/boards/{board}/scores", {**ENTRY, "player_id": "a\x1f"}, False),
    ("post", "/v1/boards/{board}/scores", {**ENTRY, "score": MOST}, True),
    ("post", "/v1/boards/{board}/scores", {**ENTRY, "score": MOST + 1}, False),
    ("post", "/v1/boards/{board}/scores", {**ENTRY, "score": -MOST}, True),
    ("post", "/v1/boards/{board}/scores", {**ENTRY, "score": -MOST - 1}, False),
    ("post", "/v1/boards/{board}/scores", {**ENTRY, "game_id": "g" * 128}, True),
    ("post", "/v1/boards/{board}/scores", {**ENTRY, "game_id": "g" * 129}, False),
    ("post", "/v1/boards/{board}/scores", {**ENTRY, "game_id": ""}, False),
    ("post", "/v1/boards/{board}/scores", {**ENTRY, "segments": {"region": "e" * 64}}, True),
    ("post", "/v1/boards/{board}/scores", {**ENTRY, "segments": {"region": "e" * 65}}, False),
    ("post", "/v1/boards/{board}/scores", {**ENTRY, "segments": {"region": ""}}, False),
    ("post", "/v1/boards/{board}/scores", {**ENTRY, "segments": {"Region": "eu"}}, False),
    ("post", "/v1/boards/{board}/scores", {**ENTRY, "idempotency_key": "k" * 129}, False),
    ("post", "/v1/boards/summed/scores", {**ENTRY, "windows": ["all_time", "daily"]}, True),
    ("post", "/v1/boards/summed/scores", {**ENTRY, "windows": []}, False),
    ("post", "/v1/boards/summed/scores", {**ENTRY, "windows": ["daily", "daily"]}, False),
    ("post", "/v1/boards/summed/scores", {**ENTRY, "windows": ["hourly"]}, False),
    ("post", "/v1/boards/{board}/increments", {"player_id": "ada", "amount": MOST + 1}, False),
    ("post", "/v1/boards/{board}/scores/batch", {"scores": [ENTRY] * 10_000}, True),
    ("post", "/v1/boards/{board}/scores/batch", {"scores": [ENTRY] * 10_001}, False),
    ("post", "/v1/boards/{board}/players/lookup", {"player_ids": ["ada"] * 1000}, True),
    ("post", "/v1/boards/{board}/players/lookup", {"player_ids": ["ada"] * 1001}, False),
    ("post", "/v1/boards/{board}/players/lookup", {"player_ids": [TOO_LONG]}, False),
    ("post", "/v1/boards/{board}/imports", {"scores": [ENTRY], "keys": ["0" * 32]}, True),
    ("post", "/v1/boards/{board}/imports", {"scores": [ENTRY], "keys": ["0" * 31]}, False),
    ("post", "/v1/boards/{board}/imports", {"scores": [ENTRY], "keys": ["G" * 32]}, False),
    ("put", "/v1/players/{player_id}", {"name": "n" * 128}, True),
    ("put", "/v1/players/{player_id}", {"name": "n" * 129}, False),
    ("put", "/v1/players/{player_id}", {"name": ""}, False),
    ("post", "/api/v1/leaderboard/score", {**ENTRY, "region": "r" * 64}, True),
    ("post", "/api/v1/leaderboard/score", {**ENTRY, "region": "r" * 65}, False),
    ("post", "/api/v1/leaderboard/score", {**ENTRY, "score": MOST + 1}, False),
    ("put", "/v1/boards/fresh", {"decimals": 9}, True),
    ("put", "/v1/boards/bad", {"decimals": 10}, False),
    ("put", "/v1/boards/bad", {"segments": ["Region"]}, False),
    ("put", "/v1/boards/bad", {"segments": [f"s{n}" for n in range(9)]}, False),
    ("put", "/v1/boards/bad", {"also": ["a b"]}, False),
    ("put", "/v1/boards/bad", {"grace": "soon"}, False),
    ("put", "/v1/boards/bad", {"grace": "1 h"}, False),
    ("put", "/v1/boards/bad", {"resolution": "1"}, False),
    ("put", "/v1/boards/bad", {"movement": "1y"}, False),
    ("put", "/v1/boards/bad", {"max_score": MOST + 1}, False),
    ("put", "/v1/boards/bad", {"keep_top": 0}, False),
    ("put", "/v1/boards/bad", {"windows": {"daily": {"ttl": "-1d"}}}, False),
    ("put", "/v1/boards/fresher", {"windows": {"daily": {"ttl": "forever"}}, "late": "open_windows", "increments": True}, True),
    ("put", "/v1/boards/bad", {"late": "never"}, False),
    ("put", "/v1/boards/bad", {"windows": {"daily": {"archive": -1}}}, False),
    ("put", "/v1/boards/bad", {"operator": "sum", "decay": {"half_life": "a week"}}, False),
]


@pytest.mark.parametrize(("method", "path", "body", "good"), BODIES, ids=[f"{m} {p} {str(b)[:60]}" for m, p, b, _ in BODIES])
def test_what_the_description_refuses_the_service_refuses(
    service: Service, description: dict[str, Any], method: str, path: str, body: Any, good: bool
) -> None:
    template = re.sub(r"/boards/(fresher|fresh|bad|summed)\b", "/boards/{board}", path)
    schema = description["paths"][template][method]["requestBody"]["content"]["application/json"]["schema"]
    validator = jsonschema.Draft202012Validator({**schema, "components": description["components"]})
    assert validator.is_valid(body) is good
    answer = service.client.request(method, path.format(**PARTS), json=body)
    if good:
        assert answer.status_code in (200, 201, 202), answer.text
    else:
        refused(answer, (404, 422))
