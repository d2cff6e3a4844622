"""The same requests to a service on the embedded engine and to one on Redis: the same answers."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, NamedTuple

import httpx
import pytest

from tests.service.redis_places import on, open_redis, verified
from tests.service.running import Service

#: How many requests are compared.
REQUESTS = 320

BOARDS = """
[server]
default_board = "global"

[[board]]
name = "global"
operator = "last"
grace = "3d"
windows = ["all_time", "daily", "weekly", "monthly"]
segments = ["region", "country"]

[[board]]
name = "best"
min_score = -1000
max_score = 1000
grace = "3d"
windows = ["daily", "all_time"]
segments = ["region"]

[[board]]
name = "laps"
order = "asc"
ties = "last"
decimals = 2
min_score = 0
max_score = 500
resolution = "1s"

[[board]]
name = "xp"
operator = "sum"
ties = "last"
rank = "dense"
max_score = 2000

[[board]]
name = "game"
operator = "sum"
rank = "standard"
also = ["xp"]

[[board]]
name = "daily_frame"
operator = "first"
ties = "player"
grace = "3d"
windows = ["daily", "yearly"]

[[board]]
name = "plain"
ties = "player"
order = "asc"
rank = "standard"
segments = ["region"]

[[board]]
name = "plain_sum"
operator = "sum"
ties = "player"
consistency = "strong"
"""

WINDOWS = {"global": ["all_time", "daily", "weekly", "monthly"], "best": ["daily", "all_time"], "daily_frame": ["daily", "yearly"]}
SEGMENTS = {"global": ["region", "country"], "best": ["region"], "plain": ["region"]}
NAMES = ["global", "best", "laps", "xp", "game", "daily_frame", "plain", "plain_sum"]
#: Boards whose layout in Redis has no times.
TIMELESS = ["plain", "plain_sum"]
PLAYERS = [*(f"p{number}" for number in range(14)), "李 / ?&%", '"q" 🏆', "7", "-3"]


class Asked(NamedTuple):
    """A request. A cursor in the query is to be the one that the service gave before."""

    method: str
    path: str
    query: dict[str, Any]
    body: Any = None
    headers: Mapping[str, str] = MappingProxyType({})


class Scenario:
    """Requests of all kinds, good and bad ones, from dice. Times are told, so that both services are told the same."""

    def __init__(self, seed: float) -> None:
        self.dice = random.Random(seed)
        self.now = datetime.now(UTC).replace(microsecond=0)
        self.sent: list[Asked] = []
        self.kinds = [self.score] * 5 + [self.increment] * 3 + [self.batch, self.again, self.wrong] + [self.top] * 3
        self.kinds += [self.player, self.ranks, self.lookup, self.count] * 2 + [self.profile, self.compat, self.board]

    def at(self) -> str:
        """A moment of the last two days; some come often, so that there are ties in time."""
        ms = self.dice.choice([0, 1, 5, self.dice.randrange(172_800_000)])
        return (self.now - timedelta(milliseconds=ms)).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def amount(self, board: str) -> int | float:
        if board == "laps":
            return self.dice.randrange(0, 3000) / 100
        return self.dice.choice([0, 1, 5, -5, 100, self.dice.randrange(-50, 300)])

    def entry(self, board: str, what: str, player: str | None = None) -> dict[str, Any]:
        made: dict[str, Any] = {"player_id": player or self.dice.choice(PLAYERS), what: self.amount(board), "at": self.at()}
        if self.dice.random() < 0.5:
            made["segments"] = {name: self.dice.choice(["eu", "us", "x:y"]) for name in SEGMENTS.get(board, [])}
        return made

    def keyed(self) -> dict[str, str]:
        return {"Idempotency-Key": f"k{self.dice.randrange(1000)}"} if self.dice.random() < 0.3 else {}

    def score(self) -> Asked:
        board = self.dice.choice(NAMES)
        return Asked("POST", f"/v1/boards/{board}/scores", {}, self.entry(board, "score"), self.keyed())

    def increment(self) -> Asked:
        board = self.dice.choice(["global", "xp", "game", "plain_sum", "global", "game", "best"])
        return Asked("POST", f"/v1/boards/{board}/increments", {}, self.entry(board, "amount"), self.keyed())

    def batch(self) -> Asked:
        board = self.dice.choice(NAMES)
        kinds = ["score"] if board in ("best", "laps", "daily_frame", "plain") else ["score", "amount"]
        entries = [self.entry(board, self.dice.choice(kinds), player) for player in self.dice.sample(PLAYERS, self.dice.randrange(1, 12))]
        for number, entry in enumerate(entries if board == "global" else ()):
            # At no time at which there was one before: a test of its own looks at those.
            entry["at"] = f"{self.now - timedelta(minutes=len(self.sent)):%Y-%m-%dT%H:%M:%S}.{number:03}Z"
        if self.dice.random() < 0.3:
            entries.append({"player_id": "", "score": 1})
        results = self.dice.choice(["true", "false"])
        return Asked("POST", f"/v1/boards/{board}/scores/batch", {"results": results}, {"scores": entries}, self.keyed())

    def again(self) -> Asked:
        keyed = [one for one in self.sent if one.headers]
        return self.dice.choice(keyed) if keyed else self.score()

    def wrong(self) -> Asked:
        body = {"player_id": "p1", "score": 5}
        return self.dice.choice(
            [
                Asked("POST", "/v1/boards/nowhere/scores", {}, body),
                Asked("POST", "/v1/boards/best/scores", {}, {"player_id": "p1", "score": 1001}),
                Asked("POST", "/v1/boards/best/scores", {}, {"player_id": "p1", "score": 1.5}),
                Asked("POST", "/v1/boards/best/scores", {}, {"player_id": "p1"}),
                Asked("POST", "/v1/boards/xp/increments", {}, {"player_id": "p1", "amount": 10**6}),
                Asked("GET", "/v1/boards/global/top", {"window": "yearly"}),
                Asked("GET", "/v1/boards/global/top", {"cursor": "nonsense"}),
                Asked("GET", "/v1/boards/best/players/nobody", {}),
                Asked("GET", "/v1/boards/best/top", {"segment": "planet:earth"}),
                Asked("PUT", "/v1/boards/best", {}, {"decimals": 3}),
            ]
        )

    def view(self, board: str) -> dict[str, Any]:
        query: dict[str, Any] = {}
        if self.dice.random() < 0.6:
            query["rank"] = self.dice.choice(["unique", "standard", "dense"])
        if SEGMENTS.get(board) and self.dice.random() < 0.4:
            query["segment"] = f"{self.dice.choice(SEGMENTS[board])}:{self.dice.choice(['eu', 'us', 'x:y', 'nowhere'])}"
        window = self.dice.choice(WINDOWS.get(board, ["all_time"]))
        ids = {"daily": f"{self.now:%Y-%m-%d}", "weekly": f"{self.now:%G-W%V}", "monthly": f"{self.now:%Y-%m}", "yearly": f"{self.now:%Y}"}
        return {**query, "window": window, "window_id": ids.get(window, window)}

    def top(self) -> Asked:
        board = self.dice.choice(NAMES)
        where = self.dice.choice([{}, {"offset": self.dice.randrange(12)}, {"cursor": "the last one"}])
        return Asked("GET", f"/v1/boards/{board}/top", {**self.view(board), "limit": self.dice.randrange(1, 9), **where})

    def player(self) -> Asked:
        board, player = self.dice.choice(NAMES), httpx.QueryParams({"": self.dice.choice(PLAYERS)})
        path = f"/v1/boards/{board}/players/{str(player)[1:].replace('+', '%20')}"
        return Asked("GET", path, {**self.view(board), "around": self.dice.randrange(4)})

    def ranks(self) -> Asked:
        board = self.dice.choice(NAMES)
        query = {"window": "daily"} if board in ("best", "daily_frame") else {}
        return Asked("GET", f"/v1/boards/{board}/ranks/{self.dice.randrange(0, 22)}", {**query, "around": self.dice.randrange(5)})

    def lookup(self) -> Asked:
        board = self.dice.choice(NAMES)
        return Asked("POST", f"/v1/boards/{board}/players/lookup", self.view(board), {"player_ids": self.dice.sample(PLAYERS, 6)})

    def count(self) -> Asked:
        board = self.dice.choice(NAMES)
        bounds = {name: self.dice.randrange(-60, 300) for name in ("min", "max") if self.dice.random() < 0.6}
        view = {key: value for key, value in self.view(board).items() if key != "rank"}
        return Asked("GET", f"/v1/boards/{board}/count", {**view, **bounds})

    def profile(self) -> Asked:
        player = f"p{self.dice.randrange(4)}"
        name = self.dice.choice([None, "Ann", "李"])
        return self.dice.choice([Asked("PUT", f"/v1/players/{player}", {}, {"name": name}), Asked("GET", f"/v1/players/{player}", {})])

    def compat(self) -> Asked:
        base = "/api/v1/leaderboard"
        where = self.dice.choice([{}, {"period": "daily"}, {"type": "regional", "region": "eu"}, {"type": "regional"}])
        body = {"player_id": self.dice.choice([7, -3, "p1"]), "region": self.dice.choice(["eu", "us"]), "timestamp": self.at()}
        return self.dice.choice(
            [
                Asked("POST", base + "/score", {}, {**body, "score": self.dice.randrange(300)}, self.keyed()),
                Asked("POST", base + "/score/increment", {}, {**body, "score_delta": self.dice.randrange(300)}),
                Asked("GET", base + "/top", {**where, "n": self.dice.randrange(1, 12)}),
                Asked("GET", base + "/rank/7", where),
                Asked("GET", f"{base}/around/{self.dice.randrange(1, 9)}", {**where, "range": 2}),
            ]
        )

    def board(self) -> Asked:
        """Boards come, change their meaning and go, in any order."""
        changes = [{"order": "asc"}, {"windows": ["all_time", "yearly"]}, {"ties": "player"}, {"rank": "dense"}, {"operator": "sum"}]
        return self.dice.choice(
            [
                Asked("GET", "/v1/boards", {}),
                Asked("GET", f"/v1/boards/{self.dice.choice(NAMES)}", {}),
                Asked("POST", f"/v1/boards/{self.dice.choice(NAMES)}/verify", {}),
                Asked("PUT", "/v1/boards/more", {"confirm": True}, {"operator": "last", **self.dice.choice(changes)}),
                Asked("POST", "/v1/boards/more/increments", {}, self.entry("more", "amount")),
                Asked("GET", "/v1/boards/more/top", {}),
                Asked("DELETE", "/v1/boards/more", {}),
            ]
        )

    def __iter__(self) -> Iterator[Asked]:
        yield Asked("PUT", "/v1/boards/more", {}, {"operator": "last"})
        for _ in range(REQUESTS):
            self.sent.append(self.dice.choice(self.kinds)())
            yield self.sent[-1]
        yield Asked("DELETE", "/v1/boards/nowhere", {})


class Side:
    """One of the two services, with the cursors that it gave."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.cursors: dict[str, str] = {}

    def answer(self, asked: Asked) -> tuple[int, dict[str, str], Any]:
        """Status, headers and body of the answer, without what differs between any two services."""
        query = dict(asked.query)
        ranking = f"{asked.path} {[query.get(name) for name in ('window', 'window_id', 'segment')]}"
        if "cursor" in query and query["cursor"] != "nonsense":
            query["cursor"] = self.cursors.get(ranking, "")
        got = self.service.client.request(asked.method, asked.path, params=query, json=asked.body, headers=asked.headers)
        body = got.json() if got.content else None
        if isinstance(body, dict):
            if cursor := body.get("next_cursor"):
                self.cursors[ranking] = cursor
            body = {**body, "as_of": None, "next_cursor": cursor is not None, "request_id": None}
        kept = {name: value for name, value in got.headers.items() if name in ("content-type", "cache-control", "surrogate-control")}
        return got.status_code, kept, plain(body, asked.path)


def plain(body: Any, path: str) -> Any:
    """A body without layouts and positions; without times where the layout has none, and whether a score that stayed got a new time."""
    if isinstance(body, list):
        return [plain(item, path) for item in body]
    if isinstance(body, dict):
        timeless = path.split("/")[3:4] in ([name] for name in (*TIMELESS, "more"))
        # Each engine counts positions of its own.
        hidden = {"layouts", "position"} | ({"since", "updated"} if timeless else set())
        return {key: plain(value, path) for key, value in body.items() if key not in hidden}
    return body


def forget_unknown_dense(ours: Any, theirs: Any) -> None:
    """Take away the dense rank that a place has in the process, where nobody has asked Redis for one yet."""
    if isinstance(theirs, dict) and "ranks" in theirs and theirs["ranks"]["dense"] is None:
        ours["ranks"]["dense"] = None


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Side]]:
    """A service on the embedded engine, and one on Redis."""
    configs = {"embedded": BOARDS, "redis": on(open_redis().url, BOARDS)}
    services = [Service(tmp_path_factory.mktemp(name), config) for name, config in configs.items()]
    yield [Side(service) for service in services]
    for service in services:
        service.stop()


def test_redis_answers_as_the_embedded_engine_does(sides: list[Side]) -> None:
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed = {seed}")
    statuses: set[int] = set()
    for number, asked in enumerate(Scenario(seed)):
        one, other = (side.answer(asked) for side in sides)
        if asked.query.get("rank") != "dense":
            forget_unknown_dense(one[2], other[2])
        assert one == other, f"seed {seed}, request {number}: {asked}"
        assert one[0] < 500, one
        statuses.add(one[0])
    assert statuses >= {200, 201, 404, 422}
    redis = sides[1].service
    for board in TIMELESS:
        assert {standing["since"] for standing in redis.get(board, "top")["standings"]} <= {None}
    for side in sides:
        assert "Traceback" not in side.service.log.read_text()
    verified(redis)


@pytest.mark.parametrize("board", ["global", "best", "xp", "daily_frame", "plain", "plain_sum"])
def test_each_score_of_one_player_in_a_batch_has_an_answer_of_its_own(sides: list[Side], board: str) -> None:
    # A time at which the request cannot arrive: one that is the time of its arrival counts as the service's own.
    at = (datetime.now(UTC) - timedelta(seconds=1)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    scores = [("p1", 5), ("p1", 235), ("p2", 300), ("p1", 236), ("p1", 1)]
    body = {"scores": [{"player_id": player, "score": score, "at": at} for player, score in scores]}
    one, other = (side.answer(Asked("POST", f"/v1/boards/{board}/scores/batch", {"results": "true"}, body)) for side in sides)
    assert one == other


def test_the_clock_of_both_is_the_same(sides: list[Side]) -> None:
    """Scores without a time get the present one, to the millisecond."""
    for side in sides:
        before = int(time.time() * 1000)
        side.service.submit("global", "now", 1)
        since = datetime.fromisoformat(side.service.get("global", "players/now")["since"])
        assert before <= round(since.timestamp() * 1000) <= int(time.time() * 1000)
