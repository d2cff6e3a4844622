"""Environments: `test` is apart from `live`; and keys on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from tests.service.access_rig import bearer, created, eventually, problem
from tests.service.cli.test_manners import completed
from tests.service.running import Service, run
from tests.support.ports import free_port
from tests.support.postgres_servers import shared_postgres
from tests.support.redis_servers import single

BOARD = '[[board]]\nname = "global"\n'


@pytest.mark.parametrize("place", ["sqlite", "postgres", "redis"])
def test_what_is_done_in_test_is_not_seen_in_live(tmp_path: Path, place: str) -> None:
    if place == "postgres":
        url = shared_postgres().new_database()
        name = url.partition("?")[0].rpartition("/")[2]
        shared_postgres().sql(f'CREATE DATABASE "{name}_test"')
        _check_apart(tmp_path, BOARD, url)
    elif place == "redis":
        with single() as redis:
            _check_apart(tmp_path, f'[engine]\nurl = "{redis.url}"\n{BOARD}', None)
            assert redis.client().zcard("keepscore:{global}:all_time") == 1
    else:
        _check_apart(tmp_path, BOARD, None)


def _check_apart(directory: Path, config: str, ledger: str | None) -> None:
    live = Service(directory, config, ledger=ledger)
    live_key = live.client.post("/v1/keys", json={"name": "live", "scope": "admin"}).json()["key"]
    test = Service.__new__(Service)
    test.__dict__.update(live.__dict__)
    test.port, test.log = free_port(), directory / "test.log"
    test.url, test._flags = f"http://127.0.0.1:{test.port}", ("--environment", "test")
    test.start()
    try:
        assert "test" in test.log.read_text()
        # The other has no keys, and so asks for none.
        test.submit("global", "tester", 5)
        test_key = test.client.post("/v1/keys", json={"name": "test", "scope": "admin"}).json()["key"]
        assert test_key.startswith("ks_test_")
        body = {"player_id": "ada", "score": 1}
        for service, key, other in ((live, test_key, "test"), (test, live_key, "live")):
            answer = service.client.post("/v1/boards/global/scores", json=body, headers=bearer(key))
            assert f"environment {other!r}" in problem(answer, 401, "unauthenticated")
        assert live.client.post("/v1/boards/global/scores", json=body, headers=bearer(live_key)).status_code == 200
        for service, key, player in ((live, live_key, "ada"), (test, test_key, "tester")):
            standings = service.client.get("/v1/boards/global/top", headers=bearer(key)).json()["standings"]
            assert [standing["player_id"] for standing in standings] == [player]
            events = service.client.get("/v1/boards/global/events", headers=bearer(key)).json()["events"]
            assert [event["player_id"] for event in events] == [player]
            assert len(service.client.get("/v1/keys", headers=bearer(key)).json()["keys"]) == 1
    finally:
        test.stop()
        live.stop()


def test_an_unknown_environment_is_refused(tmp_path: Path) -> None:
    done = run("serve", "--environment", "staging", cwd=tmp_path)
    assert done.returncode == 2
    assert "live or test" in done.stderr
    (tmp_path / "keepscore.toml").write_text('[engine]\nurl = "redis+cluster://127.0.0.1:6379"\n')
    done = run("serve", "--environment", "test", cwd=tmp_path)
    assert "{environment}" in done.stderr


def test_keys_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "keepscore.toml").write_text(f'[ledger]\nurl = "sqlite:///{tmp_path}/scores.db"\n{BOARD}')
    made = run(
        "keys", "create", "game server", "--scope", "submit", "--board", "season-*", "--board", "global", "--expires", "90d", cwd=tmp_path
    )
    assert made.returncode == 0
    key = made.stdout.strip()
    assert key.startswith("ks_live_")
    assert "'season-*' matches no board" in made.stderr
    key_id = key.split("_")[2]
    listed = run("keys", "list", cwd=tmp_path).stdout
    assert all(word in listed for word in (key_id, "game server", "submit", "season-*, global", "active"))
    assert key not in listed
    new = json.loads(run("keys", "rotate", key_id, "--overlap", "1h", "--json", cwd=tmp_path).stdout)
    assert new["replaces"] == key_id
    assert run("keys", "revoke", key_id, cwd=tmp_path).returncode == 0
    states = {one["id"]: one["state"] for one in json.loads(run("keys", "list", "--json", cwd=tmp_path).stdout)["keys"]}
    assert states == {key_id: "revoked", new["id"]: "active"}
    for arguments in (["create", "x", "--scope", "root"], ["revoke", "nothing"], ["rotate", key_id], ["create", "", "--scope", "read"]):
        done = run("keys", *arguments, cwd=tmp_path)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
        assert done.stderr.startswith("Error:")


def test_commands_use_a_key_for_a_service(tmp_path: Path) -> None:
    (tmp_path / "keepscore.toml").write_text(f'[ledger]\nurl = "sqlite:///{tmp_path}/scores.db"\n')
    admin = created(tmp_path, "admin", "--scope", "admin")["key"]
    service = Service(tmp_path, BOARD)
    try:
        for by_flag in (True, False):
            flags, variables = (["--api-key", admin], {}) if by_flag else ([], {"KEEPSCORE_KEY": admin})
            assert run("submit", "global", "ada", "5", "--url", service.url, *flags, cwd=tmp_path, **variables).returncode == 0
            made = run("keys", "create", "reader", "--scope", "read", "--url", service.url, *flags, cwd=tmp_path, **variables)
            assert made.stdout.startswith("ks_live_")
            # The service has the ledger open, and is asked in its place.
            assert "reader" in run("keys", "list", *flags, cwd=tmp_path, **variables).stdout
        for flags in ([], ["--api-key", "ks_live_wrong"]):
            done = run("top", "global", "--url", service.url, *flags, cwd=tmp_path)
            assert done.returncode == 2
            assert "key" in done.stderr
            assert "ks_live_wrong" not in done.stderr
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        assert completed(elsewhere, "keepscore top gl", KEEPSCORE_URL=service.url) == []
        assert completed(elsewhere, "keepscore top gl", KEEPSCORE_URL=service.url, KEEPSCORE_KEY=admin) == ["global"]
    finally:
        service.stop()


def test_a_key_is_known_and_revoked_on_every_worker(tmp_path: Path) -> None:
    (tmp_path / "keepscore.toml").write_text(f'[ledger]\nurl = "sqlite:///{tmp_path}/scores.db"\n')
    admin = created(tmp_path, "admin", "--scope", "admin")["key"]
    with single() as redis:
        service = Service(tmp_path, f'[engine]\nurl = "{redis.url}"\n[server]\nworkers = 2\n{BOARD}')

        def statuses(key: str) -> set[int]:
            # Each connection may reach another worker.
            return {
                httpx.get(f"{service.url}/v1/boards/global/top", headers=bearer(key), trust_env=False, verify=False).status_code
                for _ in range(12)
            }

        try:
            made = service.client.post("/v1/keys", json={"name": "reader", "scope": "read"}, headers=bearer(admin)).json()
            assert statuses(made["key"]) == {200}
            assert service.client.delete(f"/v1/keys/{made['id']}", headers=bearer(admin)).status_code == 204
            eventually(lambda: statuses(made["key"]) == {401}, 10)
        finally:
            service.stop()
