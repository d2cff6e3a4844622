"""When credentials are asked for at all: on this machine, elsewhere, and as the configuration says."""

from __future__ import annotations

from pathlib import Path

from tests.service.access_rig import BOARDS, KeyedService, bearer, created, problem
from tests.service.running import Service, run


def test_a_service_is_open_on_its_own_machine_until_the_first_key(tmp_path: Path) -> None:
    service = Service(tmp_path, BOARDS)
    try:
        service.submit("global", "ada", 1)
        assert service.client.get("/v1/keys").json() == {"keys": []}
        problem(service.client.post("/v1/tokens", json={"player_id": "ada"}), 404, "unknown-key")
        made = service.client.post("/v1/keys", json={"name": "first", "scope": "admin"}).json()
        problem(service.client.get("/v1/boards/global/top"), 401, "unauthenticated")
        assert service.client.get("/v1/boards/global/top", headers=bearer(made["key"])).status_code == 200
        # To revoke the last key does not open the service again.
        assert service.client.delete(f"/v1/keys/{made['id']}", headers=bearer(made["key"])).status_code == 204
        problem(service.client.get("/v1/boards/global/top"), 401, "unauthenticated")
    finally:
        service.stop()
    service.start()
    try:
        problem(service.client.get("/v1/boards/global/top"), 401, "unauthenticated")
    finally:
        service.stop()


def test_auth_off_asks_for_nothing_and_required_for_keys_from_the_start(tmp_path: Path) -> None:
    (tmp_path / "off").mkdir()
    (tmp_path / "required").mkdir()
    off = KeyedService(tmp_path / "off", BOARDS, "--auth", "off")
    try:
        assert off.client.get("/v1/boards/global/top").status_code == 200
        assert off.client.get("/v1/boards/global/top", headers=bearer("nonsense")).status_code == 200
    finally:
        off.stop()
    required = Service(tmp_path / "required", BOARDS, "--auth", "required")
    try:
        problem(required.client.get("/v1/boards/global/top"), 401, "unauthenticated")
        problem(required.client.post("/v1/keys", json={"name": "a", "scope": "admin"}), 401, "unauthenticated")
        assert "keepscore keys create" in required.log.read_text()
    finally:
        required.stop()


def test_another_address_needs_a_key_first(tmp_path: Path) -> None:
    (tmp_path / "keepscore.toml").write_text(f'[ledger]\nurl = "sqlite:///{tmp_path}/scores.db"\n')
    for flags in ([], ["--auth", "required"], ["--auth", "off"]):
        done = run("serve", "--host", "0.0.0.0", "--port", "18999", *flags, cwd=tmp_path)
        assert done.returncode == 2
        assert "0.0.0.0" in done.stderr
        assert ("keepscore keys create NAME --scope admin" in done.stderr) == (flags != ["--auth", "off"])
    key = created(tmp_path, "admin", "--scope", "admin")["key"]
    service = Service(tmp_path, BOARDS, "--host", "0.0.0.0")
    try:
        assert service.client.get("/v1/boards/global/top", headers=bearer(key)).status_code == 200
        problem(service.client.get("/v1/boards/global/top"), 401, "unauthenticated")
    finally:
        service.stop()
