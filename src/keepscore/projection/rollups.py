"""Roll-ups: boards that are made from the windows of others, such as a week from its days. All that is special about them is here.

A roll-up has no events. It is made from *parts*, the boards that it names, each with the one window that counts. Its watermarks tell, for
each part and each writer, which events it includes (`mark_of`). After a group is applied to a part, the players in it are recomputed
from their states in all parts, or from their events where the engine cannot tell, and set in one step together with the watermark, if no
watermark of the roll-up has moved since. What a crash leaves out is behind the watermarks, and found there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import NamedTuple
from weakref import WeakKeyDictionary

from msgspec.structs import replace

from keepscore.caches import ByteCache, bytes_of
from keepscore.domain.boards import Board
from keepscore.domain.rollups import Rollup, mark_of, rolled_up
from keepscore.domain.scoring import Event, State, cut, fold_all
from keepscore.domain.verdicts import RESTATING, that_count
from keepscore.domain.windows import span_at, span_of
from keepscore.errors import EngineUnavailable, InvalidBoard
from keepscore.projection.live_boards import TARGETS_BYTES, LiveBoard
from keepscore.projection.openings import pasts_of
from keepscore.projection.own_events import Folded, FoldRequest, fold_own_events
from keepscore.projection.stores import Stores
from keepscore.projection.teams import EngineCalls, TeamCounts, fold_teams, members_of
from keepscore.storage.engines.base import Gap, Ranking
from keepscore.storage.ledgers.base import Ledger

__all__ = [
    "RollUps",
    "check_rollup",
    "dropped_positions",
    "fold_rollup",
    "part_window",
    "parts_of",
    "parts_that_expire",
    "positions_of",
    "recorded_boards",
    "roll_up_players",
]

#: How often a roll-up is recomputed while others change it.
MAX_TRIES = 100
#: Events of a part that are rolled up at a time.
STEP_EVENTS = 1000

#: The part of a mark that is the number of the writer.
_WRITER = 0xFFFFFFFF


class _Parts(NamedTuple):
    """What is derived of a roll-up once: number and version of each part, the parts, and its ranking for each ranking of a part."""

    versions: list[tuple[int, int]]
    boards: list[LiveBoard]
    targets: ByteCache[Ranking, Ranking]


#: What was derived, for as long as a board lives.
_derived: WeakKeyDictionary[LiveBoard, _Parts] = WeakKeyDictionary()


def _rollup(live: LiveBoard) -> Rollup:
    assert live.board.rollup is not None, "only a roll-up has parts"
    return live.board.rollup


def parts_of(live: LiveBoard) -> list[LiveBoard]:
    """Return the boards that a roll-up is made from, as they are now, each with the window that counts and nothing else."""
    if live.board.teams_of is not None:
        return [members_of(live)]
    return _derived_of(live).boards if live.board.is_rollup else []


def _derived_of(live: LiveBoard) -> _Parts:
    assert live.catalog is not None, "a roll-up is among other boards"
    records = [live.catalog[name].record for name in live.board.made_from]
    versions = [record[:2] for record in records]
    found = _derived.get(live)
    if found is None or found.versions != versions:
        window = [_rollup(live).window]
        plain = [record._replace(board=replace(record.board, windows=window, segments=[], also=[])) for record in records]
        found = _derived[live] = _Parts(versions, [LiveBoard(record, live.catalog) for record in plain], ByteCache(TARGETS_BYTES))
    return found


def part_window(live: LiveBoard) -> str:
    """Return the window of its boards that a roll-up is made from; of a board of teams, the first of them."""
    return live.board.first_window if live.board.teams_of is not None else _rollup(live).window


def recorded_boards(live: LiveBoard) -> list[LiveBoard]:
    """Return the boards whose events a board shows: its own or, of a roll-up, those that it is made from."""
    return parts_of(live) if live.board.is_rollup else [live]


def parts_that_expire(live: LiveBoard) -> list[str]:
    """Return the boards of a roll-up whose rankings expire: what they were is known from events only."""
    found = [] if live.catalog is None else [live.catalog.get(name) for name in live.board.made_from]
    return [part.name for part in found if part is not None and part_window(live) in part.ttls]


async def positions_of(ledger: Ledger, live: LiveBoard) -> dict[int, int]:
    """Return how far each writer has got with what a board shows, under the names that its watermarks have."""
    if not live.board.is_rollup:
        return await ledger.events.positions(live.id)
    return {mark_of(part.id, writer): n for part in parts_of(live) for writer, n in (await ledger.events.positions(part.id)).items()}


async def dropped_positions(ledger: Ledger, live: LiveBoard) -> dict[int, int]:
    """Return the last dropped event of each writer, under the names that its watermarks have: what only openings tell."""
    found: dict[int, int] = {}
    for board in recorded_boards(live):
        opening = await ledger.openings.current(board.id)
        for writer, n in ({} if opening is None else opening.positions).items():
            found[mark_of(board.id, writer) if live.board.is_rollup else writer] = n
    return found


def check_rollup(board: Board, boards: Mapping[str, Board]) -> None:
    """Refuse a roll-up that does not fit the boards that there are."""
    rollup = board.rollup
    for name in rollup.of if rollup else ():
        other = boards.get(name)
        problem = None
        if other is None:
            problem = f"there is no board {name!r}"
        elif other.is_rollup or other.aging is not None or other.by == "team":
            why = "ranks teams" if other.by == "team" else "is a roll-up itself" if other.is_rollup else "has scores that change with time"
            problem = f"board {name!r} {why}"
        elif rollup and rollup.window not in other.periods:
            problem = f"board {name!r} has no window {rollup.window!r}: it has {', '.join(other.periods)}"
        else:
            for field in ("decimals", "timezone", "week_start"):
                if getattr(other, field) != getattr(board, field):
                    problem = f"board {name!r} has {field} = {getattr(other, field)!r}, and this one {getattr(board, field)!r}"
        if problem:
            raise InvalidBoard(f"board {board.name!r}: rollup of {name!r} cannot be used; {problem}")


# -- states -------------------------------------------------------------------------------------------------------------


def _target(live: LiveBoard, part: LiveBoard, ranking: Ranking) -> Ranking:
    """Return the ranking of a roll-up in which a ranking of a part counts."""
    targets = _derived_of(live).targets
    found = targets.get(ranking)
    if found is None:
        span = span_at(live.board, live.board.first_window, span_of(part.board, ranking.window, ranking.window_id).start)
        assert span is not None, "no roll-up is into seasons"
        found = Ranking(live.id, span.window, span.id, "")
        targets.put(ranking, found, bytes_of(found))
    return found


def _sources(live: LiveBoard, target: Ranking) -> list[tuple[str, Ranking]]:
    """Return the rankings that a ranking of a roll-up is made from, each with the name of its board."""
    whole = span_of(live.board, target.window, target.window_id)
    found = []
    for part in parts_of(live):
        moment = whole.start
        while moment < whole.end and (span := span_at(part.board, part.board.first_window, moment)) is not None:
            found.append((part.name, Ranking(part.id, span.window, span.id, "")))
            moment = span.end
    return found


def _combined(live: LiveBoard, states: Sequence[tuple[str, State]]) -> State:
    """Return the state that the states in parts make, each with the name of the part's board."""
    rollup = _rollup(live)
    scores = [state.score * rollup.weights.get(name, 1) for name, state in states]
    since = max(state.since for _, state in states)
    return State(rolled_up(rollup, live.board.order == "desc", scores), cut(live.board, since))


async def fold_rollup(ledger: Ledger, live: LiveBoard, upto: Mapping[int, int]) -> Folded:
    """Fold a roll-up: the folds of its parts, put together. O(events of its boards)."""
    if live.board.teams_of is not None:
        return await fold_teams(ledger, live, upto)
    found: dict[Ranking, dict[str, list[tuple[str, State]]]] = {}
    count = 0
    for part in parts_of(live):
        positions = await ledger.events.positions(part.id)
        own = {writer: upto.get(mark_of(part.id, writer), 0) for writer in positions}
        folded = await fold_own_events(ledger, part, FoldRequest(own))
        count += folded.events
        for ranking, states in folded.states.items():
            players = found.setdefault(_target(live, part, ranking), {})
            for player, state in states.items():
                players.setdefault(player, []).append((part.name, state))
    states_of = {ranking: {player: _combined(live, parts) for player, parts in players.items()} for ranking, players in found.items()}
    return Folded(states_of, {}, count)


async def roll_up_players(
    ledger: Ledger, live: LiveBoard, players: Sequence[str], with_hidden: bool = False
) -> dict[str, dict[Ranking, State]]:
    """Return the states of some players in all rankings of a roll-up, from all events there are. O(events of the players).

    On boards where a player is not ranked now, there is nothing, but `with_hidden`. Teams are folded from all events of their members.
    """
    if live.board.teams_of is not None:
        everything = (await fold_teams(ledger, live, await positions_of(ledger, live))).states
        return {team: {ranking: states[team] for ranking, states in everything.items() if team in states} for team in players}
    found: dict[str, dict[Ranking, list[tuple[str, State]]]] = {player: {} for player in players}
    for part in parts_of(live):
        for player, past in (await pasts_of(ledger, part, players)).items():
            if past.is_hidden and not with_hidden:
                continue
            events: dict[Ranking, list[Event]] = {ranking: [] for ranking in past.states}
            for event in that_count(past.events):
                for ranking in part.rankings_of(event):
                    events.setdefault(ranking, []).append(event)
            for ranking, own in events.items():
                state = fold_all(part.board, own, past.states.get(ranking))
                assert state is not None, "there are events"
                found[player].setdefault(_target(live, part, ranking), []).append((part.name, state))
    return {player: {ranking: _combined(live, states) for ranking, states in own.items()} for player, own in found.items()}


# -- the engine ---------------------------------------------------------------------------------------------------------


class RollUps:
    """Brings roll-ups in an engine up to date with the boards that they are made from."""

    def __init__(
        self,
        stores: Stores,
        calls: EngineCalls,
    ) -> None:
        self._catalog, self._ledger, self._engine, _ = stores
        #: Called for a roll-up that the engine has lost, and for one that lacks earlier events.
        self._heal, self._catch_up, _ = calls
        #: Counts the teams of boards that rank teams.
        self.teams = TeamCounts(stores, calls)

    async def catch_up(self, live: LiveBoard, applied: Mapping[int, int], shadow: bool) -> int:
        """Roll up what the parts have recorded and the roll-up does not show; return how many events that were."""
        if applied == await positions_of(self._ledger, live):
            return 0
        done = 0
        for part in parts_of(live):
            after = {mark & _WRITER: n for mark, n in applied.items() if mark >> 32 == part.id}
            async for events in self._ledger.events.read(part.id, after):
                for _, group in groupby(events, key=lambda event: event.writer):
                    mine = list(group)
                    for step in (mine[i : i + STEP_EVENTS] for i in range(0, len(mine), STEP_EVENTS)):
                        await self.include(live, part.id, step, shadow)
                    done += len(mine)
        return done

    async def include(
        self, live: LiveBoard, source: int, events: list[Event], shadow: bool = False, is_applied: bool = False
    ) -> set[Ranking]:
        """Bring a roll-up up to date with events of one writer on one of its boards; return the rankings that changed.

        States are recomputed, and set if the roll-up has not gone on meanwhile: whoever comes second has seen what the first has.
        Events that are not applied on their board yet are looked for in the ledger.
        """
        if live.board.teams_of is not None:
            return await self.teams.include(live, events, shadow)
        mark, upto = mark_of(source, events[0].writer), events[-1].n
        for _ in range(MAX_TRIES):
            applied = await self._engine.applied(live.id, shadow)
            if applied is None:
                await self._heal(Gap(live.id, None))
                return set()
            if applied.get(mark, 0) >= upto:
                return set()
            if applied.get(mark, 0) < events[0].n - 1:
                await self._catch_up(live, shadow)
                continue
            (own,) = [part for part in parts_of(live) if part.id == source]
            touched: dict[str, set[Ranking]] = {}
            for event in events:
                for ranking in own.rankings_of(event):
                    if not live.is_retired(target := _target(live, own, ranking)):
                        touched.setdefault(event.player, set()).add(target)
            has_verdicts = any(event.kind in RESTATING for event in events)
            from_engine = is_applied and not has_verdicts and self._tells_all(live, touched) and await self._covers(live, applied, touched)
            states = await (self._from_states(live, touched) if from_engine else self._from_events(live, touched))
            if await self._engine.settle(live.id, states, applied, {mark: upto}, shadow):
                return set(states)
        raise EngineUnavailable(f"board {live.name!r} could not be rolled up: scores kept coming in")

    async def _covers(self, live: LiveBoard, watermarks: Mapping[int, int], players: Mapping[str, object]) -> bool:
        """Return whether the engine's parts include all that the roll-up does: it may have been ahead of them, from the ledger.

        And whether none of these players is about to be restated there.
        """
        known = {part.id: await self._engine.applied(part.id) or {} for part in parts_of(live)}
        late = [player for part in parts_of(live) for _, player in await self._engine.needs_restate(part.id)]
        if not players.keys().isdisjoint(late):
            return False
        return all(known.get(mark >> 32, {}).get(mark & _WRITER, 0) >= n for mark, n in watermarks.items())

    def _tells_all(self, live: LiveBoard, touched: Mapping[str, set[Ranking]]) -> bool:
        """Return whether the engine has all that a roll-up is made from: everybody, their times, nothing dropped, nobody to restate."""
        window = _rollup(live).window
        sources = [source for target in set().union(*touched.values()) for source in _sources(live, target)]
        if any(self._catalog[name].is_retired(ranking) for name, ranking in sources):
            return False
        boards = [self._catalog[name].board for name in live.board.made_from]
        return not parts_that_expire(live) and not any(
            board.is_ordered or board.is_partial or not self._engine.keeps_since(board, window) for board in boards
        )

    async def _from_states(self, live: LiveBoard, touched: Mapping[str, set[Ranking]]) -> dict[Ranking, dict[str, State | None]]:
        """Return the states of players in rankings of a roll-up, from those in its parts. O(parts) for each."""
        states: dict[Ranking, dict[str, State | None]] = {}
        for target in set().union(*touched.values()):
            players = [player for player, targets in touched.items() if target in targets]
            sources = _sources(live, target)
            known = await asyncio.gather(*(self._engine.states(ranking, players) for _, ranking in sources))
            for i, player in enumerate(players):
                own = [(name, state) for (name, _), found in zip(sources, known, strict=True) if (state := found[i]) is not None]
                if own:
                    states.setdefault(target, {})[player] = _combined(live, own)
        return states

    async def _from_events(self, live: LiveBoard, touched: Mapping[str, set[Ranking]]) -> dict[Ranking, dict[str, State | None]]:
        """Return the same, from the ledger; None for players of whom nothing counts. O(events of each player)."""
        states: dict[Ranking, dict[str, State | None]] = {}
        for player, found in (await roll_up_players(self._ledger, live, list(touched))).items():
            for ranking in touched[player]:
                states.setdefault(ranking, {})[player] = found.get(ranking)
        return states
