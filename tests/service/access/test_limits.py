"""Rate limits and caps, over HTTP."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.service.access_rig import BOARDS, KeyedService, bearer, problem
from tests.support.redis_servers import single

LIMITS = """
[limits]
key = "40/1h"
player = "10/1h"
address = "100/1h"
board = "1000/1h"
light = 1
normal = 2
heavy = 10
boards = 8
segment_values = 3
"""


@pytest.fixture(params=["embedded", "redis"])
def limited(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[KeyedService]:
    if request.param == "embedded":
        service = KeyedService(tmp_path, LIMITS + BOARDS)
        yield service
        service.stop()
        return
    with single() as redis:
        service = KeyedService(tmp_path, f'[engine]\nurl = "{redis.url}"\n' + LIMITS + BOARDS)
        yield service
        service.stop()
        names = [name.decode() for name in redis.client().keys("keepscore:limits*")]
        assert names, "requests are counted in Redis"
        assert not any("ks_" in name for name in names)


def limited_to(answer: httpx.Response, name: str, amount: int) -> None:
    detail = problem(answer, 429, "rate-limited")
    assert f"{amount} units in 3600 s" in detail
    wait = int(answer.headers["retry-after"])
    assert 1 <= wait <= 3600
    assert answer.headers["ratelimit"] == f'"{name}";r=0;t={wait}'
    assert answer.headers["ratelimit-policy"] == f'"{name}";q={amount};w=3600'


def test_keys_players_and_addresses_have_limits_of_their_own(limited: KeyedService) -> None:
    server = bearer(limited.make("server", "submit"))
    top, rank = "/v1/boards/global/top", "/v1/boards/global/players/ada"
    # 40 units: 2 for a page, 1 for a rank, 10 for a batch.
    limited.client.post("/v1/boards/global/scores/batch", json={"scores": [{"player_id": "ada", "score": 1}]}, headers=server)
    tokens = [limited.token(player, limited.keys["server"]) for player in ("ada", "eve")]
    statuses = [limited.client.get(top, headers=server).status_code for _ in range(8)]
    statuses += [limited.client.get(rank, headers=server).status_code for _ in range(10)]
    assert statuses == [200] * 18
    limited_to(limited.client.get(rank, headers=server), "key", 40)
    # Others are not limited by that, each of their players by what they ask for.
    for token in tokens:
        assert [limited.client.get(top, headers=bearer(token)).status_code for _ in range(5)] == [200] * 5
        limited_to(limited.client.get(top, headers=bearer(token)), "player", 10)
    # Both came from here, and so does whoever has no key at all.
    problem(limited.client.get(top), 401, "unauthenticated")
    answers = [limited.client.get("/v1/boards").status_code for _ in range(50)]
    assert answers == [200] * answers.count(200) + [429] * answers.count(429)
    for headers in ({}, bearer("wrong")):
        limited_to(limited.client.get(top, headers=headers), "address", 100)
    assert limited.admin.get(top).status_code == 200


def test_a_limit_is_never_exceeded_however_many_come_at_once(limited: KeyedService) -> None:
    import asyncio

    reader = limited.make("reader", "read")

    async def statuses() -> list[int]:
        async with httpx.AsyncClient(base_url=limited.url, headers=bearer(reader), trust_env=False, verify=False, timeout=60) as client:
            answers = await asyncio.gather(*[client.get("/v1/boards/global/count") for _ in range(80)])
        return [answer.status_code for answer in answers]

    found = asyncio.run(statuses())
    assert set(found) == {200, 429}
    assert 30 <= found.count(200) <= 40


def test_there_are_only_so_many_boards_and_segment_values(limited: KeyedService) -> None:
    server = bearer(limited.make("boards", "admin"))
    assert [limited.client.put(f"/v1/boards/more-{n}", json={}, headers=server).status_code for n in range(2)] == [201, 201]
    answer = limited.client.put("/v1/boards/too-many", json={}, headers=server)
    assert "limits.boards = 8" in problem(answer, 409, "cap-reached")
    writer = bearer(limited.make("writer", "submit"))

    def sent(region: str) -> httpx.Response:
        body = {"player_id": "ada", "score": 1, "segments": {"region": region}}
        return limited.client.post("/v1/boards/global/scores", json=body, headers=writer)

    assert [sent(region).status_code for region in ("eu", "us", "asia", "eu")] == [200] * 4
    assert re.search(r"'mars'.*limits.segment_values = 3", problem(sent("mars"), 409, "cap-reached"))
    assert sent("us").status_code == 200
    entries = [{"player_id": "bob", "score": 1, "segments": {"region": region}} for region in ("eu", "venus")]
    batch = limited.client.post("/v1/boards/global/scores/batch", json={"scores": entries}, headers=writer).json()
    assert (batch["accepted"], [rejection["type"] for rejection in batch["rejected"]]) == (1, ["urn:keepscore:cap-reached"])


def test_what_is_open_on_its_own_machine_is_not_limited(tmp_path: Path) -> None:
    from tests.service.running import Service

    service = Service(tmp_path, LIMITS + BOARDS)
    try:
        assert {service.client.get("/v1/boards/global/top").status_code for _ in range(50)} == {200}
    finally:
        service.stop()
