"""The log: its level and format, the access log, and the ids of requests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.service.running import Service, run

BOARD = '[[board]]\nname = "global"\n'


@pytest.fixture(scope="module")
def logging_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    service = Service(tmp_path_factory.mktemp("logs"), BOARD, "--access-log", "--log-format", "json", "--log-level", "debug")
    yield service
    service.stop()


def lines(service: Service, request_id: str) -> list[dict[str, Any]]:
    """The lines of one request."""
    found = [json.loads(line) for line in service.log.read_text().splitlines() if line.startswith("{")]
    return [line for line in found if line.get("request_id") == request_id]


def test_a_request_is_logged_with_the_id_that_its_answer_has(logging_service: Service) -> None:
    service = logging_service
    service.submit("global", "ada", 5)
    for request_id, path, status in (("mine-1", "/v1/boards/global/players/ada", 200), ("mine-2", "/v1/boards/global/top", 200)):
        answer = service.client.get(path, headers={"X-Request-Id": request_id})
        assert (answer.status_code, answer.headers["x-request-id"]) == (status, request_id)
        (line,) = lines(service, request_id)
        assert (line["logger"], line["method"], line["path"], line["status"]) == ("keepscore.access", "GET", path, status)
        assert 0 < line["ms"] < 10_000
    # What another request got is not sent again with this one's id.
    other = service.client.get("/v1/boards/global/top", headers={"X-Request-Id": "mine-3"})
    assert other.headers.get_list("x-request-id") == ["mine-3"]
    again = service.client.get("/v1/boards/global/top", headers={"X-Request-Id": "mine-4", "If-None-Match": other.headers["etag"]})
    assert (again.status_code, again.headers["x-request-id"]) == (304, "mine-4")


def test_an_error_is_logged_with_the_id_that_its_problem_has(logging_service: Service) -> None:
    answer = logging_service.client.get("/v1/boards/none/top", headers={"X-Request-Id": "bad id\twith spaces"})
    made = answer.json()["request_id"]
    assert made == answer.headers["x-request-id"] != "bad id\twith spaces"
    (line,) = lines(logging_service, made)
    assert line["status"] == 404


def test_a_path_cannot_forge_a_line(logging_service: Service) -> None:
    logging_service.client.get("/v1/players/a%0A%7B%7D", headers={"X-Request-Id": "forged"})
    (line,) = lines(logging_service, "forged")
    assert line["path"] == "/v1/players/a%0A%7B%7D"


def test_without_the_access_log_nothing_is_logged_of_good_requests(service: Service) -> None:
    answer = service.client.get("/v1/boards", headers={"X-Request-Id": "unlogged"})
    assert "x-request-id" not in answer.headers
    assert "unlogged" not in service.log.read_text()
    assert "keepscore.access" not in service.log.read_text()


@pytest.mark.parametrize(("flag", "allowed"), [("--log-level", "debug, info, warning or error"), ("--log-format", "text or json")])
def test_a_level_or_format_that_there_is_not_is_refused(tmp_path: Path, flag: str, allowed: str) -> None:
    done = run("serve", flag, "loud", cwd=tmp_path)
    assert done.returncode == 2
    assert "'loud' cannot be used" in done.stderr
    assert allowed in done.stderr
