"""Which rankings an event of some moment counts in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from keepscore.caches import bytes_of
from keepscore.domain.keys import key_of, live_key_of
from keepscore.domain.scoring import Kind, Scope
from keepscore.domain.windows import Span, span_at
from keepscore.errors import InvalidSegment
from keepscore.storage.engines.base import Ranking

if TYPE_CHECKING:
    from keepscore.projection.live_boards import LiveBoard

__all__ = ["CalendarPosition", "Given", "RankingRoute", "Routed"]


class Given(Protocol):
    """What an engine has to know of an event or a submission."""

    @property
    def player(self) -> str: ...
    @property
    def kind(self) -> Kind: ...
    @property
    def amount(self) -> int: ...
    @property
    def at(self) -> int: ...
    @property
    def received(self) -> int: ...


class Routed(Protocol):
    """What an event or a submission says of where it counts."""

    @property
    def kind(self) -> Kind: ...
    @property
    def at(self) -> int: ...
    @property
    def segments(self) -> dict[str, str] | None: ...
    @property
    def scope(self) -> Scope | None: ...
    @property
    def metadata(self) -> Any: ...


class RankingRoute(NamedTuple):
    """The rankings that an event of some moment counts in; the first `wholes` of them are the unsegmented ones.

    They come in rows of one ranking for each span: first the wholes, then each slice.
    """

    spans: tuple[Span, ...]
    rankings: tuple[Ranking, ...]
    #: Expiries where rankings never expire: a zero for each.
    never: tuple[int, ...]
    wholes: int


class CalendarPosition:
    """The rankings of a board for all moments from `start` up to `end`, worked out once."""

    __slots__ = ("_plain", "_scoped", "_slices", "board", "board_id", "end", "names", "slicing", "spans", "start", "wholes")

    def __init__(self, live: LiveBoard, moment: int) -> None:
        self.board_id = live.id
        self.board = live.board
        self.slicing = live.board.slicing
        self.names = self.slicing.labels
        periods = live.board.periods
        self.spans = tuple(span for name in periods if (span := span_at(live.board, name, moment)) is not None)
        if len(self.spans) == len(periods):
            self.start, self.end = max(s.start for s in self.spans), min(s.end for s in self.spans)
        else:
            # Between two seasons there is no span to tell how long that lasts.
            self.start, self.end = moment, moment + 1
        self.wholes = tuple(Ranking(live.id, span.window, span.id, "") for span in self.spans)
        self._plain = RankingRoute(self.spans, self.wholes, (0,) * len(self.wholes), len(self.wholes))
        self._slices = live.slices
        self._scoped = live.scoped

    def route(self, segments: Mapping[str, str] | None, scope: Scope | None = None) -> RankingRoute:
        """Return the rankings in which an event counts. Segments, and windows of a scope, that the board does not have are passed over."""
        if scope is not None:
            return self._scoped_route(segments, scope)
        if not segments:
            return self._plain
        rankings = self.wholes
        for slice_ in segments.items() if self.slicing.is_plain else self.slicing.slices(segments):
            if slice_[0] in self.names:
                rankings += self._slices.get((self, slice_)) or self._remember(slice_)
        return RankingRoute(self.spans, rankings, (0,) * len(rankings), len(self.wholes))

    def moved(self, places: Iterable[Mapping[str, str]]) -> RankingRoute:
        """Return the slices that follow the profile, of events with these values."""
        slices = dict.fromkeys(slice_ for segments in places for slice_ in self.slicing.following(segments))
        rankings = tuple([ranking for slice_ in slices for ranking in self._slices.get((self, slice_)) or self._remember(slice_)])
        return RankingRoute(self.spans, rankings, (0,) * len(rankings), 0)

    def _scoped_route(self, segments: Mapping[str, str] | None, scope: Scope) -> RankingRoute:
        """Return the same for an event that does not count everywhere: of its route, what lies within the scope."""
        if not segments and (known := self._scoped.get((self, scope))) is not None:
            return known
        # An event that counts in one slice alone need not be in it otherwise.
        route = self.route(self.slicing.conditions(scope.segment) if scope.segment else segments)
        # What counts for everybody counts for those whom the profile takes out of it.
        rankings = [
            ranking
            for ranking in route.rankings
            if ranking.window in scope.windows
            and (scope.segment in (None, ranking.segment) or (not scope.segment and self.slicing.follows_only(ranking.segment)))
        ]
        spans = tuple([span for span in self.spans if span.window in scope.windows])
        wholes = len([ranking for ranking in rankings if not ranking.segment])
        found = RankingRoute(spans if rankings else (), tuple(rankings), (0,) * len(rankings), wholes)
        return found if segments else self._scoped.put((self, scope), found, bytes_of(scope) + bytes_of(found))

    def _remember(self, slice_: tuple[str, str]) -> tuple[Ranking, ...]:
        label = f"{slice_[0]}:{slice_[1]}"
        wholes = {key for span in self.spans for key in self._keys(span, "")}
        for span in self.spans:
            if (key := next((key for key in self._keys(span, label) if key in wholes), None)) is not None:
                raise InvalidSegment(
                    f"segment {slice_[0]} = {slice_[1]!r} cannot be used on board {self.board.name!r}: its ranking would have the key "
                    f"{key!r}, which is the key of everyone's"
                )
        rankings = tuple(Ranking(self.board_id, span.window, span.id, label) for span in self.spans)
        return self._slices.put((self, slice_), rankings, bytes_of(rankings))

    def _keys(self, span: Span, segment: str) -> list[str]:
        """Return the keys that a ranking has, or will have."""
        live = live_key_of(self.board, span.window, segment)
        return [key_of(self.board, span, segment), *([live] if live is not None else [])]
