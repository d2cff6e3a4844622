"""Looking after rankings: made anew from the ledger, compared with it, and put right."""

from __future__ import annotations

import time
from collections.abc import Callable

from keepscore.answers import Rebuild, Verification
from keepscore.applier import Applier
from keepscore.catalog import Catalog, LiveBoard
from keepscore.definitions import Definitions
from keepscore.engines.base import Ranking, RankingEngine
from keepscore.feeds.base import Feed
from keepscore.ledgers.base import Ledger
from keepscore.pruning import BringUpToDate, prune_board
from keepscore.quiet import Quiet
from keepscore.replay import Progress
from keepscore.spool import Spool
from keepscore.verification import MAX_DIFFERENCES, verify_board

__all__ = ["Care"]

#: Problems that are put right player by player. Others want a ranking made anew.
SINGLE = {"score", "since", "missing", "extra"}


class Care:
    """Does what an operator asks for."""

    def __init__(
        self,
        catalog: Catalog,
        ledger: Ledger,
        engine: RankingEngine,
        applier: Applier,
        spool: Spool,
        definitions: Definitions,
        feed: Feed,
        quiet: Quiet,
        checkpoint: BringUpToDate,
        clock: Callable[[], int],
    ) -> None:
        self._catalog = catalog
        self._ledger = ledger
        self._engine = engine
        self._applier = applier
        self._spool = spool
        self._definitions = definitions
        self._feed = feed
        self._quiet = quiet
        self._checkpoint = checkpoint
        self._clock = clock

    async def rebuild(self, name: str, progress: Progress) -> Rebuild:
        """Make the rankings of a board anew from all of its events; until they are whole, readers see the old ones."""
        begun = time.perf_counter()
        live = self._catalog[name]
        await self._engine.check(live.board, [])
        await self._spool.drain_board(live)
        before = set(await self._engine.rankings(live.id))
        events, players = await self._definitions.rebuild(name, progress)
        after = set(await self._engine.rankings(live.id))
        await self._feed.publish(before | after)
        return Rebuild(name, events, players, len(after), round(time.perf_counter() - begun, 3))

    async def prune(self) -> None:
        """Remove the players whom the engine does not have to keep, on all boards with `keep_top`. For one process at a time."""
        if not await self._ledger.lead():
            return
        for live in [live for live in self._catalog if live.board.keep_top is not None]:
            await self._applier.restate_late(live)
            if not await prune_board(self._ledger, self._engine, live, self._clock(), self._checkpoint):
                await self._definitions.refill(live.name)
                await prune_board(self._ledger, self._engine, live, self._clock(), self._checkpoint)

    async def verify(self, name: str, repair: bool) -> Verification:
        """Compare a board with the ledger; with `repair`, put right what differs, and compare again."""
        found = await self._verify(name)
        if not repair or found.ok:
            return found
        rebuilt = len(found.differences) >= MAX_DIFFERENCES or any(one.problem not in SINGLE for one in found.differences)
        left = found
        if not rebuilt:
            await self._restate(self._catalog[name], found)
            left = await self._verify(name)
            # What is written at odds with everything cannot be written over.
            rebuilt = not left.ok
        if rebuilt:
            await self._list(self._catalog[name], found)
            await self.rebuild(name, lambda *_: None)
            left = await self._verify(name)
        left.repaired, left.rebuilt = found.differences, rebuilt
        return left

    async def _verify(self, name: str) -> Verification:
        live = self._catalog[name]
        await self._engine.check(live.board, [])
        await self._spool.drain_board(live)
        return await verify_board(self._ledger, self._engine, live, self._clock(), self._quiet)

    async def _restate(self, live: LiveBoard, found: Verification) -> None:
        """Restate players one by one."""
        changed: set[Ranking] = set()
        for one in found.differences:
            ranking = Ranking(live.id, one.window, one.window_id, one.segment or "")
            await self._applier.restate(live, one.player_id, [ranking])
            changed.add(ranking)
        await self._feed.publish(changed)

    async def _list(self, live: LiveBoard, found: Verification) -> None:
        """Let the engine know of rankings that it does not tell of: what lies there is the board's own, and may be replaced."""
        missing = {Ranking(live.id, d.window, d.window_id, d.segment or ""): d for d in found.differences if d.problem == "missing ranking"}
        for ranking, one in missing.items():
            await self._applier.restate(live, one.player_id, [ranking])
