"""From the ledger to the engine: the watermark, healing, restatements.

Every event that the ledger has reaches the engine once. The engine says how far it is; what it lacks is read from the ledger.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping

from keepscore.catalog import Catalog, LiveBoard
from keepscore.engines.base import Batch, Gap, Outcome, Ranking, RankingEngine, Update
from keepscore.ledgers.base import Checkpoint, Ledger
from keepscore.planner import Plan
from keepscore.replay import load_engine, restated

__all__ = ["Applier"]

#: How often one engine call is tried after healing: each try gets at least as far as the one before.
MAX_TRIES = 5

log = logging.getLogger(__name__)


class Applier:
    """Applies what one writer, `number`, has recorded."""

    def __init__(self, number: int, catalog: Catalog, ledger: Ledger, engine: RankingEngine) -> None:
        self.number = number
        #: Called when a board that the engine had lost was loaded again.
        self.reloaded: Callable[[LiveBoard, Checkpoint | None], None] = lambda live, checkpoint: None
        self._catalog = catalog
        self._ledger = ledger
        self._engine = engine
        #: Updates that the engine may have applied without a word, on boards where a late one would need restating.
        self._doubtful: list[tuple[LiveBoard, Update]] = []

    async def apply(self, plans: Mapping[int, Plan]) -> dict[int, Outcome]:
        """Apply planned events; answer the outcomes on the submissions' own boards that the engine tells, under the plans' keys."""
        grouped: dict[int, tuple[LiveBoard, list[Update], list[int | None]]] = {}
        first: dict[int, int] = {}
        for key, plan in plans.items():
            for live, event, update in zip(plan.boards, plan.events, plan.updates, strict=True):
                _, updates, names = grouped.setdefault(live.id, (live, [], []))
                updates.append(update)
                names.append(key if live is plan.boards[0] else None)
                first.setdefault(live.id, event.n)
        batches = [
            Batch(board, self.number, first[board] - 1, first[board] - 1 + len(updates), updates, live.board.rank)
            for board, (live, updates, _) in grouped.items()
        ]
        try:
            answers = await self._apply_healing(batches)
        except BaseException:
            self._doubtful += [
                (live, update) for live, updates, _ in grouped.values() for update in updates if live.board.operator == "last"
            ]
            raise
        for live, update in self._doubtful:
            await self._restate(live, update, update.rankings, await self._engine.applied(live.id) or {})
        self._doubtful.clear()
        outcomes: dict[int, Outcome] = {}
        for (live, updates, names), found in zip(grouped.values(), answers, strict=True):
            if not found and live.board.operator == "last":
                # They had been applied already, and nobody told whether one of them came late.
                for update in updates:
                    await self._restate(live, update, update.rankings, await self._engine.applied(live.id) or {})
            for update, name, outcome in zip(updates, names, found, strict=bool(found)):
                if outcome.restate:
                    await self._restate(live, update, outcome.restate, await self._engine.applied(live.id) or {})
                if name is not None:
                    outcomes[name] = outcome
        return outcomes

    async def _apply_healing(self, batches: list[Batch]) -> list[list[Outcome]]:
        for _ in range(MAX_TRIES):
            try:
                return await self._engine.apply(batches)
            except Gap as gap:
                log.warning("healing: %s", gap)
                await self._heal(gap)
        return await self._engine.apply(batches)

    async def ensure(self, live: LiveBoard, upto: int) -> None:
        """Bring a board up to date, of which this writer has recorded that many events."""
        applied = await self._engine.applied(live.id)
        if applied is None or applied.get(self.number, 0) != upto:
            await self._heal(Gap(live.id, None if applied is None else applied.get(self.number, 0)))

    async def _heal(self, gap: Gap) -> None:
        """Close a gap between the ledger and the engine: replay what is missing, or rebuild a board that the engine has lost."""
        live = next((live for live in self._catalog if live.id == gap.board), None)
        if live is None:
            return
        if gap.applied is None:
            checkpoint = await load_engine(self._ledger, self._engine, live)
            await self._engine.promote(live.id)
            self.reloaded(live, checkpoint)
        else:
            await self.catch_up(live)

    async def catch_up(self, live: LiveBoard, shadow: bool = False) -> int:
        """Apply what the ledger has and the engine (or its shadow of the board) has not; answer how many events that were."""
        applied = await self._engine.applied(live.id, shadow) or {}
        done = 0
        async for events in self._ledger.events(live.id, applied):
            for writer in sorted({event.writer for event in events}):
                mine = [event for event in events if event.writer == writer]
                updates = [live.update(event) for event in mine]
                batch = Batch(live.id, writer, applied.get(writer, 0), mine[-1].n, updates, live.board.rank, shadow)
                (outcomes,) = await self._engine.apply([batch])
                applied[writer] = mine[-1].n
                for update, outcome in zip(updates, outcomes, strict=bool(outcomes)):
                    await self._restate(live, update, outcome.restate, applied, shadow)
                done += len(mine)
        return done

    async def _restate(
        self, live: LiveBoard, update: Update, rankings: Iterable[Ranking], upto: Mapping[int, int], shadow: bool = False
    ) -> None:
        """Recompute a player whose event came late."""
        for ranking in rankings:
            state = await restated(self._ledger, live, update.player, ranking, upto)
            await self._engine.restate(ranking, update.player, state, shadow)
