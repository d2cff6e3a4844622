"""The ratings of players as their matches have made them, one event after the other: what the next match goes by.

A ranking shows the sum of what counts in it. This is the same sum, with what no ranking shows: strengths (`domain/ratings/strength`), how
many matches there were, and the ratings of players who are not ranked yet.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from keepscore.domain.ratings.matches import Before, is_ranking, match_of, provisional_windows, strength_of
from keepscore.domain.ratings.strength import Strength
from keepscore.domain.scoring import Event, Scope
from keepscore.domain.verdicts import that_count
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.openings import PlayerPast
from keepscore.storage.engines.base import Ranking

__all__ = ["RatingBook", "Waiting", "book_of", "in_recorded_order", "initial_level", "wholes_of"]

#: A player in a ranking.
_Place = tuple[Ranking, str]


class Waiting(NamedTuple):
    """A match of a player who is not ranked yet, and what it changes."""

    event: Event
    amount: int


def wholes_of(live: LiveBoard, event: Event) -> list[Ranking]:
    """Return the whole rankings in which an event of a match counts, or will once its player is ranked."""
    windows = provisional_windows(event)
    route = live.route_of(event) if windows is None else live.route(event.at, event.segments, Scope(tuple(windows)))
    return [ranking for ranking in route.rankings if not ranking.segment]


def initial_level(live: LiveBoard, now: int) -> int:
    """Return what a player starts from at a moment, as it is stored."""
    rating, idle = live.board.rating, live.board.idleness
    assert rating is not None, "only boards with a rating take matches"
    return live.board.points(rating.initial or 0) if idle is None else idle.level_of(idle.start(now))


def in_recorded_order(events: Iterable[Event]) -> list[Event]:
    """Sort events as they were recorded: what a player starts from comes before the match."""
    return sorted(events, key=lambda event: (event.seq or 0, event.writer, event.n))


def book_of(live: LiveBoard, pasts: Mapping[str, PlayerPast]) -> RatingBook:
    """Return the ratings of players from all that the ledger has of them."""
    book = RatingBook(live)
    for player, past in pasts.items():
        for ranking, state in past.states.items():
            book.open_with((ranking, player), state.score)
        book.add_all(in_recorded_order(that_count(past.events)))
    return book


class RatingBook:
    """Ratings of a board, as far as events are taken up. Each event comes after those that were recorded before it."""

    def __init__(self, live: LiveBoard) -> None:
        self._live = live
        #: What is ranked; and, of those who are not yet, what they start from and what they have.
        self._ranked: dict[_Place, int] = {}
        self._starts: dict[_Place, int] = {}
        self._unranked: dict[_Place, int] = {}
        self._strengths: dict[_Place, Strength] = {}
        self._games: Counter[str] = Counter()
        self._waiting: dict[str, dict[str, Waiting]] = defaultdict(dict)

    def open_with(self, place: _Place, rating: int) -> None:
        """Begin with what dropped events have left."""
        self._ranked[place] = rating

    def add(self, event: Event, amount: int | None = None, strength: Strength | None = None) -> None:
        """Take up an event that counts, with another amount and strength where it was rated again."""
        amount = event.amount if amount is None else amount
        strength = strength_of(event) if strength is None else strength
        is_provisional, player = provisional_windows(event) is not None, event.player
        for ranking in wholes_of(self._live, event):
            place = ranking, player
            if is_provisional and event.kind == "initial":
                self._unranked.setdefault(place, self._starts.setdefault(place, amount))
            else:
                points = self._unranked if is_provisional else self._ranked
                points[place] = points.get(place, 0) + amount
            if strength is not None:
                known = self._strengths.get(place)
                if known is None or event.kind != "initial":
                    self._strengths[place] = strength if known is None else known.plus(strength)
        if event.kind == "match":
            self._games[player] += 1
        match_id = match_of(event) or ""
        if is_ranking(event):
            self._waiting[player].pop(match_id, None)
        elif is_provisional and event.kind == "match":
            self._waiting[player][match_id] = Waiting(event, amount)
        elif is_provisional and match_id in self._waiting[player]:
            known_event, so_far = self._waiting[player][match_id]
            self._waiting[player][match_id] = Waiting(known_event, so_far + amount)

    def add_all(self, events: Iterable[Event]) -> None:
        """Take up events as they are recorded."""
        for event in events:
            self.add(event)

    def before(self, player: str, wholes: Sequence[Ranking], now: int) -> Before:
        """Return what a match goes by that comes now."""
        initial = initial_level(self._live, now)
        ratings = [self.rating((ranking, player)) for ranking in wholes]
        ranked = [(ranking, player) in self._ranked for ranking in wholes]
        strength = self._strengths.get((wholes[0], player)) if wholes else None
        return Before([initial if rating is None else rating for rating in ratings], self._games[player], strength, ranked)

    def rating(self, place: _Place) -> int | None:
        """Return the rating of a player, ranked or not; None: there is none."""
        return self._ranked.get(place, self._unranked.get(place))

    def strength(self, place: _Place) -> Strength | None:
        """Return the strength of a player, where there are deviations."""
        return self._strengths.get(place)

    def is_ranked(self, place: _Place) -> bool:
        """Return whether a player is ranked."""
        return place in self._ranked

    def start(self, place: _Place) -> int | None:
        """Return what a player started from who is not ranked yet; None: the player has not started."""
        return self._starts.get(place)

    def waiting(self, player: str) -> list[Waiting]:
        """Return the matches of a player that count once the player is ranked."""
        return list(self._waiting[player].values())
