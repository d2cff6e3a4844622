"""The boards that are live: definitions with what is derived from them once, and which rankings an event counts in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from keepscore.boards import Board, Score
from keepscore.durations import duration_ms
from keepscore.engines.base import Ranking, Update, made_update
from keepscore.errors import InvalidBoard, InvalidSegment, UnknownBoard, UnknownSegment, UnknownWindow
from keepscore.keys import key_of
from keepscore.ledgers.base import BoardRecord
from keepscore.rollups import rolled_up
from keepscore.scoring import Event, Kind, State, cut
from keepscore.windows import FOREVER, Span, span_at, span_of

__all__ = ["Catalog", "LiveBoard", "Route", "check_links", "check_rollup"]

#: Calendar positions of a board, and segment values of each, that are remembered.
REMEMBERED = 10_000
#: An hour, in milliseconds.
HOUR = 3_600_000
_NONE: Mapping[str, int] = {}


class Route(NamedTuple):
    """The rankings that an event of some moment counts in; the first of them are the unsegmented ones."""

    spans: tuple[Span, ...]
    rankings: tuple[Ranking, ...]
    #: Expiries where rankings never expire: a zero for each.
    never: tuple[int, ...]


class CalendarPosition:
    """The rankings of a board for all moments from `start` up to `end`, worked out once."""

    __slots__ = ("_plain", "_slices", "board", "board_id", "end", "names", "spans", "start", "wholes")

    def __init__(self, live: LiveBoard, moment: int) -> None:
        self.board_id = live.id
        self.board = live.board
        self.names = live.board.segments
        periods = live.board.periods
        self.spans = tuple(span for name in periods if (span := span_at(live.board, name, moment)) is not None)
        if len(self.spans) == len(periods):
            self.start, self.end = max(s.start for s in self.spans), min(s.end for s in self.spans)
        else:
            # Between two seasons there is no span to tell how long that lasts.
            self.start, self.end = moment, moment + 1
        self.wholes = tuple(Ranking(live.id, span.window, span.id, "") for span in self.spans)
        self._plain = Route(self.spans, self.wholes, (0,) * len(self.wholes))
        self._slices: dict[tuple[str, str], tuple[Ranking, ...]] = {}

    def route(self, segments: Mapping[str, str] | None) -> Route:
        """The rankings in which an event counts. Segments that the board does not have are passed over."""
        if not segments:
            return self._plain
        rankings = self.wholes
        for slice_ in segments.items():
            if slice_[0] in self.names:
                rankings += self._slices.get(slice_) or self._remember(slice_)
        return Route(self.spans, rankings, (0,) * len(rankings))

    def _remember(self, slice_: tuple[str, str]) -> tuple[Ranking, ...]:
        if len(self._slices) >= REMEMBERED:
            self._slices.clear()
        label = f"{slice_[0]}:{slice_[1]}"
        wholes = {key_of(self.board, span, "") for span in self.spans}
        for span in self.spans:
            if (key := key_of(self.board, span, label)) in wholes:
                raise InvalidSegment(
                    f"segment {slice_[0]} = {slice_[1]!r} cannot be used on board {self.board.name!r}: its ranking would have the key "
                    f"{key!r}, which is that of the whole"
                )
        rankings = tuple(Ranking(self.board_id, span.window, span.id, label) for span in self.spans)
        self._slices[slice_] = rankings
        return rankings


class LiveBoard:
    """A board that takes scores."""

    def __init__(self, record: BoardRecord, catalog: Catalog | None = None) -> None:
        self.record = record
        self._catalog = catalog
        self.id, self.version, self.board, self.meaning = record
        self.name = self.board.name
        #: Whether nothing is taken, and nothing shown, that is not in the engine.
        self.is_strong = self.board.consistency == "strong"
        #: How long rankings of a window are kept after their last score, where that is limited (milliseconds).
        self.ttls = {name: duration_ms(window.ttl) for name, window in self.board.periods.items() if window.ttl is not None}
        self.half_life = self.board.half_life
        #: Whether a score on it depends on no other, and counts on no other board; and the boards on which it does then.
        self.is_simple = self.board.operator != "sum" and not self.board.also
        self.alone = (self,)
        #: Whether scores are shown as they are stored.
        self.is_plain = not self.board.decimals and self.half_life is None
        #: Whether its rankings are about to begin anew: what is the difference to a score now is not so then.
        self.is_resetting = False
        self._positions: dict[int, CalendarPosition] = {}
        #: What `expiries` told last, and of what.
        self._expiries: tuple[Route | None, int, tuple[int, ...]] = None, 0, ()
        #: Of a roll-up: id and version of the boards that it is made from, and what `parts` tells.
        self._parts: tuple[list[tuple[int, int]], list[LiveBoard]] = [], []
        #: Its ranking for each ranking that it is made from.
        self._targets: dict[Ranking, Ranking] = {}

    @property
    def taken_from(self) -> int:
        """The time from which on it takes scores: what was before is folded, and dropped."""
        return 0 if self._catalog is None else self._catalog.taken_from.get(self.id, 0)

    @property
    def grace_ms(self) -> int:
        """How long after a window's end scores of it may still come: a roll-up's do as long as those of its parts."""
        return max(self.board.grace_ms, *(part.board.grace_ms for part in self.parts)) if self.board.rollup else self.board.grace_ms

    @property
    def closed(self) -> Mapping[str, int]:
        """Up to which end its windows are closed, by their names, whatever the clock says."""
        return _NONE if self._catalog is None else self._catalog.closed.get(self.id, _NONE)

    def shown_at(self, now: int) -> Callable[[int], Score]:
        """How scores that an engine keeps are shown at a moment."""
        shown, half_life = self.board.shown, self.half_life
        return shown if half_life is None else lambda level: shown(half_life.score(level, now))

    def position(self, moment: int) -> CalendarPosition:
        """What the calendar says of a moment."""
        hour = moment // HOUR
        found = self._positions.get(hour)
        if found is None or not found.start <= moment < found.end:
            if len(self._positions) >= REMEMBERED:
                self._positions.clear()
            found = self._positions[hour] = CalendarPosition(self, moment)
        return found

    def route(self, moment: int, segments: Mapping[str, str] | None) -> Route:
        """The rankings in which an event of that moment counts."""
        return self.position(moment).route(segments)

    def update(self, event: Event, ranked: bool = False) -> Update:
        """An event as an engine sees it."""
        _, _, _, player, kind, amount, at, received, segments, _, _ = event
        return self.update_on(self.route(at, segments), player, kind, amount, at, received, ranked)

    def update_on(self, route: Route, player: str, kind: Kind, amount: int, at: int, received: int, ranked: bool) -> Update:
        """What an engine has to do for an amount of a player's, in the rankings of a route."""
        if self.half_life is not None:
            amount = self.half_life.level(amount, at)
        spans, rankings, _ = route
        expiries = self.expiries(route, received)
        return made_update((player, kind, amount, cut(self.board, at), received, rankings, len(spans), expiries, ranked))

    def expiries(self, route: Route, received: int) -> tuple[int, ...]:
        """When each ranking of a route may be dropped after an event that came at `received`; 0: never."""
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
        """When a window's rankings may be dropped after an event that came at `received`; 0: never."""
        ttl = self.ttls.get(span.window)
        if ttl is None:
            return 0
        # all_time never ends: only its last score counts.
        return received + ttl if span.end == FOREVER else max(received + ttl, span.end + self.board.grace_ms)

    def ranking(self, window: str | None, window_id: str | None, segment: str | None, now: int) -> Ranking:
        """The ranking that a reader names; without names, the whole of the first window as it is now."""
        if window is None and window_id is None and segment is None:
            wholes = self.position(now).wholes
            if wholes and wholes[0].window == self.board.first_window:
                return wholes[0]
        name = window or self.board.first_window
        if name not in self.board.periods:
            raise UnknownWindow(f"board {self.name!r} has no window {name!r}: it has {', '.join(self.board.periods)}")
        if segment is not None:
            self._check_segment(segment)
        if window_id is None:
            for span in self.position(now).spans:
                if span.window == name:
                    return Ranking(self.id, name, span.id, segment or "")
            raise UnknownWindow(f"board {self.name!r} has no season now: name one with window_id")
        return Ranking(self.id, name, span_of(self.board, name, window_id).id, segment or "")

    # -- roll-ups -------------------------------------------------------------------------------------------------------

    @property
    def parts(self) -> list[LiveBoard]:
        """The boards that a roll-up is made from, as they are now, each with the window that counts and nothing else."""
        if self.board.rollup is None or self._catalog is None:
            return []
        window = [self.board.rollup.window]
        records = [self._catalog[name].record for name in self.board.rollup.of]
        if self._parts[0] != [record[:2] for record in records]:
            plain = [record._replace(board=replace(record.board, windows=window, segments=[], also=[])) for record in records]
            self._parts = [record[:2] for record in records], [LiveBoard(record, self._catalog) for record in plain]
            self._targets = {}
        return self._parts[1]

    def target(self, part: LiveBoard, ranking: Ranking) -> Ranking:
        """The ranking of a roll-up in which a ranking of a part counts."""
        found = self._targets.get(ranking)
        if found is None:
            if len(self._targets) >= REMEMBERED:
                self._targets.clear()
            span = span_at(self.board, self.board.first_window, span_of(part.board, ranking.window, ranking.window_id).start)
            assert span is not None, "no roll-up is into seasons"
            found = self._targets[ranking] = Ranking(self.id, span.window, span.id, "")
        return found

    def sources(self, target: Ranking) -> list[tuple[str, Ranking]]:
        """The rankings that a ranking of a roll-up is made from, each with the name of its board."""
        whole = span_of(self.board, target.window, target.window_id)
        found = []
        for part in self.parts:
            moment = whole.start
            while moment < whole.end and (span := span_at(part.board, part.board.first_window, moment)) is not None:
                found.append((part.name, Ranking(part.id, span.window, span.id, "")))
                moment = span.end
        return found

    def rolled_up(self, states: list[tuple[str, State]]) -> State:
        """The state that the states in parts make, each with the name of the part's board."""
        rollup = self.board.rollup
        assert rollup is not None, "only a roll-up has parts"
        scores = [state.score * rollup.weights.get(name, 1) for name, state in states]
        since = max(state.since for _, state in states)
        return State(rolled_up(rollup, self.board.order == "desc", scores), cut(self.board, since))

    def _check_segment(self, segment: str) -> None:
        name, colon, value = segment.partition(":")
        if name not in self.board.segments:
            known = ", ".join(self.board.segments) or "none"
            raise UnknownSegment(f"board {self.name!r} has no segment {name!r}: it has {known}")
        if not colon or not value:
            raise UnknownSegment(f"segment {segment!r} names no value: write it as '{name}:value'")


class Catalog:
    """All live boards by name."""

    def __init__(self) -> None:
        self._boards: dict[str, LiveBoard] = {}
        #: The roll-ups that are made from each board that has some.
        self._rollups: dict[str, list[LiveBoard]] = {}
        #: The time from which on boards take scores, by their numbers, where earlier events are dropped.
        self.taken_from: dict[int, int] = {}
        #: Up to which end the windows of boards are closed, by the board's number and the window's name.
        self.closed: dict[int, dict[str, int]] = {}

    def __iter__(self) -> Iterator[LiveBoard]:
        return iter(sorted(self._boards.values(), key=lambda live: live.name))

    def __getitem__(self, name: str) -> LiveBoard:
        try:
            return self._boards[name]
        except KeyError:
            raise UnknownBoard(f"there is no board {name!r}: define it in keepscore.toml or with PUT /v1/boards/{{board}}") from None

    def get(self, name: str) -> LiveBoard | None:
        """The board of that name, if there is one."""
        return self._boards.get(name)

    def put(self, record: BoardRecord) -> LiveBoard:
        """Let a definition take effect."""
        old = self._boards.get(record.board.name)
        live = self._boards[record.board.name] = LiveBoard(record, self)
        if live.board.rollup is not None or (old is not None and old.board.rollup is not None):
            self._find_rollups()
        return live

    def _find_rollups(self) -> None:
        self._rollups = {}
        for live in self:
            for name in live.board.rollup.of if live.board.rollup else ():
                self._rollups.setdefault(name, []).append(live)

    def rollups(self, live: LiveBoard) -> list[LiveBoard]:
        """The boards that are made from a board."""
        return self._rollups.get(live.name, [])

    def remove(self, name: str) -> None:
        """Forget a board."""
        if self._boards.pop(name).board.rollup is not None:
            self._find_rollups()

    def links(self, live: LiveBoard) -> list[LiveBoard]:
        """The boards to which submissions on a board are sent on. One that was deleted since is passed over."""
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
        elif other.rollup is not None:
            problem = f"board {name!r} is a roll-up, which takes no scores"
        elif board.operator in ("sum", "last") and other.operator in ("best", "first"):
            problem = f"board {name!r} is a {other.operator!r} board, which takes no increments, as this one does"
        if problem:
            raise InvalidBoard(f"board {board.name!r}: also = {board.also} cannot be used; {problem}")


def check_rollup(board: Board, boards: Mapping[str, Board]) -> None:
    """Refuse a roll-up that does not fit the boards that there are."""
    rollup = board.rollup
    for name in rollup.of if rollup else ():
        other = boards.get(name)
        problem = None
        if other is None:
            problem = f"there is no board {name!r}"
        elif other.rollup is not None or other.decay is not None:
            problem = f"board {name!r} {'is a roll-up itself' if other.rollup else 'has decay'}"
        elif rollup and rollup.window not in other.periods:
            problem = f"board {name!r} has no window {rollup.window!r}: it has {', '.join(other.periods)}"
        else:
            for field in ("decimals", "timezone", "week_start"):
                if getattr(other, field) != getattr(board, field):
                    problem = f"board {name!r} has {field} = {getattr(other, field)!r}, and this one {getattr(board, field)!r}"
        if problem:
            raise InvalidBoard(f"board {board.name!r}: rollup of {name!r} cannot be used; {problem}")
