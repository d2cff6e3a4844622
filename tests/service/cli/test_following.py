"""From another system to Keepscore while a writer never stops: a board follows its sorted sets, then takes their place."""

from __future__ import annotations

import json
import random
import re
import shlex
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.service.redis_places import on, until
from tests.service.running import Service, environment, on_terminal, refused, run, taken
from tests.support.postgres_servers import shared_postgres
from tests.support.redis_servers import RedisServer, single

WEEK = f"{datetime.now(UTC):%G-W%V}"
GLOBAL, WEEKLY = "leaderboard:global", f"leaderboard:weekly:{WEEK}"

GUIDE = (Path(__file__).parents[3] / "docs" / "migration.md").read_text(encoding="utf-8")
#: The board, and the commands, as the guide has them.
(XP,) = re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL)
COMMANDS = [shlex.split(line) for line in GUIDE.splitlines() if line.startswith("keepscore import ")]
BEST = """
[[board]]
name = "best"
operator = "best"
ties = "player"
following = true
"""


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    """The Redis of the other system: tests empty it."""
    with single() as running:
        yield running


class Writer(threading.Thread):
    """The other system: it adds points all the time. Once it is told to, it sends them to the service, again where that refuses."""

    def __init__(self, server: RedisServer, service: Service) -> None:
        super().__init__()
        self.server, self.url, self.dice = server, service.url, random.Random(7)
        self.total: Counter[str] = Counter()
        self.to_service, self.ended = threading.Event(), threading.Event()
        self.sent = self.waited = 0

    def run(self) -> None:
        with self.server.client() as client, httpx.Client(base_url=self.url) as http:
            while not self.ended.is_set():
                player, amount = f"p{self.dice.randrange(50)}", self.dice.randrange(1, 100)
                if self.to_service.is_set():
                    self._send(http, player, amount)
                else:
                    pipe = client.pipeline(transaction=True)
                    pipe.zincrby(GLOBAL, amount, player)
                    pipe.zincrby(WEEKLY, amount, player)
                    pipe.execute()
                self.total[player] += amount
                time.sleep(0.001)

    def _send(self, http: httpx.Client, player: str, amount: int) -> None:
        body = {"player_id": player, "amount": amount}
        while (answer := http.post("/v1/boards/xp/increments", json=body)).status_code == 409:
            assert answer.json()["type"].endswith("still-following"), answer.text
            self.waited += 1
            time.sleep(0.005)
        assert answer.status_code in (200, 202), answer.text
        self.sent += 1


class Following:
    """A Redis with the sets of another system, a service, and the command that follows."""

    def __init__(self, server: RedisServer, directory: Path, boards: str, engine: str, ledger: str | None) -> None:
        self.server, self.directory = server, directory
        server.ask("FLUSHALL")
        self.service = Service(directory, on(engine, boards), ledger=ledger)

    def command(self, *flags: str, board: str = "xp", keys: str = "leaderboard:*") -> list[str]:
        return ["import", self.server.url, "--key", keys, "--board", board, "--config", str(self.service.config), *flags]

    def guided(self, step: str) -> list[str]:
        """Return a command of the guide, for this Redis and this service."""
        (words,) = [words for words in COMMANDS if words[-1] == step]
        assert words[2] == "redis://127.0.0.1:6379/0"
        return ["import", self.server.url, *words[3:], "--config", str(self.service.config)]

    def start(self, **options: str) -> subprocess.Popen[str]:
        script = "from keepscore.cli import main; main()"
        command = self.command("--follow", **options) if options else self.guided("--follow")
        words = [sys.executable, "-c", script, *command, "--every", "0.05", "--json"]
        return subprocess.Popen(
            words, cwd=self.directory, env=environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
        )

    def told(self, *flags: str, **options: str) -> Any:
        done = run(*self.command("--json", *flags, **options), cwd=self.directory)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    def set_at(self, key: str) -> dict[str, float]:
        with self.server.client() as client:
            return {member.decode(): score for member, score in client.zrange(key, 0, -1, withscores=True)}

    def scores(self, board: str = "xp", **query: Any) -> dict[str, float]:
        found = self.service.get(board, "top", limit=1000, **query)["standings"]
        return {standing["player_id"]: standing["score"] for standing in found}

    def definition(self) -> dict[str, Any]:
        return taken(self.service.client.get("/v1/boards/xp"))

    def verify(self, board: str = "xp") -> None:
        assert self.service.post(board, "verify", {}).json()["differences"] == []


#: Where the rankings are, and where the events.
PLACES = [("the same Redis", "SQLite"), ("the process", "SQLite")]


@pytest.fixture(params=PLACES, ids=" and ".join)
def following(request: pytest.FixtureRequest, server: RedisServer, tmp_path: Path) -> Iterator[Following]:
    rankings, events = request.param
    ledger = shared_postgres().new_database() if events == "PostgreSQL" else None
    here = Following(server, tmp_path, XP + BEST, server.url if rankings == "the same Redis" else "embedded://", ledger)
    yield here
    here.service.stop()


on_every_ledger = pytest.mark.parametrize("following", [*PLACES, ("the same Redis", "PostgreSQL")], ids=" and ".join, indirect=True)


def rounds(process: subprocess.Popen[str], wanted: int) -> list[list[dict[str, Any]]]:
    """Read what some rounds tell."""
    assert process.stdout is not None
    found = []
    for _ in range(wanted):
        line = process.stdout.readline()
        assert line, process.stderr and process.stderr.read()
        found.append(json.loads(line))
    return found


def stop(process: subprocess.Popen[str]) -> str:
    process.terminate()
    _, told = process.communicate(timeout=30)
    assert process.returncode == 0, told
    return told


@on_every_ledger
def test_a_writer_that_never_stops(following: Following) -> None:
    with following.server.client() as client:
        client.zadd(GLOBAL, {f"p{number}": 1000 for number in range(60)})
        client.zadd(WEEKLY, {"p1": 1})
        client.expire(WEEKLY, 700_000)
    writer = Writer(following.server, following.service)
    writer.total.update({f"p{number}": 1000 for number in range(60)})
    writer.start()
    try:
        dry = run(*following.guided("--dry-run"), cwd=following.directory).stdout
        assert re.search(rf"{GLOBAL} +all_time +60 ", dry), dry
        process = following.start()
        told = rounds(process, 12)
        assert [(row["key"], row["place"]["window"], row["players"] >= 1) for row in told[-1]] == [
            (GLOBAL, "all_time", True),
            (WEEKLY, "weekly", True),
        ]
        assert told[0][0]["recorded"] == 60
        assert all(row["differences"] == 0 for one in told for row in one)
        assert sum(row["recorded"] for one in told[1:] for row in one) > 20, "what changes is recorded"
        assert max(row["behind_s"] for one in told[1:] for row in one) < 5
        assert "as they were" in stop(process)
        writer.to_service.set()
        until(lambda: writer.waited > 3)
        done = run(*following.guided("--cut-over"), cwd=following.directory)
        assert (done.returncode, "takes scores itself now" in done.stdout) == (0, True), done.stdout + done.stderr
        with following.server.client() as client:
            assert {f"keepscore:before:{key}".encode() for key in (GLOBAL, WEEKLY)} == set(client.keys("keepscore:before:*"))
        until(lambda: writer.sent > 100)
    finally:
        writer.ended.set()
        writer.join()
    assert following.scores() == writer.total
    weekly = following.scores(window="weekly")
    assert weekly == {player: score - 1000 + (player == "p1") for player, score in writer.total.items() if player in weekly}
    assert sum(weekly.values()) == sum(writer.total.values()) - 60_000 + 1
    following.verify()
    if "layouts" in following.definition():
        assert following.set_at(GLOBAL) == writer.total, "other programs find the scores under the same key"


@on_every_ledger
def test_what_was_written_between_the_last_look_and_the_cut_over_counts(following: Following) -> None:
    """The old system writes until the very moment: the sets are read once more when they lie aside."""
    following.server.ask("ZADD", GLOBAL, 5, "ada")
    with following.server.client() as client:
        stopped = threading.Event()
        added = 0

        def add() -> None:
            nonlocal added
            while not stopped.is_set() and not client.exists(f"keepscore:before:{GLOBAL}"):
                # Only while the set is the old system's: a client that watches it would do the same.
                with client.pipeline() as pipe:
                    pipe.watch(GLOBAL, f"keepscore:before:{GLOBAL}")
                    if pipe.exists(f"keepscore:before:{GLOBAL}"):
                        break
                    pipe.multi()
                    pipe.zincrby(GLOBAL, 1, "ada")
                    try:
                        pipe.execute()
                        added += 1
                    except Exception:
                        continue

        thread = threading.Thread(target=add)
        thread.start()
        try:
            following.told("--cut-over", "--yes", keys=GLOBAL)
        finally:
            stopped.set()
            thread.join()
    assert added > 10
    assert following.scores() == {"ada": 5 + added}
    following.verify()


def test_a_board_that_follows_takes_no_scores_and_leaves_the_sets_alone(following: Following) -> None:
    following.server.ask("ZADD", GLOBAL, 5, "ada")
    stop_after = following.start()
    rounds(stop_after, 2)
    following.server.ask("ZADD", GLOBAL, 3, "ada")
    following.server.ask("ZADD", GLOBAL, 5.5, "half")
    until(lambda: following.scores() == {"ada": 3})
    (row,) = rounds(stop_after, 3)[-1]
    assert (row["players"], row["players_here"], row["differences"]) == (2, 1, 1), "parity is shown"
    refused(following.service.post("xp", "increments", {"player_id": "ada", "amount": 1}), 409, "follows another system")
    assert following.service.client.post("/v1/keeper/run", json={}).status_code == 200
    following.verify()
    assert following.set_at(GLOBAL) == {"ada": 3, "half": 5.5}
    stop(stop_after)
    # The way back: the sets are as they were, and Keepscore forgets what it followed.
    assert following.service.client.delete("/v1/boards/xp").status_code == 204
    with following.server.client() as client:
        assert [key for key in client.keys("*") if not key.startswith(b"keepscore:")] == [GLOBAL.encode()]
        assert client.keys("keepscore:following:*") == []


def test_differences_are_confirmed_before_a_cut_over(following: Following) -> None:
    following.server.ask("ZADD", GLOBAL, 5, "ada", 5.5, "half")
    done = run(*following.command("--cut-over", keys=GLOBAL), cwd=following.directory)
    assert (done.returncode, "--yes" in done.stderr, "half" in done.stderr) == (2, True, True), done.stderr
    assert following.set_at(GLOBAL) == {"ada": 5, "half": 5.5}
    assert following.definition()["following"] is True
    following.told("--cut-over", "--yes", keys=GLOBAL)
    assert following.scores() == {"ada": 5}
    assert following.set_at(f"keepscore:before:{GLOBAL}") == {"ada": 5, "half": 5.5}


@on_every_ledger
def test_a_cut_over_that_was_interrupted_goes_on(following: Following) -> None:
    """The board had taken the sets' place, and nobody had read them once more."""
    following.server.ask("ZADD", GLOBAL, 5, "ada")
    process = following.start(keys=GLOBAL)
    rounds(process, 2)
    stop(process)
    following.server.ask("ZADD", GLOBAL, 9, "ada", 1, "ben")
    changed = following.service.client.patch("/v1/boards/xp", params={"confirm": "true"}, json={"following": False})
    assert changed.status_code == 200, changed.text
    following.service.increment("xp", "ada", 100)
    assert following.told("--cut-over", keys=GLOBAL)["recorded"] == 2
    assert following.scores() == {"ada": 109, "ben": 1}
    assert following.told("--cut-over", keys=GLOBAL)["recorded"] == 0
    following.verify()


def test_best_scores(following: Following) -> None:
    following.server.ask("ZADD", "old:best", 5, "ada", 7, "ben")
    options = {"board": "best", "keys": "old:best"}
    process = following.start(**options)
    rounds(process, 2)
    following.server.ask("ZADD", "old:best", 9, "ada")
    until(lambda: following.scores("best") == {"ada": 9, "ben": 7})
    stop(process)
    following.told("--cut-over", **options)
    until(lambda: following.service.post("best", "scores", {"player_id": "ada", "score": 11}).status_code == 200)
    assert following.scores("best") == {"ada": 11, "ben": 7}
    following.verify("best")


def test_what_does_not_follow_is_refused(following: Following) -> None:
    following.server.ask("ZADD", GLOBAL, 5, "ada")
    following.told("--cut-over", keys=GLOBAL)
    for flags, words in (["--follow"], "following = true"), (["--follow", "--cut-over"], "one of them"):
        done = run(*following.command(*flags, keys=f"keepscore:before:{GLOBAL}"), cwd=following.directory)
        assert (done.returncode, words in done.stderr) == (2, True), done.stderr


def test_people_see_a_live_table(following: Following) -> None:
    following.server.ask("ZADD", GLOBAL, 5, "ada")
    row = rf"{GLOBAL} +all_time +1 +1 +1 +0 +0\.\d\d s"
    status, shown = on_terminal(*following.command("--follow", "--every", "0.1"), cwd=following.directory, columns=120, until=row)
    assert status == 0, shown
    assert "Stopped following" in shown
