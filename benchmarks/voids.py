"""`make bench-voids`: voiding 10,000 events of 1,000 players on a large board on Redis, and how long others wait meanwhile."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from pathlib import Path

import uvloop
from rich.console import Console

from benchmarks.report import Line, show
from benchmarks.servers import tuned_redis
from benchmarks.waits import Waiting, client
from keepscore import Board, Entry, Leaderboards
from keepscore.service.app import make_app
from keepscore.service.interpreter import share_time

#: Milliseconds that the longest wait may be longer than in calm.
MOST_MORE_MS = 100
#: The players whose events are void, and how many each has.
CHEATERS, EVENTS_EACH = 1000, 10
#: Entries of one batch.
BATCH = 10_000
BOARDS = [Board("busy", operator="sum", windows=["all_time", "daily"]), Board("calm")]


async def fill(leaderboards: Leaderboards, players: int) -> None:
    """Submit one amount of each player, and ten of each cheater."""
    for start in range(0, players, BATCH):
        await leaderboards.submit_many(
            "busy", [Entry(player_id=f"p{n}", amount=n % 1000) for n in range(start, min(start + BATCH, players))]
        )
    wrong = [Entry(player_id=f"p{n * 7}", amount=5000, game_id="bot") for n in range(CHEATERS) for _ in range(EVENTS_EACH)]
    await leaderboards.submit_many("busy", wrong)
    await leaderboards.submit("calm", "p", 1)


async def void(leaderboards: Leaderboards) -> None:
    """Void what the cheaters have sent."""
    report = await leaderboards.moderation.void("busy", "a bot", game_id="bot")
    assert report.events == CHEATERS * EVENTS_EACH


async def undo(leaderboards: Leaderboards) -> None:
    """Undo the last void."""
    await leaderboards.moderation.undo((await leaderboards.moderation.voids())[0].void_id, "no bot")


async def measure(folder: Path, engine: str, players: int) -> list[Line]:
    """Measure a void and its undo beside a reader, and beside a writer on the same board."""
    async with Leaderboards.open(f"sqlite:///{folder}/voids.db", engine, BOARDS) as leaderboards:
        Console(stderr=True).print(f"filling a board with {players} players", style="dim")
        await fill(leaderboards, players)
        send = client(make_app(leaderboards, "calm"))
        others = {
            "a reader": Waiting(lambda n: send("GET", f"/v1/boards/busy/players/p{n}", None)),
            "a writer": Waiting(lambda n: send("POST", "/v1/boards/busy/increments", {"player_id": f"w{n % 100}", "amount": 1})),
        }
        # As the service does it.
        watching = asyncio.create_task(share_time().watch())
        lines = []
        for who, waiting in others.items():
            calm = await waiting.during(asyncio.sleep(2))
            for name, job in (("void", void), ("undo", undo)):
                begun = time.perf_counter()
                longest = await waiting.during(job(leaderboards))
                seconds, more = time.perf_counter() - begun, longest - calm
                what = f"{name} of {CHEATERS * EVENTS_EACH} events: longest wait of {who}"
                figure = f"{seconds:.1f} s; {longest:.0f} ms, in calm {calm:.0f} ms"
                lines.append(Line(what, figure, more, f"≤ {MOST_MORE_MS} more", more <= MOST_MORE_MS))
        watching.cancel()
        return lines


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser(prog="make bench-voids", description=__doc__)
    parser.add_argument("--players", type=int, default=1_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, tuned_redis() as (server, description):
        Console(stderr=True).print(description, style="dim")
        show(uvloop.run(measure(Path(folder), server.url, options.players)), "voids.png")


if __name__ == "__main__":
    main()
