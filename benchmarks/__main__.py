"""`make bench`: the service with a million players beside a constant answer, in one run. Prints a table and writes a plot."""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from benchmarks import bare, ladder
from benchmarks.load import Load, free_port, running, wrk
from benchmarks.players import WINDOWS, fill
from benchmarks.report import Line, show
from benchmarks.wrk_scripts import BATCHES, RANK, WRITE, lua
from keepscore import Board

SMALL = 10_000
BATCH = 100


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--players", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=int, default=2, help="of each run of wrk")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Progress(console=Console(stderr=True)) as progress:
        lines = Benchmark(Path(folder), options, progress).lines()
    show(lines, "bench.png")


class Benchmark:
    """One run of all measurements."""

    def __init__(self, folder: Path, options: argparse.Namespace, progress: Progress) -> None:
        self.folder = folder
        self.players: int = options.players
        self.seconds: int = options.seconds
        self.rounds: int = options.rounds
        self.progress = progress

    def lines(self) -> list[Line]:
        """Measure all lines of the table."""
        self._note("filling a ledger")
        ledger = self.folder / "bench.db"
        boards = [(Board(name, operator="last", windows=WINDOWS), n) for name, n in (("large", self.players), ("small", SMALL))]
        fill(ledger, boards)
        service, constant = free_port(), free_port()
        command = [str(Path(sys.executable).with_name("keepscore")), "serve", "--port", str(service), "--ledger", f"sqlite:///{ledger}"]
        with (
            running([sys.executable, "-m", "benchmarks.constant", str(constant)], f"http://127.0.0.1:{constant}/"),
            running(command, f"http://127.0.0.1:{service}/healthz") as start,
        ):
            lines = [Line(f"start with {self.players:,} players", f"{start:.1f} s", start / 15, "< 1 of 15 s", start < 15)]
            lines += self._over_http(f"http://127.0.0.1:{service}", f"http://127.0.0.1:{constant}/")
        lines += self._crowded()
        lines += self._ladder()
        self._note("memory")
        out = subprocess.run(
            [sys.executable, "-m", "benchmarks.memory", str(self.players)], capture_output=True, text=True, check=True
        ).stdout
        lines.append(
            Line("memory a player, one window, beside 110 bytes in a Redis sorted set", f"{float(out):.0f} B", float(out) / 110, "", True)
        )
        return lines

    def _over_http(self, service: str, constant: str) -> list[Line]:
        last = self.players - 1
        ranks = lua(RANK, board="large", last=last)
        loads: dict[str, Callable[[], Load]] = {
            "rank": lambda: wrk(service, self.seconds, ranks),
            "rank, 10,000 players": lambda: wrk(service, self.seconds, lua(RANK, board="small", last=SMALL - 1)),
            "top": lambda: wrk(f"{service}/v1/boards/large/top?limit=100", self.seconds),
            "write": lambda: wrk(service, self.seconds, lua(WRITE, last=last)),
            "batch": lambda: wrk(service, self.seconds, lua(BATCHES, size=500, last=last)),
        }
        found: dict[str, list[Load]] = {name: [] for name in loads}
        ratios: dict[str, list[float]] = {name: [] for name in loads}
        constants = [wrk(constant, self.seconds, ranks)]
        # Each load between two of the constant, so that whatever else the machine does meets both.
        for round_ in range(self.rounds):
            for name, load in loads.items():
                self._note(f"{name}, round {round_ + 1}")
                found[name].append(load())
                constants.append(wrk(constant, self.seconds, ranks))
                assert not found[name][-1].errors, f"{name}: {found[name][-1]}"
                ratios[name].append(found[name][-1].requests / (constants[-1].requests / 2 + constants[-2].requests / 2))
        rate = {name: statistics.median(load.requests for load in all_) for name, all_ in found.items()}
        tail = {name: statistics.median(load.p99 for load in all_) for name, all_ in found.items()}
        base = statistics.median(load.requests for load in constants)
        self._note("bare sqlite3")
        indexed = bare.rows_per_second(self.folder / "indexed.db", self.players, self.seconds, indexed=True)
        plain = bare.rows_per_second(self.folder / "plain.db", self.players, self.seconds, indexed=False)
        rows = rate["batch"] * BATCH
        slower = rate["rank, 10,000 players"] / rate["rank"]

        def against_constant(name: str, label: str, wanted: float) -> Line:
            ratio = statistics.median(ratios[name])
            return Line(label, f"{rate[name]:,.0f}/s, P99 {tail[name]:.1f} ms", ratio, f"≥ {wanted}", ratio >= wanted)

        return [
            Line("constant answer", f"{base:,.0f}/s, P99 {statistics.median(load.p99 for load in constants):.1f} ms", 1, "", True),
            against_constant("rank", "rank of a random player", 0.6),
            against_constant("top", "top 100", 0.7),
            against_constant("write", "durable write with rank, four windows", 0.15),
            Line("rank read, 10,000 players beside 1,000,000", f"{slower:.2f} × as fast", slower, "< 1.5", slower < 1.5),
            Line(
                "batches of 100, four windows, beside bare sqlite3 with an index by player",
                f"{rows:,.0f} rows/s of {indexed:,.0f}",
                rows / indexed,
                "≥ 0.5",
                rows >= indexed / 2,
            ),
            Line(
                "… and beside bare sqlite3 that cannot find a player's rows", f"{rows:,.0f} rows/s of {plain:,.0f}", rows / plain, "", True
            ),
        ]

    def _crowded(self) -> list[Line]:
        """Measure the worst case: every player is in each of four windows."""
        self._note("all players in every window")
        ledger = self.folder / "crowded.db"
        fill(ledger, [(Board("large", operator="last", windows=list(WINDOWS)), self.players)], age=0)
        service, constant = free_port(), free_port()
        command = [str(Path(sys.executable).with_name("keepscore")), "serve", "--port", str(service), "--ledger", f"sqlite:///{ledger}"]
        with (
            running([sys.executable, "-m", "benchmarks.constant", str(constant)], f"http://127.0.0.1:{constant}/"),
            running(command, f"http://127.0.0.1:{service}/healthz") as start,
        ):
            script, ranks = lua(WRITE, last=self.players - 1), lua(RANK, board="large", last=self.players - 1)
            pairs = [
                (wrk(f"http://127.0.0.1:{service}", self.seconds, script), wrk(f"http://127.0.0.1:{constant}/", self.seconds, ranks))
                for _ in range(self.rounds)
            ]
        rate = statistics.median(load.requests for load, _ in pairs)
        ratio = statistics.median(load.requests / base.requests for load, base in pairs)
        return [
            Line("… with every player in each of four windows: start", f"{start:.1f} s", start / 15, "< 1 of 15 s", start < 15),
            Line("… with every player in each of four windows: durable write with rank", f"{rate:,.0f}/s", ratio, "", True),
        ]

    def _ladder(self) -> list[Line]:
        self._note("ladder")
        return [
            Line(f"in the engine: {name}, times as fast as sortedcontainers", f"{mine:.1f} µs of {theirs:.1f} µs", theirs / mine, "", True)
            for name, (mine, theirs) in ladder.compare(self.players).items()
        ]

    def _note(self, text: str) -> None:
        self.progress.console.print(text, style="dim")


if __name__ == "__main__":
    main()
