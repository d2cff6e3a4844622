"""A service with two workers on Redis and PostgreSQL, each behind a proxy, and what is done to them."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import redis

from tests.faults.checker import EVENTS, Verdict, judge, rows_of
from tests.faults.history import History
from tests.faults.proxy import Proxy
from tests.service.running import Service, run
from tests.support.postgres_servers import PostgresServer
from tests.support.redis_load import call
from tests.support.redis_servers import RedisServer, Sentinels

#: Seconds that a call to Redis may take, and one to PostgreSQL.
REDIS_DEADLINE, POSTGRES_DEADLINE = 0.5, 1.0
#: Seconds after which all is recorded and ranked once both answer: a writer that is gone is not taken for gone at once.
RECOVERY = 20.0
#: The scores of a board's players.
FOLD = "SELECT player, {fold}(amount) FROM events WHERE board = (SELECT max(id) FROM boards WHERE name = '{name}') GROUP BY 1"


def until(condition: Callable[[], object], seconds: float = RECOVERY) -> float:
    """Wait until it holds; gives how many seconds that took. What Redis refuses meanwhile counts as not yet."""
    start = time.monotonic()
    while True:
        with contextlib.suppress(redis.RedisError):
            if condition():
                return time.monotonic() - start
        assert time.monotonic() - start < seconds, f"not within {seconds} s"
        time.sleep(0.02)


def is_primary(server: RedisServer) -> bool:
    return bool(server.ask("ROLE")[0] == b"master")


def cut_off(found: Sentinels) -> None:
    """Have the replicas get nothing more, and still serve."""
    found.primary.ask("ACL SETUSER", "default", "-psync", "-sync")
    found.primary.ask("CLIENT KILL", "TYPE", "replica")
    until(lambda: {r.ask("INFO", "replication")["master_link_status"] for r in found.replicas} == {"down"}, 5)


class Rig:
    """The service, and the PostgreSQL behind it. `redis` is the proxy in front of a Redis, where there is one."""

    def __init__(self, folder: Path, server: PostgresServer, postgres: Proxy, engine: str, redis: Proxy | None = None) -> None:
        self.server, self.postgres, self.redis = server, postgres, redis
        self.database = server.new_database()
        ledger = self.database.replace(f":{server.port}/", f":{postgres.port}/")
        config = f'[engine]\nurl = "{engine}?deadline={REDIS_DEADLINE}"\n'
        self.service = Service(folder, config, "--workers", "2", ledger=f"{ledger}?deadline={POSTGRES_DEADLINE}")
        self._starts = 0
        self._all_ready()

    def _all_ready(self) -> None:
        """Wait until every worker serves, which the service tells when it has started."""
        self._starts += 1
        until(lambda: self.service.log.read_text().count(" is ready at ") == self._starts, 30)

    def start_service(self) -> None:
        """Start it again."""
        self.service.start()
        self._all_ready()

    def history(self, **options: Any) -> History:
        """Clients, and new boards for them."""
        made = History(self.service.url, **options)
        for name, fields in made.definitions().items():
            until(lambda name=name, fields=fields: call(self.service.url, "PUT", f"/v1/boards/{name}", fields).status in (200, 201))
        return made

    def workers(self) -> list[psutil.Process]:
        """The processes that serve."""
        children = psutil.Process(self.service.process.pid).children(recursive=True)
        return [child for child in children if "spawn_main" in " ".join(child.cmdline())]

    def kill_service(self) -> None:
        """End all of its processes without a word."""
        found = psutil.Process(self.service.process.pid)
        processes = [found, *found.children(recursive=True)]
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(processes, 10)
        self.service.stop()

    def kill_worker(self, number: int = 0) -> None:
        """End one of the processes that serve; another takes its place."""
        dying = self.workers()[number]
        dying.kill()
        dying.wait(10)

    @contextlib.contextmanager
    def postgres_down(self, how: signal.Signals = signal.SIGINT) -> Iterator[None]:
        """Without PostgreSQL."""
        self.server.stop(how)
        try:
            yield
        finally:
            self.server.start()

    @contextlib.contextmanager
    def postgres_paused(self) -> Iterator[None]:
        """All processes of PostgreSQL stand still, and keep their connections."""
        self.server.send(signal.SIGSTOP)
        try:
            yield
        finally:
            self.server.send(signal.SIGCONT)

    # -- afterwards -----------------------------------------------------------------------------------------------------

    def verdict(self, history: History) -> Verdict:
        """What became of a history till now."""
        return judge(history, rows_of(self.server.sql(EVENTS.format(name=history.name), self.database)))

    def missing(self, history: History) -> set[str]:
        """The acknowledged games that the ledger does not have now: they are spooled."""
        acknowledged = {entry["game_id"] for sent in list(history.sent) if sent.is_acknowledged for entry in sent.entries}
        sql = f"SELECT game_id FROM events WHERE game_id LIKE '{history.name}-%'"
        return acknowledged - set(self.server.sql(sql, self.database).splitlines())

    def settles(self, history: History, seconds: float = RECOVERY) -> Verdict:
        """With nothing more sent but retries, everything is as promised; gives the verdict."""
        until(lambda: (call(self.service.url, "GET", "/readyz").body or {}).get("status") == "ready", seconds)
        history.retry(seconds)
        history.replay()
        # What is spooled gets into the ledger.
        with contextlib.suppress(AssertionError):
            until(lambda: not self.missing(history), seconds)
        verdict = self.verdict(history)
        assert verdict.is_good, f"seed {history.seed}: {verdict}"
        gaps = "SELECT board, writer FROM events GROUP BY 1, 2 HAVING count(*) <> max(n) OR min(n) <> 1"
        assert self.server.sql(gaps, self.database) == ""
        self.verify(seconds)
        for board, expected in self.folded(history).items():
            shown = call(self.service.url, "GET", f"/v1/boards/{board}/top?limit=100")
            assert {standing["player_id"]: standing["score"] for standing in shown.body["standings"]} == expected, board
        print(f"{verdict}; statuses {dict(history.statuses)}")
        for board in history.boards:
            # What comes later need not look after it.
            assert call(self.service.url, "DELETE", f"/v1/boards/{board}").status in (200, 204)
        return verdict

    def verify(self, seconds: float = RECOVERY) -> None:
        """`keepscore verify` finds that the engine has what the ledger has."""
        deadline = time.monotonic() + seconds
        while (done := run("verify", "--url", self.service.url, cwd=self.service.directory)).returncode:
            assert time.monotonic() < deadline, done.stdout + done.stderr
        assert "Traceback" not in done.stderr

    def folded(self, history: History) -> dict[str, dict[str, int]]:
        """The scores on boards of sums and of best scores, as plain SQL has them."""
        found: dict[str, dict[str, int]] = {}
        for name, operator in history.boards.items():
            if operator in ("sum", "best"):
                text = self.server.sql(FOLD.format(fold={"sum": "sum", "best": "max"}[operator], name=name), self.database)
                found[name] = {player: int(score) for player, score in (line.split("|") for line in text.splitlines())}
        return found


@contextlib.contextmanager
def rig_on(folder: Path, engine: str, proxied: bool = True) -> Iterator[Rig]:
    """A service on the engine at a URL, with a PostgreSQL of its own; a single Redis may be behind a proxy."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(PostgresServer("max_connections=50"))
        postgres = stack.enter_context(Proxy(server.port))
        front = None
        if proxied:
            front = stack.enter_context(Proxy(urlsplit(engine).port or 6379))
            engine = engine.replace(f":{front.target}", f":{front.port}")
        rig = Rig(folder, server, postgres, engine, front)
        try:
            yield rig
            assert "Traceback" not in rig.service.log.read_text()
        finally:
            rig.service.stop()
