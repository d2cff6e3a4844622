"""What cannot be taken is refused with the field and the value, and leaves nothing behind: bodies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.service.running import Service, refused, taken

SCORE, INCREMENT, BATCH, LOOKUP = "scores", "increments", "scores/batch", "players/lookup"


@pytest.fixture(scope="module")
def strict(service: Service) -> Iterator[str]:
    """A board with bounds, whole numbers, windows that close, and two players, which stays as it is all the time."""
    name = service.define("strict", windows=["daily", "all_time"], segments=["region"], min_score=-100, max_score=2**53 - 1)
    for player, score in (("alice", 10), ("bob", 20)):
        service.submit(name, player, score, segments={"region": "eu"})
    with service.nothing_left_behind(name):
        yield name


@pytest.fixture(scope="module")
def money(service: Service) -> Iterator[str]:
    """The same for sums with two decimals."""
    name = service.define("money", operator="sum", decimals=2, max_score=1000)
    service.increment(name, "alice", 999.99)
    with service.nothing_left_behind(name):
        yield name


def send(service: Service, board: str, route: str, body: bytes) -> httpx.Response:
    return service.client.post(f"/v1/boards/{board}/{route}", content=body, headers={"content-type": "application/json"})


def entry(**fields: Any) -> bytes:
    body = {"player_id": "carol", "score": 1, **fields}
    return json.dumps({name: value for name, value in body.items() if value is not ...}).encode()


def written(score: str) -> bytes:
    return b'{"player_id": "carol", "score": %b}' % score.encode()


#: Of the hour: every process that collects these tests names them alike.
NOW = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)

FIELDS: list[tuple[bytes, int | tuple[int, ...], list[str]]] = [
    # unknown, missing, of the wrong type
    (entry(colour="red"), 422, ["colour", "red"]),
    (entry(amount=5), 422, ["amount"]),
    (entry(player="carol"), 422, ["player"]),
    (entry(score=...), 422, ["score"]),
    (entry(player_id=...), 422, ["player_id"]),
    (entry(player_id=12345), 422, ["player_id", "12345"]),
    (entry(player_id=None), 422, ["player_id", "null"]),
    (entry(player_id=["carol"]), 422, ["player_id", "carol"]),
    (entry(score="5"), 422, ["score", "5"]),
    (entry(score=None), 422, ["score", "null"]),
    (entry(score=True), 422, ["score", "true"]),
    (entry(score=[5]), 422, ["score", "5"]),
    (entry(score={"value": 5}), 422, ["score", "value"]),
    (entry(at=1700000000), 422, ["at", "1700000000"]),
    (entry(segments=["eu"]), 422, ["segments", "eu"]),
    (entry(segments="region:eu"), 422, ["segments", "region:eu"]),
    (entry(segments={"region": 5}), 422, ["segments", "5"]),
    (entry(segments={"region": None}), 422, ["segments"]),
    (entry(game_id=7), 422, ["game_id", "7"]),
    (entry(game_id=""), 422, ["game_id"]),
    (entry(game_id="g" * 129), 422, ["game_id", "ggg"]),
    (entry(game_id="nul\x00"), 422, ["game_id", "nul"]),
    (entry(game_id="esc\x1b[2J"), 422, ["game_id", "esc"]),
    (entry(game_id="line\n"), 422, ["game_id", "line"]),
    (entry(metadata="m" * 5000), 422, ["metadata"]),
    (b"[]", (400, 422), []),
    (b"5", (400, 422), []),
    (b"null", (400, 422), []),
    # player ids
    (entry(player_id=""), 422, ["player_id"]),
    (entry(player_id="x" * 129), 422, ["player_id", "xxx", "128"]),
    (entry(player_id="é" * 65), 422, ["player_id", "éé", "130"]),
    (entry(player_id="tab\there"), 422, ["player_id", "tab"]),
    (entry(player_id="nul\x00"), 422, ["player_id", "nul"]),
    (entry(player_id="line\n"), 422, ["player_id", "line"]),
    (entry(player_id="del\x7f"), 422, ["player_id", "del"]),
    (entry(player_id="c1\x85"), 422, ["player_id", "c1"]),
    (b'{"player_id": "\\ud800", "score": 1}', (400, 422), []),
    (b'{"player_id": "\\udc00\\ud800", "score": 1}', (400, 422), []),
    # segments
    (entry(segments={"planet": "earth"}), (404, 422), ["planet"]),
    (entry(segments={"region": ""}), 422, ["region"]),
    (entry(segments={"region": "x" * 65}), 422, ["region", "xxx"]),
    (entry(segments={"region": "a\nb"}), 422, ["region"]),
    # scores
    (entry(score=-101), 422, ["score", "-101", "-100"]),
    (entry(score=2**53), 422, ["score", str(2**53)]),
    (entry(score=-(2**53)), 422, ["score", str(-(2**53))]),
    (entry(score=1.5), 422, ["score", "1.5"]),
    (written("1e999"), 422, ["score", "1"]),
    (written("-1e999"), 422, ["score", "-1"]),
    (written("1e-999"), 422, ["score", "1"]),
    (written("1e99999999999999999999"), (400, 422), ["score"]),
    (written("1e-99999999999999999999"), (400, 422), ["score"]),
    (written("1" + "0" * 400), 422, ["score", "10"]),
    (written("1" + "0" * 5000), 422, ["score", "10"]),
    (written("1." + "0" * 40 + "1"), 422, ["score", "1.0"]),
    (written("0." + "3" * 5000), 422, ["score", "0.3"]),
    (written("NaN"), (400, 422), []),
    (written("Infinity"), (400, 422), []),
    (written("-Infinity"), (400, 422), []),
    (written('"NaN"'), 422, ["score", "NaN"]),
    (written("01"), (400, 422), []),
    (written("+1"), (400, 422), []),
    (written(".5"), (400, 422), []),
    (written("1."), (400, 422), []),
    (written("0x10"), (400, 422), []),
    (written("1_000"), (400, 422), []),
    (written('"\\ud800"'), (400, 422), []),
    # times
    *((entry(at=at), 422, ["at", at[:20]]) for at in ("yesterday", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z")),
    *((entry(at=at), 422, ["at", at[:20]]) for at in ("2026-01-01T25:00:00Z", "2026-01-01T00:00:00", "2026-01-01", "12:00")),
    *((entry(at=at), 422, ["at", at[:20]]) for at in ("2999-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z")),
    *((entry(at=at), 422, ["at", at[:20]]) for at in ("2026-01-01T00:00:00+99:00", "1700000000", "x" * 10_000)),
    (entry(at=""), 422, ["at"]),
    (entry(at=(NOW + timedelta(hours=2)).isoformat()), 422, ["at", f"{NOW + timedelta(hours=2):%Y-%m-%dT%H:%M}"]),
    (entry(at=(NOW - timedelta(days=2)).isoformat()), 409, ["at", "daily", f"{NOW - timedelta(days=2):%Y-%m-%d}"]),
    # keys
    (entry(idempotency_key=""), 422, ["key"]),
    (entry(idempotency_key=5), 422, ["idempotency_key", "5"]),
]


@pytest.mark.parametrize(("body", "status", "words"), FIELDS, ids=[f[0][:70].decode() for f in FIELDS])
def test_a_score_that_cannot_be_taken(service: Service, strict: str, body: bytes, status: int | tuple[int, ...], words: list[str]) -> None:
    before = service.footprint(strict)
    refused(send(service, strict, SCORE, body), status, *words)
    assert service.footprint(strict) == before


@pytest.mark.parametrize(("body", "status", "words"), FIELDS, ids=[f[0][:70].decode() for f in FIELDS])
def test_a_batch_rejects_it_and_takes_the_others(service: Service, body: bytes, status: int | tuple[int, ...], words: list[str]) -> None:
    name = service.define("halves", windows=["daily", "all_time"], segments=["region"], min_score=-100)
    before = service.footprint(name)["events"]
    answer = send(service, name, BATCH, b'{"scores": [%b, {"player_id": "dave", "score": 1}]}' % body)
    if answer.status_code == 400:
        # What is not JSON spoils the whole body.
        refused(answer, 400)
        assert service.footprint(name)["events"] == before
        return
    if b'"amount"' in body or b'"score": null' in body:
        words = ["score", "amount"]
    answered = taken(answer)
    assert (answered["accepted"], [rejection["index"] for rejection in answered["rejected"]]) == (1, [0])
    assert all(word in answered["rejected"][0]["detail"] for word in words), answered["rejected"]
    assert service.footprint(name)["events"] == before + 1


@pytest.mark.parametrize(
    ("amount", "words"),
    [
        ("0.001", ["amount", "0.001"]),
        ("0.02", ["0.02", "1000"]),
        ("1e999", ["amount"]),
        ("90071992547409.92", ["amount", "90071992547409.92"]),
        ('"1"', ["amount", "1"]),
        ("true", ["amount", "true"]),
        ("null", ["amount", "null"]),
    ],
)
def test_an_amount_that_cannot_be_taken(service: Service, money: str, amount: str, words: list[str]) -> None:
    with service.nothing_left_behind(money):
        refused(send(service, money, INCREMENT, b'{"player_id": "alice", "amount": %b}' % amount.encode()), 422, *words)


@pytest.mark.parametrize("operator", ["best", "first"])
def test_no_increments_on_boards_of_single_scores(service: Service, operator: str) -> None:
    name = service.define(f"no-increments-{operator}", operator=operator)
    with service.nothing_left_behind(name):
        refused(service.post(name, INCREMENT, {"player_id": "alice", "amount": 5}), 409, operator, name)
        answer = taken(service.post(name, BATCH, {"scores": [{"player_id": "alice", "amount": 5}]}))
        assert (answer["accepted"], answer["rejected"][0]["index"]) == (0, 0)


BODIES = {
    SCORE: b'{"player_id": "carol", "score": 1, "at": null, "segments": {"region": "eu"}, "metadata": [{"a": "\xc3\xa9"}, 1.5]}',
    INCREMENT: b'{"player_id": "carol", "amount": 1, "game_id": "g\xc3\xbc"}',
    BATCH: b'{"scores": [{"player_id": "carol", "score": 1, "metadata": {"a": [1, "\xc3\xa9"]}}]}',
    LOOKUP: b'{"player_ids": ["alice", "b\xc3\xb6b"]}',
}


@pytest.mark.parametrize("route", BODIES)
def test_a_cut_body_is_no_json(service: Service, strict: str, route: str) -> None:
    for end in range(len(BODIES[route])):
        refused(send(service, strict, route, BODIES[route][:end]), (400, 409, 422))
        # A field of the wrong type comes first: the rest is as broken as before.
        refused(send(service, strict, route, b'{"player_id": 5, "player_ids": 5, "scores": 5, ' + BODIES[route][1:end]), (400, 409, 422))


@pytest.mark.parametrize("route", BODIES)
@pytest.mark.parametrize("wrong", [b"\xff", b"\xc3(", b"\xed\xa0\x80", b"\x00", b"\n", b"\\x"])
def test_a_text_that_is_none(service: Service, strict: str, route: str, wrong: bytes) -> None:
    body = BODIES[route]
    quotes = [place for place in range(len(body)) if body[place : place + 1] == b'"']
    for place in quotes[::2]:
        answer = send(service, strict, route, body[: place + 1] + wrong + body[place + 1 :])
        assert answer.status_code in (400, 409, 422) or (route in (BATCH, LOOKUP) and answer.status_code == 200), answer.text
        if answer.status_code == 200 and route == BATCH:
            assert answer.json()["accepted"] == 0
        elif answer.status_code != 200:
            refused(answer, (400, 409, 422))


@pytest.mark.parametrize("route", BODIES)
@pytest.mark.parametrize(
    "body", [b"", b" ", b"{", b"{}x", b"\xef\xbb\xbf{}", b"{'a': 1}", b"a=1", b"<a/>", b"[" * 100_000, b'{"a":' * 100_000]
)
def test_no_json_at_all(service: Service, strict: str, route: str, body: bytes) -> None:
    refused(send(service, strict, route, body), (400, 422) if body[:2] == b"{}" else 400)


@pytest.mark.parametrize("route", BODIES)
def test_nested_too_deeply(service: Service, strict: str, route: str) -> None:
    deep = b"[" * 50_000 + b"]" * 50_000
    opening = BODIES[route].partition(b":")[0]
    refused(send(service, strict, route, opening + b": " + deep + b"}"), (400, 422))
    refused(send(service, strict, route, b'{"player_id": 5, "metadata": ' + deep + b"}"), (400, 422))
    refused(send(service, strict, SCORE, b'{"player_id": "carol", "score": 1, "metadata": ' + deep + b"}"), (400, 422))


def test_the_last_of_two_equal_fields_counts_or_none(service: Service) -> None:
    name = service.define("doubled")
    answer = send(service, name, SCORE, b'{"player_id": "carol", "score": 1, "score": 2}')
    if answer.status_code == 200:
        assert answer.json()["score"] == 2
    else:
        refused(answer, (400, 422), "score")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"scores": 5}, ["scores", "5"]),
        ({"scores": {}}, ["scores"]),
        ({"scores": None}, ["scores", "null"]),
        ({}, ["scores"]),
        ({"scores": [], "colour": "red"}, ["colour", "red"]),
        ([], []),
    ],
)
def test_a_batch_is_a_list_of_scores(service: Service, strict: str, body: Any, words: list[str]) -> None:
    refused(service.post(strict, BATCH, body), 422, *words)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"player_ids": "alice"}, ["player_ids", "alice"]),
        ({"player_ids": [5]}, ["player_ids", "5"]),
        ({"player_ids": [None]}, ["player_ids", "null"]),
        ({"player_ids": [""]}, ["player_id"]),
        ({"player_ids": ["x" * 129]}, ["player_id", "xxx"]),
        ({"players": ["alice"]}, ["players"]),
        ({}, ["player_ids"]),
    ],
)
def test_a_lookup_that_cannot_be_made(service: Service, strict: str, body: Any, words: list[str]) -> None:
    refused(service.post(strict, LOOKUP, body), 422, *words)
