"""Prizes over HTTP and on the command line: closing early, holding, deciding, claiming, certificates."""

import json
import time

import pytest

from keepscore.client import SyncClient
from tests.service.access_rig import problem
from tests.service.running import Service, run
from tests.support.receivers import SECRET, Receiver

BOARDS = """
[[board]]
name = "cup"
operator = "sum"
consistency = "strong"
windows = ["all_time"]
prize = {winners = 3, review = "48h", rewards = [{ranks = "1", give = "gold"}, {ranks = "2", give = "silver"}]}

[[board]]
name = "plain"
"""
WINDOW = "/v1/boards/cup/windows/all_time/all_time"


@pytest.fixture
def service(tmp_path):
    service = Service(tmp_path, BOARDS)
    for n, player in enumerate(("ada", "bo", "cy", "di")):
        assert service.client.post("/v1/boards/cup/increments", json={"player_id": player, "amount": 40 - n}).status_code == 200
    yield service
    service.stop()


def test_a_prize_from_open_to_paid(service, tmp_path):
    get, post = service.client.get, service.client.post
    assert get(f"{WINDOW}/winners").json()["state"] == "open"
    problem(post(f"{WINDOW}/finalize"), 409, "window-open")
    problem(post(f"{WINDOW}/hold", json={"player_id": "ada", "reason": "why"}), 409, "window-open")
    problem(post(f"{WINDOW}/close", json={"reason": ""}), 422, "invalid-field")
    problem(post(f"{WINDOW}/close", json={}), 422, "invalid-field")
    key = {"idempotency-key": "close"}
    closed = post(f"{WINDOW}/close", json={"reason": "the end"}, headers=key)
    assert (closed.status_code, closed.json()["state"]) == (200, "provisional")
    again = post(f"{WINDOW}/close", json={"reason": "the end"}, headers=key)
    assert (again.status_code, again.headers["idempotency-replayed"]) == (200, "true")
    problem(post(f"{WINDOW}/close", json={"reason": "the end"}), 409, "window-closed")
    problem(post("/v1/boards/cup/increments", json={"player_id": "ada", "amount": 1}), 409, "window-closed")
    problem(get(f"{WINDOW}/winners/ada/certificate"), 409, "window-open")
    assert post(f"{WINDOW}/hold", json={"player_id": "bo", "reason": "we look"}).json()["reward_state"] == "held"
    page = get(f"{WINDOW}/winners?limit=2").json()
    assert [(one["player_id"], one["reward"], one["reward_state"]) for one in page["winners"]] == [
        ("ada", "gold", "provisional"),
        ("bo", "silver", "held"),
    ]
    assert get(f"{WINDOW}/winners?limit=2&cursor={page['next_cursor']}").json()["winners"] == [
        {"rank": 3, "player_id": "cy", "score": 38, "reward": None, "reward_state": None}
    ]
    assert post(f"{WINDOW}/finalize").json()["state"] == "final"
    assert post(f"{WINDOW}/finalize", json={"reason": "again"}).json()["state"] == "final"
    void = {"board": "cup", "player_id": "ada", "reason": "a bot", "revise": True}
    problem(post("/v1/moderation/void", json=void), 409, "window-final")
    assert post(f"{WINDOW}/winners/ada/claim").json() == post(f"{WINDOW}/winners/ada/claim").json()
    problem(post(f"{WINDOW}/winners/bo/claim"), 409, "reward-settled")
    problem(post(f"{WINDOW}/winners/cy/claim"), 404, "unknown-player")
    assert post(f"{WINDOW}/release", json={"player_id": "bo", "reason": "fine"}).json()["reward_state"] == "pending"
    assert post(f"{WINDOW}/winners/bo/claim").json()["reward_state"] == "claimed"
    assert get(f"{WINDOW}/winners").json()["state"] == "paid"
    assert get(f"{WINDOW}/verify").json()["ok"] is True
    actions = {entry["action"] for entry in get("/v1/audit?board=cup").json()["entries"]}
    assert {"close_window", "hold_reward", "release_reward", "finalize", "claim_reward"} <= actions
    for path in ("plain/windows/all_time/all_time", "cup/windows/weekly/2026-W46", "cup/windows/all_time/never"):
        assert get(f"/v1/boards/{path}/winners").status_code == 404
    problem(get(f"{WINDOW}/winners?cursor=x"), 422, "invalid-page")


def test_a_service_sends_rewards_by_webhook(tmp_path):
    receiver = Receiver(503)
    hooks = f'[webhooks]\nurl = "{receiver.url}"\nallow = ["127.0.0.1"]\nsecret_file = "secret"\n'
    (tmp_path / "secret").write_text(SECRET)
    service = Service(tmp_path, hooks + BOARDS)
    try:
        get, post = service.client.get, service.client.post
        post("/v1/boards/cup/increments", json={"player_id": "ada", "amount": 5})
        post(f"{WINDOW}/close", json={"reason": "the end"})
        post(f"{WINDOW}/finalize")
        until(lambda: receiver.ids)
        until(lambda: get("/v1/webhooks/deliveries?state=pending").json()["failing"] == 1)
        problem(post(f"{WINDOW}/winners/ada/claim"), 409, "reward-settled")
        assert "keepscore_webhooks_failing 1.0" in get("/metrics").text
        shown = run("webhooks", "list", "--url", service.url, cwd=tmp_path).stdout
        assert "answered 503" in shown
        assert SECRET not in shown
        receiver.usual = 200
        assert "1 delivery will be tried" in run("webhooks", "retry", "--url", service.url, cwd=tmp_path).stdout
        until(lambda: get(f"{WINDOW}/winners").json()["state"] == "paid")
        assert len(set(receiver.ids)) == 1
        problem(post("/v1/webhooks/retry", json={"delivery_id": receiver.ids[0]}), 404, "unknown-delivery")
        problem(get("/v1/webhooks/deliveries?state=lost"), 422, "invalid-field")
        with SyncClient(service.url) as client:
            assert client.webhooks.deliveries().deliveries[0].state == "delivered"
            assert client.webhooks.retry().deliveries == 0
    finally:
        service.stop()
        receiver.close()


def until(is_so):
    """Wait for what the keeper does by itself."""
    deadline = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_the_command_line_and_the_client(service, tmp_path):
    url = ("--url", service.url)

    def told(*arguments):
        done = run(*arguments, *url, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    place = ("cup", "all_time", "all_time")
    assert "provisional" in told("prizes", "close", *place, "--reason", "the end", "--yes")
    assert "held" in told("prizes", "hold", *place, "bo", "--reason", "we look")
    assert "final" in told("prizes", "finalize", *place, "--yes")
    assert "pending" in told("prizes", "release", *place, "bo", "--reason", "fine")
    assert "claimed" in told("prizes", "claim", *place, "bo")
    assert json.loads(told("prizes", "winners", *place, "--json"))["winners"][1]["reward_state"] == "claimed"
    assert "silver" in told("prizes", "winners", *place)
    assert "is the one that was signed" in told("prizes", "verify", *place)
    (tmp_path / "key.pem").write_text(told("certificates", "key"))
    (tmp_path / "ada.txt").write_text(told("certificates", "get", *place, "ada"))
    (tmp_path / "ada.json").write_text(told("certificates", "get", *place, "ada", "--json"))
    for file in ("ada.txt", "ada.json"):
        done = run("certificates", "verify", file, "--key", "key.pem", cwd=tmp_path)
        assert (done.returncode, "rank: 1" in done.stdout) == (0, True), done.stderr
    (tmp_path / "forged.txt").write_text((tmp_path / "ada.txt").read_text().replace(".", ".x", 1))
    done = run("certificates", "verify", "forged.txt", "--key", "key.pem", cwd=tmp_path)
    assert (done.returncode, "signature does not fit" in done.stderr) == (1, True)
    with SyncClient(service.url) as client:
        assert client.prizes.winners(*place).winners[0].reward == "gold"
        assert client.prizes.claim(*place, "ada") == client.prizes.claim(*place, "ada")
        assert client.prizes.certificate(*place, "cy").rank == 3
        assert client.prizes.verify(*place).ok
        assert client.prizes.public_key().pem == (tmp_path / "key.pem").read_text()


def test_winners_are_shown_as_they_show_themselves(service):
    client = service.client
    for player, visibility in (("ada", "pseudonym"), ("bo", "hidden")):
        assert client.patch(f"/v1/players/{player}", json={"visibility": visibility}).status_code == 200
    assert client.post(f"{WINDOW}/close", json={"reason": "the end"}).status_code == 200
    keys = {}
    for scope in ("admin", "moderate", "read"):
        headers = {"authorization": f"Bearer {keys['admin']}"} if keys else {}
        keys[scope] = client.post("/v1/keys", json={"name": scope, "scope": scope}, headers=headers).json()["key"]

    def seen(scope):
        answer = client.get(f"{WINDOW}/winners", headers={"authorization": f"Bearer {keys[scope]}"})
        return [(one["rank"], one["player_id"]) for one in answer.json()["winners"]]

    assert seen("moderate") == [(1, "ada"), (2, "bo"), (3, "cy")]
    (first, third) = seen("read")
    assert third == (3, "cy")
    assert (first[0], "ada" in first[1]) == (1, False)
