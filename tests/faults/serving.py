"""A real `keepscore serve` process, and clients that remember what it acknowledged."""

import http.client
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field

from tests.support.ports import free_port

CONFIG = """
[server]
port = {port}

[ledger]
url = "sqlite:///{path}"

[[board]]
name = "global"
operator = "last"
windows = ["daily", "weekly", "monthly", "all_time"]
segments = ["region"]

[[board]]
name = "game"
operator = "sum"
also = ["xp"]

[[board]]
name = "xp"
operator = "sum"
ties = "last"
rank = "dense"
"""


class Service:
    """`keepscore serve` in a folder, which can be killed and started again."""

    def __init__(self, folder):
        self.port = free_port()
        self.database = folder / "keepscore.db"
        self.config = folder / "keepscore.toml"
        self.config.write_text(CONFIG.format(port=self.port, path=self.database))
        self.output = folder / "service.log"
        self.log = self.output.open("w")
        self.process = None

    def command(self, *args):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("KEEPSCORE_")}
        code = "from keepscore.cli import main; main()"
        return {"args": [sys.executable, "-c", code, *args, "--config", str(self.config)], "env": environment}

    def start(self):
        self.process = subprocess.Popen(**self.command("serve"), stdout=self.log, stderr=self.log)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            assert self.process.poll() is None, f"the service ended by itself: {self.output.read_text()[-2000:]}"
            try:
                if self.call("GET", "/readyz")[0] == 200:
                    return
            except OSError:
                pass
            time.sleep(0.02)
        raise AssertionError("the service did not become ready")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(30)

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()
        self.log.close()

    def verify(self):
        return subprocess.run(**self.command("verify", "--json"), capture_output=True, text=True, timeout=60, check=False)

    def call(self, method, path, body=None, headers=None, connection=None):
        own = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            own.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json", **(headers or {})})
            answer = own.getresponse()
            return answer.status, json.loads(answer.read() or b"null")
        finally:
            if connection is None:
                own.close()


@dataclass
class Sent:
    """One request. `outcome`: acknowledged, refused, or None where nobody knows."""

    board: str
    path: str
    body: dict
    key: str | None
    outcome: str | None = None
    entries: list = field(default_factory=list)


class Client(threading.Thread):
    """Sends singles and batches, with and without keys, until it is told to stop or the service is gone."""

    def __init__(self, service, name, seed, limit=4000):
        super().__init__(name=name)
        self.service, self.dice, self.limit = service, random.Random(seed), limit
        self.sent: list[Sent] = []
        self.stopping = threading.Event()
        self.trouble: list[object] = []

    def make(self, number):
        board = self.dice.choice(["global", "game"])
        single = self.dice.random() < 0.7

        def entry(i):
            what = "score" if board == "global" and self.dice.random() < 0.5 else "amount"
            found = {"player_id": f"p{self.dice.randrange(20)}", what: self.dice.randrange(1, 100), "game_id": f"{self.name}-{number}-{i}"}
            if board == "global":
                found["segments"] = {"region": self.dice.choice(["eu", "us"])}
            return found

        entries = [entry(i) for i in range(1 if single else self.dice.randrange(2, 30))]
        key = f"{self.name}-{number}" if self.dice.random() < 0.6 else None
        if single:
            path = "scores" if "score" in entries[0] else "increments"
            return Sent(board, f"/v1/boards/{board}/{path}", entries[0], key, entries=entries)
        return Sent(board, f"/v1/boards/{board}/scores/batch", {"scores": entries}, key, entries=entries)

    def send(self, sent, connection=None):
        headers = {"Idempotency-Key": sent.key} if sent.key else {}
        status, answer = self.service.call("POST", sent.path, sent.body, headers, connection)
        if status == 200 and answer.get("accepted", 1) == len(sent.entries if "scores" in sent.body else [1]):
            sent.outcome = "acknowledged"
        elif status < 500:
            self.trouble.append((status, answer))
            sent.outcome = "refused"
        return answer

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=20)
        try:
            while not self.stopping.is_set() and len(self.sent) < self.limit:
                sent = self.make(len(self.sent))
                self.sent.append(sent)
                self.send(sent, connection)
        except (OSError, http.client.HTTPException, ValueError):
            pass
        finally:
            connection.close()
