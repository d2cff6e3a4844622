"""Schemathesis over the whole API: no 5xx, and every answer as its description has it, alone and one after another (links)."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.service.access_rig import KeyedService
from tests.service.routes.test_openapi import described, operations
from tests.service.running import environment, refused, taken

BOARDS = """
[[board]]
name = "global"
operator = "last"
windows = ["all_time", "daily", "weekly", "monthly"]
segments = ["region", "country"]

[[board]]
name = "laps"
order = "asc"
decimals = 2

[[board]]
name = "xp"
operator = "sum"

[[board]]
name = "duels"
rating = {system = "elo", k = 32, initial = 1000}

[[board]]
name = "cup"
consistency = "strong"
prize = {winners = 3, rewards = [{ranks = "1-3", give = "gold"}]}

[[board]]
name = "season-1"
rules = {max_score = 0, on_break = "quarantine"}
"""

#: A position that nobody has given lets a read wait for it, and a read of live changes does not end: both have tests of their own.
CONFIG = """
[parameters]
"query.min_seq" = "0"

[phases.stateful]
max-steps = 8
"""

#: What is checked of each answer. Whether a request is good depends on more than a schema says: on the boards, and on what was sent before.
CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "missing_required_header",
    "unsupported_method",
]


@pytest.fixture
def keyed(tmp_path: Path) -> Iterator[KeyedService]:
    running = KeyedService(tmp_path, BOARDS)
    yield running
    running.stop()


def test_no_server_error_and_every_answer_as_described(keyed: KeyedService, tmp_path: Path) -> None:
    config, report = tmp_path / "schemathesis.toml", tmp_path / "report.json"
    config.write_text(CONFIG)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(config), "run", f"{keyed.url}/openapi.json"),
            *("--header", f"Authorization: Bearer {keyed.keys['admin']}", "--exclude-path-regex", "/live"),
            *("--phases", "examples,fuzzing,stateful", "--checks", ",".join(CHECKS), "--max-examples", "6", "--seed", "17"),
            *("--no-shrink", "--continue-on-failure", "--generation-database", "none", "--warnings", "off"),
            *("--report", "json", "--report-json-path", str(report)),
        ],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:]
    assert json.loads(report.read_text())
    assert "unexpected error" not in keyed.log.read_text()


LONG = {"idempotency-key": "x" * 129}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/moderation/void", {"board": "global", "player_id": "ada", "reason": "a bot", "dry_run": True}),
        ("POST", "/v1/moderation/merge", {"from": "guest", "into": "ada", "reason": "signed up", "dry_run": True}),
        ("POST", "/v1/boards/global/scores/batch?dry_run=true", {"scores": [{"player_id": "ada", "score": 1}]}),
    ],
)
def test_a_key_that_cannot_be_one_is_refused_also_where_nothing_is_recorded(
    client: httpx.Client, method: str, path: str, body: Any
) -> None:
    refused(client.request(method, path, json=body, headers=LONG), 422, "128 bytes")


@pytest.mark.parametrize("path", ["/v1/appeals", "/v1/moderation/queue", "/v1/moderation/restricted"])
def test_a_player_id_that_cannot_be_one_is_refused_in_filters(client: httpx.Client, path: str) -> None:
    refused(client.get(path, params={"player_id": "a\x9b"}), 422, "control character")


def test_a_definition_that_is_replayed_is_as_described(client: httpx.Client) -> None:
    description = taken(client.get("/openapi.json"))
    for status in (201, 201):
        answer = client.put("/v1/boards/told-twice", json={}, headers={"idempotency-key": "told-twice"})
        assert answer.status_code == status
        assert described(description, "put", "/v1/boards/{board}", answer) == []
    assert answer.json()["replayed"] is True


def test_links_lead_to_routes_with_such_parts(client: httpx.Client) -> None:
    description = taken(client.get("/openapi.json"))
    found = {operation["operationId"]: (path, operation) for (_, path), operation in operations(description).items()}
    links = [link for _, one in found.values() for response in one["responses"].values() for link in response.get("links", {}).values()]
    assert len(links) > 20
    for link in links:
        path, operation = found[link["operationId"]]
        assert set(link.get("parameters", {})) == set(re.findall(r"{(\w+)}", path)), link
        assert "requestBody" in operation or "requestBody" not in link, link
