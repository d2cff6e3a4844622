"""The client and everything that can happen on the way to a service and back."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import msgspec
import pytest

from keepscore.client import Client, SyncClient
from keepscore.domain.results.standings import Receipt
from keepscore.errors import AnswerLost, KeepscoreError, ServiceError, ServiceUnreachable
from tests.service.running import Service
from tests.service.scripted import Scripted, Step, answer, cut, cut_after, drip, handed_on, hang, raw
from tests.support.ports import free_port

RECEIPT = msgspec.json.encode(Receipt("b", "p", 5, True, 1, None, 0, 100.0, 1, {}))
GOOD = answer(200, RECEIPT, content_type="application/json")
PENDING = msgspec.json.encode(Receipt("b", "p", 5, True, None, None, None, None, None, {}, pending=True))
HTML = b"<html><body><h1>502 Bad Gateway</h1></body></html>"
TRUNCATED = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n" + RECEIPT
UNTIL_CLOSED = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n" + RECEIPT[:40]
CHUNKED = (
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n%x\r\n%s\r\n0\r\n\r\n"
)


@pytest.fixture(params=[Client, SyncClient])
def kind(request: pytest.FixtureRequest) -> type[Client | SyncClient]:
    found: type[Client | SyncClient] = request.param
    return found


async def asked(client: Client | SyncClient, method: str, *arguments: Any, **named: Any) -> Any:
    """Call a method of either client."""
    function: Callable[..., Any] = attrgetter(method)(client)
    return await (function(*arguments, **named) if isinstance(client, Client) else asyncio.to_thread(function, *arguments, **named))


async def submitted(kind: type[Client | SyncClient], server: Scripted, key: str | None = None, **options: Any) -> Receipt:
    client = kind(server.url, **options)
    try:
        receipt: Receipt = await asked(client, "submit", "b", "p", 5, idempotency_key=key)
        return receipt
    finally:
        await asked(client, "close")


@pytest.mark.parametrize("method", ["submit", "increment"])
async def test_what_was_done_before_the_connection_broke_is_done_once(
    kind: type[Client | SyncClient], method: str, service: Service, board: Callable[..., str]
) -> None:
    name = board(operator="last")
    service.submit(name, "p", 10)
    async with Scripted(cut_after(service.url), cut_after(service.url), handed_on(service.url)) as server:
        client = kind(server.url)
        receipt = await asked(client, method, name, "p", 5)
        await asked(client, "close")
    assert (receipt.score, receipt.replayed) == (15 if method == "increment" else 5, True)
    assert len({request.headers["idempotency-key"] for request in server.asked}) == 1
    assert len(server.asked) == 3
    assert service.get(name, "players/p/events")["total"] == 2


async def test_a_batch_a_definition_and_a_reset_are_done_once_too(
    kind: type[Client | SyncClient], service: Service, board: Callable[..., str]
) -> None:
    from keepscore import Board, Entry

    name = board(operator="sum")
    script = [step for _ in range(5) for step in (cut_after(service.url), handed_on(service.url))]
    async with Scripted(*script) as server:
        client = kind(server.url)
        batch = await asked(client, "submit_many", name, [Entry(player_id="a", amount=1), Entry(player_id="b", amount=2)])
        keyed = [Entry(player_id="a", amount=1, idempotency_key="k"), Entry(player_id="b", amount=2)]
        mixed = await asked(client, "submit_many", name, keyed)
        definition = await asked(client, "admin.put_board", Board(name, operator="sum", decimals=0, max_score=99), version=1)
        reset = await asked(client, "admin.reset", name)
        await asked(client, "admin.delete_board", name)
        await asked(client, "close")
    assert (batch.accepted, batch.replayed, mixed.accepted, mixed.duplicates) == (2, True, 2, 2)
    assert (definition.version, definition.board.max_score) == (2, 99)
    assert (reset.version, reset.replayed) == (1, True)
    assert len(server.asked) == 10
    assert service.client.get(f"/v1/boards/{name}").status_code == 404


@pytest.mark.parametrize(
    "bad",
    [
        answer(503),
        answer(502, HTML),
        answer(504),
        answer(429, retry_after="0"),
        cut,
        raw(TRUNCATED),
        raw(UNTIL_CLOSED),
        raw(b"nonsense\r\n\r\n"),
    ],
    ids=["503", "502", "504", "429", "cut", "truncated", "half a body", "not HTTP"],
)
async def test_it_is_sent_again_with_the_same_key(kind: type[Client | SyncClient], bad: Step) -> None:
    async with Scripted(bad, bad, GOOD) as server:
        assert (await submitted(kind, server)).rank == 1
    assert len({request.headers["idempotency-key"] for request in server.asked}) == 1
    assert [request.body for request in server.asked] == [server.asked[0].body] * 3


async def test_a_key_of_the_caller_goes_in_the_body(kind: type[Client | SyncClient]) -> None:
    async with Scripted(answer(503), GOOD) as server:
        await submitted(kind, server, key="mein Schlüssel 🔑")
    assert ["idempotency-key" in request.headers for request in server.asked] == [False, False]
    assert {msgspec.json.decode(request.body)["idempotency_key"] for request in server.asked} == {"mein Schlüssel 🔑"}


async def test_the_service_is_not_asked_before_it_wants_to_be(kind: type[Client | SyncClient]) -> None:
    async with Scripted(answer(429, retry_after="1"), GOOD) as server:
        start = time.monotonic()
        await submitted(kind, server)
        assert time.monotonic() - start >= 1
    async with Scripted(answer(429, retry_after="3600")) as server:
        with pytest.raises(ServiceError, match="429"):
            await submitted(kind, server)
    assert len(server.asked) == 1


async def test_no_answer_is_a_third_outcome(kind: type[Client | SyncClient]) -> None:
    async with Scripted(hang) as server:
        start = time.monotonic()
        with pytest.raises(AnswerLost, match="not known") as found:
            await submitted(kind, server, timeout=0.2, deadline=1)
        assert time.monotonic() - start < 5
    keys = {request.headers["idempotency-key"] for request in server.asked}
    assert keys == {found.value.idempotency_key}
    assert len(server.asked) > 1
    async with Scripted(hang, GOOD) as server:
        assert (await submitted(kind, server, timeout=0.2)).rank == 1


async def test_an_answer_that_never_ends_is_given_up(kind: type[Client | SyncClient]) -> None:
    async with Scripted(drip) as server:
        client = kind(server.url, timeout=0.3, attempts=1)
        with pytest.raises(AnswerLost, match=r"0\.3 s"):
            await asked(client, "top", "b")
        await asked(client, "close")


async def test_where_nobody_listens_it_says_what_to_do(kind: type[Client | SyncClient]) -> None:
    client = kind(f"http://127.0.0.1:{free_port()}", attempts=2)
    with pytest.raises(ServiceUnreachable, match=r"connection refused\. Start the service .* or correct the URL"):
        await asked(client, "submit", "b", "p", 5)
    await asked(client, "close")


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (answer(200, HTML, content_type="text/html"), ["not JSON", "502 Bad Gateway"]),
        (answer(500, HTML, content_type="text/html"), ["500", "502 Bad Gateway"]),
        (answer(301, location="https://elsewhere/v1"), ["redirect", "https://elsewhere/v1"]),
        (answer(307, location="/v1/elsewhere"), ["redirect", "/v1/elsewhere"]),
        (answer(304), ["304"]),
        (answer(204), ["not JSON", "empty"]),
        (answer(200, b"[]", content_type="application/json"), ["cannot be read"]),
    ],
)
async def test_other_answers_are_told_at_once(kind: type[Client | SyncClient], step: Step, words: list[str]) -> None:
    async with Scripted(step) as server:
        with pytest.raises(ServiceError) as found:
            await submitted(kind, server)
    assert all(word in str(found.value) for word in words), str(found.value)
    assert len(server.asked) == 1


@pytest.mark.parametrize(("step", "rank"), [(GOOD, 1), (answer(202, PENDING), None), (raw(CHUNKED % (len(RECEIPT), RECEIPT)), 1)])
async def test_good_answers(kind: type[Client | SyncClient], step: Step, rank: int | None) -> None:
    async with Scripted(step) as server:
        receipt = await submitted(kind, server)
    assert (receipt.rank, receipt.pending is True) == (rank, rank is None)


async def test_one_connection_serves_many_calls(kind: type[Client | SyncClient]) -> None:
    async with Scripted(GOOD) as server:
        client = kind(server.url)
        for _ in range(5):
            await asked(client, "submit", "b", "p", 5)
        await asked(client, "close")
    assert [request.connection for request in server.asked] == [1] * 5


async def test_the_key_is_sent_and_never_shown(kind: type[Client | SyncClient], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with Scripted(answer(401, b"who are you?"), answer(301, location="http://127.0.0.1:1/"), cut) as server:
        for _ in range(3):
            with pytest.raises(KeepscoreError) as found:
                await _with_key(kind, server)
            assert "s3cret" not in f"{found.value!r} {found.value.__cause__!r} {found.value.__context__!r}"
    assert [request.headers["authorization"] for request in server.asked] == ["Bearer s3cret"] * 3
    assert "s3cret" not in caplog.text


async def _with_key(kind: type[Client | SyncClient], server: Scripted) -> None:
    client = kind(server.url, key="s3cret", attempts=1)
    try:
        await asked(client, "submit", "b", "p", 5)
    finally:
        await asked(client, "close")
