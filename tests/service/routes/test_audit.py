"""The audit over HTTP and on the command line: who did what, from where and why, and the first broken link by name."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.service.access_rig import KeyedService, bearer, problem
from tests.service.running import Service, run

DATABASE = "keepscore.db"


@pytest.fixture
def keyed(tmp_path: Path) -> Iterator[KeyedService]:
    found = KeyedService(tmp_path)
    yield found
    found.stop()


def entries(service: KeyedService, query: str = "") -> list[dict[str, Any]]:
    answer = service.admin.get(f"/v1/audit{query}")
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["entries"]
    return found


def test_what_is_done_with_a_key_is_noted_with_it(keyed: KeyedService) -> None:
    keyed.make("mods", "moderate")
    mods = bearer(keyed.keys["mods"])
    assert keyed.admin.post("/v1/boards/season-1/increments", json={"player_id": "ann", "amount": 5}).status_code == 200
    body = {"board": "season-1", "player_id": "ann", "reason": "a bot"}
    void = keyed.client.post("/v1/moderation/void", json=body, headers={**mods, "Idempotency-Key": "k"}).json()["void_id"]
    assert keyed.client.post(f"/v1/moderation/void/{void}/undo", json={"reason": "no bot"}, headers=mods).status_code == 200
    assert keyed.admin.put("/v1/boards/new", json={"operator": "sum"}).status_code == 201
    assert keyed.admin.delete(f"/v1/keys/{keyed.ids['mods']}").status_code == 204
    by_mods, by_admin = f"key {keyed.ids['mods']} mods", f"key {keyed.ids['admin']} admin"
    found = entries(keyed)
    newest = [(entry["action"], entry["actor"], entry["address"], entry["board"], entry["reason"]) for entry in found]
    assert newest[0] == ("revoke_key", by_admin, "127.0.0.1", None, None)
    assert newest[1] == ("put_board", by_admin, "127.0.0.1", "new", None)
    assert ("undo_void", by_mods, "127.0.0.1", "season-1", "no bot") in newest
    assert ("void", by_mods, "127.0.0.1", "season-1", "a bot") in newest
    # The first key came before the service, and boards of the file come with its start.
    local = {entry["action"] for entry in found if entry["actor"].startswith("local writer ")}
    assert local == {"create_key", "put_board"}
    assert {entry["address"] for entry in found if entry["actor"].startswith("local ")} == {None}
    assert entries(keyed, f"?actor={keyed.ids['mods']}") == [entry for entry in found if entry["actor"] == by_mods]
    assert [entry["detail"]["void"] for entry in entries(keyed, "?action=void&board=season-1")] == [void]
    assert not any(secret.rpartition("_")[2] in json.dumps(found) for secret in keyed.keys.values())
    assert keyed.admin.post("/v1/audit/verify").json() == {"entries": len(found), "ok": True, "head": found[0]["hash"], "broken": None}


def test_pages_follow_each_other(keyed: KeyedService) -> None:
    whole = entries(keyed)
    assert [entry["id"] for entry in whole] == list(range(len(whole), 0, -1))
    cursor, found = "", []
    while True:
        answer = keyed.admin.get(f"/v1/audit?limit=3{cursor}").json()
        found += answer["entries"]
        if answer["next_cursor"] is None:
            break
        cursor = f"&cursor={answer['next_cursor']}"
    assert found == whole


def test_it_is_for_administrators_of_all_boards(keyed: KeyedService) -> None:
    keyed.make("mods", "moderate")
    keyed.make("own", "admin", boards=["season-*"])
    for name in ("mods", "own"):
        headers = bearer(keyed.keys[name])
        problem(keyed.client.get("/v1/audit", headers=headers), 403, "forbidden")
        problem(keyed.client.post("/v1/audit/verify", headers=headers), 403, "forbidden")
    problem(keyed.client.get("/v1/audit"), 401, "unauthenticated")


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("cursor=x", "invalid-page"),
        ("cursor=-1", "invalid-page"),
        ("cursor=9999999999999999999", "invalid-page"),
        ("limit=0", "invalid-page"),
        ("limit=1001", "invalid-page"),
        ("limit=x", "invalid-field"),
        ("who=x", "invalid-field"),
        ("board=", "invalid-field"),
        ("actor=%00", "invalid-field"),
        ("action=" + "x" * 129, "invalid-field"),
    ],
)
def test_bad_input_is_named(keyed: KeyedService, query: str, kind: str) -> None:
    problem(keyed.admin.get(f"/v1/audit?{query}"), 422, kind)


def test_who_has_no_key_is_anonymous(tmp_path: Path) -> None:
    service = Service(tmp_path)
    try:
        assert service.client.put("/v1/boards/new", json={}).status_code == 201
        newest = service.client.get("/v1/audit?board=new").json()["entries"][0]
        assert (newest["actor"], newest["address"], newest["action"]) == ("anonymous", "127.0.0.1", "put_board")
    finally:
        service.stop()


def test_commands(tmp_path: Path) -> None:
    def keepscore(*arguments: str) -> Any:
        return run(*arguments, cwd=tmp_path)

    config = tmp_path / "keepscore.toml"
    config.write_text('[ledger]\nurl = "sqlite:///keepscore.db"\n[[board]]\nname = "games"\n')
    assert keepscore("boards", "apply", "keepscore.toml").returncode == 0
    for name in ("one", "two", "three"):
        assert keepscore("keys", "create", name, "--scope", "read").returncode == 0
    listed = keepscore("audit", "list")
    assert listed.returncode == 0, listed.stderr
    assert listed.stdout.count("create_key") == 3
    page = json.loads(keepscore("audit", "list", "--action", "create_key", "--limit", "2", "--json").stdout)
    assert [entry["detail"]["name"] for entry in page["entries"]] == ["three", "two"]
    assert f"--cursor {page['next_cursor']}" in keepscore("audit", "list", "--action", "create_key", "--limit", "2").stderr
    whole = keepscore("audit", "verify")
    assert (whole.returncode, whole.stderr) == (0, "")
    assert whole.stdout == f"The audit is whole: 4 entries, the last with the hash {page['entries'][0]['hash']}\n"
    with sqlite3.connect(tmp_path / DATABASE) as connection:
        connection.execute("DROP TRIGGER audit_is_not_changed")
        connection.execute("UPDATE audit SET who = 'somebody else' WHERE id = 2")
    connection.close()
    broken = keepscore("audit", "verify")
    assert (broken.returncode, broken.stdout) == (1, "")
    said = "The audit is broken after 1 entry: entry 2 does not match its hash: it was changed, or put in the place of another.\n"
    assert broken.stderr == said
    told = keepscore("audit", "verify", "--json")
    assert told.returncode == 1
    assert json.loads(told.stdout)["broken"]["id"] == 2
    assert "limit" in keepscore("audit", "list", "--limit", "0").stderr
