"""A look at some players every hour: does the engine show what the ledger says?"""

from __future__ import annotations

import logging
import random

from keepscore.catalog import LiveBoard
from keepscore.engines.base import Ranking
from keepscore.jobs.base import SECOND, Job, Parts
from keepscore.replay import restated
from keepscore.verification import verify_player

__all__ = ["Checking"]

#: Rankings of a board, and players of each, that are looked at.
RANKINGS, PLAYERS = 5, 20

log = logging.getLogger(__name__)


class Checking(Job):
    """Compares a sample of players with the fold of their events, and repairs those who differ."""

    name = "verify"
    every = 3600 * SECOND

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._dice = random.Random()
        #: When this process looks next.
        self._next = 0

    async def look(self, now: int) -> str:
        # A start has just made everything from the ledger.
        due, self._next = 0 < self._next <= now, self._next if now < self._next else now + self.every
        return await self.run(now) if due else ""

    async def run(self, now: int) -> str:
        looked, repaired = 0, []
        for live in list(self.parts.catalog):
            rankings = await self.parts.engine.rankings(live.id)
            # Where rankings expire, one player costs a fold of all events.
            rankings = [ranking for ranking in rankings if ranking.window not in live.ttls]
            for ranking in self._dice.sample(rankings, min(RANKINGS, len(rankings))):
                for player in await self._players(ranking):
                    looked += 1
                    if await self._repair(live, ranking, player, now):
                        repaired.append(f"{live.name} {ranking.window_id} {player}")
        if repaired:
            return f"repaired {len(repaired)} of {looked} players: {', '.join(repaired[:5])}"
        return f"looked at {looked} players" if looked else ""

    async def _players(self, ranking: Ranking) -> list[str]:
        total = await self.parts.engine.count(ranking, None, None)
        places = sorted({0, *(self._dice.randrange(total) for _ in range(PLAYERS - 1))}) if total else []
        pages = [await self.parts.engine.page(ranking, place, 1) for place in places]
        return [page.rows[0].player for page in pages if page.rows]

    async def _repair(self, live: LiveBoard, ranking: Ranking, player: str, now: int) -> bool:
        catalog, ledger, engine, _, writer = self.parts[:5]
        found = await verify_player(ledger, engine, live, ranking, player, now, writer.quiet)
        if found is None or catalog.get(live.name) is not live:
            return False
        log.error("board %r: player %r in %s %s is repaired: %s", live.name, player, ranking.window_id, ranking.segment, found)
        async with writer.quiet:
            upto = await engine.applied(live.id) or {}
            return await engine.restate(ranking, player, await restated(ledger, live, player, ranking, upto), upto=upto)
