"""The API's description, and the pages: true, and complete without any other host."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from keepscore import errors
from keepscore.service.http.problems import INTERNAL_ERROR, status_of
from keepscore.service.http.table import SCOPES
from keepscore.service.routes import meanings
from tests.service.running import Service, asked, taken

#: The boards of the demo.
DEMO = (Path(__file__).parents[3] / "examples" / "demo.toml").read_text(encoding="utf-8").partition("[[board]]")[2]

CONTRACT = {
    ("get", "/v1/boards"),
    ("get", "/v1/boards/{board}"),
    ("put", "/v1/boards/{board}"),
    ("delete", "/v1/boards/{board}"),
    ("post", "/v1/boards/{board}/scores"),
    ("post", "/v1/boards/{board}/increments"),
    ("post", "/v1/boards/{board}/scores/batch"),
    ("get", "/v1/boards/{board}/top"),
    ("get", "/v1/boards/{board}/players/{player_id}"),
    ("get", "/v1/boards/{board}/players/{player_id}/events"),
    ("get", "/v1/boards/{board}/ranks/{rank}"),
    ("post", "/v1/boards/{board}/players/lookup"),
    ("get", "/v1/boards/{board}/count"),
    ("get", "/v1/boards/{board}/windows"),
    ("get", "/v1/boards/{board}/history/{player_id}"),
    ("get", "/v1/boards/{board}/as-of"),
    ("get", "/v1/boards/{board}/events"),
    ("post", "/v1/keys"),
    ("get", "/v1/keys"),
    ("delete", "/v1/keys/{key_id}"),
    ("post", "/v1/keys/{key_id}/rotate"),
    ("post", "/v1/tokens"),
    ("post", "/v1/boards/{board}/plays"),
    ("get", "/v1/me/standings"),
    ("get", "/healthz"),
    ("get", "/readyz"),
    ("post", "/api/v1/leaderboard/score"),
    ("post", "/api/v1/leaderboard/score/increment"),
    ("get", "/api/v1/leaderboard/top"),
    ("get", "/api/v1/leaderboard/rank/{player_id}"),
    ("get", "/api/v1/leaderboard/around/{rank}"),
}

#: A batch whose only entry is not accepted.
REJECTED = {"scores": [{"player_id": "", "score": 1}]}

READ = {"window", "window_id", "segment", "rank"}
PARAMETERS = {
    ("get", "/v1/boards/{board}/top"): READ | {"board", "limit", "offset", "cursor"},
    ("get", "/v1/boards/{board}/players/{player_id}"): READ | {"board", "player_id", "around"},
    ("get", "/v1/boards/{board}/players/{player_id}/events"): {"board", "player_id", "limit"},
    ("get", "/v1/boards/{board}/ranks/{rank}"): READ | {"board", "rank", "around"},
    ("post", "/v1/boards/{board}/players/lookup"): READ | {"board"},
    ("get", "/v1/boards/{board}/count"): READ | {"board", "min", "max"},
    ("get", "/v1/boards/{board}/windows"): {"board", "window", "limit", "offset"},
    ("get", "/v1/boards/{board}/history/{player_id}"): {"board", "player_id", "window", "limit"},
    ("get", "/v1/boards/{board}/as-of"): {"board", "at", "window", "segment", "rank", "limit"},
    ("get", "/v1/boards/{board}/events"): {"board", "cursor", "limit"},
    ("post", "/v1/boards/{board}/scores"): {"board", "Idempotency-Key"},
    ("post", "/v1/boards/{board}/increments"): {"board", "Idempotency-Key"},
    ("post", "/v1/boards/{board}/scores/batch"): {"board", "Idempotency-Key", "results"},
    ("get", "/api/v1/leaderboard/top"): {"n", "type", "period", "region"},
    ("get", "/api/v1/leaderboard/around/{rank}"): {"rank", "range", "type", "period", "region"},
}


@pytest.fixture(scope="module")
def description(client: httpx.Client) -> dict[str, Any]:
    return taken(client.get("/openapi.json"))


def resolved(description: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    """What a reference stands for."""
    if "$ref" not in part:
        return part
    for name in part["$ref"].split("/")[1:]:
        description = description[name]
    return description


def operations(description: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(method, path): operation for path, found in description["paths"].items() for method, operation in found.items()}


def test_it_is_openapi_3_1_and_lists_every_route(description: dict[str, Any]) -> None:
    assert description["openapi"].startswith("3.1.")
    assert {"title", "version"} <= set(description["info"])
    assert set(operations(description)) >= CONTRACT


def test_every_operation_has_a_tag_a_description_and_an_example(description: dict[str, Any]) -> None:
    tags = [tag["name"] for tag in description["tags"]]
    for (method, path), operation in operations(description).items():
        place = f"{method} {path}"
        assert len(operation["tags"]) == 1, place
        assert operation["tags"][0] in tags, place
        assert operation["description"].endswith("."), place
        assert operation["description"] != operation["summary"], place
        assert operation["x-scope"] in SCOPES, place
        parameters = [resolved(description, parameter) for parameter in operation["parameters"]]
        assert all(parameter["description"].endswith(".") for parameter in parameters), place
        assert all("example" in parameter for parameter in parameters if parameter.get("required")), place
        if "requestBody" in operation:
            body = operation["requestBody"]["content"]["application/json"]["example"]
            assert acceptable(description, method, path, body) == []


def test_every_field_is_described(description: dict[str, Any]) -> None:
    found = {
        f"{name}.{field}": schema.get("description", "")
        for name, component in description["components"]["schemas"].items()
        for field, schema in component.get("properties", {}).items()
    }
    assert [field for field, meaning in found.items() if not meaning] == []
    fields = {field.partition(".")[2] for field in found}
    left = [known for known in meanings.FIELD_MEANINGS if known not in found and known not in fields]
    assert left == [], "nobody has these fields any more"


def test_every_error_is_listed_with_its_status(description: dict[str, Any]) -> None:
    examples = description["components"]["responses"]["Problem"]["content"]["application/problem+json"]["examples"]
    told = {example["value"]["type"]: example["value"]["status"] for example in examples.values()}
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.KeepscoreError)]
    # What only groups others is never raised itself, and two are met by programs that use the service.
    groups = {errors.KeepscoreError, errors.BadInput, errors.NotFound, errors.Conflict, errors.ConfigError, errors.ServiceError}
    raised = {kind.type: status_of(kind.__new__(kind)) for kind in kinds if kind not in groups}
    assert told == {**raised, INTERNAL_ERROR: 500}
    assert told["urn:keepscore:window-closed"] == 409
    assert all(example["summary"].endswith(".") for example in examples.values())


def test_the_reference_repeats_nothing_of_the_description(client: httpx.Client, description: dict[str, Any]) -> None:
    shown = " ".join((client.get("/docs").text + client.get("/static/docs.js").text).split())
    examples = description["components"]["responses"]["Problem"]["content"]["application/problem+json"]["examples"]
    texts = [*meanings.FIELD_MEANINGS.values(), *meanings.PARAMETERS.values(), *(example["summary"] for example in examples.values())]
    texts += [operation["description"] for operation in operations(description).values()]
    texts += [path for path in description["paths"] if path.startswith(("/v1", "/api"))]
    assert [text for text in texts if text in shown] == []
    # But for the one that stands as an example.
    assert [name for name in examples if name in shown] == ["unknown-board"]


def test_every_example_is_accepted(tmp_path: Path) -> None:
    """All requests of the examples, in the order of the document, by a service that has the demo's boards and two players."""
    service = Service(tmp_path, f"[[board]]{DEMO}")
    try:
        prize = {"winners": 3, "rewards": [{"ranks": "1-3", "give": "a medal"}]}
        service.client.put("/v1/boards/cup", json={"consistency": "strong", "prize": prize})
        service.client.put("/v1/boards/clans", json={"operator": "sum", "by": "team"})
        service.client.patch("/v1/players/ada", json={"team": "red"})
        service.client.post("/v1/boards/clans/increments", json={"player_id": "ada", "amount": 50})
        for player in ("ada", "bruno"):
            service.submit("global", player, 1200)
            service.submit("cup", player, 1200)
        batch = {"scores": [{"player_id": "ada", "score": 1, "at": "2026-01-07T12:00:00Z"}]}
        taken(service.client.post("/v1/boards/global/scores/batch?backfill=true", json=batch))
        windows = {name: {"snapshot": "hourly"} if name == "all_time" else {} for name in ("all_time", "daily", "weekly", "monthly")}
        taken(service.client.patch("/v1/boards/global", json={"windows": windows}))
        taken(service.client.post("/v1/keeper/run", json={}))
        (snapshot,) = taken(service.client.get("/v1/boards/global/snapshots"))["snapshots"]
        # From here on, keys are asked for.
        admin = service.client.post("/v1/keys", json={"name": "admin", "scope": "admin"}).json()
        service.client.headers["authorization"] = f"Bearer {admin['key']}"
        description = taken(service.client.get("/openapi.json"))
        found = sorted(operations(description).items(), key=lambda item: item[0][0] == "delete")
        for (method, path), operation in found:
            parameters = [resolved(description, parameter) for parameter in operation["parameters"]]
            examples = {parameter["name"]: parameter["example"] for parameter in parameters if "example" in parameter}
            # The ledger numbers them.
            examples |= {"id": snapshot["id"]} if "id" in examples else {}
            query = {name: str(value) for name, value in examples.items() if f"{{{name}}}" not in path}
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example")
            if "{key_id}" in path:
                examples["key_id"] = service.client.post("/v1/keys", json={"name": "another", "scope": "read"}).json()["id"]
            if "{group_id}" in path or path == "/v1/groups/join":
                group = service.client.post("/v1/groups", json={"name": "Lunch", "owner": "bruno"}).json()
                examples["group_id"] = group["group_id"]
                body = {**body, "invite_code": group["invite_code"]} if path == "/v1/groups/join" else body
            if "{void_id}" in path:
                wrong = {"board": "global", "player_id": "bruno", "reason": "a bot"}
                service.client.post("/v1/boards/global/scores", json={"player_id": "bruno", "score": 1300})
                examples["void_id"] = service.client.post("/v1/moderation/void", json=wrong).json()["void_id"]
            if path == "/v1/moderation/split":
                service.client.post("/v1/moderation/merge", json={"from": "guest-17", "into": "ada", "reason": "signed up"})
            if "{queue_id}" in path:
                held = {"player_id": f"held-{path[-6:]}", "score": 5000}
                service.client.patch("/v1/boards/global", json={"rules": {"max_score": 4000, "on_break": "quarantine"}})
                examples["queue_id"] = service.client.post("/v1/boards/global/scores", json=held).json()["queue_id"]
            if "{appeal_id}" in path or path == "/v1/appeals":
                held = {"player_id": f"appeal-{method}-{len(path)}", "score": 5000}
                service.client.patch("/v1/boards/global", json={"rules": {"max_score": 4000, "on_break": "quarantine"}})
                queued = service.client.post("/v1/boards/global/scores", json=held).json()["queue_id"]
                appeal = {"decision_id": queued, "player_id": held["player_id"], "text": "Why?"}
                body = appeal if path == "/v1/appeals" and method == "post" else body
                if "{appeal_id}" in path:
                    examples["appeal_id"] = service.client.post("/v1/appeals", json=appeal).json()["id"]
            answer = asked(service.client, method, path.format(**examples), params=query, json=body)
            assert answer.status_code < 300, f"{method} {path}: {answer.text}"
    finally:
        service.stop()


def test_every_operation_is_named_and_answered(description: dict[str, Any]) -> None:
    found = operations(description)
    names = [operation["operationId"] for operation in found.values()]
    assert len(set(names)) == len(names)
    for (method, path), operation in found.items():
        assert operation["summary"]
        assert operation["responses"], path
        assert all(resolved(description, response)["description"] for response in operation["responses"].values()), path
        parameters = [resolved(description, parameter) for parameter in operation["parameters"]]
        declared = {parameter["name"] for parameter in parameters if parameter["in"] == "path"}
        assert declared == set(re.findall(r"{(\w+)}", path))
        assert all(parameter["required"] for parameter in parameters if parameter["in"] == "path")
        places = [(parameter["name"], parameter["in"]) for parameter in parameters]
        assert len(set(places)) == len(places), f"{method} {path}"


@pytest.mark.parametrize(("method", "path"), PARAMETERS)
def test_every_parameter_is_listed(description: dict[str, Any], method: str, path: str) -> None:
    operation = description["paths"][path][method]
    assert {resolved(description, parameter)["name"] for parameter in operation["parameters"]} >= PARAMETERS[method, path]


def test_schemas_are_json_schema_and_references_lead_somewhere(description: dict[str, Any]) -> None:
    for schema in description["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
    for operation in operations(description).values():
        for parameter in (resolved(description, parameter) for parameter in operation["parameters"]):
            jsonschema.Draft202012Validator.check_schema(parameter["schema"])
    references = set(re.findall(r'"\$ref": ?"([^"]+)"', httpx.Response(200, json=description).text))
    assert references
    names = {f"#/components/{kind}/{name}" for kind, found in description["components"].items() for name in found}
    assert references <= names
    OpenAPIV31SpecValidator(description).validate()


def described(description: dict[str, Any], method: str, path: str, answer: httpx.Response) -> list[str]:
    """What is wrong with an answer, as the description has it."""
    responses = description["paths"][path][method]["responses"]
    response = resolved(description, responses.get(str(answer.status_code)) or responses["default"])
    kind = answer.headers["content-type"].split(";")[0]
    schema = {**response["content"][kind]["schema"], "components": description["components"]}
    return [f"{method} {path}: {e.message}" for e in jsonschema.Draft202012Validator(schema).iter_errors(answer.json())]


def acceptable(description: dict[str, Any], method: str, path: str, body: Any) -> list[str]:
    """What is wrong with a body, as the description has it."""
    schema = description["paths"][path][method]["requestBody"]["content"]["application/json"]["schema"]
    validator = jsonschema.Draft202012Validator({**schema, "components": description["components"]})
    return [f"{method} {path}, body: {e.message}" for e in validator.iter_errors(body)]


def test_answers_are_as_described(service: Service, description: dict[str, Any]) -> None:
    name = service.define("described", operator="last", decimals=2, windows=["daily", "all_time"])
    board, client = f"/v1/boards/{name}", service.client
    entry = {"player_id": "alice", "score": 10.5, "at": "2026-01-01T00:00:00Z", "metadata": {"a": 1}}
    calls: list[tuple[str, str, str, Any]] = [
        ("get", "/v1/boards", "", None),
        ("get", "/v1/boards/{board}", "", None),
        ("put", "/v1/boards/{board}", "?confirm=true", {"operator": "last", "decimals": 2, "windows": ["all_time"]}),
        ("patch", "/v1/boards/{board}", "?confirm=true", {"windows": {"all_time": {"ttl": "7d"}}}),
        ("post", "/v1/boards/{board}/scores", "", entry),
        ("post", "/v1/boards/{board}/increments", "", {"player_id": "bob", "amount": 0.5}),
        ("post", "/v1/boards/{board}/scores/batch", "?results=true", {"scores": [entry, {"player_id": "bob", "amount": 1}]}),
        ("post", "/v1/boards/{board}/scores/batch", "", REJECTED),
        ("get", "/v1/boards/{board}/top", "?limit=1", None),
        ("get", "/v1/boards/{board}/players/{player_id}", "?around=1", None),
        ("get", "/v1/boards/{board}/players/{player_id}/events", "?limit=2", None),
        ("get", "/v1/boards/{board}/ranks/{rank}", "", None),
        ("post", "/v1/boards/{board}/players/lookup", "", {"player_ids": ["alice", "nobody"]}),
        ("get", "/v1/boards/{board}/count", "?min=0.5", None),
        ("get", "/v1/boards/{board}/windows", "", None),
        ("get", "/v1/boards/{board}/history/{player_id}", "", None),
        ("get", "/v1/boards/{board}/as-of", "?at=2026-11-01T00:00:00Z", None),
        ("get", "/v1/boards/{board}/events", "?limit=2", None),
        ("get", "/healthz", "", None),
        ("get", "/readyz", "", None),
        ("post", "/api/v1/leaderboard/score", "", {"player_id": 1, "score": 5}),
        ("post", "/api/v1/leaderboard/score/increment", "", {"player_id": 1, "score_delta": 5}),
        ("get", "/api/v1/leaderboard/top", "", None),
        ("get", "/api/v1/leaderboard/rank/{player_id}", "", None),
        ("get", "/api/v1/leaderboard/around/{rank}", "", None),
    ]
    wrong: list[str] = []
    for method, path, query, body in calls:
        player = "1" if path.startswith("/api") else "alice"
        address = path.replace("{board}", name).replace("{player_id}", player).replace("{rank}", "1") + query
        if body is not None and body != REJECTED:
            wrong += acceptable(description, method, path, body)
        answer = client.request(method, address, json=body) if body is not None else client.request(method, address)
        assert answer.status_code == 200, answer.text
        wrong += described(description, method, path, answer)
    for route in ("/top?limit=0", "/players/nobody", "/ranks/0"):
        path = re.sub(r"nobody", "{player_id}", re.sub(r"\?.*", "", route)).replace("/0", "/{rank}")
        wrong += described(description, "get", "/v1/boards/{board}" + path, client.get(board + route))
    replay = {"Idempotency-Key": "described"}
    for _ in range(2):
        answer = client.post(f"{board}/scores", json=entry, headers=replay)
        wrong += described(description, "post", "/v1/boards/{board}/scores", answer)
    assert wrong == []


@pytest.mark.parametrize("page", ["/", "/docs"])
def test_pages_need_no_other_host(client: httpx.Client, page: str) -> None:
    answer = client.get(page)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/html")
    links = re.findall(r"""(?:src|href|action)\s*=\s*["']?([^"'\s>]+)""", answer.text)
    own = [link for link in links if not link.startswith(("#", "data:"))]
    assert own or "/v1/boards" in answer.text, "a page shows something"
    seen = set()
    for link in own:
        assert not re.match(r"(?:[a-z]+:)?//", link), link
        address = str(httpx.URL(page).join(link)).partition("#")[0]
        if link.startswith("/static") and address not in seen:
            seen.add(address)
            part = client.get(address)
            assert part.status_code == 200, address
            assert not re.search(r"""(?:import|fetch|url|@import)\s*\(?\s*["'`]?https?://""", part.text), address
