"""What cannot be taken is refused with the parameter and the value: sizes, queries, cursors, ranks, names."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import httpx
import pytest

from tests.service.running import JSON, Service, refused, taken

MIB = 1 << 20


@pytest.fixture(scope="module")
def steady(service: Service) -> Iterator[str]:
    """A board with three players that stays as it is."""
    name = service.define("steady", windows=["daily", "all_time"], segments=["region"])
    for player, score in (("alice", 10), ("bob", 20), ("carol", 30)):
        service.submit(name, player, score, segments={"region": "eu"})
    with service.nothing_left_behind(name):
        yield name


def padded(body: bytes, size: int) -> bytes:
    return body + b" " * (size - len(body))


def in_chunks(body: bytes) -> Iterator[bytes]:
    for start in range(0, len(body), 1 << 16):
        yield body[start : start + (1 << 16)]


ENTRY = b'{"player_id": "alice", "score": 1}'


@pytest.mark.parametrize(
    ("method", "route", "body", "limit", "good"),
    [
        ("POST", "/scores", ENTRY, MIB, 200),
        ("POST", "/increments", b'{"player_id": "alice", "amount": 1}', MIB, 200),
        ("POST", "/scores/batch", b'{"scores": [%b]}' % ENTRY, 8 * MIB, 200),
        ("POST", "/players/lookup", b'{"player_ids": ["alice"]}', MIB, 200),
        ("PUT", "?confirm=true", b'{"operator": "last"}', MIB, 200),
    ],
)
@pytest.mark.parametrize("chunked", [False, True], ids=["with length", "in chunks"])
def test_a_body_has_a_largest_size(service: Service, method: str, route: str, body: bytes, limit: int, good: int, chunked: bool) -> None:
    name = service.define("sizes", operator="last")
    service.define("sizes", operator="last", max_score=10**6)

    def send(size: int) -> httpx.Response:
        content = padded(body, size)
        with httpx.Client(base_url=service.url, trust_env=False, verify=False) as client:
            return client.request(method, f"/v1/boards/{name}{route}", content=in_chunks(content) if chunked else content, headers=JSON)

    with service.nothing_left_behind(name):
        refused(send(limit + 1), 413, str(limit))
    assert send(limit).status_code == good


def test_a_connection_goes_on_after_too_large_a_body_or_is_closed_with_a_word(service: Service, steady: str) -> None:
    with httpx.Client(base_url=service.url, trust_env=False, verify=False) as client:
        for _ in range(30):
            refused(client.post(f"/v1/boards/{steady}/scores", content=padded(ENTRY, MIB + 1), headers=JSON), 413)
            assert client.get("/healthz").status_code == 200


def test_a_far_too_large_body_is_refused_and_the_service_goes_on(service: Service, steady: str) -> None:
    for content in (b" " * (32 * MIB), in_chunks(b" " * (32 * MIB))):
        with httpx.Client(base_url=service.url, trust_env=False, verify=False) as client:
            try:
                answer = client.post(f"/v1/boards/{steady}/scores", content=content, headers=JSON)
            except (httpx.WriteError, httpx.ReadError):
                # It may hang up on a client that goes on sending.
                continue
            refused(answer, 413)
    assert service.client.get("/healthz").status_code == 200


QUERIES = [
    *((f"top?limit={limit}", ["limit", limit]) for limit in ("0", "-1", "1001", "1000000000000", "1" + "0" * 30)),
    *((f"top?limit={limit}", ["limit"]) for limit in ("", "abc", "1.5", "NaN", "0x10", "%20", "ten", "5;", "null")),
    *((f"top?offset={offset}", ["offset", offset]) for offset in ("-1", "abc", "1.5", "9" * 30)),
    *((f"players/alice?around={around}", ["around", around]) for around in ("-1", "abc", "1000000000", "9" * 30)),
    *((f"ranks/1?around={around}", ["around", around]) for around in ("-1", "abc", "1000000000", "9" * 30)),
    *((f"count?min={bound}", ["min", bound]) for bound in ("abc", "NaN", "Infinity", "1.5", "9007199254740992")),
    *((f"count?max={bound}", ["max", bound]) for bound in ("abc", "-Infinity", "0.5")),
    ("count?min=1e999", ["min"]),
    ("count?min=1e99999999999999999999", ["min"]),
    ("count?min=", ["min"]),
    *((f"{route}rank=olympic", ["rank", "olympic"]) for route in ("top?", "players/alice?", "ranks/1?", "count?")),
    *((f"{route}colour=red", ["colour", "red"]) for route in ("top?", "players/alice?", "ranks/1?", "count?")),
    ("top?limit", ["limit"]),
    ("top?window_id=all_time&colour=red", ["colour"]),
    ("top?limit=5&LIMIT=5", ["LIMIT"]),
    ("top?limit=5&limit=7", ["limit is given twice", '"5"', '"7"', "give it once"]),
    ("top?limit=5&limit=5", ["limit is given twice"]),
    ("top?segment=region:eu&limit=5&segment=region:us", ["segment is given twice", "region:eu", "region:us"]),
]


@pytest.mark.parametrize(("target", "words"), QUERIES, ids=[query[0][:50] for query in QUERIES])
def test_a_query_that_cannot_be_answered(client: httpx.Client, steady: str, target: str, words: list[str]) -> None:
    refused(client.get(f"/v1/boards/{steady}/{target}"), (400, 422), *words)


@pytest.mark.parametrize("query", [b"limit=%FF", b"%FF=1", b"&".join([b"limit=5"] * 200)])
def test_a_query_of_nonsense(client: httpx.Client, steady: str, query: bytes) -> None:
    url = httpx.URL(client.base_url, raw_path=f"/v1/boards/{steady}/top?".encode() + query)
    refused(client.get(url), (400, 422))


@pytest.mark.parametrize("target", ["scores?colour=red", "increments?colour=red", "scores/batch?colour=red", "players/lookup?colour=red"])
def test_an_unknown_parameter_of_a_write(client: httpx.Client, steady: str, target: str) -> None:
    body = {"player_id": "alice", "score": 1}
    refused(client.post(f"/v1/boards/{steady}/{target}", json=body), 422, "colour", "red")


@pytest.mark.parametrize("value", ["maybe", "2", ""])
def test_results_are_wanted_or_not(client: httpx.Client, steady: str, value: str) -> None:
    body = {"scores": [{"player_id": "alice", "score": 1}]}
    refused(client.post(f"/v1/boards/{steady}/scores/batch?results={value}", json=body), 422, "results", value)


NOWHERE = [
    *(("window", window) for window in ("weekly", "hourly", "Daily", "daily ")),
    *(("segment", segment) for segment in ("planet:earth", "planet", "region", "region:", ":", "Region:eu", "country:BR")),
]


@pytest.mark.parametrize(("parameter", "value"), NOWHERE)
@pytest.mark.parametrize("route", ["top", "players/alice", "ranks/1", "count", "players/lookup"])
def test_an_unknown_window_or_segment(client: httpx.Client, steady: str, route: str, parameter: str, value: str) -> None:
    address = f"/v1/boards/{steady}/{route}"
    if route == "players/lookup":
        answer = client.post(address, params={parameter: value}, json={"player_ids": ["alice"]})
    else:
        answer = client.get(address, params={parameter: value})
    refused(answer, 404, parameter, value.partition(":")[0])


@pytest.mark.parametrize(
    "value", ["2026-13-01", "2026-02-30", "2026-W46", "2026-1-1", "today", "all_time", "0000-01-01", "２０２６-01-01", "x" * 999]
)
def test_an_unknown_window_id(client: httpx.Client, steady: str, value: str) -> None:
    refused(client.get(f"/v1/boards/{steady}/top", params={"window": "daily", "window_id": value}), 404, value[:40])


@pytest.mark.parametrize("rank", ["0", "-1", "abc", "1.5", "1e3", "%20", "%201", "+1", "%D9%A3", "9" * 30, "1_0", "--1", "-"])
def test_a_rank_that_is_none(client: httpx.Client, steady: str, rank: str) -> None:
    problem = refused(client.get(f"/v1/boards/{steady}/ranks/{rank}"), (400, 422), "rank")
    if "%" not in rank:
        assert rank in problem["detail"]


@pytest.mark.parametrize("player", ["%00", "a%0Ab", "x" * 129, "%F0%9F%8F%86" * 33, "%7F"])
def test_a_player_id_that_is_none(client: httpx.Client, steady: str, player: str) -> None:
    refused(client.get(f"/v1/boards/{steady}/players/{player}"), 422, "player")


@pytest.mark.parametrize("player", ["%FF", "%ED%A0%80", "a%C3"])
def test_a_player_id_that_is_no_text(client: httpx.Client, steady: str, player: str) -> None:
    refused(client.get(f"/v1/boards/{steady}/players/{player}"), (400, 404, 422))


# -- cursors ------------------------------------------------------------------------------------------------------------


def next_cursor(service: Service, board: str, **query: object) -> str:
    cursor: str = service.get(board, "top", limit=1, **query)["next_cursor"]
    assert cursor
    return cursor


def test_every_letter_of_a_cursor_counts(service: Service, steady: str) -> None:
    cursor = next_cursor(service, steady)
    assert taken(service.client.get(f"/v1/boards/{steady}/top", params={"cursor": cursor}))
    for place, letter in enumerate(cursor):
        other = "A" if letter != "A" else "B"
        for tampered in (cursor[:place] + other + cursor[place + 1 :], cursor[:place], cursor[:place] + cursor[place + 1 :]):
            if tampered:
                refused(service.client.get(f"/v1/boards/{steady}/top", params={"cursor": tampered}), (400, 422), "cursor")


@pytest.mark.parametrize("cursor", ["", "x", "AAAA", "a" * 5000, "é", "🏆", "null", "=", "%00", " ", "../..", "1"])
def test_a_cursor_that_was_never_given(client: httpx.Client, steady: str, cursor: str) -> None:
    refused(client.get(f"/v1/boards/{steady}/top", params={"cursor": cursor}), (400, 422), "cursor")


def test_a_cursor_with_more_or_other_padding(service: Service, steady: str) -> None:
    cursor = next_cursor(service, steady)
    forged = base64.urlsafe_b64encode(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))[:16] + b'[["x"],["y",1,2]]').decode()
    for tampered in (cursor + "A", cursor + "==", cursor + "\n", " " + cursor, cursor + cursor, forged):
        refused(service.client.get(f"/v1/boards/{steady}/top", params={"cursor": tampered}), (400, 422), "cursor")


def test_a_cursor_is_for_one_ranking(service: Service, steady: str) -> None:
    service.define("steady-two", windows=["daily", "all_time"], segments=["region"])
    cursor = next_cursor(service, steady)
    for board, query in (
        ("steady-two", {}),
        (steady, {"window": "all_time"}),
        (steady, {"segment": "region:eu"}),
        (steady, {"window_id": "2026-01-01"}),
    ):
        refused(service.client.get(f"/v1/boards/{board}/top", params={"cursor": cursor, **query}), (400, 422), "cursor")


def test_a_cursor_and_an_offset(service: Service, steady: str) -> None:
    cursor = next_cursor(service, steady)
    refused(service.client.get(f"/v1/boards/{steady}/top", params={"cursor": cursor, "offset": 1}), (400, 422), "cursor", "offset")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"name": 5}', ["name", "5"]),
        (b'{"name": ""}', ["name"]),
        (b'{"name": "a\\u0000"}', ["name"]),
        (b'{"nick": "a"}', ["nick"]),
        (b"{}", ["name"]),
        (b'{"name": "%b"}' % (b"x" * 129), ["name", "xxx"]),
    ],
)
def test_a_name_that_cannot_be_used(client: httpx.Client, body: bytes, words: list[str]) -> None:
    refused(client.put("/v1/players/nameless", content=body, headers=JSON), 422, *words)
    assert taken(client.get("/v1/players/nameless"))["name"] is None
