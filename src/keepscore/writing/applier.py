"""What was just recorded, on its way to the engine.

Every event that the ledger has reaches the engine once. The engine says how far it is; what it lacks is read from the ledger (`healing`).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from keepscore.domain.scoring import Event
from keepscore.errors import EngineUnavailable, KeepscoreError, KeyTaken, LedgerUnavailable, UnknownBoard
from keepscore.projection.behind import Behind
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.restate import NeedsRestate, Restater, needs_restate_of
from keepscore.projection.stores import Stores
from keepscore.storage.engines.base import Batch, Gap, Outcome, Ranking, Update
from keepscore.storage.pace import Turns
from keepscore.writing.healing import MAX_TRIES, Healing
from keepscore.writing.keeping import Keeping
from keepscore.writing.plan import Plan
from keepscore.writing.spooled import packed

__all__ = ["Applied", "Applier"]

log = logging.getLogger(__name__)


class Applied(NamedTuple):
    """What became of planned events: outcomes on the submissions' own boards that the engine tells, under the plans' keys."""

    outcomes: dict[int, Outcome]
    #: Boards that could not take theirs, while the others did, and why.
    failed: dict[int, KeepscoreError]
    #: Rankings of roll-ups that have changed with them.
    rolled_up: set[Ranking]
    #: Boards that were redefined since they were planned, by number, as they are now.
    redefined: dict[int, LiveBoard]
    #: Who is left to restate.
    needs_restate: dict[LiveBoard, NeedsRestate]


class _Group(NamedTuple):
    """The planned events of one board, and for each the key of the plan whose own board it is."""

    live: LiveBoard
    events: list[Event]
    updates: list[Update]
    names: list[int | None]


class Applier:
    """Applies what this process has recorded, or has the engine keep for the ledger."""

    def __init__(self, stores: Stores, healing: Healing, restater: Restater, behind: Behind) -> None:
        self._catalog = stores.catalog
        self._engine = stores.engine
        self._healing = healing
        self._restater = restater
        self._behind = behind
        self._keeping = Keeping(stores.engine, healing)
        #: Boards with a lost answer, which may have reported late events.
        self._unheard: dict[LiveBoard, None] = {}

    async def apply(self, plans: Mapping[int, Plan], seq: int | None) -> Applied:
        """Apply planned events that the ledger has under a number; None: the engine keeps them for the ledger in the same step."""
        spool = seq is None
        grouped: dict[int, _Group] = {}
        turns = Turns()
        for key, plan in plans.items():
            if turns.is_over():
                await turns.pass_on()
            own_board = plan.boards[0]
            for live, event, update in zip(plan.boards, plan.events, plan.updates, strict=True):
                group = grouped.get(live.id)
                if group is None:
                    group = grouped[live.id] = _Group(live, [], [], [])
                group.events.append(event)
                group.updates.append(update)
                group.names.append(key if live is own_board else None)
        batches = [
            Batch(
                *(board, own[0].writer, own[0].n - 1, own[-1].n, updates, live.board.rank),
                spool=packed(own) if spool else "",
                seqs=None if seq is None else (seq, seq),
            )
            for board, (live, own, updates, _) in grouped.items()
        ]
        failed: dict[int, KeepscoreError] = {}
        planned = {board: group.live for board, group in grouped.items()}
        redefined: dict[int, LiveBoard] = {}
        try:
            if spool:
                answers = await self._keeping.keep(plans, planned, batches, failed)
            else:
                answers = await self._apply_healing(planned, batches, failed, redefined)
        except BaseException:
            self._unheard |= dict.fromkeys(group.live for group in grouped.values())
            raise
        return await self._look_after(grouped, answers, failed, redefined, spool)

    async def _look_after(
        self,
        grouped: Mapping[int, _Group],
        answers: list[list[Outcome]],
        failed: dict[int, KeepscoreError],
        redefined: dict[int, LiveBoard],
        spool: bool,
    ) -> Applied:
        """Do what applied events entail: restatements and roll-ups."""
        for live in list(self._unheard):
            # Where its server does not answer still, the engine knows who is left.
            with suppress(EngineUnavailable, LedgerUnavailable):
                await self._restater.restate_late(live)
                # Another group may have seen to it, too.
                self._unheard.pop(live, None)
        outcomes: dict[int, Outcome] = {}
        needs_restate: dict[LiveBoard, NeedsRestate] = {}
        rolled: set[Ranking] = set()
        for group, found in zip(grouped.values(), answers, strict=True):
            if group.live.id in failed:
                continue
            try:
                if not found:
                    # They had been applied already, and nobody told whether one of them came late.
                    await self._restater.restate_late(group.live)
                outcomes |= _by_name(group.names, found)
                if whom := needs_restate_of(group.updates, found):
                    needs_restate[group.live] = whom
                # What is kept for the ledger is rolled up when the ledger has it.
                rolled |= await self._roll_up_all(group) if not spool else set()
            except (EngineUnavailable, LedgerUnavailable) as exc:
                if spool:
                    # They are kept. Who is owed a restatement is known to the engine.
                    log.warning("submissions are kept for the ledger, and ranked later: %s", exc)
                else:
                    failed[group.live.id] = exc
        self._unheard |= {group.live: None for group in grouped.values() if group.live.id in failed}
        return Applied(outcomes, failed, rolled, redefined, needs_restate)

    async def _roll_up_all(self, group: _Group) -> set[Ranking]:
        """Bring all roll-ups up to date that are made from a board."""
        rolled: set[Ranking] = set()
        for target in self._catalog.rollups(group.live):
            try:
                rolled |= await self._healing.rollups.include(target, group.live.id, group.events, is_applied=True)
            except LedgerUnavailable as exc:
                # Its watermark says what is missing.
                self._behind.add(target, group.events[0].received)
                log.warning("board %r is rolled up when the ledger is back: %s", target.name, exc)
        return rolled

    async def _apply_healing(
        self, planned: Mapping[int, LiveBoard], batches: list[Batch], failed: dict[int, KeepscoreError], redefined: dict[int, LiveBoard]
    ) -> list[list[Outcome]]:
        """Return what the engine tells of each batch: nothing of one whose board has `failed` by itself, or was `redefined`."""
        tries = 0
        while left := [batch for batch in batches if batch.board not in failed and batch.board not in redefined]:
            others = [batch for batch in left if self._healing.current(planned[batch.board]) is not planned[batch.board]]
            for batch in others:
                # Another process has seen to it. The rankings may be others: what is recorded is read from the ledger again.
                current = self._healing.current(planned[batch.board])
                await self._healing.catch_up(current)
                redefined[batch.board] = self._healing.current(current)
            if others:
                continue
            try:
                try:
                    answers = dict(zip([batch.board for batch in left], await self._engine.apply(left), strict=True))
                    return [answers.get(batch.board, []) for batch in batches]
                except Gap as gap:
                    tries += 1
                    if tries > MAX_TRIES:
                        raise EngineUnavailable("the engine repeatedly lost what it was given: try again") from gap
                    log.warning("healing: %s", gap)
                    if not await self._healing.close_gap(gap):
                        failed[gap.board] = UnknownBoard("the board was deleted in the meantime")
            except EngineUnavailable as exc:
                if len(left) > 1:
                    # The others may lie on another server.
                    return [(await self._apply_healing(planned, [batch], failed, redefined))[0] for batch in batches]
                if isinstance(exc, KeyTaken):
                    log.error("%s", exc)
                failed[left[0].board] = exc
        return [[] for _ in batches]


def _by_name(names: Sequence[int | None], found: Sequence[Outcome]) -> dict[int, Outcome]:
    """Return outcomes under the keys of their plans. Those of one plan that became several events are put together, in order."""
    named = {name: outcome for name, outcome in zip(names, found, strict=bool(found)) if name is not None}
    if found and len(named) < len(names) - names.count(None):
        several: dict[int, list[Outcome]] = {}
        for name, outcome in zip(names, found, strict=True):
            if name is not None:
                several.setdefault(name, []).append(outcome)
        for name, own in several.items():
            named[name] = Outcome([change for one in own for change in one.changes], [ranking for one in own for ranking in one.restate])
    return named
