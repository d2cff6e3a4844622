"""Thousands of schedules. A seed that fails is told with the command that replays it."""

import os
import re
import subprocess
import sys

import pytest

from tests.simulation.schedule import run_schedule

#: Blocks of schedules, and schedules of a block.
BLOCKS, SIZE = 20, 100


@pytest.mark.parametrize("block", range(BLOCKS))
def test_schedules(block):
    for seed in range(block * SIZE + 1, (block + 1) * SIZE + 1):
        verdict = run_schedule(seed)
        if verdict.objections:
            lines = [f"seed {seed} fails; replay it with: python -m tests.simulation {seed}", *verdict.objections]
            pytest.fail("\n  ".join(lines), pytrace=False)


@pytest.mark.parametrize("block", range(6))
def test_an_older_ledger_comes_back(block):
    for seed in range(block * SIZE + 1, (block + 1) * SIZE + 1):
        verdict = run_schedule(seed, restoring=True)
        if verdict.objections:
            lines = [f"seed {seed} fails; replay it with: python -m tests.simulation {seed} --restoring", *verdict.objections]
            pytest.fail("\n  ".join(lines), pytrace=False)


@pytest.mark.parametrize("block", range(4))
def test_a_moderator_decides_and_takes_it_back(block):
    for seed in range(block * SIZE + 1, (block + 1) * SIZE + 1):
        verdict = run_schedule(seed, judging=True)
        if verdict.objections:
            lines = [f"seed {seed} fails; replay it with: python -m tests.simulation {seed} --judging", *verdict.objections]
            pytest.fail("\n  ".join(lines), pytrace=False)


def test_schedules_are_worth_their_time():
    verdicts = [run_schedule(seed, tracing=True) for seed in range(1, 121)]
    trace = "\n".join(line for verdict in verdicts for line in verdict.trace)
    assert sum(verdict.crashes for verdict in verdicts) > 10
    assert sum(verdict.requests for verdict in verdicts) * 0.75 < sum(verdict.acknowledged for verdict in verdicts)
    for seen in (
        "reply lost",
        "wipe",
        "failover",
        "a late call arrives",
        "pending",
        "(replayed)",
        "restate",
        "Gap",
        "(spooled)",
        "hold ",
        ": lose",
        "failed midway",
        "RankingLost",
    ):
        assert seen in trace, seen
    assert sum("(spooled)" in "\n".join(verdict.trace) for verdict in verdicts) > 5
    # Checkpoints are taken, and cut short.
    assert "SqliteCheckpoints.finish" in trace
    assert re.search(r"SqliteCheckpoints\.\w+: (crash|late|refused|reply)", trace)


def test_a_seed_gives_the_same_schedule_everywhere():
    here = "\n".join(run_schedule(7, tracing=True).trace)
    again = subprocess.run(
        [sys.executable, "-m", "tests.simulation", "7"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "1"},
    )
    assert again.stdout == f"{here}\n\nseed 7: all is well\n"


@pytest.mark.parametrize("seed", [15, 39, 1030])
def test_late_events_count_although_whoever_was_to_restate_them_is_gone(seed):
    assert run_schedule(seed).objections == []
