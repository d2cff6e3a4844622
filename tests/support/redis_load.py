"""Clients that send scores, remember every answer, and know what boards have to show in the end."""

from __future__ import annotations

import http.client
import itertools
import json
import random
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

#: Players that all clients share.
PLAYERS = [f"p{number}" for number in range(12)]
#: Seconds that an answer may take before a client gives up.
PATIENCE = 30

_loads = itertools.count(1)


class Answer(NamedTuple):
    """What came back: a status (0: the connection broke), the body, when it was asked for, and how long that took."""

    status: int
    body: Any
    moment: float
    seconds: float
    content_type: str = ""


def call(url: str, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None) -> Answer:
    """One request on a connection of its own."""
    with closing(http.client.HTTPConnection(urlsplit(url).netloc, timeout=PATIENCE)) as connection:
        return ask(connection, method, path, body, headers or {})


def ask(connection: http.client.HTTPConnection, method: str, path: str, body: object, headers: Mapping[str, str]) -> Answer:
    """One request on a connection that is kept."""
    start = time.monotonic()
    try:
        connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json", **headers})
        got = connection.getresponse()
        status, text = got.status, got.read()
        kind = got.headers.get_content_type()
        return Answer(status, json.loads(text) if text else None, start, time.monotonic() - start, kind)
    except (OSError, http.client.HTTPException):
        connection.close()
        return Answer(0, None, start, time.monotonic() - start)


@dataclass
class Sent:
    """A submission with an idempotency key, and all answers to it."""

    board: str
    path: str
    body: dict[str, Any]
    key: str
    answers: list[Answer] = field(default_factory=list)

    @property
    def is_acknowledged(self) -> bool:
        return any(answer.status in (200, 202) for answer in self.answers)


class Load:
    """Clients that send to boards, given by name and operator, until they are told to stop, or each has sent so many.

    On `sum` and `last` boards they add amounts, on `best` and `first` boards they send scores, those for the latter with times.
    """

    def __init__(
        self, url: str, boards: Mapping[str, str], clients: int = 3, limit: int | None = None, reconnect: bool = False, pause: float = 0.01
    ) -> None:
        self.url, self.boards, self.limit, self.reconnect, self.pause = url, dict(boards), limit, reconnect, pause
        self.name = f"load{next(_loads)}"
        self.sent: list[Sent] = []
        self.seed = random.SystemRandom().randrange(10**6)
        self._scores = itertools.count(1)
        self._stopping = threading.Event()
        self._clients = [threading.Thread(target=self._run, args=(number,)) for number in range(clients)]

    def _make(self, dice: random.Random, name: str) -> Sent:
        board = dice.choice(list(self.boards))
        body: dict[str, Any] = {"player_id": dice.choice(PLAYERS), "game_id": name}
        if self.boards[board] in ("sum", "last"):
            return Sent(board, f"/v1/boards/{board}/increments", {**body, "amount": dice.randrange(1, 100)}, name)
        if self.boards[board] == "first":
            at = datetime.now(UTC) - timedelta(milliseconds=dice.randrange(10_000))
            body["at"] = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
            return Sent(board, f"/v1/boards/{board}/scores", {**body, "score": dice.randrange(10_000)}, name)
        # Each better than those before: none can be missing unnoticed.
        return Sent(board, f"/v1/boards/{board}/scores", {**body, "score": next(self._scores)}, name)

    def _run(self, number: int) -> None:
        dice = random.Random(self.seed + number)
        with closing(http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=PATIENCE)) as connection:
            for count in itertools.count():
                if self._stopping.is_set() or count == self.limit:
                    return
                sent = self._make(dice, f"{self.name}-{number}-{count}")
                self.sent.append(sent)
                self._send(sent, connection)
                if self.reconnect:
                    connection.close()
                self._stopping.wait(self.pause)

    def _send(self, sent: Sent, connection: http.client.HTTPConnection) -> Answer:
        answer = ask(connection, "POST", sent.path, sent.body, {"Idempotency-Key": sent.key})
        sent.answers.append(answer)
        return answer

    @contextmanager
    def running(self) -> Iterator[Load]:
        """Send while the caller does something; then wait until all is answered."""
        self.start()
        try:
            yield self
        finally:
            self.stop()

    def start(self) -> None:
        for client in self._clients:
            client.start()

    def stop(self) -> None:
        self._stopping.set()
        self.join()

    def join(self) -> None:
        """Wait until every client has sent what it has to."""
        for client in self._clients:
            client.join(2 * PATIENCE)
            assert not client.is_alive()

    def reach(self, more: int, seconds: float = 20) -> None:
        """Wait until so many more are sent."""
        goal, deadline = len(self.sent) + more, time.monotonic() + seconds
        while len(self.sent) < goal:
            assert time.monotonic() < deadline, f"only {len(self.sent)} of {goal} sent"
            time.sleep(0.005)

    @property
    def answers(self) -> list[Answer]:
        return [answer for sent in self.sent for answer in sent.answers]

    @property
    def statuses(self) -> Counter[int]:
        """How often each status came."""
        return Counter(answer.status for answer in self.answers)

    def retry(self) -> None:
        """Send again what was not acknowledged: then everything is."""
        with closing(http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=PATIENCE)) as connection:
            for sent in self.sent:
                deadline = time.monotonic() + 5
                while not sent.is_acknowledged:
                    answer = self._send(sent, connection)
                    assert answer.status in (200, 202, 503), answer
                    assert time.monotonic() < deadline, answer

    def expected(self, board: str) -> dict[str, int]:
        """The score of every player by what was acknowledged."""
        bodies = [sent.body for sent in self.sent if sent.board == board and sent.is_acknowledged]
        scores: dict[str, int] = {}
        if self.boards[board] in ("sum", "last"):
            return dict(sum((Counter({body["player_id"]: body["amount"]}) for body in bodies), Counter()))
        for body in sorted(bodies, key=lambda body: (body.get("at", ""), -body["score"])):
            known = scores.get(body["player_id"])
            scores[body["player_id"]] = body["score"] if known is None else max(known, body["score"]) if "at" not in body else known
        return scores

    def shown(self, board: str) -> dict[str, int] | None:
        """The score of every player as the service tells it now: lookups are not kept anywhere. None: it cannot tell."""
        answer = call(self.url, "POST", f"/v1/boards/{board}/players/lookup", {"player_ids": PLAYERS})
        if answer.status != 200 or "stale" in answer.body:
            return None
        assert answer.body["total_players"] == len(answer.body["standings"])
        return {standing["player_id"]: standing["score"] for standing in answer.body["standings"]}

    def is_shown(self) -> bool:
        """Whether boards show what was acknowledged, and nothing else."""
        return all(self.shown(board) == self.expected(board) for board in self.boards)

    def check(self, ledger: Path) -> None:
        """Everything acknowledged is there, once, and counts; nothing else does."""
        for board in self.boards:
            deadline = time.monotonic() + 5
            while (shown := self.shown(board)) is None and time.monotonic() < deadline:
                time.sleep(0.02)
            assert shown == self.expected(board), f"board {board}, seed {self.seed}"
        with closing(sqlite3.connect(f"file:{ledger}?mode=ro", uri=True)) as database:
            rows = database.execute("SELECT game_id, COUNT(*) FROM events WHERE game_id LIKE ? GROUP BY 1", (f"{self.name}-%",)).fetchall()
        counts = dict(rows)
        assert {name for name, count in counts.items() if count != 1} == set()
        assert {sent.key for sent in self.sent if sent.is_acknowledged} == counts.keys()
