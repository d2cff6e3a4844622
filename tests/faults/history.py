"""Clients that remember all that they sent and got: with and without keys, retries, batches, every operator, readers of prize boards."""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tests.support.redis_load import PATIENCE, Answer, Load, Sent, ask, call

#: Boards of a history, each with its operator; the strong ones take nothing while the ledger or the engine is away.
EVENTUAL = {"sums": "sum", "lasts": "last", "bests": "best", "firsts": "first"}
STRONG = {"prize": "sum", "cup": "best"}
#: Players that all clients share on eventual boards.
PLAYERS = 12
#: How often a client sends again at once what has a key and got no good answer.
RETRIES = 2


@dataclass
class Request(Sent):
    """A request: what it asks to record, each part with a game of its own, by whom, and whether its key is sent along."""

    client: int = 0
    keyed: bool = True
    strong: bool = False
    entries: list[dict[str, Any]] = field(default_factory=list)

    @property
    def is_sure(self) -> bool:
        """Whether it was acknowledged as soon as it was sent."""
        return bool(self.answers) and self.answers[0].status in (200, 202)


class Read(NamedTuple):
    """What a reader of a strong board got, and what it may be: the least, and the most, of what one player has sent till then."""

    board: str
    player: str
    answer: Answer
    low: int
    high: int


class History(Load):
    """Load on boards `{name}-{board}`. With `leaving`, that share of the requests is not waited for: the client goes away."""

    def __init__(self, url: str, clients: int = 4, seed: int | None = None, pause: float = 0.005, leaving: float = 0.0) -> None:
        super().__init__(url, {}, clients, pause=pause)
        self.strong = {f"{self.name}-{board}": operator for board, operator in STRONG.items()}
        self.boards = {f"{self.name}-{board}": operator for board, operator in EVENTUAL.items()} | self.strong
        self.seed = self.seed if seed is None else seed
        self.leaving = leaving
        self.reads: list[Read] = []
        self.sent: list[Request] = []
        self._dice = threading.local()
        #: What each client has sent to each strong board.
        self._mine: dict[tuple[int, str], list[Request]] = {}

    def definitions(self) -> dict[str, dict[str, object]]:
        """The boards as they are to be defined."""
        more: Mapping[str, dict[str, object]] = {
            "sum": {"windows": ["all_time", "daily"]},
            "last": {"windows": ["all_time", "weekly"], "ties": "last"},
            "best": {"windows": ["all_time", "monthly"], "rank": "dense"},
            "first": {"ties": "player"},
        }
        found = {name: {"operator": operator, **more[operator]} for name, operator in self.boards.items()}
        return {name: {**fields, "consistency": "strong"} if name in self.strong else fields for name, fields in found.items()}

    # -- what is sent ---------------------------------------------------------------------------------------------------

    def _make(self, dice: random.Random, name: str) -> Request:
        self._dice.now = dice
        client = int(name.split("-")[1])
        board = dice.choice(list(self.boards))
        strong, keyed = board in self.strong, dice.random() < 0.5
        count = 1 if strong or dice.random() < 0.85 else dice.randrange(2, 8)
        entries = [self._entry(dice, board, client, f"{name}-{i}") for i in range(count)]
        if count > 1:
            return Request(board, f"/v1/boards/{board}/scores/batch", {"scores": entries}, name, [], client, keyed, strong, entries)
        path = f"/v1/boards/{board}/{'scores' if 'score' in entries[0] else 'increments'}"
        made = Request(board, path, entries[0], name, [], client, keyed, strong, entries)
        if strong:
            self._mine.setdefault((client, board), []).append(made)
        return made

    def _entry(self, dice: random.Random, board: str, client: int, game: str) -> dict[str, Any]:
        operator = self.boards[board]
        # A strong board's players are one client's each, who knows what they must have.
        player = f"{self.name}-c{client}" if board in self.strong else f"{self.name}-p{dice.randrange(PLAYERS)}"
        entry: dict[str, Any] = {"player_id": player, "game_id": game}
        if operator == "sum":
            correction = board not in self.strong and dice.random() < 0.1
            return {**entry, "score": dice.randrange(1000)} if correction else {**entry, "amount": dice.randrange(1, 100)}
        if operator == "last":
            return {**entry, "score" if dice.random() < 0.5 else "amount": dice.randrange(1, 100)}
        if operator == "first":
            at = datetime.now(UTC) - timedelta(milliseconds=dice.randrange(10_000))
            stamp = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
            return {**entry, "score": dice.randrange(10_000), "at": stamp}
        # Each better than those before: none can be missing unnoticed.
        return {**entry, "score": next(self._scores)}

    def _send(self, sent: Sent, connection: http.client.HTTPConnection) -> Answer:
        assert isinstance(sent, Request)
        dice: random.Random = self._dice.now
        if dice.random() < self.leaving:
            return self._leave(sent, dice)
        headers = {"Idempotency-Key": sent.key} if sent.keyed else {}
        for again in range(1 + RETRIES * sent.keyed):
            if again:
                self._stopping.wait(0.05 * 2**again * dice.random())
            answer = ask(connection, "POST", sent.path, sent.body, headers)
            sent.answers.append(answer)
            if answer.status in (200, 202):
                break
            if answer.status == 0:
                # Not as fast as refused connections are.
                self._stopping.wait(0.02)
        if sent.strong and sent.is_acknowledged:
            self._read(sent)
        if dice.random() < 0.05:
            # The next connection may lead to another worker.
            connection.close()
        return answer

    def _leave(self, sent: Request, dice: random.Random) -> Answer:
        """Send, and be gone before the answer comes."""
        start = time.monotonic()
        with closing(http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=PATIENCE)) as connection:
            try:
                headers = {"Content-Type": "application/json"} | ({"Idempotency-Key": sent.key} if sent.keyed else {})
                connection.request("POST", sent.path, json.dumps(sent.body), headers)
                self._stopping.wait(dice.choice([0, 0.002, 0.01]) * dice.random())
            except OSError:
                pass
        sent.answers.append(Answer(0, None, start, time.monotonic() - start))
        return sent.answers[-1]

    def _read(self, sent: Request) -> None:
        """Look at a player of a strong board whose submission was acknowledged, through whichever worker answers."""
        player = sent.entries[0]["player_id"]
        mine = self._mine[sent.client, sent.board]
        surely = [other for other in mine if any(answer.status == 200 for answer in other.answers)]
        values, possible = ([other.entries[0].get("amount", other.entries[0].get("score")) for other in some] for some in (surely, mine))
        fold = sum if self.boards[sent.board] == "sum" else max
        answer = call(self.url, "GET", f"/v1/boards/{sent.board}/players/{player}")
        self.reads.append(Read(sent.board, player, answer, fold(values) if values else 0, fold(possible)))

    def retry(self, seconds: float = 10) -> None:
        """Send again what has a key and was not acknowledged: then it is."""
        self._dice.now = random.Random(self.seed)
        leaving, self.leaving = self.leaving, 0.0
        deadline = time.monotonic() + seconds
        with closing(http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=PATIENCE)) as connection:
            for sent in self.sent:
                while sent.keyed and not sent.is_acknowledged:
                    answer = self._send(sent, connection)
                    assert answer.status in (0, 200, 202, 503, 504), answer
                    assert time.monotonic() < deadline, answer
        self.leaving = leaving

    def replay(self, count: int = 10) -> None:
        """Send again some of what was acknowledged: it gets its answer again, and counts no second time."""
        good = [sent for sent in self.sent if sent.keyed and sent.is_acknowledged]
        for sent in random.Random(self.seed).sample(good, min(count, len(good))):
            end = time.monotonic() + PATIENCE
            answer = call(self.url, "POST", sent.path, sent.body, {"Idempotency-Key": sent.key})
            while answer.status in (503, 504) and time.monotonic() < end:
                # The process has not noticed yet that what was away is back.
                time.sleep(0.1)
                answer = call(self.url, "POST", sent.path, sent.body, {"Idempotency-Key": sent.key})
            assert (answer.status, answer.body.get("replayed")) == (200, True), answer
            sent.answers.append(answer)

    def during(self, start: float, end: float, strong: bool, keyed: bool | None = None) -> list[Answer]:
        """Answers to what was sent within a time, on boards of a kind."""
        return [
            answer
            for sent in self.sent
            for answer in sent.answers
            if sent.strong == strong and keyed in (None, sent.keyed) and start < answer.moment < end
        ]
