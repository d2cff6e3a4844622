"""Answers that may be kept, and for how long; answers without a body."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest

from tests.service.running import Service, refused, taken

Define = Callable[..., str]

ROUTES = {"top": 60, "ranks/1": 60, "players/alice": 10}


@pytest.mark.parametrize(("route", "seconds"), ROUTES.items())
def test_how_long_an_answer_may_be_kept(service: Service, board: Define, route: str, seconds: int) -> None:
    name = board()
    service.submit(name, "alice", 5)
    headers = service.client.get(f"/v1/boards/{name}/{route}").headers
    assert headers["cache-control"] == "public, max-age=0, must-revalidate", "a browser sees its own write at once"
    assert headers["surrogate-control"] == f"max-age={seconds}", "and a CDN answers for everybody"
    assert headers["etag"].strip("W/").startswith('"')


@pytest.mark.parametrize("route", [*ROUTES, "count"])
def test_answers_of_a_strong_board_are_kept_by_nobody_else_and_asked_for_each_time(service: Service, route: str) -> None:
    service.submit("prize", "alice", 5)
    answer = service.client.get(f"/v1/boards/prize/{route}")
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "private, max-age=0, must-revalidate"
    assert answer.headers["surrogate-control"] == "no-store"
    again = service.client.get(f"/v1/boards/prize/{route}", headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("route", ["top", "players/alice", "ranks/1", "count"])
def test_a_known_answer_is_not_sent_again(service: Service, board: Define, route: str) -> None:
    name, other = board(), board()
    service.submit(name, "alice", 5)
    address = f"/v1/boards/{name}/{route}"
    first = service.client.get(address)
    tag = first.headers["etag"]
    service.submit(other, "alice", 5)
    for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        answer = service.client.get(address, headers={"If-None-Match": known})
        assert (answer.status_code, answer.content) == (304, b"")
        assert answer.headers["etag"] == tag
        assert answer.headers["cache-control"] == first.headers["cache-control"]
    assert service.client.get(address, headers={"If-None-Match": '"other"'}).status_code == 200
    service.submit(name, "bob", 6)
    changed = service.client.get(address, headers={"If-None-Match": tag})
    assert changed.status_code == 200
    assert changed.headers["etag"] != tag


def test_another_definition_and_another_name_make_another_answer(service: Service, board: Define) -> None:
    name = board()
    for player in ("renamed", "bob"):
        service.submit(name, player, 5)
    tags = []
    for change in (lambda: None, lambda: service.define(name, rank="dense"), lambda: rename(service.client, "renamed", "Ren")):
        change()
        answer = service.client.get(f"/v1/boards/{name}/top", headers={"If-None-Match": ", ".join(tags)} if tags else {})
        assert answer.status_code == 200
        tags.append(answer.headers["etag"])
    assert len(set(tags)) == 3
    assert [s["name"] for s in answer.json()["standings"]] == ["Ren", None]
    assert [s["rank"] for s in answer.json()["standings"]] == [1, 1]


def rename(client: httpx.Client, player: str, name: str | None) -> None:
    assert taken(client.put(f"/v1/players/{player}", json={"name": name})) == {"player_id": player, "name": name}


def test_a_name_is_shown_until_it_is_taken_back(service: Service, board: Define) -> None:
    name = board()
    service.submit(name, "named", 5)
    for shown in ("Ünï 🏆", None):
        rename(service.client, "named", shown)
        assert service.get(name, "top")["standings"][0]["name"] == shown
        assert service.get(name, "players/named")["name"] == shown
        assert taken(service.client.get("/v1/players/named")) == {"player_id": "named", "name": shown}


def test_a_page_is_new_after_every_write(service: Service, board: Define) -> None:
    name = board(operator="sum")
    for amount in range(1, 20):
        service.increment(name, "alice", 1)
        assert service.get(name, "top", limit=5)["standings"][0]["score"] == amount
        assert service.get(name, "players/alice")["score"] == amount


@pytest.mark.parametrize("route", ["", "/top", "/players/alice", "/ranks/1", "/count"])
def test_head_is_get_without_a_body(service: Service, board: Define, route: str) -> None:
    name = board()
    service.submit(name, "alice", 5)
    address = f"/v1/boards/{name}{route}"
    head, get = service.client.head(address), service.client.get(address)
    assert (head.status_code, head.content) == (200, b"")
    for header in ("content-type", "content-length", "etag", "cache-control"):
        assert head.headers.get(header) == get.headers.get(header)


def test_head_of_what_is_not_there(client: httpx.Client) -> None:
    answer = client.head("/v1/boards/nowhere/top")
    assert (answer.status_code, answer.content) == (404, b"")


@pytest.mark.parametrize(
    ("method", "address", "allowed"),
    [
        ("POST", "/v1/boards", {"GET"}),
        ("POST", "/v1/boards/best", {"GET", "PUT", "PATCH", "DELETE"}),
        ("GET", "/v1/boards/best/scores", {"POST"}),
        ("GET", "/v1/boards/best/increments", {"POST"}),
        ("GET", "/v1/boards/best/scores/batch", {"POST"}),
        ("POST", "/v1/boards/best/top", {"GET"}),
        ("PUT", "/v1/boards/best/players/alice", {"GET", "DELETE"}),
        ("PUT", "/v1/boards/best/players/lookup", {"GET", "POST", "DELETE"}),
        ("PUT", "/v1/boards/best/ranks/1", {"GET"}),
        ("POST", "/v1/boards/best/count", {"GET"}),
        ("GET", "/api/v1/leaderboard/score", {"POST"}),
        ("POST", "/api/v1/leaderboard/top", {"GET"}),
        ("POST", "/healthz", {"GET"}),
        ("OPTIONS", "/v1/boards", {"GET"}),
    ],
)
def test_a_wrong_method_is_told_the_right_ones(client: httpx.Client, method: str, address: str, allowed: set[str]) -> None:
    answer = client.request(method, address)
    refused(answer, 405, method)
    assert set(answer.headers["allow"].replace(" ", "").split(",")) - {"HEAD"} == allowed


@pytest.mark.parametrize(
    "address",
    ["/nothing", "/v1", "/v1/", "/v1/boards/", "/v1/boards/best/", "/v1/boards/best/top/", "/v1/boards/best/nothing", "//v1/boards"],
)
def test_an_unknown_address(client: httpx.Client, address: str) -> None:
    refused(client.request("GET", httpx.URL(client.base_url, raw_path=address.encode())), 404, address)


def test_a_boards_own_times_for_a_cdn(service: Service, board: Define) -> None:
    name = board(cdn_top="5m", cdn_rank="0s")
    service.submit(name, "alice", 5)
    kept = {route: service.client.get(f"/v1/boards/{name}/{route}").headers for route in ("top", "ranks/1", "players/alice", "count")}
    assert [headers["surrogate-control"] for headers in kept.values()] == ["max-age=300", "max-age=300", "no-store", "no-store"]
    assert {headers["cache-control"] for headers in kept.values()} == {"public, max-age=0, must-revalidate"}
    for wrong in ("2d", "long", "-1s"):
        answer = service.client.put(f"/v1/boards/{name}", json={"cdn_top": wrong})
        refused(answer, 422, "cdn_top", wrong)


OWN = [
    "friends/alice",
    "view?player_id=alice",
    "players?name=al",
    "segments",
    "history/alice",
    "as-of?at=2026-01-01T00:00:00Z",
    "players/alice/needs?rank=1",
    "players/alice/why",
]


@pytest.mark.parametrize("route", OWN)
def test_other_reads_wait_for_a_position_and_have_a_tag(service: Service, board: Define, route: str) -> None:
    name = board(windows=["all_time"])
    position = service.submit(name, "alice", 5)["position"]
    address = f"/v1/boards/{name}/{route}{'&' if '?' in route else '?'}min_seq="
    answer = service.client.get(address + position)
    assert answer.status_code == 200, answer.text
    assert answer.headers["cache-control"] == "private, max-age=0, must-revalidate"
    assert answer.headers["surrogate-control"] == "no-store"
    again = service.client.get(address + position, headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    refused(service.client.get(f"{address}ffffffffffff:1"), 409, "another epoch")
    refused(service.client.get(f"{address}x"), 422, "min_seq")


def test_a_group_and_any_window_of_a_screen_wait_for_a_position(service: Service, board: Define) -> None:
    name = board(windows=["daily", "all_time"])
    receipt = service.submit(name, "alice", 5)
    group = service.client.post("/v1/groups", json={"name": "Us", "owner": "alice"}).json()["group_id"]
    assert service.client.get(f"/v1/boards/{name}/groups/{group}", params={"min_seq": receipt["position"]}).headers["etag"]
    for window in receipt["windows"].values():
        assert service.get(name, "view", player_id="alice", min_seq=window["position"])["windows"]["all_time"]["me"]["rank"] == 1
        assert service.get(name, "history/alice", min_seq=window["position"])
