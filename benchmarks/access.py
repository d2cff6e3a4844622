"""`make bench-access`: what keys, limits and rules cost. One service with them beside one without, in one run."""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.load import free_port, running, wrk
from benchmarks.players import WINDOWS, fill
from benchmarks.report import Line, at_least, show
from benchmarks.wrk_scripts import RANK, WRITE, lua
from keepscore import Board

PLAYERS = 10_000
KEEPSCORE = str(Path(sys.executable).with_name("keepscore"))


def main() -> None:
    """Measure single writes and rank reads with and without a key, and writes with and without rules, and print the ratios."""
    parser = argparse.ArgumentParser(prog="make bench-access", description=__doc__)
    parser.add_argument("--seconds", type=int, default=2, help="of each run of wrk")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        show(_lines(Path(folder), options.seconds, options.rounds), "access.png")


def _lines(folder: Path, seconds: int, rounds: int) -> list[Line]:
    with _service(folder, "open") as (url, _), _service(folder, "keyed") as (keyed_url, key):
        header = {"Authorization": f"Bearer {key}"}
        loads = {
            "single writes with a key and limits": (WRITE, "large", 0.85),
            "rank reads with a key and limits": (RANK, "large", 0.9),
            "single writes with a key, limits and rules": (WRITE, "ruled", 0.85),
        }
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in loads}
        # In turn, and each first every other time, so that whatever else the machine does meets both.
        for round_ in range(rounds):
            for name, (request, board, _) in loads.items():
                plain, script = (lua(request, board=one, last=PLAYERS - 1) for one in ("large", board))
                calls = [lambda: wrk(url, seconds, plain), lambda: wrk(keyed_url, seconds, script, header)]  # noqa: B023
                order = (0, 1) if round_ % 2 else (1, 0)
                rates = {index: calls[index]() for index in order}
                assert not any(load.errors for load in rates.values()), rates
                found[name].append((rates[0].requests, rates[1].requests))
    return [_line(name, pairs, loads[name][2]) for name, pairs in found.items()]


def _line(name: str, pairs: list[tuple[float, float]], wanted: float) -> Line:
    without, guarded = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(keyed / plain for plain, keyed in pairs)
    return at_least(f"{name}, beside none", f"{guarded:,.0f}/s of {without:,.0f}/s", ratio, wanted)


@contextmanager
def _service(folder: Path, name: str) -> Iterator[tuple[str, str]]:
    """Run a service on a ledger of its own; yield its address and its key, if it has one."""
    ledger, port = folder / f"{name}.db", free_port()
    # Nobody breaks these rules: what is measured is to find that out.
    ruled = Board("ruled", operator="last", windows=WINDOWS, rules={"max_increase": 10**12, "max_submissions": "1000000/1h"})
    fill(ledger, [(Board("large", operator="last", windows=WINDOWS), PLAYERS), (ruled, PLAYERS)])
    config, key = folder / f"{name}.toml", ""
    config.write_text(f'[ledger]\nurl = "sqlite:///{ledger}"\n')
    if name == "keyed":
        command = [KEEPSCORE, "keys", "create", "bench", "--scope", "submit", "--config", str(config)]
        key = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    url = f"http://127.0.0.1:{port}"
    with running([KEEPSCORE, "serve", "--port", str(port), "--config", str(config)], f"{url}/healthz"):
        yield url, key


if __name__ == "__main__":
    main()
