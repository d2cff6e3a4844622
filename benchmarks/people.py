"""`make bench-people`: what names cost a page, what a segment from the profile costs a write, and ranks among friends."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import uvloop
from rich.console import Console

from benchmarks.friends import measure_friends
from benchmarks.report import Line, show
from benchmarks.servers import tuned_redis
from keepscore import Board, Entry, Leaderboards
from keepscore.domain.results.standings import encode

#: What names may cost a page, and how much of the writes must be left.
MOST_FOR_NAMES, LEAST_WRITES = 0.10, 0.8
#: Rounds of each kind, taken in turns; pages of a round; writes of a round, and how many are under way at once.
ROUNDS, PAGES, WRITES, AT_ONCE = 9, 200, 2000, 100
COUNTRIES = ("BR", "DE", "JP", "US")
BOARDS = [
    Board("named"),
    Board("sent", operator="sum", segments=["country"]),
    Board("followed", operator="sum", segments=[{"name": "country", "from": "profile"}]),
]


async def pages(leaderboards: Leaderboards) -> float:
    """Return how many pages a second are read and written as JSON."""
    begun = time.perf_counter()
    for _ in range(PAGES):
        encode(await leaderboards.top("named", limit=100))
    return PAGES / (time.perf_counter() - begun)


async def writes(send: Callable[[int], Awaitable[object]]) -> float:
    """Return how many single writes a second are acknowledged."""
    begun = time.perf_counter()
    for first in range(0, WRITES, AT_ONCE):
        await asyncio.gather(*[send(n) for n in range(first, first + AT_ONCE)])
    return WRITES / (time.perf_counter() - begun)


async def best(*kinds: Callable[[], Awaitable[float]]) -> list[float]:
    """Return the best round of each kind. They take turns, so that a slow moment is everybody's."""
    found = [[await kind() for kind in kinds] for _ in range(ROUNDS)]
    return [max(rounds) for rounds in zip(*found, strict=True)]


async def measure(folder: Path) -> list[Line]:
    """Measure both."""
    people = Leaderboards.open(f"sqlite:///{folder}/people.db", "embedded://", BOARDS)
    nobody = Leaderboards.open(f"sqlite:///{folder}/nobody.db", "embedded://", BOARDS[:1])
    async with people as leaderboards, nobody as nameless:
        for each in (leaderboards, nameless):
            await each.submit_many("named", [Entry(player_id=f"n{n}", score=n) for n in range(1000)])
        await leaderboards.players.change_many([{"player_id": f"n{n}", "name": f"Player {n}"} for n in range(1000)])
        await leaderboards.players.change_many([{"player_id": f"w{n}", "country": COUNTRIES[n % 4]} for n in range(WRITES)])
        with_names, without = await best(lambda: pages(leaderboards), lambda: pages(nameless))
        cost = 1 - with_names / without
        followed, sent = await best(
            lambda: writes(lambda n: leaderboards.increment("followed", f"w{n}", 1)),
            lambda: writes(lambda n: leaderboards.increment("sent", f"w{n}", 1, segments={"country": COUNTRIES[n % 4]})),
        )
        share = followed / sent
        names = f"{with_names:,.0f}/s, without {without:,.0f}/s"
        segments = f"{followed:,.0f}/s, sent {sent:,.0f}/s"
        return [
            Line("100 names on a page", names, cost, f"< {MOST_FOR_NAMES}", cost < MOST_FOR_NAMES),
            Line("writes with a profile segment", segments, share, f"≥ {LEAST_WRITES}", share >= LEAST_WRITES),
        ]


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser(prog="make bench-people", description=__doc__)
    parser.add_argument("--players", type=int, default=1_000_000, help="players of the board on Redis")
    players = parser.parse_args().players
    with tempfile.TemporaryDirectory() as folder:
        Console(stderr=True).print("embedded engine, SQLite ledger", style="dim")
        lines = uvloop.run(measure(Path(folder)))
        with tuned_redis() as (server, description):
            Console(stderr=True).print(f"{description}, SQLite ledger", style="dim")
            lines += uvloop.run(measure_friends(Path(folder), server.url, players))
        show(lines, "people.png")


if __name__ == "__main__":
    main()
