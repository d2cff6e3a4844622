"""From a match to events: a change for each player, what players start from, and what counts of those who are not ranked yet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from keepscore.domain.ratings.definition import Rating
from keepscore.domain.ratings.matches import Before, RatedPlayer, match_of
from keepscore.domain.scoring import Kind, Scope
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.rating_book import RatingBook, initial_level, wholes_of
from keepscore.storage.engines.base import Ranking
from keepscore.writing.scopes import Submission

__all__ = ["MatchSide", "before_ranked", "side_events"]

#: Where an event counts that counts in no ranking yet.
NOWHERE = Scope(())


class MatchSide:
    """A match as one player has it: what the player had before, and what it changes."""

    def __init__(self, submission: Submission, wholes: Sequence[Ranking], before: Before, one: RatedPlayer) -> None:
        assert submission.by_player is not None, "a match has players"
        self.live: LiveBoard = submission.live
        self.scope = submission.scope
        self.wholes = wholes
        self.before, self.one = before, one
        self.of = submission.by_player[one.player]

    @property
    def rating(self) -> Rating:
        """The rating of the board."""
        assert self.live.board.rating is not None, "only boards with a rating take matches"
        return self.live.board.rating

    @property
    def is_proven(self) -> bool:
        """Whether the player is ranked from this match on, or has been before."""
        rule = self.rating.ranked_from
        if rule is None or self.before.ranked[0]:
            return True
        if rule.games is not None:
            return self.before.games + 1 >= rule.games
        return self.one.deviation is not None and self.one.deviation <= float(rule.deviation or 0)


def before_ranked(submission: Submission, known: Sequence[int | None], games: int) -> Before:
    """Return what a match goes by where the ratings that are ranked are all: in each window, None for who has none."""
    initial = initial_level(submission.live, submission.received)
    return Before([initial if rating is None else rating for rating in known], games, None, [rating is not None for rating in known])


#: An event to come: what it is of, its kind, amount and scope.
Meant = tuple[Submission, tuple[Kind, int, Scope | None]]


def side_events(side: MatchSide, match_id: str, book: RatingBook | None) -> Iterator[Meant]:
    """Yield the events that a match becomes for one player."""
    # What a player starts from is no part of the match, and stays where the match is made void.
    start = replace(side.of, game_id=None, metadata=None)
    match = replace(side.of, game_id=match_id, metadata=side.one.note)
    if not side.is_proven:
        assert book is not None, "whoever is not ranked is in the book"
        yield from _unranked_events(side, start, match, book)
        return
    yield from _starts(side, start, book)
    if book is not None:
        yield from _waiting_events(side, book)
    yield match, ("match", side.one.change, side.scope)


def _unranked_events(side: MatchSide, start: Submission, match: Submission, book: RatingBook) -> Iterator[Meant]:
    windows = [ranking.window for ranking in side.wholes]
    new = [ranking.window for ranking in side.wholes if book.start((ranking, side.of.player)) is None]
    if new:
        start.metadata = {"provisional": new, **_strength(side)}
        yield start, ("initial", initial_level(side.live, side.of.received), NOWHERE)
    side.one.note["provisional"] = windows
    yield match, ("match", side.one.change, NOWHERE)


def _starts(side: MatchSide, start: Submission, book: RatingBook | None) -> Iterator[Meant]:
    """Yield what the player starts from in windows where nothing is ranked yet."""
    known: dict[int | None, list[str]] = {}
    for ranking, is_ranked in zip(side.wholes, side.before.ranked, strict=True):
        if not is_ranked:
            known.setdefault(None if book is None else book.start((ranking, side.of.player)), []).append(ranking.window)
    for amount, windows in known.items():
        scope = Scope(tuple(windows)) if len(windows) < len(side.wholes) else side.scope
        # The strength of somebody who has started before is known.
        of = replace(start, metadata=_strength(side) or None if amount is None else None)
        yield of, ("initial", initial_level(side.live, side.of.received) if amount is None else amount, scope)


def _strength(side: MatchSide) -> dict[str, list[int]]:
    idle = side.live.board.idleness
    return {} if idle is None else {"strength": list(idle.start(side.of.received))}


def _waiting_events(side: MatchSide, book: RatingBook) -> Iterator[Meant]:
    """Yield the changes of matches of before the player was ranked, where they count from now on."""
    for event, amount in book.waiting(side.of.player):
        windows = tuple([ranking.window for ranking in wholes_of(side.live, event) if ranking in side.wholes])
        if windows:
            note = {"match": match_of(event), "was": 0, "now": amount, "ranks": True}
            of = replace(side.of, at=event.at, segments=event.segments, game_id=None, metadata=note)
            yield of, ("rerate", amount, Scope(windows))
