"""Keys, tokens and signatures that are wrong, old, stolen or used twice."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from keepscore import errors
from keepscore.access import sign_player_token
from keepscore.access.api_keys import checksum_of, new_key
from keepscore.client import Client, SyncClient
from keepscore.domain.signatures import authorization_of
from tests.service.access_rig import BOARDS, KeyedService, bearer, eventually, problem
from tests.service.running import JSON

SECURITY = (Path(__file__).parents[3] / "docs" / "security.md").read_text(encoding="utf-8")

SCORE = {"player_id": "ada", "score": 5}


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KeyedService]:
    service = KeyedService(tmp_path_factory.mktemp("credentials"), BOARDS, "--access-log", "--log-level", "debug")
    service.make("server", "submit")
    yield service
    service.stop()


def count(service: KeyedService, board: str = "global") -> int:
    return len(service.admin.get(f"/v1/boards/{board}/events?limit=10000").json()["events"])


def submit(service: KeyedService, headers: dict[str, str], body: Any = None) -> httpx.Response:
    return service.client.post("/v1/boards/global/scores", json=body or SCORE, headers=headers)


def with_another_character(text: str, at: int) -> str:
    """Return the text with one character changed, whatever it was."""
    changed = list(text)
    changed[at] = "x" if changed[at] != "x" else "y"
    return "".join(changed)


# -- keys -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "word"),
    [
        (lambda key: {"authorization": f"Bearer {key[:-1]}"}, "malformed"),
        (lambda key: {"authorization": f"Bearer {with_another_character(key, -7)}"}, "malformed"),
        (lambda key: {"authorization": "Bearer ks_"}, "malformed"),
        (lambda key: {"authorization": f"Bearer {key}\u00e9".encode("latin-1").decode("latin-1")}, "malformed"),
        (lambda key: {"authorization": f"Bearer {new_key('live').text}"}, "not known"),
        (lambda key: {"authorization": f"Bearer {new_key('test').text}"}, "environment 'test'"),
        (lambda key: {"authorization": key}, "Authorization header"),
        (lambda key: {"authorization": f"Basic {key}"}, "Authorization header"),
        (lambda key: {"authorization": "Bearer"}, "Authorization header"),
        (lambda key: {"authorization": "Bearer password"}, "neither"),
        (lambda key: {"authorization": "Bearer a.b.c"}, "neither"),
        (lambda key: {"authorization": "Bearer " + "x" * 6000}, "neither"),
        (lambda key: {}, "needs a key"),
        (lambda key: {"x-api-key": key}, "needs a key"),
    ],
)
def test_a_wrong_key_is_refused_with_the_reason_and_not_shown(keyed: KeyedService, made: Any, word: str) -> None:
    key, before = keyed.keys["server"], count(keyed)
    headers = {name: value.encode("latin-1") for name, value in made(key).items()}
    answer = keyed.client.post("/v1/boards/global/scores", json=SCORE, headers=headers)
    assert word in problem(answer, 401, "unauthenticated")
    for value in headers.values():
        secret = value.decode("latin-1").rpartition("_")[2]
        assert len(secret) < 12 or secret not in answer.text
    assert count(keyed) == before


def test_the_id_of_a_key_with_another_secret_tells_nothing(keyed: KeyedService) -> None:
    """A right id with a right checksum and a wrong secret is as unknown as any other, revoked or not."""
    made = keyed.admin.post("/v1/keys", json={"name": "gone", "scope": "read"}).json()
    body = f"ks_live_{made['id']}_{'0' * 43}"
    forged = body + checksum_of(body)
    first = problem(keyed.client.get("/v1/boards", headers=bearer(forged)), 401, "unauthenticated")
    keyed.admin.delete(f"/v1/keys/{made['id']}")
    assert problem(keyed.client.get("/v1/boards", headers=bearer(forged)), 401, "unauthenticated") == first


def test_a_revoked_key_is_refused_at_once_with_the_tokens_that_it_signed(keyed: KeyedService) -> None:
    made = keyed.admin.post("/v1/keys", json={"name": "short", "scope": "submit"}).json()
    token = keyed.token("ada", made["key"])
    for text in (made["key"], token):
        assert submit(keyed, bearer(text)).status_code == 200
    for _ in range(2):
        assert keyed.admin.delete(f"/v1/keys/{made['id']}").status_code == 204
    for text in (made["key"], token):
        assert "revoked" in problem(submit(keyed, bearer(text)), 401, "unauthenticated")
    listed = {key["id"]: key for key in keyed.admin.get("/v1/keys").json()["keys"]}
    assert listed[made["id"]]["state"] == "revoked"


def test_a_key_expires(keyed: KeyedService) -> None:
    made = keyed.admin.post("/v1/keys", json={"name": "brief", "scope": "submit", "expires": "1s"}).json()
    token = sign_player_token(made["key"], "ada")
    assert submit(keyed, bearer(made["key"])).status_code == 200
    eventually(lambda: submit(keyed, bearer(made["key"])).status_code == 401)
    assert "expired" in problem(submit(keyed, bearer(made["key"])), 401, "unauthenticated")
    assert "expired" in problem(submit(keyed, bearer(token)), 401, "unauthenticated")


def test_two_keys_are_valid_at_once_while_one_replaces_the_other(keyed: KeyedService) -> None:
    old = keyed.admin.post("/v1/keys", json={"name": "rotated", "scope": "submit", "boards": ["glob*"], "expires": "90d"}).json()
    token = keyed.token("ada", old["key"])
    new = keyed.admin.post(f"/v1/keys/{old['id']}/rotate").json()
    assert {name: new[name] for name in ("name", "scope", "boards", "replaces")} == {
        "name": "rotated",
        "scope": "submit",
        "boards": ["glob*"],
        "replaces": old["id"],
    }
    for text in (old["key"], new["key"], token, keyed.token("ada", new["key"])):
        assert submit(keyed, bearer(text)).status_code == 200
    at_once = keyed.admin.post(f"/v1/keys/{new['id']}/rotate?overlap=0s").json()
    problem(submit(keyed, bearer(new["key"])), 401, "unauthenticated")
    assert submit(keyed, bearer(at_once["key"])).status_code == 200
    problem(keyed.admin.post(f"/v1/keys/{new['id']}/rotate"), 409, "key-ended")
    for bad in ("91d", "soon", "-1h"):
        assert "overlap" in problem(keyed.admin.post(f"/v1/keys/{at_once['id']}/rotate?overlap={bad}"), 422, "invalid-field")
    problem(keyed.admin.post("/v1/keys/nothing/rotate"), 404, "unknown-key")
    problem(keyed.admin.delete("/v1/keys/nothing"), 404, "unknown-key")


def ids(keyed: KeyedService) -> list[str]:
    """The ids of all keys; when they were last used is noted a little later."""
    return [key["id"] for key in keyed.admin.get("/v1/keys").json()["keys"]]


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ({"scope": "read"}, "name"),
        ({"name": "", "scope": "read"}, "name"),
        ({"name": "x" * 129, "scope": "read"}, "name"),
        ({"name": "a\nb", "scope": "read"}, "name"),
        ({"name": "a"}, "scope"),
        ({"name": "a", "scope": "root"}, "scope"),
        ({"name": "a", "scope": "open"}, "scope"),
        ({"name": "a", "scope": "read", "boards": ["a b"]}, "boards"),
        ({"name": "a", "scope": "read", "boards": "season-*"}, "boards"),
        ({"name": "a", "scope": "read", "boards": ["x"] * 33}, "boards"),
        ({"name": "a", "scope": "read", "expires": "never"}, "expires"),
        ({"name": "a", "scope": "read", "expires": "0d"}, "expires"),
        ({"name": "a", "scope": "read", "expires": "2020-01-01T00:00:00Z"}, "expires"),
        ({"name": "a", "scope": "read", "expires": "2027-01-01T00:00:00"}, "expires"),
        ({"name": "a", "scope": "read", "expires": "9999999d"}, "expires"),
        ({"name": "a", "scope": "read", "key": "mine"}, "key"),
    ],
)
def test_a_key_that_cannot_be_created_is_refused_and_none_is_recorded(keyed: KeyedService, body: dict[str, Any], word: str) -> None:
    before = ids(keyed)
    assert word in problem(keyed.admin.post("/v1/keys", json=body), 422, "invalid-field")
    assert ids(keyed) == before


def test_a_new_key_is_shown_once_and_whole(keyed: KeyedService) -> None:
    body = {"name": "shown", "scope": "submit", "boards": ["season-*", "nothing-*"], "expires": "90d"}
    answer = keyed.admin.post("/v1/keys", json=body)
    made = answer.json()
    assert (answer.status_code, answer.headers["cache-control"]) == (201, "no-store")
    assert {name: made[name] for name in ("name", "scope", "boards")} == {name: body[name] for name in ("name", "scope", "boards")}
    assert made["key"].startswith(f"ks_live_{made['id']}_")
    assert made["warnings"] == ["the pattern 'nothing-*' matches no board now"]
    listed = keyed.admin.get("/v1/keys")
    assert made["key"] not in listed.text
    (shown,) = [key for key in listed.json()["keys"] if key["id"] == made["id"]]
    assert (shown["state"], shown["last_used"], shown["expires"]) == ("active", None, made["expires"])
    unlimited = keyed.admin.post("/v1/keys", json={"name": "all", "scope": "read"}).json()
    assert (unlimited["boards"], unlimited["expires"], "warnings" in unlimited) == (["*"], None, False)


def test_the_last_use_is_recorded(tmp_path: Path) -> None:
    service = KeyedService(tmp_path)
    try:
        made = service.admin.post("/v1/keys", json={"name": "used", "scope": "submit"}).json()
        assert submit(service, bearer(made["key"])).status_code == 200
        # What is used is noted with the next change of keys, at a stop, or within a minute.
        service.make("another", "read")
        service.admin.get("/v1/boards")
        listed = {key["name"]: key["last_used"] for key in service.admin.get("/v1/keys").json()["keys"]}
        assert listed["used"] is not None
    finally:
        service.stop()


# -- player tokens ------------------------------------------------------------------------------------------------------------


def test_a_game_signs_tokens_itself_as_the_documentation_says(keyed: KeyedService) -> None:
    key = keyed.keys["server"]
    token = sign_player_token(key, "ada", boards=["global"], ttl="5m")
    assert submit(keyed, bearer(token)).status_code == 200
    problem(keyed.client.get("/v1/boards/other/top", headers=bearer(token)), 403, "forbidden")
    # The snippets of the page, as they stand there.
    tokens, signatures = re.findall(r"```python\n(.*?)```", SECURITY, re.DOTALL)
    found: dict[str, Any] = {"KEY": key, "PATH": "/v1/boards/global/scores", "BODY": json.dumps(SCORE).encode()}
    exec(tokens.replace("season-*", "glob*"), found)
    assert submit(keyed, bearer(found["token"])).status_code == 200
    exec(signatures, found)
    assert keyed.client.post(found["PATH"], content=found["BODY"], headers={"authorization": found["header"], **JSON}).status_code == 200
    test = new_key("test").text
    problem(submit(keyed, bearer(sign_player_token(test, "ada"))), 401, "unauthenticated")
    problem(submit(keyed, bearer(sign_player_token(new_key("live").text, "ada"))), 401, "unauthenticated")


def test_a_token_does_not_go_beyond_its_key(keyed: KeyedService) -> None:
    reader = keyed.make("reader", "read", boards=["season-*"])
    token = sign_player_token(reader, "ada", boards=["*"])
    assert keyed.client.get("/v1/boards/season-1/top", headers=bearer(token)).status_code == 200
    problem(keyed.client.get("/v1/boards/other/top", headers=bearer(token)), 403, "forbidden")
    problem(
        keyed.client.post("/v1/boards/season-1/increments", json={"player_id": "ada", "amount": 1}, headers=bearer(token)), 403, "forbidden"
    )
    limited = keyed.make("limited", "admin", boards=["season-*"])
    token = keyed.token("ada", limited, boards=["*"])
    problem(keyed.client.get("/v1/boards/other/top", headers=bearer(token)), 403, "forbidden")
    problem(keyed.client.get("/v1/boards/season-1/events", headers=bearer(token)), 403, "forbidden")


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ({}, "player_id"),
        ({"player_id": ""}, "player_id"),
        ({"player_id": "a" * 129}, "player_id"),
        ({"player_id": "ada", "ttl": "2d"}, "ttl"),
        ({"player_id": "ada", "ttl": 900}, "ttl"),
        ({"player_id": "ada", "boards": ["ü"]}, "boards"),
        ({"player_id": "ada", "scope": "admin"}, "scope"),
    ],
)
def test_a_token_that_cannot_be_signed_is_refused(keyed: KeyedService, body: dict[str, Any], word: str) -> None:
    answer = keyed.client.post("/v1/tokens", json=body, headers=bearer(keyed.keys["server"]))
    assert answer.status_code == 422
    assert word in answer.json()["detail"]


# -- plays --------------------------------------------------------------------------------------------------------------------


def play(service: KeyedService, board: str = "global", player: str = "ada", **fields: Any) -> str:
    answer = service.admin.post(f"/v1/boards/{board}/plays", json={"player_id": player, **fields})
    assert answer.status_code == 200, answer.text
    assert set(answer.json()) == {"play_token", "started_at"}
    found: str = answer.json()["play_token"]
    return found


def test_a_play_counts_once(keyed: KeyedService) -> None:
    token, before = play(keyed, build="1.4.2"), count(keyed)
    body = {**SCORE, "play_token": token}
    first = keyed.admin.post("/v1/boards/global/scores", json=body, headers={"idempotency-key": "play 1"})
    assert first.status_code == 200, first.text
    again = keyed.admin.post("/v1/boards/global/scores", json=body, headers={"idempotency-key": "play 1"})
    assert again.json() == {**first.json(), "replayed": True}
    for headers in ({}, {"idempotency-key": "play 2"}):
        assert "play_token" in problem(keyed.admin.post("/v1/boards/global/scores", json=body, headers=headers), 409, "play-token-used")
    assert "play_token" in problem(
        keyed.admin.post("/v1/boards/global/increments", json={"player_id": "ada", "amount": 1, "play_token": token}),
        409,
        "play-token-used",
    )
    assert count(keyed) == before + 1


def test_a_play_is_for_its_player_and_board(keyed: KeyedService) -> None:
    token, before = play(keyed), count(keyed)
    for board, player in (("global", "eve"), ("open", "ada")):
        answer = keyed.admin.post(f"/v1/boards/{board}/scores", json={"player_id": player, "score": 1, "play_token": token})
        assert "play_token" in problem(answer, 422, "invalid-play-token")
    for bad in ("", "kp_", token[:-2], token + "x", token.swapcase(), "x" * 2000):
        answer = keyed.admin.post("/v1/boards/global/scores", json={**SCORE, "play_token": bad})
        assert "play_token" in problem(answer, 422, "invalid-play-token")
    assert count(keyed) == before
    answer = keyed.admin.post("/v1/boards/global/plays", json={"player_id": "ada", "build": "x" * 200})
    assert "build" in problem(answer, 422, "invalid-field")
    problem(keyed.admin.post("/v1/boards/nothing/plays", json={"player_id": "ada"}), 404, "unknown-board")


def test_in_a_batch_only_the_entry_whose_play_is_used_is_rejected(keyed: KeyedService) -> None:
    one, two, before = play(keyed), play(keyed), count(keyed)
    assert keyed.admin.post("/v1/boards/global/scores", json={**SCORE, "play_token": one}).status_code == 200
    entries = [{**SCORE, "play_token": token} for token in (one, two, two)] + [SCORE, {**SCORE, "play_token": "forged"}]
    dry = keyed.admin.post("/v1/boards/global/scores/batch?dry_run=true", json={"scores": entries}).json()
    assert [rejection["index"] for rejection in dry["rejected"]] == [4]
    answer = keyed.admin.post("/v1/boards/global/scores/batch", json={"scores": entries}).json()
    assert answer["accepted"] == 2
    kinds = {rejection["index"]: rejection["type"].rpartition(":")[2] for rejection in answer["rejected"]}
    assert kinds == {0: "play-token-used", 2: "play-token-used", 4: "invalid-play-token"}
    assert count(keyed) == before + 3
    report = keyed.admin.post("/v1/boards/global/imports", json={"scores": [entries[1]], "keys": ["a" * 32]}).json()
    assert "play_token" in report["rejected"][0]["detail"]


async def test_of_fifty_who_redeem_a_play_at_once_one_counts(keyed: KeyedService) -> None:
    import asyncio

    token, before = play(keyed), count(keyed)
    async with httpx.AsyncClient(
        base_url=keyed.url, headers=bearer(keyed.keys["server"]), trust_env=False, verify=False, timeout=60
    ) as client:
        sent = [client.post("/v1/boards/global/scores", json={"player_id": "ada", "score": n, "play_token": token}) for n in range(50)]
        statuses = sorted(answer.status_code for answer in await asyncio.gather(*sent))
    assert statuses == [200] + [409] * 49
    assert count(keyed) == before + 1


# -- signatures ---------------------------------------------------------------------------------------------------------------


def signed(service: KeyedService, sent: bytes, path: str = "/v1/boards/global/scores", **changes: Any) -> dict[str, str]:
    parts = {"time": int(time.time()), "method": "POST", "path": path, "body": sent, "id": f"request-{time.monotonic_ns()}", **changes}
    key = changes.get("key", service.keys["server"])
    text = authorization_of(key, parts["time"], parts["method"], parts["path"], parts["body"], parts["id"])
    return {"authorization": text, **JSON}


def test_a_signed_request_counts_once(keyed: KeyedService) -> None:
    body, before = json.dumps(SCORE).encode(), count(keyed)
    headers = signed(keyed, body)
    assert keyed.client.post("/v1/boards/global/scores", content=body, headers=headers).status_code == 200
    answer = keyed.client.post("/v1/boards/global/scores", content=body, headers=headers)
    assert "used before" in problem(answer, 401, "unauthenticated")
    assert count(keyed) == before + 1


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"time": int(time.time()) - 400}, "time ="),
        ({"time": int(time.time()) + 4000}, "time ="),
        ({"method": "PUT"}, "signature"),
        ({"path": "/v1/boards/other/scores"}, "signature"),
        ({"body": b"{}"}, "signature"),
        ({"key": new_key("live").text}, "signature"),
    ],
)
def test_a_signature_of_something_else_is_refused(keyed: KeyedService, changes: dict[str, Any], word: str) -> None:
    body, before = json.dumps(SCORE).encode(), count(keyed)
    answer = keyed.client.post("/v1/boards/global/scores", content=body, headers=signed(keyed, body, **changes))
    assert word in problem(answer, 401, "unauthenticated")
    assert count(keyed) == before


def test_a_signature_that_is_cut_or_changed_is_refused(keyed: KeyedService) -> None:
    body = json.dumps(SCORE).encode()
    text = signed(keyed, body)["authorization"]
    for bad in (text[:-1], text[:-1] + ("0" if text[-1] != "0" else "1"), text.replace("id=request", "id=another"), text.split(",")[0]):
        problem(keyed.client.post("/v1/boards/global/scores", content=body, headers={"authorization": bad, **JSON}), 401, "unauthenticated")
    # It was not spent by those who tried.
    assert keyed.client.post("/v1/boards/global/scores", content=body, headers={"authorization": text, **JSON}).status_code == 200


def test_a_signature_has_the_scope_and_boards_of_its_key(keyed: KeyedService) -> None:
    reader = keyed.make("signing reader", "read", boards=["season-*"])
    body = json.dumps(SCORE).encode()
    problem(keyed.client.post("/v1/boards/global/scores", content=body, headers=signed(keyed, body, key=reader)), 403, "forbidden")
    path = "/v1/boards/season-1/top?limit=3"
    headers = signed(keyed, b"", path=path, method="GET", key=reader)
    del headers["content-type"]
    assert keyed.client.get(path, headers=headers).status_code == 200
    assert "used before" in problem(keyed.client.get(path, headers=headers), 401, "unauthenticated")
    problem(
        keyed.client.get("/v1/boards/season-1/top?limit=4", headers=signed(keyed, b"", path=path, method="GET", key=reader)),
        401,
        "unauthenticated",
    )


@pytest.mark.parametrize("sign", [False, True])
async def test_the_client_sends_its_key_or_signs_with_it(keyed: KeyedService, sign: bool) -> None:
    key = keyed.keys["server"]
    async with Client(keyed.url, key=key, sign=sign) as lb:
        for player in ("ada", "a/b", "..", "ü ?#%&+"):
            await lb.submit("global", player, 7)
            assert (await lb.rank("global", player, window="weekly")).player_id == player
        assert [place.board for place in (await lb.standings("ü ?#%&+")).standings] == ["global"]
        with pytest.raises(errors.Forbidden):
            await lb.keys.all()
        token = await lb.keys.token("ada", boards=["global"])
    async with Client(keyed.url, key=token.token) as player:
        begun = await player.begin_play("global", "ada")
        await player.submit("global", "ada", 8, play_token=begun.play_token)
        with pytest.raises(errors.PlayTokenUsed):
            await player.submit("global", "ada", 8, play_token=begun.play_token)
        with pytest.raises(errors.Forbidden):
            await player.submit("global", "eve", 8)
    async with Client(keyed.url) as nobody:
        with pytest.raises(errors.Unauthenticated):
            await nobody.top("global")


def test_keys_with_the_blocking_client(keyed: KeyedService) -> None:
    with SyncClient(keyed.url, key=keyed.keys["admin"]) as lb:
        made = lb.keys.create("by client", "submit", boards=["season-*"], expires="1d")
        new = lb.keys.rotate(made.id, overlap="1h")
        assert new.replaces == made.id
        lb.keys.revoke(made.id)
        states = {key.id: key.state for key in lb.keys.all()}
        assert (states[made.id], states[new.id]) == ("revoked", "active")
        with pytest.raises(errors.UnknownKey):
            lb.keys.revoke("nothing")
        with pytest.raises(errors.InvalidField):
            lb.keys.create("x", "root")


# -- secrets ------------------------------------------------------------------------------------------------------------------


def test_no_secret_is_in_the_log_or_in_the_ledger(keyed: KeyedService) -> None:
    token, begun = keyed.token("ada"), play(keyed)
    submit(keyed, bearer(token), {**SCORE, "play_token": begun})
    keyed.client.get("/v1/boards/global/top", headers=bearer(keyed.keys["server"] + "x"))
    log = keyed.log.read_text()
    assert "POST /v1/keys" in log
    files = [path.read_bytes() for path in keyed.directory.glob("scores.db*")]
    for secret in (*(key.rpartition("_")[2] for key in keyed.keys.values()), token.rpartition(".")[2], begun[10:]):
        assert secret not in log
        assert not any(secret.encode() in content for content in files)


def test_no_boards_are_not_all_boards(keyed: KeyedService) -> None:
    for path, body in (("/v1/keys", {"name": "none", "scope": "read"}), ("/v1/tokens", {"player_id": "ada"})):
        assert "boards" in problem(keyed.admin.post(path, json={**body, "boards": []}), 422, "invalid-field")
