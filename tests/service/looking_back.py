"""A service in this process on a clock that tests set, and archives as the keeper writes them."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from keepscore import Board, Leaderboards
from keepscore.projection.live_boards import LiveBoard
from keepscore.service.app import make_app
from keepscore.storage.engines.base import Ranking
from keepscore.storage.ledgers.archives import Archived
from keepscore.storage.ledgers.slots import Slot
from tests.contract.driving import restate
from tests.service.redis_places import open_redis
from tests.support.postgres_servers import shared_postgres

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
#: 2026-11-15T12:00:00Z, a Sunday.
NOON = 1_794_744_000_000
#: The engine and the ledger of a service.
PLACES = {
    "embedded, sqlite": (lambda: "embedded://", lambda folder: f"sqlite:///{folder}/scores.db"),
    "redis, sqlite": (lambda: open_redis().url, lambda folder: f"sqlite:///{folder}/scores.db"),
    "redis, postgresql": (lambda: open_redis().url, lambda folder: shared_postgres().new_database()),
}


class Clock:
    """A clock that is set."""

    def __init__(self, now: int = NOON) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


class Running:
    """One board of a service."""

    def __init__(self, lb: Leaderboards, clock: Clock, client: httpx.AsyncClient, name: str) -> None:
        self.lb = lb
        self.clock = clock
        self.client = client
        self.name = name

    @property
    def live(self) -> LiveBoard:
        """The board as the service has it."""
        return self.lb.runtime.catalog[self.name]

    async def ask(self, path: str, **query: Any) -> httpx.Response:
        """A read, whatever it answers."""
        return await self.client.get(f"/v1/boards/{self.name}/{path}", params=query)

    async def get(self, path: str, **query: Any) -> Any:
        """What a read answers."""
        answer = await self.ask(path, **query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def submit(self, *scores: tuple[str, float], **fields: Any) -> None:
        """Submit scores, a second apart."""
        for player, score in scores:
            await self.lb.submit(self.name, player, score, **fields)
            self.clock.now += 1000

    async def order(self, path: str = "top", **query: Any) -> list[tuple[int, str, float]]:
        """A list as (rank, player, score)."""
        return [(s["rank"], s["player_id"], s["score"]) for s in (await self.get(path, **query))["standings"]]

    async def moved(self, path: str = "top", **query: Any) -> dict[str, Any]:
        """How far players moved, or "new"."""
        standings = (await self.get(path, **query))["standings"]
        return {s["player_id"]: "new" if s.get("new") else s["rank_change"] for s in standings}

    def ranking(self, window: str, window_id: str, segment: str = "") -> Ranking:
        """One of the board's rankings."""
        return Ranking(self.live.id, window, window_id, segment)

    async def archive(self, ranking: Ranking, keep: int | None = None, number: int = 1, kind: str = "closed") -> list[Archived]:
        """Archive what the engine has of a ranking."""
        page = await self.lb.runtime.engine.page(ranking, 0, 1000, "dense")
        places = await self.lb.runtime.engine.places(ranking, [row.player for row in page.rows])
        half_life = self.live.half_life
        scores = [row.score if half_life is None else half_life.score(row.score, self.clock.now) for row in page.rows]
        found = zip(places, page.rows, scores, strict=True)
        rows = [Archived(p.unique, p.standard, p.dense, row.player, score, row.since) for p, row, score in found if p is not None]
        return await self.write(ranking, rows, len(rows), keep, number, kind)

    async def write(
        self, ranking: Ranking, rows: list[Archived], players: int, keep: int | None = None, number: int = 1, kind: str = "closed"
    ) -> list[Archived]:
        """Archive rows."""
        ledger = self.lb.runtime.ledger
        archive = await ledger.archives.begin(ranking.board, Slot(*ranking[1:]), kind, number, self.clock.now)
        await ledger.archives.write(archive, rows[:keep])
        await ledger.archives.finish(archive, players, len(rows[:keep]), "digest")
        return rows

    async def drop(self, ranking: Ranking) -> None:
        """Let the engine forget a ranking."""
        for row in (await self.lb.runtime.engine.page(ranking, 0, 1000)).rows:
            await restate(self.lb.runtime.engine, ranking, row.player, None)


@asynccontextmanager
async def opened(place: str, folder: Path, clock: Clock | None = None, **fields: Any) -> AsyncIterator[Running]:
    """A service with one board that nobody else uses."""
    engine, ledger = PLACES[place]
    clock = clock or Clock()
    board = Board(f"past-{secrets.token_hex(4)}", **fields)
    async with Leaderboards.open(ledger(folder), engine(), [board], clock) as lb:
        transport = httpx.ASGITransport(make_app(lb, board.name))
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            yield Running(lb, clock, client, board.name)
