"""`make bench-postgres`: the service on Redis and PostgreSQL beside bare asyncpg and a constant answer, in one run on this machine."""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import uvloop
from rich.console import Console
from rich.progress import Progress
from tests.support.postgres_servers import PostgresServer
from tests.support.redis_servers import RedisServer

from benchmarks.load import Load, free_port, running, wrk
from benchmarks.players import WINDOWS
from benchmarks.postgres_jobs import BATCH, IN_FLIGHT, BareRows, LibraryRows, fill_postgres, rebuild
from benchmarks.report import Line, at_least, show
from benchmarks.servers import tuned_redis
from benchmarks.wrk_scripts import RANK, WRITE, lua
from keepscore import Board, Leaderboards

#: Four windows, as in `make bench`.
LARGE = Board("large", windows=WINDOWS)
#: The same with bounds, so that score and time share one number in Redis.
BOUNDED = Board("bounded", windows=WINDOWS, min_score=0, max_score=10_000_000, resolution="1m")
#: What says that a body is JSON.
JSON = {"Content-Type": "application/json"}
#: Seconds that a rebuild of a million players may take.
LIMIT = 20
#: How often the time from acknowledgement to being visible elsewhere is measured.
SIGHTINGS = 300


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser(prog="make bench-postgres", description=__doc__)
    parser.add_argument("--players", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=int, default=2, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    # As it is installed: durable, with 128 MB of buffers.
    progress = Progress(console=Console(stderr=True))
    with progress, tuned_redis() as (redis, what), PostgresServer("max_connections=100") as postgres:
        benchmark = Benchmark(redis, postgres, options, progress)
        benchmark.note(what)
        lines = benchmark.lines()
    show(lines, "postgres.png")


class Benchmark:
    """One run of all measurements."""

    def __init__(self, redis: RedisServer, postgres: PostgresServer, options: argparse.Namespace, progress: Progress) -> None:
        self.redis = redis
        self.postgres = postgres
        self.players: int = options.players
        self.seconds: int = options.seconds
        self.rounds: int = options.rounds
        self._progress = progress
        # A busy machine is slow, and no reason to give up.
        self.ledger = f"{postgres.new_database()}?deadline=60"
        self.engine = f"{redis.url}?deadline=60"

    def lines(self) -> list[Line]:
        """Measure all lines of the table."""
        return [*uvloop.run(self._rows()), *self._over_http(), *self._sightings(), *uvloop.run(self._rebuild())]

    async def _rows(self) -> list[Line]:
        """Measure batches through the library beside the same rows through bare asyncpg."""
        bare = await BareRows.open(self.postgres.new_database(), self.players)
        rates = []
        async with Leaderboards.open(self.ledger, self.engine, [BOUNDED, LARGE]) as leaderboards:
            ours = [LibraryRows(leaderboards, board.name, self.players) for board in (BOUNDED, LARGE)]
            for mine in ours:
                await mine.rows(1)
            for round_ in range(self.rounds):
                self.note(f"batches, round {round_ + 1}")
                # The ledger writes through one connection, too.
                theirs = [await bare.rows(self.seconds, connections) for connections in (1, IN_FLIGHT)]
                rates.append(theirs + [await mine.rows(self.seconds) for mine in ours])
        await bare.close()

        def compared(mine: int, theirs: int) -> tuple[str, float]:
            figures = (statistics.median(rate[i] for rate in rates) for i in (mine, theirs))
            return "{:,.0f} rows/s of {:,.0f}".format(*figures), statistics.median(rate[mine] / rate[theirs] for rate in rates)

        name = f"library: durable batches of {BATCH}, {IN_FLIGHT} under way, four windows on Redis, beside bare asyncpg inserts"
        return [
            at_least(name, *compared(2, 0), 0.5),
            Line("… on a board without max_score, whose times Redis keeps apart", *compared(3, 0)),
            Line(f"… beside bare inserts on {IN_FLIGHT} connections", *compared(2, 1)),
        ]

    @contextlib.contextmanager
    def _service(self, workers: int) -> Iterator[str]:
        url = f"http://127.0.0.1:{(port := free_port())}"
        command = [str(Path(sys.executable).with_name("keepscore")), "serve", "--port", str(port), "--workers", str(workers)]
        with running([*command, "--ledger", self.ledger, "--engine", self.engine], f"{url}/healthz"):
            yield url

    def _over_http(self) -> list[Line]:
        """Measure single writes with rank beside a constant answer."""
        constant = f"http://127.0.0.1:{(port := free_port())}/"
        last = self.players - 1
        with running([sys.executable, "-m", "benchmarks.constant", str(port)], constant), self._service(2) as service:
            ranks = lua(RANK, board="large", last=last)
            wrk(service, self.seconds, lua(WRITE, last=last))
            constants = [wrk(constant, self.seconds, ranks)]
            writes: list[Load] = []
            ratios = []
            for round_ in range(self.rounds):
                self.note(f"single writes, round {round_ + 1}")
                # Higher scores each time: what changes nothing is not a write.
                writes.append(wrk(service, self.seconds, lua(WRITE, last=last, seed=round_, low=(round_ + 10) * 10**7)))
                assert not writes[-1].errors, writes[-1]
                constants.append(wrk(constant, self.seconds, ranks))
                ratios.append(writes[-1].requests / (constants[-1].requests / 2 + constants[-2].requests / 2))
        rate, tail = (statistics.median(load[i] for load in writes) for i in (0, 1))
        base = statistics.median(load.requests for load in constants)
        name = "service, 2 workers: durable write with rank, four windows, beside a constant answer"
        return [Line(name, f"{rate:,.0f}/s of {base:,.0f}, P99 {tail:.1f} ms", statistics.median(ratios))]

    def _sightings(self) -> list[Line]:
        """Measure the time from an acknowledgement until another process shows it, in its (cached) top page and to the player."""
        self.note("acknowledged and seen elsewhere")
        lines = []
        with self._service(1) as here, self._service(1) as there:
            for number, (what, target) in enumerate((("the top page", "top?limit=10"), ("the player's rank", "players/{}"))):
                times = sorted(_seen_after(here, there, target, (n + 1 + number * SIGHTINGS) * 10**9) for n in range(SIGHTINGS))
                p50, p99 = (1000 * times[int(len(times) * share)] for share in (0.5, 0.99))
                name = f"from acknowledgement to {what} of another process, P99 beside a second"
                lines.append(Line(name, f"P50 {p50:.1f} ms, P99 {p99:.1f} ms", p99 / 1000))
        return lines

    async def _rebuild(self) -> list[Line]:
        lines = []
        for board, wanted in ((BOUNDED, "< 1"), (LARGE, "")):
            self.note("filling a ledger to rebuild")
            ledger = self.postgres.new_database()
            await fill_postgres(ledger, board, self.players)
            self.redis.ask("FLUSHALL")
            self.note("rebuilding")
            done = await rebuild(ledger, self.engine, board.name)
            assert done.players == self.players, done
            name = f"rebuild of {done.players:,} players in {done.rankings} rankings, beside {LIMIT} s"
            name = name if wanted else "… of the board without max_score"
            lines.append(Line(name, f"{done.seconds:.1f} s", done.seconds / LIMIT, wanted, not wanted or done.seconds < LIMIT))
        return lines

    def note(self, text: str) -> None:
        """Print what is done."""
        self._progress.console.print(text, style="dim")


def _seen_after(here: str, there: str, target: str, score: int) -> float:
    """Count the seconds from the answer to a submission to the first answer of another process that shows it."""
    player = f"seen{score}"
    with contextlib.closing(_connection(here)) as writing, contextlib.closing(_connection(there)) as reading:
        reading.connect()
        writing.request("POST", "/v1/boards/large/scores", json.dumps({"player_id": player, "score": score}), JSON)
        answer = writing.getresponse()
        assert answer.status == 200, answer.read()
        answer.read()
        begun = time.perf_counter()
        while True:
            reading.request("GET", f"/v1/boards/large/{target.format(player)}")
            if player.encode() in _body_of_success(reading):
                return time.perf_counter() - begun


def _body_of_success(connection: http.client.HTTPConnection) -> bytes:
    answer = connection.getresponse()
    body = answer.read()
    return body if answer.status == 200 else b""


def _connection(url: str) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(url.removeprefix("http://"), timeout=30)


if __name__ == "__main__":
    main()
