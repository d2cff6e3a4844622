"""`make bench-edge`: why there is no framework. One constant answer by raw ASGI, by our layer and by Starlette, in one run."""

from __future__ import annotations

import argparse
import statistics
import sys
from contextlib import ExitStack

from benchmarks.edge_apps import APPS
from benchmarks.load import free_port, running, wrk

URL = "http://127.0.0.1:{port}/v1/boards/global/players/ada"


def main() -> None:
    """Measure all layers in turn, and print requests a second and ratios to raw ASGI."""
    parser = argparse.ArgumentParser(prog="make bench-edge", description=__doc__)
    parser.add_argument("--seconds", type=int, default=2, help="of each run of wrk")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    rates: dict[str, list[float]] = {name: [] for name in APPS}
    with ExitStack() as stack:
        urls = {}
        for name in APPS:
            urls[name] = URL.format(port=(port := free_port()))
            stack.enter_context(running([sys.executable, "-m", "benchmarks.edge_apps", name, str(port)], urls[name]))
        # In turn, so that whatever else the machine does meets them all.
        for _ in range(options.rounds):
            for name, url in urls.items():
                rates[name].append(wrk(url, options.seconds).requests)
    for name, found in rates.items():
        ratio = statistics.median(mine / raw for mine, raw in zip(found, rates["raw ASGI"], strict=True))
        print(f"{name:20} {statistics.median(found):10,.0f}/s   {ratio:.2f} of raw ASGI")


if __name__ == "__main__":
    main()
