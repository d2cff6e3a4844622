"""A write that is sent again counts once, and one write may count on several boards."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.service.running import Service, refused, taken

Define = Callable[..., str]


def batch(service: Service, board: str, scores: list[Any], query: str = "", **headers: str) -> Any:
    return taken(service.client.post(f"/v1/boards/{board}/scores/batch{query}", json={"scores": scores}, headers=headers))


@pytest.mark.parametrize(
    ("route", "body", "other"),
    [
        ("scores", {"player_id": "alice", "score": 5}, {"player_id": "alice", "score": 6}),
        ("increments", {"player_id": "alice", "amount": 5}, {"player_id": "alice", "amount": 6}),
        ("scores/batch", {"scores": [{"player_id": "alice", "amount": 5}]}, {"scores": [{"player_id": "bob", "amount": 5}]}),
    ],
)
def test_a_key_counts_once(service: Service, board: Define, route: str, body: Any, other: Any) -> None:
    name = board(operator="last")
    first = taken(service.post(name, route, body, **{"Idempotency-Key": "k1"}))
    assert "replayed" not in first
    service.submit(name, "zoe", 1000)
    assert taken(service.post(name, route, body, **{"Idempotency-Key": "k1"})) == {**first, "replayed": True}
    with service.nothing_left_behind(name):
        refused(service.post(name, route, other, **{"Idempotency-Key": "k1"}), (409, 422), "k1")
    taken(service.post(name, route, body, **{"Idempotency-Key": "k2"}))
    assert service.footprint(name)["events"] == 3


def test_a_key_is_of_its_board(service: Service, board: Define) -> None:
    for name in (board(), board()):
        assert "replayed" not in service.submit(name, "alice", 5, idempotency_key="same")
        assert service.submit(name, "alice", 5, idempotency_key="same")["replayed"] is True
        refused(service.post(name, "scores", {"player_id": "bob", "score": 5}, **{"Idempotency-Key": "same"}), (409, 422), "same")


def test_a_refused_request_does_not_use_its_key_up(service: Service, board: Define) -> None:
    name = board(max_score=10)
    refused(service.post(name, "scores", {"player_id": "alice", "score": 11}, **{"Idempotency-Key": "k"}), 422)
    answer = taken(service.post(name, "scores", {"player_id": "alice", "score": 10}, **{"Idempotency-Key": "k"}))
    assert "replayed" not in answer


@pytest.mark.parametrize("key", ["", "k" * 129])
def test_a_key_that_cannot_be_used(service: Service, board: Define, key: str) -> None:
    name = board()
    entry = {"player_id": "alice", "score": 1}
    with service.nothing_left_behind(name):
        refused(service.post(name, "scores", entry, **{"Idempotency-Key": key}), 422, "key")
        refused(service.post(name, "scores/batch", {"scores": [entry]}, **{"Idempotency-Key": key}), 422, "key")


def test_entries_of_a_batch_have_keys_of_their_own(service: Service, board: Define) -> None:
    name = board(operator="sum")
    entries = [{"player_id": "alice", "amount": 1, "idempotency_key": f"e{number}"} for number in range(3)]
    assert batch(service, name, entries)["accepted"] == 3
    again = batch(service, name, [*entries, {"player_id": "alice", "amount": 1, "idempotency_key": "e9"}], "?results=true")
    assert (again["accepted"], again["duplicates"]) == (4, 3)
    assert service.get(name, "players/alice")["score"] == 4


def test_a_batch_with_a_used_key_leaves_nothing_behind(service: Service, board: Define) -> None:
    name = board(operator="sum")
    batch(service, name, [{"player_id": "alice", "amount": 1}], **{"Idempotency-Key": "k"})
    mixed = [{"player_id": "bob", "amount": 1}, {"player_id": "carol", "amount": 1, "idempotency_key": "own"}]
    with service.nothing_left_behind(name):
        refused(service.post(name, "scores/batch", {"scores": mixed}, **{"Idempotency-Key": "k"}), (409, 422), "k")


def test_retries_at_the_same_time_count_once(service: Service, board: Define) -> None:
    name = board(operator="sum")
    body = {"player_id": "alice", "amount": 7}
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: service.post(name, "increments", body, **{"Idempotency-Key": "k"}), range(32)))
    assert [answer.status_code for answer in answers] == [200] * 32
    assert sum("replayed" not in answer.json() for answer in answers) == 1
    assert {answer.json()["score"] for answer in answers} == {7}
    assert service.footprint(name)["events"] == 1


# -- linked boards ------------------------------------------------------------------------------------------------------


def test_a_submission_goes_on_to_linked_boards(service: Service, board: Define) -> None:
    total = board(operator="sum", max_score=100)
    name = board(also=[total], segments=["region"])
    for score in (30, 20):
        service.submit(name, "alice", score, segments={"region": "eu"}, idempotency_key=f"k{score}")
        service.submit(name, "alice", score, segments={"region": "eu"}, idempotency_key=f"k{score}")
    assert service.get(name, "players/alice")["score"] == 30
    assert service.get(total, "players/alice")["score"] == 50
    with service.nothing_left_behind(name), service.nothing_left_behind(total):
        refused(service.post(name, "scores", {"player_id": "alice", "score": 60}), 422, "100")
    batch(service, name, [{"player_id": "alice", "score": 50}, {"player_id": "alice", "score": 1}])
    assert (service.get(name, "players/alice")["score"], service.get(total, "players/alice")["score"]) == (50, 100)


def test_definitions_with_keys_take_effect_once(client: httpx.Client) -> None:
    name = f"/v1/boards/once-{secrets.token_hex(4)}"
    first = client.put(name, json={"operator": "sum"}, headers={"Idempotency-Key": "made"})
    again = client.put(name, json={"operator": "sum"}, headers={"Idempotency-Key": "made"})
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json() == {**first.json(), "replayed": True}
    refused(client.put(name, json={"operator": "last"}, headers={"Idempotency-Key": "made"}), 422, "made")
    refused(client.put(name, json={"operator": "none"}, headers={"Idempotency-Key": "later"}), 422, "operator")
    # One that was refused has not used its key up.
    refused(client.put(name, json={"operator": "last"}, headers={"Idempotency-Key": "later"}), 409, "confirm")
    confirmed = f"{name}?confirm=true"
    assert client.put(confirmed, json={"operator": "last"}, headers={"Idempotency-Key": "later"}).json()["version"] == 2
    assert [client.delete(name, headers={"Idempotency-Key": "gone"}).status_code for _ in range(2)] == [204, 204]
    assert client.delete(name, headers={"Idempotency-Key": "other"}).status_code == 404


def test_names_with_keys_are_given_once(client: httpx.Client) -> None:
    player = f"/v1/players/once-{secrets.token_hex(4)}"
    headers = {"Idempotency-Key": "named"}
    assert taken(client.put(player, json={"name": "Ann"}, headers=headers))["name"] == "Ann"
    assert taken(client.put(player, json={"name": "Bob"}))["name"] == "Bob"
    assert taken(client.put(player, json={"name": "Ann"}, headers=headers))["replayed"] is True
    assert taken(client.get(player))["name"] == "Bob"
