"""`make bench-waits`: how long others wait at most while one request keeps the service busy."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import uvloop
from rich.console import Console

from benchmarks.report import Line, show
from keepscore import Board, Leaderboards
from keepscore.service.app import make_app
from keepscore.service.http.layer import App
from keepscore.service.interpreter import share_time

#: Milliseconds that the longest wait may be longer than in calm.
MOST_MORE_MS = 50
#: Seconds between two requests of those who wait.
PAUSE_S = 0.002
#: Entries of one batch.
BATCH = 5000
BOARDS = [
    Board("busy", windows=["daily", "weekly", "all_time"]),
    Board("sums", operator="sum", windows=["daily", "all_time"]),
    Board("times", operator="last", windows=["daily", "all_time"], resolution="1h"),
    Board("calm"),
]

Send = Callable[[str, str, Any], Awaitable[bytes]]


def client(app: App) -> Send:
    """Return a client of the service, without a network between."""

    async def send(method: str, path: str, body: Any = None) -> bytes:
        messages: list[Any] = []
        content = b"" if body is None else msgspec.json.encode(body)
        headers = [(b"content-length", b"%d" % len(content)), (b"content-type", b"application/json")]
        plain, _, query = path.partition("?")
        named = {"path": plain, "raw_path": plain.encode(), "query_string": query.encode()}
        scope = {"type": "http", "method": method, **named, "headers": headers}

        async def receive() -> Any:
            return {"type": "http.request", "body": content, "more_body": False}

        async def answer(message: Any) -> None:
            messages.append(message)

        await app(scope, receive, answer)
        assert messages[0]["status"] == 200, messages
        return bytes(messages[1]["body"])

    return send


class Waiting:
    """Somebody who sends one small request after the other, and the longest time that one took, the wait for its turn included."""

    def __init__(self, request: Callable[[int], Awaitable[object]]) -> None:
        self._request = request
        self.longest_ms = 0.0

    async def _run(self) -> None:
        n = 0
        while True:
            due = time.perf_counter() + PAUSE_S
            await asyncio.sleep(PAUSE_S)
            n += 1
            await self._request(n)
            self.longest_ms = max(self.longest_ms, (time.perf_counter() - due) * 1000)

    async def during(self, job: Awaitable[object]) -> float:
        """Return the longest wait while a job is done, in milliseconds."""
        self.longest_ms = 0.0
        task = asyncio.create_task(self._run())
        await asyncio.sleep(0.05)
        await job
        await asyncio.sleep(0.05)
        task.cancel()
        return self.longest_ms


async def measure(folder: Path, engine: str, players: int) -> list[Line]:
    """Measure the longest waits of a reader, and of a writer on another board, during each job."""
    async with Leaderboards.open(f"sqlite:///{folder}/waits.db", engine, BOARDS) as leaderboards:
        send = client(make_app(leaderboards, "calm"))
        others = {
            "a reader": Waiting(lambda _: send("GET", "/v1/boards/calm/top", None)),
            "a writer on another board": Waiting(lambda n: send("POST", "/v1/boards/calm/scores", {"player_id": "w", "score": n})),
        }

        def batch(board: str, start: int) -> dict[str, Any]:
            what = "amount" if board == "sums" else "score"
            return {"scores": [{"player_id": f"p{n}", what: start + n} for n in range(start, start + BATCH)]}

        bodies = {board: [batch(board, start) for start in range(0, players, BATCH)] for board in ("busy", "sums")}
        # The same players with an earlier time of the same hour: which score is the later one, only the ledger knows.
        now = datetime.now(UTC)
        times = [now - timedelta(milliseconds=ago) for ago in range(len(others) + 1)]
        bodies["times"] = [{"scores": [{"player_id": f"p{n}", "score": n, "at": at} for n in range(BATCH)]} for at in times]

        async def submit(board: str, count: int, start: int = 0) -> None:
            for body in bodies[board][start : start + count]:
                await send("POST", f"/v1/boards/{board}/scores/batch", body)

        # As the service does it.
        watching = asyncio.create_task(share_time().watch())
        await send("POST", "/v1/boards/calm/scores", {"player_id": "p", "score": 1})
        await submit("times", 1)
        turn = count(1)
        jobs: dict[str, Callable[[], Awaitable[object]]] = {
            "calm": lambda: asyncio.sleep(2),
            f"a batch of {BATCH}": lambda: submit("busy", 1),
            f"a batch of {BATCH} amounts": lambda: submit("sums", 1),
            f"a group of {BATCH} that is restated": lambda: submit("times", 1, next(turn)),
            f"an import of {players} rows": lambda: submit("busy", players // BATCH),
            "the keeper's jobs": lambda: send("POST", "/v1/keeper/run", {}),
        }
        lines = []
        for who, waiting in others.items():
            calm = 0.0
            for name, job in jobs.items():
                if name == "calm":
                    calm = await waiting.during(job())
                    continue
                longest = await waiting.during(job())
                more = longest - calm
                figure = f"{longest:.0f} ms, in calm {calm:.0f} ms"
                lines.append(Line(f"longest wait of {who} during {name}", figure, more, f"≤ {MOST_MORE_MS} more", more <= MOST_MORE_MS))
        watching.cancel()
        return lines


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser(prog="make bench-waits", description=__doc__)
    parser.add_argument("--players", type=int, default=100_000)
    parser.add_argument("--engine", default="embedded://")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        Console(stderr=True).print("six jobs, twice", style="dim")
        show(uvloop.run(measure(Path(folder), options.engine, options.players)), "waits.png")


if __name__ == "__main__":
    main()
