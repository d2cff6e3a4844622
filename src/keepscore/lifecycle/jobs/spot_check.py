"""A look at all rankings and some players every hour, to see that the engine shows what the ledger says."""

from __future__ import annotations

import logging
import random
from contextlib import suppress

from keepscore.domain.nouns import counted
from keepscore.errors import KeyTaken, RankingLost
from keepscore.lifecycle.jobs.base import SECOND_MS, Job
from keepscore.lifecycle.parts import JobParts
from keepscore.lifecycle.verify import Comparison
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.replay import restated_all
from keepscore.storage.engines.base import Ranking

__all__ = ["SpotCheck"]

#: Rankings of a board, and players of each, that are looked at.
RANKINGS, SAMPLE_PLAYERS = 5, 20

log = logging.getLogger(__name__)


class SpotCheck(Job):
    """Compares a sample of players with the fold of their events, and repairs those who differ. What is lost is rebuilt."""

    name = "verify"
    every = 3600 * SECOND_MS

    def __init__(self, parts: JobParts) -> None:
        super().__init__(parts)
        self._dice = random.Random()
        #: When this process looks next.
        self._next = 0

    async def look(self, now: int) -> str:
        # A start has just made everything from the ledger.
        due, self._next = 0 < self._next <= now, self._next if now < self._next else now + self.every
        return await self.run(now) if due else ""

    async def run(self, now: int) -> str:
        looked, repaired, healed = 0, [], []
        for live in list(self.parts.catalog):
            try:
                for ranking, player in await self._sample(live):
                    looked += 1
                    if await self._repair(live, ranking, player, now):
                        repaired.append(f"{live.name} {ranking.window_id} {player}")
            except RankingLost as lost:
                log.error("board %r: %s", live.name, lost)
                await self.parts.healing.heal(lost)
                healed.append(live.name)
        told = [f"checked {counted(looked, 'player')}"] if looked else []
        if repaired:
            told = [f"repaired {len(repaired)} of {counted(looked, 'player')}: {', '.join(repaired[:5])}"]
        return "; ".join(told + [f"rebuilt board {name!r}, which had lost something" for name in healed])

    async def _sample(self, live: LiveBoard) -> list[tuple[Ranking, str]]:
        """Return some players of some rankings. All rankings are touched: one that is lost makes itself known, although nobody reads it."""
        rankings = await self.parts.engine.rankings(live.id)
        for ranking in rankings:
            with suppress(KeyTaken):
                await self.parts.engine.count(ranking, None, None)
        # Where rankings expire, one player costs a fold of all events.
        rankings = [ranking for ranking in rankings if ranking.window not in live.ttls and not live.is_retired(ranking)]
        chosen = self._dice.sample(rankings, min(RANKINGS, len(rankings)))
        return [(ranking, player) for ranking in chosen for player in await self._players(ranking)]

    async def _players(self, ranking: Ranking) -> list[str]:
        total = await self.parts.engine.count(ranking, None, None)
        places = sorted({0, *(self._dice.randrange(total) for _ in range(SAMPLE_PLAYERS - 1))}) if total else []
        pages = [await self.parts.engine.page(ranking, place, 1) for place in places]
        return [page.rows[0].player for page in pages if page.rows]

    async def _repair(self, live: LiveBoard, ranking: Ranking, player: str, now: int) -> bool:
        ledger, engine, write_pause = self.parts.ledger, self.parts.engine, self.parts.write_pause
        found = await Comparison(ledger, engine, live, now, write_pause).verify_player(ranking, player)
        if found is None or self.parts.catalog.get(live.name) is not live:
            return False
        log.error("board %r: player %r in %s %s is repaired: %s", live.name, player, ranking.window_id, ranking.segment, found)
        async with write_pause:
            upto = await engine.applied(live.id) or {}
            states = await restated_all(ledger, live, {ranking: [player]}, upto)
            return await engine.restate_all(live.id, states, upto=upto)
