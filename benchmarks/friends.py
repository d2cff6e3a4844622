"""A player among 500 friends beside one bare ZMSCORE of as many members, and everything for one screen beside a single rank read."""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import redis.asyncio
from rich.console import Console

from benchmarks.report import Line, at_least
from benchmarks.waits import client
from keepscore import Board, Entry, Leaderboards
from keepscore.service.app import make_app

#: How much of the bare call, and of a rank read, is to be left.
LEAST = 0.5
#: Friends of the one player, and of the other; standings that a screen shows.
FRIENDS, FEW_FRIENDS, SHOWN = 500, 100, 10
#: Rounds of each kind, taken in turns, and calls of a round.
ROUNDS, CALLS = 7, 60
#: Entries of one batch.
BATCH = 10_000
BOARD = Board("friends", ties="player", windows={"all_time": {"key": "friends"}})


async def rate(call: Callable[[], Awaitable[object]]) -> float:
    """Return how many calls a second are made, one after the other."""
    begun = time.perf_counter()
    for _ in range(CALLS):
        await call()
    return CALLS / (time.perf_counter() - begun)


async def measure_friends(folder: Path, engine: str, players: int) -> list[Line]:
    """Measure both on Redis: friends in the library, as the bare call is, and requests of the service, without a network."""
    dice = random.Random(18)
    bare = redis.asyncio.Redis.from_url(engine)
    async with Leaderboards.open(f"sqlite:///{folder}/friends.db", engine, [BOARD]) as lb:
        Console(stderr=True).print(f"filling a board with {players} players", style="dim")
        for start in range(0, players, BATCH):
            entries = [Entry(player_id=f"p{n}", score=dice.randrange(10**9)) for n in range(start, min(start + BATCH, players))]
            await lb.submit_many("friends", entries)
        many, few = ([f"p{n}" for n in dice.sample(range(2, players), size)] for size in (FRIENDS, FEW_FRIENDS))
        await lb.friends.replace("p0", many)
        await lb.friends.replace("p1", few)
        send = client(make_app(lb, "friends"))
        kinds: list[Callable[[], Awaitable[object]]] = [
            lambda: bare.zmscore("friends", ["p0", *many]),
            lambda: lb.friends.ranking("friends", "p0", limit=SHOWN),
            lambda: lb.friends.ranking("friends", "p0"),
            lambda: send("GET", "/v1/boards/friends/players/p1", None),
            lambda: send("GET", f"/v1/boards/friends/view?player_id=p1&top=10&around=5&friends={SHOWN}", None),
        ]
        found = [[await rate(kind) for kind in kinds] for _ in range(ROUNDS)]
        zmscore, first, everybody, rank, view = (max(rounds) for rounds in zip(*found, strict=True))
    await bare.aclose()
    return [
        at_least(f"the first {SHOWN} of {FRIENDS} friends", f"{first:,.0f}/s, bare ZMSCORE {zmscore:,.0f}/s", first / zmscore, LEAST),
        Line(f"all {FRIENDS} friends, with all ranks", f"{everybody:,.0f}/s, bare ZMSCORE {zmscore:,.0f}/s", everybody / zmscore),
        at_least(f"a view with {FEW_FRIENDS} friends", f"{view:,.0f}/s, rank reads {rank:,.0f}/s", view / rank, LEAST),
    ]
