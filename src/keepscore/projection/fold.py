"""The fold of many events: states of all players in all rankings of a board."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from keepscore.domain.ordered_fold import OrderedFold
from keepscore.domain.scoring import Event, State, fold_for
from keepscore.domain.verdicts import ON_PLAYERS, RESTATING, VERDICTS
from keepscore.domain.windows import FOREVER_MS
from keepscore.projection.live_boards import HOUR_MS, CalendarPosition, LiveBoard, RankingRoute
from keepscore.projection.openings import expiry_in, names_in, pasts_of
from keepscore.projection.player_states import state_in
from keepscore.storage.engines.base import Ranking
from keepscore.storage.ledgers.base import Ledger
from keepscore.storage.ledgers.openings import Opening
from keepscore.storage.ledgers.slots import Slot

__all__ = ["Folder", "Positions", "RankingStates"]

#: Late players whose events are read at a time.
CHUNK_PLAYERS = 500

Positions = Mapping[int, int]
RankingStates = dict[Ranking, dict[str, State]]
#: Whether an event is in a ranking already.
Known = Callable[[Ranking, Event], bool]


class _Course:
    """Where many events go, those between two moments: the states of their rankings, which all last until `soonest`."""

    __slots__ = ("end", "is_behind", "latest", "route", "soonest", "start", "tables")

    def __init__(self, position: CalendarPosition, tables: list[tuple[Ranking, dict[str, State]]], soonest: int, latest: int) -> None:
        self.route = position.route(None)
        self.start, self.end = position.start, position.end
        self.tables = tables
        self.soonest = soonest
        #: When the last of its events came, and whether that is not taken down yet.
        self.latest = latest
        self.is_behind = False


class Folder:
    """Folds events one by one, and remembers the players for whom that did not do.

    Where the order of events matters, they come as the ledger took them (`events_of`). A ranking whose time is over when an event comes
    starts over with it, as one that an engine has dropped does.
    """

    def __init__(self, live: LiveBoard, with_hidden: bool = False) -> None:
        self.live = live
        #: Whether those who are not ranked now are among the states.
        self._with_hidden = with_hidden
        self.fold = fold_for(live.board)
        self.states: dict[Ranking, dict[str, State]] = {}
        self._expiries: dict[Ranking, int] = {}
        #: When rankings started over.
        self.began: dict[Ranking, int] = {}
        #: Where the order of events matters, what each ranking is folded with.
        self._ordered: dict[Ranking, OrderedFold] | None = {} if live.board.is_ordered else None
        self.events = 0
        #: Players with verdicts, where those count: they are restated, and those who have nothing left are gone.
        self._judged: dict[str, set[Ranking]] = {}
        #: Those with verdicts on themselves: they are restated in all of their rankings, of whatever time and slice.
        self._judged_whole: set[str] = set()
        self.gone: dict[Ranking, set[str]] = {}
        #: When players last scored before the first of the events, where an opening tells.
        self.own: dict[tuple[Ranking, str], int] = {}
        #: Courses of events without segments by the hour, and those of them whose last event is not taken down yet.
        self._courses: dict[int, _Course] = {}
        self._behind: list[_Course] = []

    @property
    def expiries(self) -> dict[Ranking, int]:
        """When each ranking may be dropped."""
        self._catch_up()
        return self._expiries

    def take_up(self, ranking: Ranking, player: str, state: State, seq: int) -> None:
        """Begin with a state that was folded before, of events with numbers up to `seq`."""
        if self._ordered is None:
            self._states(ranking)[player] = state
        else:
            self._in_order(ranking).take_up(player, state, seq)

    async def open_with(self, ledger: Ledger, opening: Opening, start: int = 0, end: int = FOREVER_MS) -> None:
        """Begin with the states of an opening: of the windows that hold a moment from `start` up to, not including, `end`. O(states)."""
        names = await names_in(ledger, self.live, opening)
        kept = {slot: found for slot, found in names.items() if start <= found[1].moment < end}
        for ranking, place in kept.values():
            self.expiries[ranking] = expiry_in(self.live, opening, place)
        tables = {slot: self._states(ranking) for slot, (ranking, _) in kept.items()}
        async for rows in ledger.openings.states(self.live.id, opening.number):
            for player, window, window_id, segment, score, since, own in rows:
                slot = Slot(window, window_id, segment)
                if slot in tables:
                    tables[slot][player] = State(score, since)
                    if self._ordered is not None:
                        self._in_order(kept[slot][0]).begin_with(player, State(score, since))
                    if own is not None:
                        self.own[kept[slot][0], player] = own

    def judge(self, verdict: Event) -> None:
        """See that something of a player's no longer counts, or counts again."""
        self._judged.setdefault(verdict.player, set()).update(self.live.rankings_of(verdict))
        if verdict.kind in ON_PLAYERS:
            self._judged_whole.add(verdict.player)

    def pass_over(self, event: Event) -> None:
        """See that an event came which is not folded here: rankings start over with it, and stay for it, as with others."""
        if self.live.ttls:
            self._catch_up()
            self._expire(self.live.route_of(event), event.received, event, None)

    def add(self, events: Sequence[Event], known: Known | None = None) -> None:
        """Fold events into all of their rankings but those in which one is `known`."""
        live, fold, ordered = self.live, self.fold, self._ordered
        step, half_life, expires = live.board.resolution_ms, live.half_life, bool(live.ttls)
        courses, behind = self._courses, self._behind
        self.events += len(events)
        for event in events:
            _, _, _, player, kind, amount, at, received, segments, _, _, _, scope, _, _ = event
            if kind in RESTATING:
                self.judge(event)
                continue
            is_common = known is None and not segments and scope is None
            course = courses.get(at // HOUR_MS) if is_common else None
            if course is None or received >= course.soonest or not course.start <= at < course.end:
                position = live.position(at)
                route = position.route(segments, scope)
                self._catch_up()
                soonest = self._expire(route, received, event, known) if expires else FOREVER_MS
                tables = [(r, self._states(r)) for r in route.rankings if known is None or not known(r, event)]
                if is_common:
                    courses[at // HOUR_MS] = _Course(position, tables, soonest, received)
            else:
                tables = course.tables
                if received > course.latest:
                    course.latest = received
                    if expires and not course.is_behind:
                        course.is_behind = True
                        behind.append(course)
            if ordered is not None:
                for ranking, _ in tables:
                    ordered[ranking].add(event)
                continue
            if half_life is not None:
                amount = half_life.level(amount, at)
            at -= at % step
            new = first = old = fold(None, kind, amount, at)
            for _, states in tables:
                found = states.setdefault(player, first)
                if found is first:
                    continue
                # Most windows have the same state and get the same state.
                if found is not old:
                    old, new = found, fold(found, kind, amount, at)
                if new is not found:
                    states[player] = new

    def _states(self, ranking: Ranking) -> dict[str, State]:
        states = self.states.get(ranking)
        if states is None:
            states = self.states[ranking] = {}
            if self._ordered is not None:
                self._ordered[ranking] = OrderedFold(self.live.board, states)
        return states

    def _in_order(self, ranking: Ranking) -> OrderedFold:
        self._states(ranking)
        assert self._ordered is not None, "only where the order matters"
        return self._ordered[ranking]

    def _catch_up(self) -> None:
        """Take down until when rankings stay after the latest events of their routes."""
        for course in self._behind:
            course.is_behind = False
            for ranking, expiry in zip(course.route.rankings, self.live.expiries(course.route, course.latest), strict=True):
                if expiry > self._expiries.get(ranking, 0):
                    self._expiries[ranking] = expiry
        self._behind.clear()

    def _expire(self, route: RankingRoute, received: int, event: Event, known: Known | None) -> int:
        """See which rankings of a route start over with an event, and until when they stay; answer when the first is over."""
        soonest = FOREVER_MS
        for ranking, expiry in zip(route.rankings, self.live.expiries(route, received), strict=True):
            before = self._expiries.get(ranking, 0)
            over = 0 < before <= received
            if (over or expiry > before) and not (known is not None and known(ranking, event)):
                if over:
                    self._states(ranking).clear()
                    if self._ordered is not None:
                        self._ordered[ranking].start_over()
                    self.began[ranking] = received
                self._expiries[ranking] = before = expiry
            if before:
                soonest = min(soonest, before)
        return soonest

    async def settle(self, ledger: Ledger, upto: Positions, only: Callable[[Event], bool] | None = None) -> None:
        """Restate the players with late events or verdicts, from all of their events or `only` some. O(events of these players)."""
        needs_restate = {player: set(rankings) for player, rankings in self._judged.items()}
        for ranking, ordered in (self._ordered or {}).items():
            for player in ordered.needs_restate & ordered.states.keys():
                needs_restate.setdefault(player, set()).add(ranking)
        players = sorted(needs_restate)
        for some in (players[start : start + CHUNK_PLAYERS] for start in range(0, len(players), CHUNK_PLAYERS)):
            for player, past in (await pasts_of(ledger, self.live, some)).items():
                if player in self._judged_whole:
                    needs_restate[player].update(past.states, *map(self.live.rankings_of, past.events))
                for ranking in needs_restate[player]:
                    since = self.began.get(ranking, 0)
                    # Of what is dropped, verdicts that stay are known, too.
                    known = [
                        event
                        for event in past.events
                        if event.received >= since
                        and (event.n <= upto.get(event.writer, 0) or (only is not None and event.kind in VERDICTS))
                    ]
                    state = state_in(self.live, ranking, known, {} if since else past.states, only)
                    if state is not None:
                        self._states(ranking)[player] = state
                    else:
                        self._take_out(ranking, player)
        if not self._with_hidden:
            await self._leave_out_hidden(ledger)

    def _take_out(self, ranking: Ranking, player: str) -> None:
        if ranking in self.states and self.states[ranking].pop(player, None) is not None:
            self.gone.setdefault(ranking, set()).add(player)

    async def _leave_out_hidden(self, ledger: Ledger) -> None:
        """Take out those who are not ranked now. O(rankings) for each of them."""
        catalog = self.live.catalog
        if catalog is not None:
            # Whoever has learned of a verdict on a player knows what was decided.
            await catalog.restrictions.refresh(ledger, catalog.clock(), at_once=bool(self._judged_whole))
            for player in catalog.restrictions.players_now(self.live.name, catalog.clock()):
                for ranking in self.states:
                    self._take_out(ranking, player)
