"""`make bench-redis`: the engine on Redis with a million players beside bare Redis and other libraries, in one run on one Redis."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import statistics
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import redis
import uvloop
from rich.console import Console
from rich.progress import Progress
from tests.support.redis_servers import RedisServer

from benchmarks import others
from benchmarks.load import Load, free_port, running, wrk
from benchmarks.players import fill
from benchmarks.quiet import BUSY_CORES, Quiet
from benchmarks.redis_jobs import BATCH, CALLERS, Bare, ByOperator, InLibrary, OnEngine, bytes_of, layouts
from benchmarks.report import Line, at_least, show
from benchmarks.servers import tuned_redis
from benchmarks.wrk_scripts import RANK, WRITE, lua
from keepscore import Board, Leaderboards
from keepscore.storage.engines.redis.engine import RedisEngine

#: A job: players a second, measured for some seconds.
Job = Callable[[float], Awaitable[float]]
#: Parts in which the seconds of each job are measured.
SLICES = 3
#: The last words of the jobs that change nothing.
READS = ("ranks", "lookups", "unawaited")
#: The board of the library and of the service.
LARGE = Board("large", windows=["all_time"], ties="player")
#: Boards that differ in the operator only.
BY_OPERATOR = [Board(name, operator=name, windows=["daily", "all_time"]) for name in ("best", "sum")]


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser(prog="make bench-redis", description=__doc__)
    parser.add_argument("--players", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=int, default=3, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--patience", type=int, default=120, help="seconds in all for which measurements are repeated that others disturb")
    options = parser.parse_args()
    with Progress(console=Console(stderr=True)) as progress, tempfile.TemporaryDirectory() as folder, tuned_redis() as (server, what):
        benchmark = Benchmark(Path(folder), server, options, progress)
        benchmark.note(what)
        lines = uvloop.run(benchmark.lines()) + benchmark.over_http()
    show(lines, "redis.png")


class Benchmark:
    """One run of all measurements."""

    def __init__(self, folder: Path, server: RedisServer, options: argparse.Namespace, progress: Progress) -> None:
        self.server = server
        self.players: int = options.players
        self.seconds: int = options.seconds
        self.rounds: int = options.rounds
        self.ledger = folder / "bench.db"
        self._progress = progress
        #: What each job reached in each round.
        self._rates: dict[str, list[float]] = {}
        self._quiet = Quiet(options.patience)

    async def lines(self) -> list[Line]:
        """Measure all lines of the table but those of the service."""
        self.note("installing other libraries")
        commands = others.libraries()
        self.note("filling Redis")
        bare = Bare(self.server.port, "bare", self.players)
        bare.fill(self.players)
        engine = RedisEngine(self.server.url + "?deadline=60")
        await engine.open("benchmark")
        memory = await self._memory(engine)
        plain, indexed = (OnEngine(engine, n, Board(name, ties="player"), self.players) for n, name in ((4, "engine"), (5, "indexed")))
        await plain.fill(self.players)
        await indexed.fill(self.players)
        self.note("indexing scores, for ranks of every kind")
        await engine.places(indexed.ranking, ["p0"], "dense")
        self.note("filling a ledger")
        await asyncio.to_thread(fill, self.ledger, [(LARGE, self.players)])
        jobs: dict[str, Job] = {
            "pipelines": _in_thread(bare.pipelines),
            "batches": plain.batches,
            "async pipelines": bare.async_pipelines,
            "indexed batches": indexed.batches,
            "singles": _in_thread(bare.singles),
            "callers": plain.callers,
        }
        with contextlib.ExitStack() as stack:
            for name, command in commands.items():
                with redis.Redis(port=self.server.port) as client:
                    client.copy("bare", name)
                other = stack.enter_context(others.started(name, command, self.server.port, name, self.players))
                for job in others.JOBS[name]:
                    jobs[f"{name} {job}"] = _in_thread(lambda seconds, other=other, job=job: other.run(job, seconds))
            jobs["lookups"] = plain.lookups
            jobs["ranks"] = lambda seconds: plain.places(seconds, "unique")
            jobs["all ranks"] = indexed.places
            self.note("loading the library's board")
            async with Leaderboards.open(f"sqlite:///{self.ledger}", self.server.url, BY_OPERATOR) as leaderboards:
                jobs["submissions"] = InLibrary(leaderboards, LARGE.name, self.players).submissions
                for board in BY_OPERATOR:
                    own = ByOperator(leaderboards, board)
                    jobs |= {f"{board.name}: library batches": own.batches, f"{board.name}: library singles": own.singles}
                # Reads first: who updates fast would have scattered players in memory more than the others.
                reads = {name: job for name, job in jobs.items() if name.split()[-1] in READS}
                await self._measure(reads)
                await self._measure({name: job for name, job in jobs.items() if name not in reads})
        await engine.close()
        self.note(f"others used {statistics.mean(self._quiet.busy):.2f} cores meanwhile; from {BUSY_CORES:g} on, the ratios say little")
        return [*self._beside_bare(), *self._sums(), *(line for name in commands for line in self._beside(name)), *memory]

    async def _measure(self, jobs: dict[str, Job]) -> None:
        # What is there stays: the collector need not look at it again and again.
        gc.collect()
        gc.freeze()
        for job in jobs.values():
            await job(0.2)
        for round_ in range(self.rounds):
            self.note(f"{len(jobs)} jobs in turn, round {round_ + 1}")
            found: dict[str, list[float]] = {name: [] for name in jobs}
            # In turn again and again, so that what the machine is like meets all of them.
            for _ in range(SLICES):
                for name, job in jobs.items():
                    found[name].append(await self._quiet.measure(lambda job=job: job(self.seconds / SLICES)))
            for name, rates in found.items():
                self._rates.setdefault(name, []).append(statistics.harmonic_mean(rates))

    # -- lines ----------------------------------------------------------------------------------------------------------

    def _rate(self, name: str) -> float:
        return statistics.median(self._rates[name])

    def _ratio(self, mine: str, theirs: str) -> tuple[str, float]:
        """Return the figure and the ratio of two jobs: the median of the rounds' ratios."""
        ratio = statistics.median(one / other for one, other in zip(self._rates[mine], self._rates[theirs], strict=True))
        return f"{self._rate(mine):,.0f}/s of {self._rate(theirs):,.0f}", ratio

    def _beside_bare(self) -> Iterator[Line]:
        pipelines = max("pipelines", "async pipelines", key=self._rate)
        bare = f"bare ZADD + ZREVRANK in {'asyncio ' if pipelines.startswith('async') else ''}pipelines"
        single = "one ZADD + ZREVRANK after the other"
        yield at_least(f"engine: batches of {BATCH} with old and new rank, beside {bare}", *self._ratio("batches", pipelines), 0.5)
        yield Line("… where scores are indexed for dense ranks", *self._ratio("indexed batches", pipelines))
        yield at_least(f"engine: {CALLERS} callers, grouped, beside {single}", *self._ratio("callers", "singles"), 2)
        yield at_least(f"library: {CALLERS} callers, durable in SQLite, beside {single}", *self._ratio("submissions", "singles"), 2)

    def _sums(self) -> Iterator[Line]:
        figures = self._ratio("sum: library batches", "best: library batches")
        yield at_least("library: a sum beside a best in two windows, batches of 1000", *figures, 0.8)
        figures = self._ratio("sum: library singles", "best: library singles")
        yield at_least(f"library: a sum beside a best in two windows, {CALLERS} callers", *figures, 0.8)

    def _beside(self, name: str) -> Iterator[Line]:
        yield at_least(f"{name}: update with rank, ours in batches of {BATCH}", *self._ratio("batches", f"{name} update"), 5)
        yield at_least(f"{name}: update with rank, ours from {CALLERS} callers", *self._ratio("callers", f"{name} update"), 5)
        yield Line(f"{name}: update with rank, both in batches of {BATCH}", *self._ratio("batches", f"{name} batch"))
        yield at_least(f"{name}: {BATCH} ranks at once, ours from {CALLERS} callers", *self._ratio("lookups", f"{name} ranks"), 5)
        yield Line(f"{name}: … ours in one call after the other", *self._ratio("ranks", f"{name} ranks"))
        if "unawaited" in others.JOBS[name]:
            yield Line(f"{name}: … theirs without waiting for one another", *self._ratio("lookups", f"{name} unawaited"))
        yield Line(f"{name}: … ours with unique, standard and dense rank", *self._ratio("all ranks", f"{name} ranks"))

    async def _memory(self, engine: RedisEngine) -> list[Line]:
        """Measure the bytes a player takes in each layout, and with the index of scores that dense ranks need."""
        lines = []
        bare = bytes_of(self.server.port, "bare") / self.players

        def line(name: str, board: Board, most: float | None) -> Line:
            mine = bytes_of(self.server.port, f"*{{{board.name}}}*") / self.players
            wanted = (f"≤ {most}", mine <= most * bare) if most else ("", True)
            return Line(f"memory a player, {name}, beside a bare sorted set", f"{mine:.1f} B of {bare:.1f} B", mine / bare, *wanted)

        for number, (name, board) in enumerate(layouts(), 1):
            self.note(f"memory, {name}")
            assert engine.layouts(board)["all_time"][0] == name
            filled = OnEngine(engine, number, board, self.players)
            await filled.fill(self.players)
            lines.append(line(name, board, None if name == "timed" else 1.02))
            if name == "plain":
                await engine.places(filled.ranking, ["p0"], "dense")
                lines.append(line("plain, with dense ranks", board, None))
            await engine.forget(number)
        return lines

    # -- the service ----------------------------------------------------------------------------------------------------

    def over_http(self) -> list[Line]:
        """Measure the service on Redis beside a constant answer."""
        port = free_port()
        url = f"http://127.0.0.1:{port}/"
        with running([sys.executable, "-m", "benchmarks.constant", str(port)], url), self._service() as (service, workers):
            return self._beside_constant(service, url, f"{workers} worker{'s' if workers > 1 else ''}")

    @contextlib.contextmanager
    def _service(self) -> Iterator[tuple[str, int]]:
        """Run the service with two workers, or with one where it refuses two."""
        port = free_port()
        url = f"http://127.0.0.1:{port}"
        ledger, engine = f"sqlite:///{self.ledger}", self.server.url
        command = [str(Path(sys.executable).with_name("keepscore")), "serve", "--port", str(port), "--ledger", ledger, "--engine", engine]
        with contextlib.ExitStack() as stack:
            workers = 2
            try:
                stack.enter_context(running([*command, "--workers", "2"], f"{url}/healthz"))
            except urllib.error.URLError:
                workers = 1
                stack.enter_context(running(command, f"{url}/healthz"))
            yield url, workers

    def _beside_constant(self, service: str, constant: str, workers: str) -> list[Line]:
        last = self.players - 1
        ranks = lua(RANK, board="large", last=last)
        names = {"rank": "rank of a random player", "write": "durable write with rank"}
        found: dict[str, list[Load]] = {name: [] for name in names}
        ratios: dict[str, list[float]] = {name: [] for name in names}
        # A second worker starts meanwhile.
        urllib.request.urlopen(f"{service}/v1/boards/large/players/p0", timeout=300).close()
        wrk(service, self.seconds, ranks)
        constants = [wrk(constant, self.seconds, ranks)]
        for round_ in range(self.rounds):
            # Higher scores each time: what changes nothing is not a write.
            writes = lua(WRITE, last=last, seed=round_, low=(round_ + 10) * 10**7)
            for name, script in (("rank", ranks), ("write", writes)):
                self.note(f"service, {name}, round {round_ + 1}")
                load = wrk(service, self.seconds, script)
                assert not load.errors, f"{name}: {load}"
                found[name].append(load)
                constants.append(wrk(constant, self.seconds, ranks))
                ratios[name].append(load.requests / (constants[-1].requests / 2 + constants[-2].requests / 2))
        lines = []
        for name, label in names.items():
            rate = statistics.median(load.requests for load in found[name])
            tail = statistics.median(load.p99 for load in found[name])
            figure = f"{rate:,.0f}/s, P99 {tail:.1f} ms"
            lines.append(Line(f"service, {workers}: {label}, beside a constant answer", figure, statistics.median(ratios[name])))
        return lines

    def note(self, text: str) -> None:
        """Print what is done."""
        self._progress.console.print(text, style="dim")


def _in_thread(job: Callable[[float], float]) -> Job:
    return lambda seconds: asyncio.to_thread(job, seconds)


if __name__ == "__main__":
    main()
