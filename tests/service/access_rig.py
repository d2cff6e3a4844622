"""A service with keys, and whoever tries to use it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import httpx

from tests.service.running import Service, run

#: Boards of its own and of others, one that everybody reads, and one for prizes.
BOARDS = """
[[board]]
name = "global"
operator = "last"
windows = ["all_time", "daily", "weekly", "monthly"]
segments = ["region"]

[[board]]
name = "season-1"
operator = "sum"
windows = ["weekly", "all_time"]
segments = ["region"]

[[board]]
name = "other"
operator = "sum"
windows = ["weekly", "all_time"]

[[board]]
name = "open"
operator = "last"
read = "public"

[[board]]
name = "prize"
operator = "last"
consistency = "strong"

[[board]]
name = "linked"
operator = "last"
also = ["prize"]
"""


def created(directory: Path, *arguments: str, **variables: str) -> dict[str, Any]:
    """Create a key on the ledger itself, and return what is told of it."""
    done = run("keys", "create", *arguments, "--json", "--config", "keepscore.toml", cwd=directory, **variables)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def bearer(text: str) -> dict[str, str]:
    return {"authorization": f"Bearer {text}"}


class KeyedService(Service):
    """A service whose ledger has keys of every scope, for all boards and for `season-*`, before it starts."""

    def __init__(self, directory: Path, config: str = BOARDS, *flags: str, **options: Any) -> None:
        self.keys: dict[str, str] = {}
        self.ids: dict[str, str] = {}
        super().__init__(directory, config, *flags, **options)

    def start(self) -> None:
        if not self.keys:
            self.add("admin", "--scope", "admin")
        super().start()
        self.admin = httpx.Client(base_url=self.url, timeout=60, trust_env=False, verify=False, headers=bearer(self.keys["admin"]))

    def add(self, name: str, *arguments: str) -> None:
        """Create a key on the ledger, before the service has it open."""
        found = created(self.directory, name, *arguments)
        self.keys[name], self.ids[name] = found["key"], found["id"]

    def make(self, name: str, scope: str, **fields: Any) -> str:
        """Create a key over HTTP."""
        answer = self.admin.post("/v1/keys", json={"name": name, "scope": scope, **fields})
        assert answer.status_code == 201, answer.text
        self.keys[name], self.ids[name] = answer.json()["key"], answer.json()["id"]
        return self.keys[name]

    def token(self, player: str, key: str | None = None, **fields: Any) -> str:
        """Ask for a player token."""
        headers = bearer(key or self.keys["admin"])
        answer = self.client.post("/v1/tokens", json={"player_id": player, **fields}, headers=headers)
        assert answer.status_code == 200, answer.text
        found: str = answer.json()["token"]
        return found

    def stop(self, kill: bool = False) -> None:
        self.admin.close()
        super().stop(kill)


def problem(answer: httpx.Response, status: int, kind: str) -> str:
    """Return what a refusal says, which has to be one of that kind."""
    assert answer.status_code == status, f"{answer.request.method} {answer.request.url}: {answer.status_code} {answer.text}"
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert body["type"] == f"urn:keepscore:{kind}", body
    detail: str = body["detail"]
    return detail


def eventually(check: Any, seconds: float = 5.0) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < deadline, "it did not come to hold"
        time.sleep(0.02)
