"""A real service in a process of its own, and the command line, as tests use them."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx

from tests.service.commands import ForkedCommand, run_command
from tests.support.ports import free_port

#: The installed command.
KEEPSCORE = str(Path(sys.executable).parent / "keepscore")
#: What says that a body is JSON, for those who write the body themselves.
JSON = {"content-type": "application/json"}
#: The command as a program of its own, which may have a terminal.
PROGRAM = [sys.executable, "-c", "import sys; sys.argv[0] = 'keepscore'; from keepscore.cli import main; main()"]
#: Seconds until a service must be ready, and until a command must be done.
PATIENCE = 60


def environment(**variables: str) -> dict[str, str]:
    """The environment without settings of Keepscore but the given."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("KEEPSCORE_")}
    # Wide and plain, so that tables are not cut and messages not wrapped.
    return {**plain, "COLUMNS": "250", "NO_COLOR": "1", "TERM": "dumb", **variables}


def asked(client: httpx.Client, method: str, path: str, **options: Any) -> httpx.Response:
    """The answer to a request; of an endless one, how it begins."""
    with client.stream(method, path, **options) as answer:
        if not answer.headers.get("content-type", "").startswith("text/event-stream"):
            answer.read()
        return answer


def run(*arguments: str, cwd: Path, timeout: float = PATIENCE, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command line to its end."""
    return run_command(arguments, cwd, timeout, environment(**variables))


def on_terminal(*arguments: str, cwd: Path, answer: str = "", columns: int = 80, until: str = "") -> tuple[int, str]:
    """Run a command on a terminal, and type an answer to what it asks: the exit code, and what was shown. `until` it shows a pattern."""
    ours, theirs = pty.openpty()
    variables = {**environment(), "COLUMNS": str(columns), "TERM": "xterm"}
    process = subprocess.Popen([*PROGRAM, *arguments], cwd=cwd, env=variables, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown, deadline = b"", time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if select.select([ours], [], [], 0.1)[0]:
            try:
                shown += os.read(ours, 65536)
            except OSError:
                break
        if answer and b"[y/N]" in shown:
            os.write(ours, answer.encode())
            answer = ""
        if until and re.search(until, shown.decode(errors="replace")):
            process.terminate()
            until = ""
    os.close(ours)
    return process.wait(PATIENCE), shown.decode()


class Service:
    """`keepscore serve` on a free port, with its configuration in a directory, and its ledger, unless another is named."""

    #: What is run, where it is not the command itself.
    program: Sequence[str] = ()

    def __init__(self, directory: Path, config: str = "", *flags: str, ledger: str | None = None) -> None:
        self.directory = directory
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.ledger = directory / "scores.db"
        self.config = directory / "keepscore.toml"
        self.config.write_text(f'[ledger]\nurl = "{ledger or f"sqlite:///{self.ledger}"}"\n{config}', encoding="utf-8")
        self._flags = flags
        self.log = directory / "service.log"
        self.start()

    def start(self) -> None:
        """Start the process and wait until it is ready."""
        self.process = self._started()
        self.client = httpx.Client(base_url=self.url, timeout=PATIENCE, trust_env=False, verify=False)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with contextlib.suppress(httpx.TransportError):
                if self.client.get("/readyz").status_code == 200:
                    return
            assert self.process.poll() is None, f"the service ended: {self.log.read_text()}"
            time.sleep(0.02)
        raise AssertionError(f"the service is not ready: {self.log.read_text()}")

    def _started(self) -> subprocess.Popen[bytes] | ForkedCommand:
        words = ["serve", "--config", str(self.config), "--port", str(self.port), *self._flags]
        # A process with workers starts Python for them.
        has_workers = "--workers" in words or "workers =" in self.config.read_text(encoding="utf-8")
        if not self.program and not has_workers:
            return ForkedCommand(words, self.directory, environment(), self.log, self.log)
        with self.log.open("ab") as log:
            program = self.program or (KEEPSCORE,)
            return subprocess.Popen([*program, *words], cwd=self.directory, env=environment(), stdout=log, stderr=log)

    def stop(self, kill: bool = False) -> None:
        """End the process: as a user does it, or without a word."""
        self.client.close()
        if self.process.poll() is None:
            if kill:
                self.process.kill()
            else:
                self.process.terminate()
            self.process.wait(PATIENCE)

    # -- what tests say often -------------------------------------------------------------------------------------------

    def define(self, name: str, **fields: Any) -> str:
        """Define a board, and give its name."""
        answer = self.client.put(f"/v1/boards/{name}", json=fields, params={"confirm": "true"})
        assert answer.status_code in (200, 201), answer.text
        return name

    def post(self, board: str, route: str, body: object, **headers: str) -> httpx.Response:
        """Send a body, with numbers written as Python's json writes them."""
        return self.client.post(f"/v1/boards/{board}/{route}", json=body, headers=headers)

    def submit(self, board: str, player: str, score: float, **fields: Any) -> dict[str, Any]:
        """Submit a score that has to be taken."""
        return taken(self.post(board, "scores", {"player_id": player, "score": score, **fields}))

    def increment(self, board: str, player: str, amount: float, **fields: Any) -> dict[str, Any]:
        """Add an amount that has to be taken."""
        return taken(self.post(board, "increments", {"player_id": player, "amount": amount, **fields}))

    def get(self, board: str, route: str, **query: Any) -> dict[str, Any]:
        """Read what has to be there."""
        return taken(self.client.get(f"/v1/boards/{board}/{route}", params=query))

    def order(self, board: str, **query: Any) -> list[str]:
        """The players of a ranking, in order."""
        return [standing["player_id"] for standing in self.get(board, "top", **query)["standings"]]

    def footprint(self, board: str) -> dict[str, Any]:
        """All that a refused request must leave as it was."""
        found = taken(self.client.post(f"/v1/boards/{board}/verify"))
        assert found["differences"] == []
        return {**found, "total_players": self.get(board, "count")["count"]}

    @contextlib.contextmanager
    def nothing_left_behind(self, board: str) -> Iterator[None]:
        """Whatever happens inside, the board and its events are as before."""
        before = self.footprint(board)
        yield
        assert self.footprint(board) == before


def taken(answer: httpx.Response) -> dict[str, Any]:
    """The body of a good answer."""
    assert answer.status_code == 200, f"{answer.status_code} {answer.text[:500]}"
    assert answer.headers["content-type"] == "application/json"
    body: dict[str, Any] = answer.json()
    return body


def refused(answer: httpx.Response, status: int | tuple[int, ...], *words: str) -> dict[str, Any]:
    """The problem of a refused request, which names all the words in its detail."""
    statuses = status if isinstance(status, tuple) else (status,)
    assert answer.status_code in statuses, f"{answer.status_code} {answer.text[:500]}"
    assert answer.headers["content-type"].split(";")[0] == "application/problem+json"
    problem: dict[str, Any] = json.loads(answer.content)
    assert set(problem) >= {"type", "title", "status", "detail"}
    assert problem["status"] == answer.status_code
    assert all(isinstance(problem[field], str) and problem[field] for field in ("type", "title", "detail"))
    for word in words:
        assert word in problem["detail"], problem["detail"]
    return problem
