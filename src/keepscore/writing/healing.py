"""Whatever the engine lacks and the ledger has: found by the watermarks, and brought to it.

A gap is closed by replaying what is missing. A board that the engine has lost, or knows from an old backup, is loaded from the ledger.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection
from itertools import groupby

from keepscore.errors import EngineUnavailable, RankingLost
from keepscore.projection.adoption import Adoption
from keepscore.projection.checkpoint_bases import CheckpointBases
from keepscore.projection.homes import promote
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.load import load_engine
from keepscore.projection.restate import Restater, needs_restate_of
from keepscore.projection.rollups import RollUps, dropped_positions
from keepscore.projection.sequence import events_of
from keepscore.projection.stores import Stores
from keepscore.projection.teams import EngineCalls
from keepscore.storage.engines.base import Batch, Gap, Ranking
from keepscore.telemetry.counters import HEALS
from keepscore.writing.identity import WriterIdentity
from keepscore.writing.ledger_watch import LedgerWatch
from keepscore.writing.quarantine import Quarantine

__all__ = ["MAX_TRIES", "Healing"]

#: How often one engine call is tried after healing: each try gets at least as far as the one before.
MAX_TRIES = 5
#: Events that one engine call brings while the engine catches up.
STEP_EVENTS = 1000


class Healing:
    """Brings the engine up to date for one process."""

    def __init__(
        self, stores: Stores, identity: WriterIdentity, adoption: Adoption, bases: CheckpointBases, watch: LedgerWatch, restater: Restater
    ) -> None:
        self._catalog, self._ledger, self._engine, _ = stores
        self._identity = identity
        self._adoption = adoption
        self._bases = bases
        self._watch = watch
        self._restater = restater
        #: Leaves out what the engine refuses for good.
        self.quarantine = Quarantine(stores)
        #: Brings the roll-ups up to date.
        self.rollups = RollUps(stores, EngineCalls(self.close_gap, self.catch_up, restater.restate_late))
        #: The incarnation in which the engine was seen to have all of a board, by the board's number; and who looks at one does so alone.
        self._assured: dict[int, int] = {}
        self._assuring: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        #: Held while a board is loaded, by its number: several tasks may find at once that it is lost.
        self._reloading: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)

    def current(self, live: LiveBoard) -> LiveBoard:
        """Return a board as it is defined now."""
        found = self._catalog.get(live.name)
        return found if found is not None and found.id == live.id else live

    async def assured(self, live: LiveBoard) -> int:
        """See that a strong board may be read; return the engine's incarnation in which that is so.

        The engine has all of it that the ledger has, which is looked at once in each incarnation.
        """
        self._watch.check(live)
        if not self._engine.is_shared:
            return 0
        incarnation = self._engine.incarnation
        if self._assured.get(live.id) != incarnation:
            async with self._assuring[live.id]:
                incarnation = self._engine.incarnation
                if self._assured.get(live.id) != incarnation:
                    if await self._engine.applied(live.id) is None:
                        await self.close_gap(Gap(live.id, None))
                    else:
                        await self.catch_up(live)
                    self._assured[live.id] = incarnation
        return incarnation

    async def prepare(self, live: LiveBoard, rankings: Collection[Ranking] = ()) -> None:
        """Raise EngineUnavailable where the engine would not take an event of a board. A board that it has lost is loaded first.

        Afterwards the engine knows which of these rankings (without any: of the present ones) have no place.
        """
        try:
            applied, _ = await asyncio.gather(self._engine.applied(live.id), self._engine.probe(live.id, rankings))
            if applied is not None:
                return
            await self.close_gap(Gap(live.id, None))
        except RankingLost as lost:
            await self.heal(lost)
        await self._engine.probe(live.id, rankings, healed=True)

    async def heal(self, lost: RankingLost) -> None:
        """Rebuild a board after the engine has lost some of it, unless somebody else has.

        Afterwards the engine knows whether that ranking has no place: rebuilding again would not help.
        """
        ranking = Ranking(*lost.ranking)
        if lost.is_short:
            await self._refill(ranking)
            return
        await self._engine.give_up(ranking)
        await self.close_gap(Gap(ranking.board, None))
        await self._engine.probe(ranking.board, [ranking], healed=True)

    async def _refill(self, ranking: Ranking) -> None:
        """Bring back the players who were removed from a board with `keep_top`, from the ledger's checkpoint and the events since."""
        live = next((live for live in self._catalog if live.id == ranking.board), None)
        if live is None:
            return
        async with self._reloading[live.id]:
            pruned = await self._engine.pruning.pruned(ranking)
            # Whoever waited finds it filled.
            if pruned is not None and pruned.exact < (live.board.keep_top or 0):
                await self._reload(live)
        await self.catch_up(live)

    async def reclaim(self, live: LiveBoard) -> None:
        """Give up a board's rankings in whose place something else lay, where that is gone: they are rebuilt then."""
        for ranking in [ranking for ranking in self._engine.taken() if ranking.board == live.id]:
            await self._engine.give_up(ranking)

    async def ensure(self, live: LiveBoard, upto: int) -> None:
        """Bring a board up to date on which this writer has recorded that many events."""
        number = self._identity.number
        applied = await self._engine.applied(live.id)
        if applied is None or applied.get(number, 0) != upto:
            await self.close_gap(Gap(live.id, None if applied is None else applied.get(number, 0)))

    async def close_gap(self, gap: Gap) -> bool:
        """Close a gap between the ledger and the engine: replay what is missing, or rebuild a board that the engine has lost.

        Return False where there is no such board any more.
        """
        if gap.applied is None:
            # Others may have changed its definition.
            await self._adoption.adopt()
        live = next((live for live in self._catalog if live.id == gap.board), None)
        if live is None:
            return False
        if gap.applied is None and not await self._engine.adopt(live.id, live.board):
            async with self._reloading[live.id]:
                # Whoever waited finds it loaded.
                if await self._engine.applied(live.id) is None:
                    HEALS.add("lost_board")
                    await self._reload(live)
        else:
            HEALS.add("missing_events")
            await self.catch_up(live)
        return True

    async def _reload(self, live: LiveBoard) -> None:
        checkpoint = await load_engine(self._ledger, self._engine, live)
        await promote(self._ledger, self._engine, live)
        self.quarantine.loaded(live)
        self._bases.loaded(live, checkpoint)

    # -- catching up ----------------------------------------------------------------------------------------------------

    async def catch_up(self, live: LiveBoard, shadow: bool = False) -> int:
        """Apply what the ledger has and the engine (or its shadow of the board) has not; return how many events that were."""
        for _ in range(MAX_TRIES + 1):
            try:
                return await self._catch_up(live if shadow else self.current(live), shadow)
            except Gap as gap:
                if gap.applied is None:
                    raise EngineUnavailable(f"the engine lost board {live.name!r} while it was brought up to date: try again") from gap
                # Another process does the same, and was quicker.
        raise EngineUnavailable(f"board {live.name!r} could not be brought up to date: others kept doing so. Try again")

    async def _catch_up(self, live: LiveBoard, shadow: bool) -> int:
        applied = await self._engine.applied(live.id, shadow) or {}
        dropped = await dropped_positions(self._ledger, live) if not shadow else {}
        if any(applied.get(writer, 0) < n for writer, n in dropped.items()):
            # It comes from an old backup, and what it lacks is no longer among the events.
            HEALS.add("old_backup")
            async with self._reloading[live.id]:
                await self._reload(live)
            return 0
        if live.board.is_rollup:
            return await self.rollups.catch_up(live, applied, shadow)
        done = 0
        # Events of those who are not ranked are not folded.
        await self._catalog.restrictions.refresh(self._ledger, self._catalog.clock())
        async for events in events_of(self._ledger, live, applied):
            for writer, group in groupby(events, key=lambda event: event.writer):
                mine = list(group)
                for part in (mine[i : i + STEP_EVENTS] for i in range(0, len(mine), STEP_EVENTS)):
                    updates = [live.update(event) for event in part]
                    seqs = part[0].seq or 0, part[-1].seq or 0
                    batch = Batch(live.id, writer, applied.get(writer, 0), part[-1].n, updates, live.board.rank, shadow, seqs=seqs)
                    if not shadow and self.current(live) is not live:
                        # It was redefined meanwhile, and its rankings may be others.
                        raise Gap(live.id, batch.after)
                    outcomes = await self.quarantine.apply(live, batch, part)
                    applied[writer] = part[-1].n
                    if needs_restate := needs_restate_of(updates, outcomes):
                        await self._restater.restate(live, needs_restate, shadow)
                done += len(mine)
        return done
