"""The same without an event loop, for scripts: a season of laps where the lowest time wins."""

from __future__ import annotations

from decimal import Decimal

from keepscore import Board
from keepscore.sync import Leaderboards


def main() -> None:
    """Record some laps and print the table."""
    laps = Board("laps", order="asc", decimals=3, min_score=0, windows=["all_time"])
    with Leaderboards.open(ledger="sqlite:///:memory:", boards=[laps]) as lb:
        for driver, seconds in [("ayrton", "83.251"), ("niki", "83.250"), ("ayrton", "82.999"), ("alain", "84.1")]:
            lb.submit("laps", driver, Decimal(seconds))
        for standing in lb.top("laps").standings:
            print(f"{standing.rank}. {standing.player_id:<8} {standing.score}")


if __name__ == "__main__":
    main()
