"""Teams: the board of a board's teams, which is made from the rankings of their members.

Its watermarks are those of a roll-up (`rollups`). After a group is applied, the standings of the teams in it are counted from the rows of
their members in the engine, and set in one step with the watermark, if no watermark has moved since. An engine that lacks something, or
has players to restate, is brought up to date first: so the rows are the fold of all events up to the watermark. They may include later
ones; whoever brings those counts again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from keepscore.domain.ordering import KeyCodec
from keepscore.domain.rollups import mark_of
from keepscore.domain.scoring import Event, State
from keepscore.domain.teams import members_that_count, team_of, team_standing
from keepscore.errors import EngineUnavailable
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.own_events import Folded, FoldRequest, fold_own_events
from keepscore.projection.stores import Stores
from keepscore.storage.engines.base import Gap, Ranking
from keepscore.storage.ledgers.base import Ledger

__all__ = ["EngineCalls", "TeamCounts", "fold_teams", "members_of"]

#: How often teams are counted while others change them, or while the members' rankings are brought up to date.
MAX_TRIES = 100
#: Members whose rows are read at a time.
CHUNK_ROWS = 5000

#: Standings by ranking and team; None: the team has no members any more.
_Standings = dict[Ranking, dict[str, State | None]]


def members_of(live: LiveBoard) -> LiveBoard:
    """Return the board whose teams a board holds."""
    assert live.catalog is not None, "a board of teams is among other boards"
    assert live.board.teams_of is not None, "it holds teams"
    return live.catalog[live.board.teams_of]


async def fold_teams(ledger: Ledger, live: LiveBoard, upto: Mapping[int, int]) -> Folded:
    """Fold the standings of all teams from all events of their members. O(events)."""
    members = members_of(live)
    positions = await ledger.events.positions(members.id)
    folded = await fold_own_events(ledger, members, FoldRequest({writer: upto.get(mark_of(members.id, writer), 0) for writer in positions}))
    codec, descending = KeyCodec(members.board), members.board.order == "desc"
    found: dict[Ranking, dict[str, State]] = {}
    for ranking, states in folded.states.items():
        team = team_of(ranking.segment)
        ordered = sorted(states.items(), key=lambda one: codec.encode(one[0], *one[1]), reverse=descending) if team is not None else []
        standing = team_standing(live.board, [state for _, state in ordered])
        if team is not None and standing is not None:
            found.setdefault(_target(live, ranking), {})[team] = standing
    return Folded(found, {}, folded.events)


def _target(live: LiveBoard, ranking: Ranking) -> Ranking:
    """Return the ranking of teams in which those stand who are in a ranking of members."""
    return Ranking(live.id, ranking.window, ranking.window_id, "")


class EngineCalls(NamedTuple):
    """What brings an engine up to date: for a board that it has lost, one that lacks events, and one with players to restate."""

    heal: Callable[[Gap], Awaitable[bool]]
    catch_up: Callable[[LiveBoard, bool], Awaitable[int]]
    restate_late: Callable[[LiveBoard], Awaitable[None]]


class TeamCounts:
    """Brings boards of teams in an engine up to date with the boards of their members."""

    def __init__(self, stores: Stores, calls: EngineCalls) -> None:
        self._catalog, self._engine = stores.catalog, stores.engine
        self._heal, self._catch_up, self._restate_late = calls

    async def include(self, live: LiveBoard, events: Sequence[Event], shadow: bool) -> set[Ranking]:
        """Bring a board of teams up to date with events of one writer; return the rankings that changed. O(members that count)."""
        members = members_of(live)
        touched = {ranking for event in events for ranking in members.rankings_of(event)}
        mark, upto = mark_of(members.id, events[0].writer), events[-1].n
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
            states = await self._count(live, touched, {**applied, mark: upto})
            if states is not None and await self._engine.settle(live.id, states, applied, {mark: upto}, shadow):
                if not shadow and states and self._catalog.restrictions:
                    # Somebody may have been hidden or shown while the members were read, which moves no watermark.
                    await self.recount(live, touched)
                return set(states)
        raise EngineUnavailable(f"the teams of board {members.name!r} could not be counted: scores kept coming in")

    async def recount(self, live: LiveBoard, rankings: Iterable[Ranking]) -> set[Ranking]:
        """Count the teams of some rankings of members again: something but events has changed them. Return the rankings that changed."""
        touched = set(rankings)
        for _ in range(MAX_TRIES):
            applied = await self._engine.applied(live.id)
            if applied is None:
                await self._heal(Gap(live.id, None))
                return set()
            states = await self._count(live, touched, applied)
            if states is not None and await self._engine.settle(live.id, states, applied, {}):
                return set(states)
        raise EngineUnavailable(f"the teams of board {live.board.teams_of!r} could not be counted: scores kept coming in")

    async def _count(self, live: LiveBoard, rankings: Iterable[Ranking], upto: Mapping[int, int]) -> _Standings | None:
        """Return the standings of the teams of rankings, with all up to some watermarks; None: the members were not up to date."""
        members = members_of(live)
        counted = [
            (ranking, team)
            for ranking in rankings
            if (team := team_of(ranking.segment)) is not None
            and not members.is_retired(ranking)
            and not live.is_retired(_target(live, ranking))
        ]
        if not await self._is_up_to_date(members, {ranking for ranking, _ in counted}, upto):
            return None
        found = await asyncio.gather(*(self._standing(live, ranking) for ranking, _ in counted))
        states: _Standings = {}
        for (ranking, team), standing in zip(counted, found, strict=True):
            states.setdefault(_target(live, ranking), {})[team] = standing
        return states

    async def _is_up_to_date(self, members: LiveBoard, rankings: set[Ranking], upto: Mapping[int, int]) -> bool:
        """Return whether rankings of members have all up to some watermarks; where not, bring them there."""
        applied = await self._engine.applied(members.id)
        if applied is None:
            await self._heal(Gap(members.id, None))
            return False
        if any(applied.get(mark - mark_of(members.id, 0), 0) < n for mark, n in upto.items()):
            await self._catch_up(members, False)
            return False
        if any(ranking in rankings for ranking, _ in await self._engine.needs_restate(members.id)):
            await self._restate_late(members)
            return False
        return True

    async def _standing(self, live: LiveBoard, ranking: Ranking) -> State | None:
        """Return the standing that the members in a ranking make."""
        most = members_that_count(live.board)
        if most is not None:
            rows = (await self._engine.page(ranking, 0, most)).rows
        else:
            rows, page = [], await self._engine.page(ranking, 0, CHUNK_ROWS)
            while page.rows:
                rows += page.rows
                if len(page.rows) < CHUNK_ROWS:
                    break
                page = await self._engine.page_after(ranking, rows[-1], CHUNK_ROWS)
        return team_standing(live.board, [State(row.score, row.since) for row in rows])
