"""Replay one schedule, or run many.

python -m tests.simulation SEED                    replay one, and print what happened
python -m tests.simulation --seeds 10000 --from 1  run many
"""

from __future__ import annotations

import argparse
import sys

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tests.simulation.schedule import Verdict, run_schedule

#: Failing seeds that are told before the rest is given up.
ENOUGH = 10


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description="Seeded schedules of the write protocol.")
    parser.add_argument("seed", nargs="?", type=int, help="replay this schedule and print what happened")
    parser.add_argument("--seeds", type=int, default=1000, help="how many schedules to run (default: 1000)")
    parser.add_argument("--from", type=int, default=1, dest="first", help="the first seed (default: 1)")
    parser.add_argument("--restoring", action="store_true", help="an older ledger comes back now and then")
    parser.add_argument("--judging", action="store_true", help="a moderator decides: voids, undoes, hides, restores, approves, rejects")
    given = parser.parse_args()
    seeds = range(given.first, given.first + given.seeds)
    modes = {"restoring": given.restoring, "judging": given.judging}
    return _replay(given.seed, modes) if given.seed is not None else _run(seeds, modes)


def _replay(seed: int, modes: dict[str, bool]) -> int:
    verdict = run_schedule(seed, tracing=True, **modes)
    print("\n".join(verdict.trace))
    print(f"\nseed {seed}: {_told(verdict)}")
    return bool(verdict.objections)


def _run(seeds: range, modes: dict[str, bool]) -> int:
    failed: list[int] = []
    requests = acknowledged = crashes = 0
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True)) as progress:
        for seed in progress.track(seeds, description="schedules"):
            verdict = run_schedule(seed, **modes)
            requests += verdict.requests
            acknowledged += verdict.acknowledged
            crashes += verdict.crashes
            if verdict.objections:
                failed.append(seed)
                again = f"python -m tests.simulation {seed}{''.join(f' --{name}' for name, wanted in modes.items() if wanted)}"
                progress.console.print(f"seed {seed}: {_told(verdict)}\n  {again}", markup=False)
            if len(failed) >= ENOUGH:
                break
    print(f"{requests} requests, {acknowledged} acknowledged, {crashes} crashes: {len(failed)} schedules failed")
    return bool(failed)


def _told(verdict: Verdict) -> str:
    return "\n".join(["FAILED", *(f"  {objection}" for objection in verdict.objections)]) if verdict.objections else "all is well"


if __name__ == "__main__":
    sys.exit(main())
