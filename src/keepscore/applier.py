"""From the ledger to the engine: the watermark, healing, restatements.

Every event that the ledger has reaches the engine once. The engine says how far it is; what it lacks is read from the ledger.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from itertools import groupby
from typing import NamedTuple

from keepscore.catalog import Catalog, LiveBoard
from keepscore.engines.base import Batch, Gap, Outcome, Ranking, RankingEngine, Update
from keepscore.errors import EngineUnavailable, KeepscoreError, KeyTaken, LedgerUnavailable, UnknownBoard
from keepscore.ledgers.base import Checkpoint, Ledger
from keepscore.planner import Plan
from keepscore.replay import load_engine, restated
from keepscore.scoring import Event
from keepscore.spool import packed

__all__ = ["Applied", "Applier"]

#: How often one engine call is tried after healing: each try gets at least as far as the one before.
MAX_TRIES = 5
#: How often a player is restated while others change the board.
MAX_RESTATES = 100
#: Events that one engine call brings while the engine catches up.
STEP = 1000

log = logging.getLogger(__name__)


class Applied(NamedTuple):
    """What became of planned events: outcomes on the submissions' own boards that the engine tells, under the plans' keys."""

    outcomes: dict[int, Outcome]
    #: Boards that could not take theirs, while the others did, and why.
    failed: dict[int, KeepscoreError]


class Applier:
    """Applies what one writer, `number`, has recorded."""

    def __init__(self, number: int, catalog: Catalog, ledger: Ledger, engine: RankingEngine) -> None:
        self.number = number
        #: Called when a board that the engine had lost was loaded again.
        self.reloaded: Callable[[LiveBoard, Checkpoint | None], None] = lambda live, checkpoint: None
        #: Called when the engine does not know a board: others may have changed its definition.
        self.refresh: Callable[[], Awaitable[bool]] | None = None
        self._catalog = catalog
        self._ledger = ledger
        self._engine = engine
        #: Boards of which an answer was lost: it may have told of late events.
        self._unheard: dict[LiveBoard, None] = {}

    async def apply(self, plans: Mapping[int, Plan], spool: bool = False) -> Applied:
        """Apply planned events; with `spool`, the engine keeps them for the ledger in the same step."""
        grouped: dict[int, tuple[LiveBoard, list[Update], list[int | None]]] = {}
        events: dict[int, list[Event]] = {}
        for key, plan in plans.items():
            for live, event, update in zip(plan.boards, plan.events, plan.updates, strict=True):
                _, updates, names = grouped.setdefault(live.id, (live, [], []))
                updates.append(update)
                names.append(key if live is plan.boards[0] else None)
                events.setdefault(live.id, []).append(event)
        batches = [
            Batch(
                *(board, own[0].writer, own[0].n - 1, own[-1].n, grouped[board][1], grouped[board][0].board.rank),
                spool=packed(own) if spool else "",
            )
            for board, own in events.items()
        ]
        failed: dict[int, KeepscoreError] = {}
        try:
            answers = await self._apply_healing(batches, failed)
        except BaseException:
            self._unheard |= dict.fromkeys(live for live, _, _ in grouped.values())
            raise
        for live in list(self._unheard):
            await self.restate_late(live)
            del self._unheard[live]
        outcomes: dict[int, Outcome] = {}
        for (live, updates, names), found in zip(grouped.values(), answers, strict=True):
            if live.id in failed:
                continue
            if not found:
                # They had been applied already, and nobody told whether one of them came late.
                await self.restate_late(live)
            for update, name, outcome in zip(updates, names, found, strict=bool(found)):
                if outcome.restate:
                    try:
                        await self.restate(live, update.player, outcome.restate)
                    except LedgerUnavailable as exc:
                        # The engine knows who is left.
                        log.warning("restated when the ledger is back: %s", exc)
                if name is not None:
                    outcomes[name] = outcome
        return Applied(outcomes, failed)

    async def _apply_healing(self, batches: list[Batch], failed: dict[int, KeepscoreError]) -> list[list[Outcome]]:
        """What the engine tells of each batch: nothing of one whose board has `failed` by itself."""
        tries = 0
        while left := [batch for batch in batches if batch.board not in failed]:
            try:
                answers = iter(await self._engine.apply(left))
                return [[] if batch.board in failed else next(answers) for batch in batches]
            except Gap as gap:
                tries += 1
                if tries > MAX_TRIES:
                    raise EngineUnavailable("the engine lost what it was given again and again: try again") from gap
                log.warning("healing: %s", gap)
                if not await self._heal(gap):
                    failed[gap.board] = UnknownBoard("the board was deleted meanwhile")
            except KeyTaken as exc:
                if len(left) > 1:
                    return [(await self._apply_healing([batch], failed))[0] for batch in batches]
                log.error("%s", exc)
                failed[left[0].board] = exc
        return [[] for _ in batches]

    async def ensure(self, live: LiveBoard, upto: int) -> None:
        """Bring a board up to date, of which this writer has recorded that many events."""
        applied = await self._engine.applied(live.id)
        if applied is None or applied.get(self.number, 0) != upto:
            await self._heal(Gap(live.id, None if applied is None else applied.get(self.number, 0)))

    async def _heal(self, gap: Gap) -> bool:
        """Close a gap between the ledger and the engine: replay what is missing, or rebuild a board that the engine has lost.

        The answer is False where there is no such board any more.
        """
        if gap.applied is None and self.refresh is not None:
            await self.refresh()
        live = next((live for live in self._catalog if live.id == gap.board), None)
        if live is None:
            return False
        if gap.applied is None and not await self._engine.adopt(live.id, live.board):
            checkpoint = await load_engine(self._ledger, self._engine, live)
            await self._engine.promote(live.id)
            self.reloaded(live, checkpoint)
        else:
            await self.catch_up(live)
        return True

    async def catch_up(self, live: LiveBoard, shadow: bool = False) -> int:
        """Apply what the ledger has and the engine (or its shadow of the board) has not; answer how many events that were."""
        for _ in range(MAX_TRIES + 1):
            try:
                return await self._catch_up(live, shadow)
            except Gap as gap:
                if gap.applied is None:
                    raise EngineUnavailable(f"the engine lost board {live.name!r} while it was brought up to date: try again") from gap
                # Another process does the same, and was quicker.
        raise EngineUnavailable(f"board {live.name!r} could not be brought up to date: others did so all the time. Try again")

    async def _catch_up(self, live: LiveBoard, shadow: bool) -> int:
        applied = await self._engine.applied(live.id, shadow) or {}
        done = 0
        async for events in self._ledger.events(live.id, applied):
            for writer, group in groupby(events, key=lambda event: event.writer):
                mine = list(group)
                for part in (mine[i : i + STEP] for i in range(0, len(mine), STEP)):
                    updates = [live.update(event) for event in part]
                    batch = Batch(live.id, writer, applied.get(writer, 0), part[-1].n, updates, live.board.rank, shadow)
                    (outcomes,) = await self._engine.apply([batch])
                    applied[writer] = part[-1].n
                    for update, outcome in zip(updates, outcomes, strict=bool(outcomes)):
                        await self.restate(live, update.player, outcome.restate, shadow)
                done += len(mine)
        return done

    async def restate_late(self, live: LiveBoard) -> None:
        """Restate the players whose events came late and who were not restated then, if there are any."""
        if live.board.operator == "last" or live.board.keep_top is not None:
            for ranking, player in await self._engine.late(live.id):
                await self.restate(live, player, [ranking])

    async def restate(self, live: LiveBoard, player: str, rankings: Iterable[Ranking], shadow: bool = False) -> None:
        """Recompute a player from the ledger, whose event came late maybe, until nothing has come in between."""
        current = self._catalog.get(live.name)
        if not shadow and (current is None or (current.id, current.meaning) != (live.id, live.meaning)):
            # The board means something else by now, and was rebuilt for that from the ledger.
            return
        for ranking in rankings:
            for _ in range(MAX_RESTATES):
                upto = await self._engine.applied(live.id, shadow)
                if upto is None:
                    # It was rebuilt meanwhile, by another definition maybe, from the ledger: the event is in it.
                    return
                if not shadow and await self._engine.spooled(live.id, 1):
                    # The ledger lacks something that the engine has. Who is left is known, and looked after when that is recorded.
                    return
                state = await restated(self._ledger, live, player, ranking, upto)
                returned = not shadow and await self._was_there(live, player, ranking)
                if await self._engine.restate(ranking, player, state, shadow, upto, returned):
                    break
            else:
                raise EngineUnavailable(f"player {player!r} could not be restated on board {live.name!r}: scores came in all the time")

    async def _was_there(self, live: LiveBoard, player: str, ranking: Ranking) -> bool:
        """Whether a player was in a ranking when rows were removed from it the last time: one who is not kept is hidden since."""
        pruned = await self._engine.pruned(ranking) if live.board.keep_top is not None else None
        return pruned is not None and await restated(self._ledger, live, player, ranking, pruned.applied) is not None
