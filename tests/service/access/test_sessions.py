"""Sessions of the console: a cookie that scripts cannot read, that other sites cannot use, and that ends with its key."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.service.access_rig import created
from tests.service.running import Service

CONSOLE = {"X-Keepscore-Console": "1"}


class Guarded(Service):
    """A service with keys of several scopes."""

    def __init__(self, directory: Path) -> None:
        (directory / "keepscore.toml").write_text(f'[ledger]\nurl = "sqlite:///{directory / "scores.db"}"\n')
        scopes = ("admin", "moderate", "submit")
        self.keys = {scope: created(directory, scope, "--scope", scope)["key"] for scope in scopes}
        super().__init__(directory)

    @contextmanager
    def signed_in(self, scope: str) -> Iterator[httpx.Client]:
        """Give a client with a session of a key."""
        with httpx.Client(base_url=self.url, timeout=30, trust_env=False, verify=False) as client:
            answer = client.post("/console/session", json={"key": self.keys[scope]})
            assert answer.status_code == 200, answer.text
            assert answer.json()["scope"] == scope
            yield client


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    running = Guarded(tmp_path_factory.mktemp("sessions"))
    yield running
    running.stop()


def test_a_session_may_do_what_its_key_may_and_no_more(guarded: Guarded) -> None:
    with guarded.signed_in("admin") as admin, guarded.signed_in("moderate") as moderator:
        assert admin.put("/v1/boards/arena", json={}, headers=CONSOLE).status_code == 201
        assert admin.get("/v1/keys").status_code == 200
        assert moderator.get("/v1/moderation/voids").status_code == 200
        assert moderator.get("/v1/keys").status_code == 403
        assert moderator.put("/v1/boards/other", json={}, headers=CONSOLE).status_code == 403


def test_another_site_cannot_write_with_it(guarded: Guarded) -> None:
    with guarded.signed_in("admin") as admin:
        refused = admin.put("/v1/boards/forged", json={})
        assert (refused.status_code, refused.json()["type"]) == (401, "urn:keepscore:unauthenticated")
        foreign = admin.put("/v1/boards/forged", json={}, headers={**CONSOLE, "Origin": "https://evil.example.com"})
        assert foreign.status_code == 403
        assert admin.get("/v1/boards/forged").status_code == 404


def test_scripts_cannot_read_the_cookie_and_other_sites_do_not_send_it(guarded: Guarded) -> None:
    answer = httpx.post(f"{guarded.url}/console/session", json={"key": guarded.keys["admin"]})
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert guarded.keys["admin"] not in cookie
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("key", ["", "ks_live_nonsense", "Bearer", "ключ"])
def test_a_bad_key_is_refused_without_a_cookie(guarded: Guarded, key: str) -> None:
    answer = httpx.post(f"{guarded.url}/console/session", json={"key": key})
    assert (answer.status_code, answer.json()["type"]) == (401, "urn:keepscore:unauthenticated")
    assert "set-cookie" not in answer.headers


def test_keys_that_only_submit_are_not_for_the_console(guarded: Guarded) -> None:
    answer = httpx.post(f"{guarded.url}/console/session", json={"key": guarded.keys["submit"]})
    assert (answer.status_code, answer.json()["type"]) == (403, "urn:keepscore:forbidden")


def test_a_forged_session_is_refused(guarded: Guarded) -> None:
    with guarded.signed_in("admin") as admin:
        session = admin.cookies["keepscore_session"]
    for forged in (session[:-4] + "AAAA", session.split(".")[0] + "..", "nonsense", session + "x"):
        answer = httpx.get(f"{guarded.url}/v1/keys", cookies={"keepscore_session": forged})
        assert answer.status_code == 401, forged
        assert httpx.get(f"{guarded.url}/console/session", cookies={"keepscore_session": forged}).status_code == 204


def test_signing_out_and_revoking_the_key_end_it(guarded: Guarded) -> None:
    with guarded.signed_in("admin") as admin:
        created = admin.post("/v1/keys", json={"name": "short", "scope": "moderate"}, headers=CONSOLE).json()
        guarded.keys["short"] = created["key"]
        with httpx.Client(base_url=guarded.url) as other:
            assert other.post("/console/session", json={"key": created["key"]}).status_code == 200
            assert other.get("/v1/moderation/voids").status_code == 200
            assert admin.delete(f"/v1/keys/{created['id']}", headers=CONSOLE).status_code in (200, 204)
            assert other.get("/v1/moderation/voids").status_code == 401
        answer = admin.delete("/console/session")
        assert "Max-Age=0" in answer.headers["set-cookie"]


def test_without_keys_everybody_is_an_administrator(service: Service) -> None:
    found = service.client.get("/console/session").json()
    assert (found["scope"], found["key_id"]) == ("admin", None)
