"""From the ledger to the engine: the watermark, healing, restatements.

Every event that the ledger has reaches the engine once. The engine says how far it is; what it lacks is read from the ledger.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from itertools import groupby
from typing import NamedTuple

from keepscore.catalog import Catalog, LiveBoard
from keepscore.engines.base import Batch, Gap, Outcome, Ranking, RankingEngine, Update
from keepscore.errors import EngineUnavailable, KeepscoreError, KeyTaken, LedgerUnavailable, UnknownBoard
from keepscore.ledgers.base import Checkpoint, Ledger
from keepscore.loading import load_engine
from keepscore.openings import dropped_positions
from keepscore.planner import Plan
from keepscore.replay import positions_of, restated, roll_up_player
from keepscore.rollups import mark_of
from keepscore.scoring import Event, State
from keepscore.spool import packed

__all__ = ["Applied", "Applier"]

#: How often one engine call is tried after healing: each try gets at least as far as the one before.
MAX_TRIES = 5
#: How often a player is restated while others change the board.
MAX_RESTATES = 100
#: Events that one engine call brings while the engine catches up.
STEP = 1000
#: Players whose events are read at a time for a roll-up.
TOGETHER = 20

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


class _Group(NamedTuple):
    """The planned events of one board, and for each the key of the plan whose own board it is."""

    live: LiveBoard
    events: list[Event]
    updates: list[Update]
    names: list[int | None]


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
        #: The incarnation in which the engine was seen to have all of a board, by the board's number; and who looks does so alone.
        self._assured: dict[int, int] = {}
        self._assuring = asyncio.Lock()
        #: Held while a board is loaded, by its number: several tasks may find at once that it is lost.
        self._reloading: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def apply(self, plans: Mapping[int, Plan], spool: bool = False) -> Applied:
        """Apply planned events; with `spool`, the engine keeps them for the ledger in the same step."""
        grouped: dict[int, _Group] = {}
        for key, plan in plans.items():
            name: int | None = key
            for live, event, update in zip(plan.boards, plan.events, plan.updates, strict=True):
                group = grouped.get(live.id)
                if group is None:
                    group = grouped[live.id] = _Group(live, [], [], [])
                group.events.append(event)
                group.updates.append(update)
                group.names.append(name)
                name = None
        batches = [
            Batch(
                *(board, own[0].writer, own[0].n - 1, own[-1].n, updates, live.board.rank),
                spool=packed(own) if spool else "",
            )
            for board, (live, own, updates, _) in grouped.items()
        ]
        failed: dict[int, KeepscoreError] = {}
        planned = {board: group.live for board, group in grouped.items()}
        redefined: dict[int, LiveBoard] = {}
        try:
            answers = await self._apply_healing(planned, batches, failed, redefined)
        except BaseException:
            self._unheard |= dict.fromkeys(group.live for group in grouped.values())
            raise
        for live in list(self._unheard):
            await self.restate_late(live)
            del self._unheard[live]
        outcomes: dict[int, Outcome] = {}
        rolled: set[Ranking] = set()
        for (live, events, updates, names), found in zip(grouped.values(), answers, strict=True):
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
            # What is kept for the ledger is rolled up when the ledger has it.
            for target in self._catalog.rollups(live) if not spool else ():
                try:
                    rolled |= await self._roll_up(target, live.id, events, is_applied=True)
                except LedgerUnavailable as exc:
                    # Its watermark says what is missing.
                    log.warning("board %r is rolled up when the ledger is back: %s", target.name, exc)
        return Applied(outcomes, failed, rolled, redefined)

    async def _apply_healing(
        self, planned: Mapping[int, LiveBoard], batches: list[Batch], failed: dict[int, KeepscoreError], redefined: dict[int, LiveBoard]
    ) -> list[list[Outcome]]:
        """What the engine tells of each batch: nothing of one whose board has `failed` by itself, or was `redefined`."""
        tries = 0
        while left := [batch for batch in batches if batch.board not in failed and batch.board not in redefined]:
            others = [batch for batch in left if self._current(planned[batch.board]) is not planned[batch.board]]
            for batch in others:
                # Another process has seen to it. The rankings may be others: what is recorded is read from the ledger again.
                current = self._current(planned[batch.board])
                if batch.spool:
                    failed[batch.board] = EngineUnavailable(f"board {current.name!r} was redefined meanwhile: send it again")
                else:
                    await self.catch_up(current)
                    redefined[batch.board] = self._current(current)
            if others:
                continue
            try:
                answers = dict(zip([batch.board for batch in left], await self._engine.apply(left), strict=True))
                return [answers.get(batch.board, []) for batch in batches]
            except Gap as gap:
                tries += 1
                if tries > MAX_TRIES:
                    raise EngineUnavailable("the engine lost what it was given again and again: try again") from gap
                log.warning("healing: %s", gap)
                if not await self._heal(gap):
                    failed[gap.board] = UnknownBoard("the board was deleted meanwhile")
            except KeyTaken as exc:
                if len(left) > 1:
                    return [(await self._apply_healing(planned, [batch], failed, redefined))[0] for batch in batches]
                log.error("%s", exc)
                failed[left[0].board] = exc
        return [[] for _ in batches]

    def _current(self, live: LiveBoard) -> LiveBoard:
        """A board as it is defined now."""
        found = self._catalog.get(live.name)
        return found if found is not None and found.id == live.id else live

    async def assured(self, live: LiveBoard) -> int:
        """See that the engine has what the ledger has of a board, once in each incarnation of the engine, which is answered."""
        incarnation = self._engine.incarnation
        if self._assured.get(live.id) != incarnation:
            async with self._assuring:
                incarnation = self._engine.incarnation
                if self._assured.get(live.id) != incarnation:
                    if await self._engine.applied(live.id) is None:
                        await self._heal(Gap(live.id, None))
                    else:
                        await self.catch_up(live)
                    self._assured[live.id] = incarnation
        return incarnation

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
            async with self._reloading[live.id]:
                # Whoever waited finds it loaded.
                if await self._engine.applied(live.id) is None:
                    await self._reload(live)
        else:
            await self.catch_up(live)
        return True

    async def _reload(self, live: LiveBoard) -> None:
        checkpoint = await load_engine(self._ledger, self._engine, live)
        await self._engine.promote(live.id)
        self.reloaded(live, checkpoint)

    async def catch_up(self, live: LiveBoard, shadow: bool = False) -> int:
        """Apply what the ledger has and the engine (or its shadow of the board) has not; answer how many events that were."""
        for _ in range(MAX_TRIES + 1):
            try:
                return await self._catch_up(live if shadow else self._current(live), shadow)
            except Gap as gap:
                if gap.applied is None:
                    raise EngineUnavailable(f"the engine lost board {live.name!r} while it was brought up to date: try again") from gap
                # Another process does the same, and was quicker.
        raise EngineUnavailable(f"board {live.name!r} could not be brought up to date: others did so all the time. Try again")

    async def _catch_up(self, live: LiveBoard, shadow: bool) -> int:
        applied = await self._engine.applied(live.id, shadow) or {}
        dropped = await dropped_positions(self._ledger, live) if not shadow else {}
        if any(applied.get(writer, 0) < n for writer, n in dropped.items()):
            # It comes from an old backup, and what it lacks is no longer among the events.
            async with self._reloading[live.id]:
                await self._reload(live)
            return 0
        if live.board.rollup is not None:
            return await self._catch_up_rollup(live, applied, shadow)
        done = 0
        async for events in self._ledger.events(live.id, applied):
            for writer, group in groupby(events, key=lambda event: event.writer):
                mine = list(group)
                for part in (mine[i : i + STEP] for i in range(0, len(mine), STEP)):
                    updates = [live.update(event) for event in part]
                    batch = Batch(live.id, writer, applied.get(writer, 0), part[-1].n, updates, live.board.rank, shadow)
                    if not shadow and self._current(live) is not live:
                        # It was redefined meanwhile, and its rankings may be others.
                        raise Gap(live.id, batch.after)
                    (outcomes,) = await self._engine.apply([batch])
                    applied[writer] = part[-1].n
                    for update, outcome in zip(updates, outcomes, strict=bool(outcomes)):
                        await self.restate(live, update.player, outcome.restate, shadow)
                done += len(mine)
        return done

    async def _catch_up_rollup(self, live: LiveBoard, applied: Mapping[int, int], shadow: bool) -> int:
        """Roll up what the boards of a roll-up have recorded and it does not show."""
        if applied == await positions_of(self._ledger, live):
            return 0
        done = 0
        for part in live.parts:
            after = {mark & 0xFFFFFFFF: n for mark, n in applied.items() if mark >> 32 == part.id}
            async for events in self._ledger.events(part.id, after):
                for _, group in groupby(events, key=lambda event: event.writer):
                    mine = list(group)
                    for step in (mine[i : i + STEP] for i in range(0, len(mine), STEP)):
                        await self._roll_up(live, part.id, step, shadow)
                    done += len(mine)
        return done

    async def _roll_up(
        self, live: LiveBoard, source: int, events: list[Event], shadow: bool = False, is_applied: bool = False
    ) -> set[Ranking]:
        """Bring a roll-up up to date with events of one writer on one of its boards; answer the rankings that changed.

        States are worked out anew, and set if the roll-up has not gone on meanwhile: whoever comes second has seen what the first has.
        Events that are not applied on their board yet are looked for in the ledger.
        """
        mark, upto = mark_of(source, events[0].writer), events[-1].n
        for _ in range(MAX_RESTATES):
            applied = await self._engine.applied(live.id, shadow)
            if applied is None:
                await self._heal(Gap(live.id, None))
                return set()
            if applied.get(mark, 0) >= upto:
                return set()
            if applied.get(mark, 0) < events[0].n - 1:
                await self.catch_up(live, shadow)
                continue
            (own,) = [part for part in live.parts if part.id == source]
            touched: dict[str, set[Ranking]] = {}
            for event in events:
                touched.setdefault(event.player, set()).add(live.target(own, own.route(event.at, None).rankings[0]))
            from_engine = is_applied and self._tells_all(live) and await self._covers(live, applied)
            states = await (self._roll_up_states(live, touched) if from_engine else self._roll_up_events(live, touched))
            if await self._engine.settle(live.id, states, applied, {mark: upto}, shadow):
                return set(states)
        raise EngineUnavailable(f"board {live.name!r} could not be rolled up: scores came in all the time")

    async def _covers(self, live: LiveBoard, marks: Mapping[int, int]) -> bool:
        """Whether the engine's parts of a roll-up include all that the roll-up does: it may have been ahead of them, from the ledger."""
        known = {part.id: await self._engine.applied(part.id) or {} for part in live.parts}
        return all(known.get(mark >> 32, {}).get(mark & 0xFFFFFFFF, 0) >= n for mark, n in marks.items())

    def _tells_all(self, live: LiveBoard) -> bool:
        """Whether the engine has all that a roll-up is made from: not where it drops rankings or times, or has players yet to restate."""
        rollup = live.board.rollup
        boards = [self._catalog[name] for name in rollup.of] if rollup else []
        return all(
            rollup is not None
            and rollup.window not in other.ttls
            and other.board.operator != "last"
            and self._engine.keeps_since(other.board, rollup.window)
            for other in boards
        )

    async def _roll_up_states(self, live: LiveBoard, touched: Mapping[str, set[Ranking]]) -> dict[Ranking, dict[str, State]]:
        """The states of players in rankings of a roll-up, from those in its parts. O(parts) for each."""
        states: dict[Ranking, dict[str, State]] = {}
        for target in set().union(*touched.values()):
            players = [player for player, targets in touched.items() if target in targets]
            sources = live.sources(target)
            known = await asyncio.gather(*(self._engine.states(ranking, players) for _, ranking in sources))
            for i, player in enumerate(players):
                own = [(name, state) for (name, _), found in zip(sources, known, strict=True) if (state := found[i]) is not None]
                if own:
                    states.setdefault(target, {})[player] = live.rolled_up(own)
        return states

    async def _roll_up_events(self, live: LiveBoard, touched: Mapping[str, set[Ranking]]) -> dict[Ranking, dict[str, State]]:
        """The same, from the ledger. O(events of each player)."""
        states: dict[Ranking, dict[str, State]] = {}
        for players in _slices(list(touched), TOGETHER):
            made = await asyncio.gather(*(roll_up_player(self._ledger, live, live.parts, player) for player in players))
            for player, found in zip(players, made, strict=True):
                for ranking in touched[player]:
                    states.setdefault(ranking, {})[player] = found[ranking]
        return states

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


def _slices(players: list[str], size: int) -> Iterable[list[str]]:
    return (players[start : start + size] for start in range(0, len(players), size))
