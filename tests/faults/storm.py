"""One service under load, and one fault after the other, in the order of a seed."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.faults.history import History
from tests.faults.proxy import Proxy
from tests.faults.rig import Rig, is_primary, rig_on, until
from tests.support.redis_load import call
from tests.support.redis_servers import RedisServer, Sentinels

#: Seconds in which all must be well again after a fault; the service may have to be started for that.
PATIENCE = 30.0


class Storm:
    """A round of faults; what it did is counted in `survived`, and told as it goes."""

    def __init__(
        self, folder: Path, redis: RedisServer | Sentinels, seed: int, survived: Counter[str], tell: Callable[[str], None]
    ) -> None:
        self.folder, self.redis, self.seed, self.survived, self.tell = folder, redis, seed, survived, tell
        self.dice = random.Random(seed)
        self.rig: Rig
        self.history: History

    def run(self, faults: dict[str, Callable[[Storm], None]], seconds: float) -> None:
        """Do faults for so long, wait until all is quiet, and hold the history against the ledger."""
        end = time.monotonic() + seconds
        watched, deck = isinstance(self.redis, Sentinels), list[str]()
        with rig_on(self.folder, self.redis.url, proxied=not watched) as self.rig:
            self.history = self.rig.history(seed=self.seed, pause=0.01, leaving=0.03)
            try:
                with self.history.running():
                    while time.monotonic() < end:
                        self.history.reach(self.dice.randrange(20, 150), PATIENCE)
                        # All of them, in an order by chance, before one comes again.
                        deck = deck or self.dice.sample(list(faults), len(faults))
                        name = deck.pop()
                        self.tell(name)
                        faults[name](self)
                        self.recovers()
                self.rig.settles(self.history, PATIENCE)
            finally:
                self.count()

    def recovers(self) -> None:
        """Wait until the service takes everything, and the ledger has all that was spooled: the next fault may take the engine away."""
        until(lambda: (call(self.rig.service.url, "GET", "/readyz").body or {}).get("status") == "ready", PATIENCE)
        until(lambda: not self.rig.missing(self.history), PATIENCE)

    def count(self) -> None:
        verdict = self.rig.verdict(self.history)
        self.tell(str(verdict))
        self.survived.update(submissions=verdict.submissions, acknowledged=verdict.acknowledged)
        self.survived.update(lost=len(verdict.lost), doubled=len(verdict.doubled), wrong=len(verdict.wrong))
        log = self.rig.service.log.read_text()
        if "Traceback" in log:
            self.tell(f"the service's log:\n{log[max(0, log.index('Traceback') - 500) :][:6000]}")
        self.survived["cuts"] += sum(proxy.cuts for proxy in (self.rig.postgres, self.rig.redis) if proxy is not None)

    def lasts(self, least: float = 0.2, most: float = 3.0) -> None:
        """Let a fault last for a time by chance, while the load goes on."""
        time.sleep(self.dice.uniform(least, most))

    # -- faults ---------------------------------------------------------------------------------------------------------

    def kill_service(self) -> None:
        self.rig.kill_service()
        self.survived["kills"] += 1
        self.rig.start_service()

    def kill_worker(self) -> None:
        self.rig.kill_worker(self.dice.randrange(2))
        self.survived["kills"] += 1
        until(lambda: len(self.rig.workers()) == 2, PATIENCE)

    def kill_postgres(self) -> None:
        with self.rig.postgres_down(signal.SIGKILL):
            self.survived["kills"] += 1
            self.lasts()

    def stop_postgres(self) -> None:
        with self.rig.postgres_down():
            self.survived["outages"] += 1
            self.lasts()

    def stop_postgres_and_kill_service(self) -> None:
        with self.rig.postgres_down():
            self.survived["outages"] += 1
            self.lasts(1)
            self.rig.kill_service()
            self.survived["kills"] += 1
        self.rig.start_service()

    def pause_postgres(self) -> None:
        with self.rig.postgres_paused():
            self.survived["pauses"] += 1
            self.lasts()

    def cut_postgres(self) -> None:
        self._cut(self.rig.postgres)

    def cut_redis(self) -> None:
        assert self.rig.redis is not None
        self._cut(self.rig.redis)

    def _cut(self, proxy: Proxy) -> None:
        """Lose some requests or answers, cut everything, go silent for a while, be slow."""
        how = self.dice.randrange(4)
        if how == 0:
            proxy.cut()
        elif how == 1:
            proxy.silence()
            self.lasts()
        elif how == 2:
            proxy.delay = self.dice.uniform(0.01, 0.1)
            self.lasts()
        else:
            proxy.lose(self.history.name.encode(), self.dice.randrange(1, 6), executed=self.dice.random() < 0.7)
            until(lambda: proxy.left == 0, PATIENCE)
        proxy.mend()

    def kill_redis(self) -> None:
        """It comes back empty."""
        assert isinstance(self.redis, RedisServer)
        self.redis.kill()
        self.survived["kills"] += 1
        self.lasts()
        self.redis.start()

    def empty_redis(self) -> None:
        assert isinstance(self.redis, RedisServer)
        self.redis.ask(self.dice.choice(["FLUSHALL", "SCRIPT FLUSH"]))
        self.survived["outages"] += 1

    def pause_redis(self) -> None:
        server = self.redis if isinstance(self.redis, RedisServer) else self.redis.current_primary()
        server.pause()
        self.survived["pauses"] += 1
        try:
            # Shorter than what Sentinels take for its end.
            self.lasts(0.1, 1.2)
        finally:
            server.resume()

    def both_away(self) -> None:
        assert isinstance(self.redis, RedisServer)
        self.redis.pause()
        try:
            with self.rig.postgres_down(signal.SIGKILL):
                self.survived["outages"] += 1
                self.lasts()
        finally:
            self.redis.resume()

    def fail_over(self) -> None:
        """The primary is killed; it comes back as a replica of the next one."""
        assert isinstance(self.redis, Sentinels)
        dying = self.redis.current_primary()
        dying.kill()
        found = self.redis
        until(lambda: found.current_primary() is not dying and is_primary(found.current_primary()), PATIENCE)
        self.survived["kills"] += 1
        self.survived["failovers"] += 1
        dying.start()
        until(lambda: dying.ask("INFO", "replication").get("master_link_status") == "up", PATIENCE)
        until(found.acquainted, PATIENCE)


ALWAYS: dict[str, Callable[[Storm], None]] = {
    "the service is killed": Storm.kill_service,
    "a worker is killed": Storm.kill_worker,
    "PostgreSQL is killed": Storm.kill_postgres,
    "PostgreSQL is away": Storm.stop_postgres,
    "PostgreSQL is away, and the service is killed": Storm.stop_postgres_and_kill_service,
    "PostgreSQL stands still": Storm.pause_postgres,
    "PostgreSQL is cut off": Storm.cut_postgres,
    "Redis stands still": Storm.pause_redis,
}
#: Faults with a single Redis behind a proxy, and with Redis under Sentinels.
SINGLE = ALWAYS | {
    "Redis is cut off": Storm.cut_redis,
    "Redis is killed": Storm.kill_redis,
    "Redis is emptied": Storm.empty_redis,
    "both are away": Storm.both_away,
}
SENTINEL = ALWAYS | {"Redis fails over": Storm.fail_over}
