"""A small tournament of made-up players, on a board of its own, while somebody looks: a first visit sees a board that moves."""

from __future__ import annotations

import asyncio
import logging
import random

from keepscore.domain.boards import Board
from keepscore.errors import KeepscoreError
from keepscore.leaderboards import Leaderboards

__all__ = ["DEMO_BOARD", "Demo"]

log = logging.getLogger(__name__)

#: The board of the tournament. No other board gets a score from it.
DEMO_BOARD = Board("keepscore-demo", operator="last", windows=["all_time", "daily"], segments=["region"], min_score=0, max_score=10_000)
NAMES = """
    Ada Bruno Chiara Dmitri Emeka Fatima Gonzalo Hana Ingrid Jun Kofi Léa Mateo Nadia Omar
    Priya Quinn Ravi Sofía Tomasz Uma Viktor Wen Ximena Yuki Zara Åsa Çelik Юля Σοφία
"""
PLAYERS = NAMES.split()
REGIONS = ("eu", "us", "asia")
#: Seconds between two rounds, and after the last visit until the players stop: every score is recorded.
PAUSE_SECONDS, VISIT_SECONDS = (0.3, 0.6), 600.0
#: Players who score in a round.
ROUND_PLAYERS = 3


class Demo:
    """Lets the players play for some minutes after each visit."""

    def __init__(self, leaderboards: Leaderboards) -> None:
        self._lb = leaderboards
        self._until = 0.0
        self._task: asyncio.Task[None] | None = None
        self._scores: dict[str, int] = {}
        # The same tournament every time. Nothing depends on it being random.
        self._chance = random.Random(2026)

    def wake(self) -> None:
        """See that they play: somebody looks."""
        loop = asyncio.get_running_loop()
        self._until = loop.time() + VISIT_SECONDS
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._play(), name="keepscore-demo")

    async def _play(self) -> None:
        try:
            await self._lb.admin.put_board(DEMO_BOARD)
            known = await self._lb.lookup(DEMO_BOARD.name, PLAYERS)
            self._scores = {standing.player_id: int(standing.score) for standing in known.standings}
            while asyncio.get_running_loop().time() < self._until:
                absent = [player for player in PLAYERS if player not in self._scores]
                for player in absent or self._chance.sample(PLAYERS, ROUND_PLAYERS):
                    await self._score(player)
                await asyncio.sleep(self._chance.uniform(*PAUSE_SECONDS))
        except KeepscoreError as exc:
            # The next visit tries again.
            log.info("the demo has stopped: %s", exc)

    async def _score(self, player: str) -> None:
        """Let a player step up, sometimes down. Near the highest score steps get small, so that not all end there."""
        highest = 10_000
        known = self._scores.get(player)
        if known is None:
            score = round(highest * self._chance.uniform(0.2, 0.8))
        else:
            way = -1 if self._chance.random() < 0.45 else 1
            score = max(0, min(highest, round(known + (highest - known) * way * self._chance.random() * 0.12)))
        self._scores[player] = score
        await self._lb.submit(DEMO_BOARD.name, player, score, segments={"region": REGIONS[len(player) % len(REGIONS)]})
