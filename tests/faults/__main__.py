"""Faults of all kinds in a random order, under load, for a while; then what was survived.

python -m tests.faults --minutes 10            with a seed by chance, which is printed
python -m tests.faults --minutes 10 --seed 7   the same faults in the same order
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.faults.storm import SENTINEL, SINGLE, Storm
from tests.support.redis_servers import sentinels, single

#: Seconds of one round: a service and servers of its own, a load, faults, and a verdict.
ROUND = 60.0
#: What is counted, in the order of the table.
COUNTED = ["rounds", "kills", "failovers", "cuts", "pauses", "outages", "submissions", "acknowledged", "lost", "doubled", "wrong"]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description="Faults in a random order, under load.")
    parser.add_argument("--minutes", type=float, default=10, help="how long (default: 10)")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6), help="of the order of faults")
    given = parser.parse_args()
    console = Console(soft_wrap=True)
    console.print(f"seed {given.seed}: python -m tests.faults --minutes {given.minutes:g} --seed {given.seed}")
    dice = random.Random(given.seed)
    survived: Counter[str] = Counter()
    end = time.monotonic() + 60 * given.minutes
    while time.monotonic() < end:
        survived["rounds"] += 1
        try:
            _round(console, dice.randrange(10**6), survived, min(ROUND, end - time.monotonic()))
        except Exception:
            survived["wrong"] += 1
            console.print(traceback.format_exc(), markup=False, highlight=False)
    table = Table("survived", "")
    for name in COUNTED:
        table.add_row(name, str(survived[name]))
    console.print(table)
    return 1 if survived["lost"] or survived["doubled"] or survived["wrong"] else 0


def _round(console: Console, seed: int, survived: Counter[str], seconds: float) -> None:
    """One service, on a single Redis behind a proxy or under Sentinels."""
    watched = survived["rounds"] % 2 == 0
    console.print(f"round {survived['rounds']}: {'Sentinels' if watched else 'a single Redis'}, seed {seed}", highlight=False)
    with tempfile.TemporaryDirectory(prefix="keepscore-faults-") as folder, sentinels() if watched else single() as redis:
        storm = Storm(Path(folder), redis, seed, survived, lambda text: console.print(f"  {text}", highlight=False, markup=False))
        storm.run(SENTINEL if watched else SINGLE, seconds)


if __name__ == "__main__":
    sys.exit(main())
