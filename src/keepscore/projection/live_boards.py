"""The boards that are live: definitions with what is derived from them once, and which rankings an event counts in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from keepscore.caches import ByteCache, bytes_of
from keepscore.domain.boards import Board, Score
from keepscore.domain.caps import DEFAULT_CAPS
from keepscore.domain.leagues.cohorts import cohort_named
from keepscore.domain.leagues.definition import COHORT
from keepscore.domain.scoring import Event, Scope
from keepscore.domain.team_definition import TEAMS_SUFFIX
from keepscore.domain.verdicts import RESTATING
from keepscore.domain.windows import FOREVER_MS, Span, span_of
from keepscore.errors import InvalidBoard, PlayerMerged, UnknownBoard, UnknownSegment, UnknownWindow
from keepscore.projection.archived_windows import ArchivedWindows
from keepscore.projection.restrictions import Restrictions
from keepscore.projection.routes import CalendarPosition, Given, RankingRoute, Routed
from keepscore.storage.engines.base import Ranking, Update, made_update
from keepscore.storage.ledgers.boards import BoardRecord

__all__ = [
    "HOUR_MS",
    "TARGETS_BYTES",
    "CalendarPosition",
    "Catalog",
    "LiveBoard",
    "RankingRoute",
    "check_links",
]

#: What is remembered of each board, in bytes: calendar positions, rankings of segment values, and rankings of roll-ups.
POSITIONS_BYTES, SLICES_BYTES, TARGETS_BYTES = 4 << 20, 4 << 20, 1 << 20
#: About what a calendar position takes beside its rankings, in bytes.
POSITION_BYTES = 1000
#: An hour, in milliseconds.
HOUR_MS = 3_600_000
_NONE: Mapping[str, int] = {}
_NOT_EARLY: Mapping[tuple[str, str], int] = {}
#: What events are to an engine: what an amount has made of the best score is a score, and a change of a rating is an amount.
_TO_ENGINES = {"raise": "score", **dict.fromkeys(("match", "initial", "rerate"), "increment"), **dict.fromkeys(RESTATING, "restate")}


class LiveBoard:
    """A board that takes scores."""

    def __init__(self, record: BoardRecord, catalog: Catalog | None = None) -> None:
        self.record = record
        self.catalog = catalog
        self.id, self.version, self.board, self.semantics_version = record
        self.name = self.board.name
        #: The name that answers have: that of the board whose teams it holds, or its own.
        self.title = self.board.teams_of or self.name
        #: Whether nothing is taken, and nothing shown, that is not in the engine.
        self.is_strong = self.board.consistency == "strong"
        #: How long rankings of a window are kept after their last score, where that is limited (milliseconds).
        self.ttls = self.board.ttls_ms
        self.half_life = self.board.half_life
        #: How what is shown of a score that an engine keeps changes with time.
        self.aging = self.board.aging
        #: What the times of updates are cut to: not at all where the order of events matters.
        self._step = 1 if self.board.is_ordered else self.board.resolution_ms
        #: Whether a score, or an amount, depends on no score that there is, and counts on no other board; and the boards on which it does.
        self.is_simple = not self.board.needs_current_score("score") and not self.board.also
        self.adds_simply = not self.board.needs_current_score("increment") and not self.board.also
        self.alone = (self,)
        #: The rules that submissions have to keep, if it has some.
        self.limits = self.board.limits
        #: Whether the scores that changes make of others have to keep bounds of the board's own.
        self.is_bounded = self.board.has_bounds and self.board.adds_up and self.half_life is None
        #: Whether it has segments whose values come from players' profiles; or from players' earlier submissions.
        self.is_following, self.is_sticky = bool(self.board.slicing.profile), bool(self.board.slicing.sticky)
        #: Whether submissions depend on what their players' profiles say.
        self.reads_profiles = self.is_following or bool(self.board.slicing.kept)
        #: Whether scores are shown as they are stored.
        self.is_plain = not self.board.decimals and self.aging is None
        #: Whether its rankings are about to start over: what is the difference to a score now is not so then.
        self.is_resetting = False
        self._positions: ByteCache[int, CalendarPosition] = ByteCache(POSITIONS_BYTES)
        #: The rankings of segment values at calendar positions.
        self.slices: ByteCache[tuple[CalendarPosition, tuple[str, str]], tuple[Ranking, ...]] = ByteCache(SLICES_BYTES)
        #: The routes, at calendar positions, of events without segments that count in some windows only.
        self.scoped: ByteCache[tuple[CalendarPosition, Scope], RankingRoute] = ByteCache(SLICES_BYTES)
        #: What `expiries` told last, and of what.
        self._expiries: tuple[RankingRoute | None, int, tuple[int, ...]] = None, 0, ()

    @property
    def is_filled(self) -> bool:
        """Whether submissions to it may count in slices that they do not name, here or on a linked board."""
        links = [] if self.catalog is None or not self.board.also else self.catalog.links(self)
        return self.reads_profiles or self.is_sticky or any(linked.reads_profiles for linked in links)

    @property
    def accepts_from(self) -> int:
        """The time from which on it takes scores: what was before is folded, and dropped."""
        return 0 if self.catalog is None else self.catalog.accepts_from.get(self.id, 0)

    @property
    def grace_ms(self) -> int:
        """How long after a window's end scores of it may still come: a roll-up's do as long as those of its parts."""
        parts = [] if self.catalog is None else [self.catalog[name].board.grace_ms for name in self.board.made_from]
        return max([self.board.grace_ms, *parts])

    @property
    def closed(self) -> Mapping[str, int]:
        """Up to which end its windows are closed, by their names, whatever the clock says."""
        return _NONE if self.catalog is None else self.catalog.closed.get(self.id, _NONE)

    def hides(self, player: str) -> bool:
        """Return whether a player is not ranked now, as far as this process knows."""
        catalog = self.catalog
        return (
            catalog is not None
            and bool(catalog.restrictions)
            and catalog.restrictions.on_now(self.name, player, catalog.clock()) is not None
        )

    @property
    def closed_early(self) -> Mapping[tuple[str, str], int]:
        """Its windows, by name and id, that were closed before their end, and when."""
        return _NOT_EARLY if self.catalog is None else self.catalog.closed_early.get(self.id, _NOT_EARLY)

    def check_not_merged(self, player: str) -> None:
        """Refuse a player who was merged into another."""
        catalog = self.catalog
        if catalog is not None and catalog.restrictions and (merge := catalog.restrictions.merge_of(player, catalog.clock())) is not None:
            raise PlayerMerged(f"player {player!r} was merged into {merge.into!r}: send the score as that one's")

    def shown_at(self, now: int) -> Callable[[int], Score]:
        """Return how scores that an engine keeps are shown at a moment."""
        shown, aging = self.board.shown, self.aging
        return shown if aging is None else lambda level: shown(aging.score(level, now))

    def position(self, moment: int) -> CalendarPosition:
        """Return what the calendar says of a moment."""
        hour = moment // HOUR_MS
        found = self._positions.get(hour)
        if found is None or not found.start <= moment < found.end:
            found = CalendarPosition(self, moment)
            self._positions.put(hour, found, POSITION_BYTES + bytes_of(found.spans) + bytes_of(found.wholes))
        return found

    def route(self, moment: int, segments: Mapping[str, str] | None, scope: Scope | None = None) -> RankingRoute:
        """Return the rankings in which an event of that moment counts: the one function that says so."""
        return self.position(moment).route(segments, scope)

    def rankings_of(self, event: Event) -> tuple[Ranking, ...]:
        """Return the rankings in which an event counts."""
        return self.route_of(event).rankings

    def route_of(self, given: Routed) -> RankingRoute:
        """Return the rankings in which an event counts or, where it is a move, of which it takes a player out or brings one in."""
        if given.kind == "move":
            told: Any = given.metadata
            return self.position(given.at).moved([given.segments or {}, *told["from"]])
        return self.route(given.at, given.segments, given.scope)

    def update(self, event: Event, ranked: bool = False) -> Update:
        """Return an event as an engine sees it."""
        return self.update_on(self.route_of(event), event, ranked)

    def update_on(self, route: RankingRoute, given: Given, ranked: bool) -> Update:
        """Return what an engine has to do in the rankings of a route for what a player was given, but for those that have left it."""
        amount, at, received = given.amount, given.at, given.received
        if self.catalog is not None and (archived := self.catalog.archived.get(self.id)) and at < archived.latest_end:
            route = self._kept(route)
        if self.half_life is not None and given.kind not in RESTATING:
            amount = self.half_life.level(amount, at)
        expiries = self.expiries(route, received)
        at -= at % self._step
        kind: str = _TO_ENGINES.get(given.kind, given.kind)
        if given.kind in RESTATING or self.hides(given.player):
            # An engine tells no ranks for these.
            kind, ranked = "restate", False
        return made_update((given.player, kind, amount, at, received, route.rankings, route.wholes, expiries, ranked))

    def _kept(self, route: RankingRoute) -> RankingRoute:
        gone = [ranking.window for ranking in route.rankings if self.is_retired(ranking)]
        if not gone:
            return route
        rankings = tuple([ranking for ranking in route.rankings if ranking.window not in gone])
        spans = tuple([span for span in route.spans if span.window not in gone])
        return RankingRoute(spans, rankings, (0,) * len(rankings), len(spans) if route.wholes else 0)

    def retirement(self, ranking: Ranking) -> int:
        """Return when a ranking whose window is archived leaves the engine; 0: it stays, or is not archived yet."""
        archived = None if self.catalog is None else self.catalog.archived.get(self.id)
        after = self.board.archived_ms.get(ranking.window)
        if archived is None or after is None or ranking.window_id not in archived.ids.get(ranking.window, ()):
            return 0
        return span_of(self.board, ranking.window, ranking.window_id).end + max(after, self.grace_ms)

    def is_retired(self, ranking: Ranking) -> bool:
        """Return whether a ranking has left the engine for good: it is read from its archive, whatever is backfilled."""
        return self.catalog is not None and 0 < self.retirement(ranking) <= self.catalog.clock()

    def expiries(self, route: RankingRoute, received: int) -> tuple[int, ...]:
        """Return when each ranking of a route may be dropped after an event that came at `received`; 0: never."""
        if not self.ttls:
            return route.never
        known_route, known_received, found = self._expiries
        # Nearly all events of a group have come in the same millisecond.
        if known_route is not route or known_received != received:
            once = tuple([self.expiry(span, received) for span in route.spans])
            found = once * (len(route.rankings) // len(once)) if once else ()
            self._expiries = route, received, found
        return found

    def expiry(self, span: Span, received: int) -> int:
        """Return when a window's rankings may be dropped after an event that came at `received`; 0: never."""
        ttl = self.ttls.get(span.window)
        if ttl is None:
            return 0
        # all_time never ends: only its last score counts.
        return received + ttl if span.end == FOREVER_MS else max(received + ttl, span.end + self.board.grace_ms)

    def ranking(self, window: str | None, window_id: str | None, segment: str | None, now: int) -> Ranking:
        """Return the ranking that a reader names; without names, the whole of the first window as it is now."""
        if window is None and window_id is None and segment is None:
            wholes = self.position(now).wholes
            if wholes and wholes[0].window == self.board.first_window:
                return wholes[0]
        league = self.board.league
        in_league = league is not None and segment is not None and segment.startswith(f"{COHORT}:")
        name = window or (league.window if league is not None and in_league else self.board.first_window)
        if name not in self.board.periods:
            raise UnknownWindow(f"board {self.name!r} has no window {name!r}: it has {', '.join(self.board.periods)}")
        if segment is not None:
            segment = self._cohort(segment, name) if in_league else self._label(segment)
        if window_id is None:
            for span in self.position(now).spans:
                if span.window == name:
                    return Ranking(self.id, name, span.id, segment or "")
            raise UnknownWindow(f"board {self.name!r} has no season now: name one with window_id")
        return Ranking(self.id, name, span_of(self.board, name, window_id).id, segment or "")

    def _cohort(self, segment: str, window: str) -> str:
        """Return the label of a cohort that a reader names."""
        league = self.board.league
        if league is not None and window != league.window:
            raise UnknownSegment(f"cohorts of board {self.name!r} are of the window {league.window!r}: ask for that one, not {window!r}")
        if cohort_named(segment.partition(":")[2]) is None:
            raise UnknownSegment(f"segment {segment!r} names no cohort: write it as 'cohort:bronze-1'")
        return segment

    def _label(self, segment: str) -> str:
        """Return the label of a slice that a reader names."""
        slicing = self.board.slicing
        label, name = slicing.label_named(segment), segment.partition(":")[0]
        if label is None and name not in slicing.labels:
            known = ", ".join(slicing.labels) or "none"
            raise UnknownSegment(f"board {self.name!r} has no segment {name!r}: it has {known}")
        if label is None or not label.partition(":")[2] or not label.isprintable():
            raise UnknownSegment(f"segment {segment!r} names no printable value: write it as '{name}:value'")
        return label


class Catalog:
    """All live boards by name."""

    def __init__(self, clock: Callable[[], int] = lambda: 0, max_boards: int = DEFAULT_CAPS.boards) -> None:
        self.clock = clock
        #: How many there may be.
        self.max_boards = max_boards
        #: The windows of boards that are archived, by the board's number.
        self.archived: dict[int, ArchivedWindows] = {}
        #: Changes whenever the ledger has noted another one.
        self.archived_version = b""
        #: Who is not ranked.
        self.restrictions = Restrictions()
        self._boards: dict[str, LiveBoard] = {}
        #: The roll-ups that are made from each board that has some.
        self._rollups: dict[str, list[LiveBoard]] = {}
        #: The time from which on boards take scores, by their numbers, where earlier events are dropped.
        self.accepts_from: dict[int, int] = {}
        #: Up to which end the windows of boards are closed, by the board's number and the window's name.
        self.closed: dict[int, dict[str, int]] = {}
        #: The numbers of boards with a league.
        self.leagues: set[int] = set()
        #: Windows that were closed before their end, by the board's number, the window's name and its id, and when.
        self.closed_early: dict[int, dict[tuple[str, str], int]] = {}

    def __iter__(self) -> Iterator[LiveBoard]:
        return iter(sorted(self._boards.values(), key=lambda live: live.name))

    def __getitem__(self, name: str) -> LiveBoard:
        try:
            return self._boards[name]
        except KeyError:
            raise UnknownBoard(f"there is no board {name!r}: define it in keepscore.toml or with PUT /v1/boards/{{board}}") from None

    def shown(self, name: str) -> LiveBoard:
        """Return the board that readers of a board are shown: itself or, where it ranks teams, the one that holds them."""
        live = self[name]
        return self._boards.get(name + TEAMS_SUFFIX, live) if live.board.ranks_teams else live

    def get(self, name: str) -> LiveBoard | None:
        """Return the board of that name, if there is one."""
        return self._boards.get(name)

    def put(self, record: BoardRecord) -> LiveBoard:
        """Let a definition take effect."""
        old = self._boards.get(record.board.name)
        live = self._boards[record.board.name] = LiveBoard(record, self)
        (self.leagues.discard if live.board.league is None else self.leagues.add)(live.id)
        if live.board.is_rollup or (old is not None and old.board.is_rollup):
            self._find_rollups()
        return live

    def _find_rollups(self) -> None:
        self._rollups = {}
        for live in self:
            for name in live.board.made_from:
                self._rollups.setdefault(name, []).append(live)

    def rollups(self, live: LiveBoard) -> list[LiveBoard]:
        """Return the boards that are made from a board."""
        return self._rollups.get(live.name, [])

    def remove(self, name: str) -> None:
        """Forget a board."""
        gone = self._boards.pop(name)
        self.leagues.discard(gone.id)
        if gone.board.is_rollup:
            self._find_rollups()

    def is_strong(self, live: LiveBoard) -> bool:
        """Return whether a board, or one to which its submissions are sent on, is strong."""
        return live.is_strong or any(linked.is_strong for linked in self.links(live))

    def links(self, live: LiveBoard) -> list[LiveBoard]:
        """Return the boards that get a board's submissions, too. One that was deleted since is passed over."""
        return [self._boards[name] for name in live.board.also if name in self._boards]


def check_links(board: Board, boards: Mapping[str, Board]) -> None:
    """Refuse a board whose `also` does not fit the boards that there are."""
    for name in board.also:
        other = boards.get(name)
        problem = None
        if other is None:
            problem = f"there is no board {name!r}"
        elif other.decimals != board.decimals:
            problem = f"board {name!r} has decimals = {other.decimals}, and this one {board.decimals}"
        elif other.is_rollup:
            problem = f"board {name!r} is a roll-up, which takes no scores"
        elif other.rating is not None:
            problem = f"board {name!r} has a rating, and takes matches, no scores"
        elif other.following:
            problem = f"board {name!r} follows another system, and takes no scores"
        elif board.takes_increments and not other.takes_increments:
            hint = ": give it increments = true" if other.resolves_increments and other.order == "desc" and other.decay is None else ""
            problem = f"board {name!r} is a {other.operator!r} board, which takes no increments, as this one does{hint}"
        if problem:
            raise InvalidBoard(f"board {board.name!r}: also = {board.also} cannot be used; {problem}")
