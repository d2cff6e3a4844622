"""Rules of boards over HTTP and on the command line: what is refused, and what the answers say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.service.running import refused, taken

Define = Callable[..., str]


def send(client: httpx.Client, name: str, **body: Any) -> httpx.Response:
    route = "increments" if "amount" in body else "scores"
    return client.post(f"/v1/boards/{name}/{route}", json={"player_id": "ada", **body})


def test_a_broken_rule_is_422_and_says_which(client: httpx.Client, board: Define) -> None:
    name = board(operator="sum", rules={"max_increase": [100, "150/1h"], "max_submissions": {"daily": 3}})
    answer = send(client, name, amount=101)
    problem = answer.json()
    assert (answer.status_code, problem["type"], problem["title"]) == (422, "urn:keepscore:rule-broken", "Rule broken")
    assert problem["detail"] == f"max_increase = 100 of board '{name}' is broken: the player's score would get better by 101"
    taken(send(client, name, amount=100))
    refused(send(client, name, amount=51), 422, "max_increase = 150/1h", "151")
    for amount in (40, 10):
        taken(send(client, name, amount=amount))
    refused(send(client, name, amount=0), 422, "max_submissions = 3 daily", "number 4")
    assert taken(client.get(f"/v1/boards/{name}/players/ada"))["score"] == 150


def test_a_game_that_counted_is_409(client: httpx.Client, board: Define) -> None:
    name = board(rules={"require": ["game_id"]})
    refused(send(client, name, score=5), 422, "require = game_id", "no game_id was sent")
    taken(send(client, name, score=5, game_id="g1"))
    answer = send(client, name, score=6, game_id="g1")
    assert (answer.status_code, answer.json()["type"]) == (409, "urn:keepscore:game-counted")


def test_a_batch_rejects_entries_and_a_dry_run_tells_which(client: httpx.Client, board: Define) -> None:
    name = board(operator="sum", rules={"max_submissions": "2/1h"})
    body = {"scores": [{"player_id": "ada", "amount": 1}] * 3 + [{"player_id": "eve", "amount": 1}]}
    for path in (f"/v1/boards/{name}/scores/batch?dry_run=true", f"/v1/boards/{name}/scores/batch"):
        answer = taken(client.post(path, json=body))
        assert (answer["accepted"], [(one["index"], one["type"]) for one in answer["rejected"]]) == (3, [(2, "urn:keepscore:rule-broken")])


def test_a_retry_gets_its_first_answer(client: httpx.Client, board: Define) -> None:
    name = board(operator="sum", rules={"max_submissions": "1/1h", "require": ["game_id"]})
    key = {"Idempotency-Key": "once"}
    body = {"player_id": "ada", "amount": 5, "game_id": "g"}
    first, again = (taken(client.post(f"/v1/boards/{name}/increments", json=body, headers=key)) for _ in range(2))
    assert (again["replayed"], again["score"], first["score"]) == (True, 5, 5)


def test_plays_have_to_be_of_a_build(client: httpx.Client, board: Define) -> None:
    name = board(rules={"builds": ["1.4.*"], "score_per_second": 1_000_000})
    refused(send(client, name, score=5), 422, "builds = 1.4.*", "no play_token was sent")
    for build, status in (("1.5.0", 422), ("1.4.2", 200)):
        play = taken(client.post(f"/v1/boards/{name}/plays", json={"player_id": "ada", "build": build}))
        assert send(client, name, score=0, play_token=play["play_token"]).status_code == status


@pytest.mark.parametrize("rules", [{"max_increase": "fast"}, {"max_submissions": {"hourly": 1}}, {"speed": 5}, "none"])
def test_wrong_rules_are_refused(client: httpx.Client, board: Define, rules: object) -> None:
    name = board()
    refused(client.patch(f"/v1/boards/{name}", json={"rules": rules}), 422, "rules")


def test_rules_are_changed_without_confirmation(client: httpx.Client, board: Define) -> None:
    name = board(rules={"max_increase": 5})
    changed = taken(client.patch(f"/v1/boards/{name}", json={"rules": {"max_increase": 6}}))
    assert changed["rules"] == {"max_increase": 6}
    assert taken(client.patch(f"/v1/boards/{name}", json={"rules": None}))["rules"] is None
