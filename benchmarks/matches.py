"""`make bench-matches`: what a match costs beside a single write. One service, one board of each, in one run."""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks.load import free_port, running, wrk
from benchmarks.report import Line, at_least, show
from benchmarks.wrk_scripts import WRITE, lua

PLAYERS = 10_000
KEEPSCORE = str(Path(sys.executable).with_name("keepscore"))
BOARDS = """
[[board]]
name = "large"
operator = "last"

[[board]]
name = "duels"
rating = {system = "elo", k = 32, initial = 1000}
"""
#: Odd players meet even ones, so that nobody plays against themselves.
PLAYER = """"p' .. 2 * math.random(0, {last})"""
BODY = '\'{{"a":' + PLAYER + ' .. \'","b":' + PLAYER + " + 1 .. '\",\"result\":' .. math.random(0, 1) .. '}}'"
MATCH = 'wrk.format("POST", "/v1/boards/duels/matches", json, ' + BODY + ")"


def main() -> None:
    """Measure matches and single writes in turn, and print the ratio."""
    parser = argparse.ArgumentParser(prog="make bench-matches", description=__doc__)
    parser.add_argument("--seconds", type=int, default=2, help="of each run of wrk")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        show([_line(Path(folder), options.seconds, options.rounds)], "matches.png")


def _line(folder: Path, seconds: int, rounds: int) -> Line:
    config, port = folder / "keepscore.toml", free_port()
    config.write_text(f'[ledger]\nurl = "sqlite:///{folder / "scores.db"}"\n{BOARDS}')
    url = f"http://127.0.0.1:{port}"
    scripts = [lua(WRITE, last=PLAYERS - 1), lua(MATCH, last=PLAYERS // 2 - 1)]
    pairs: list[tuple[float, float]] = []
    with running([KEEPSCORE, "serve", "--port", str(port), "--config", str(config)], f"{url}/healthz"):
        for round_ in range(rounds):
            # Each first every other time, so that whatever else the machine does meets both.
            order = (0, 1) if round_ % 2 else (1, 0)
            loads = {index: wrk(url, seconds, scripts[index]) for index in order}
            assert not any(load.errors for load in loads.values()), loads
            pairs.append((loads[0].requests, loads[1].requests))
    writes, matches = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(match / write for write, match in pairs)
    return at_least("matches, beside single writes", f"{matches:,.0f}/s of {writes:,.0f}/s", ratio, 0.5)


if __name__ == "__main__":
    main()
