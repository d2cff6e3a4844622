"""A match: who played, how it ended, and the changes that it becomes. Pure.

Changes are worked out once, when the match is accepted, and recorded: a replay adds them up, in any order, and needs no system.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec

from keepscore.domain.boards import Board
from keepscore.domain.ratings import elo
from keepscore.domain.scoring import Event
from keepscore.errors import InvalidField, InvalidPlayer

__all__ = ["MATCH_KINDS", "Before", "Match", "RatedPlayer", "duel", "is_carried_over", "match_of", "match_of_events", "note_of", "rated"]

#: The kinds of events that a match becomes: a player's change, and what the player starts from in windows where it is the first one.
MATCH_KINDS = ("match", "initial")
#: The results of a duel, and the places of both players.
_PLACES = {1: (1, 2), 0.5: (1, 1), 0: (2, 1)}


class RatedPlayer(NamedTuple):
    """What a match made of one player's rating, as stored."""

    player: str
    team: int
    before: int
    change: int
    #: What is recorded with the player's event.
    note: dict[str, Any]


class Match(msgspec.Struct, eq=False):
    """A match, as checked: teams, the best place being the lowest, and what became of their ratings when it was planned."""

    match_id: str
    teams: tuple[tuple[str, ...], ...]
    places: tuple[int, ...]
    rated: Sequence[RatedPlayer] = ()

    @property
    def players(self) -> list[str]:
        """All players, team by team."""
        return [player for team in self.teams for player in team]

    def result_of(self, team: int) -> float:
        """Return how the match ended for one of two teams: 1 is a win, 0.5 a draw, 0 a loss."""
        own, other = self.places[team], self.places[1 - team]
        return 1.0 if own < other else 0.5 if own == other else 0.0


class Before(NamedTuple):
    """A player's rating in each window of a match, as stored, the first one being what the match goes by; and how many games there were."""

    ratings: Sequence[int]
    games: int


def duel(match_id: str, a: str, b: str, result: object) -> Match:
    """Return a match of two players, or raise the error that says what is wrong with it.

    >>> duel("m", "ada", "bo", 0.5).places
    (1, 1)
    """
    if a == b:
        raise InvalidPlayer(f"a = b = {a!r}: a match has two different players")
    if isinstance(result, bool) or not isinstance(result, int | float | Decimal) or result not in _PLACES:
        shown = str(result)[:40]
        raise InvalidField(f"result = {shown} is no result: write 1 where a won, 0.5 for a draw, or 0 where b won")
    return Match(match_id, ((a,), (b,)), _PLACES[float(result)])


def match_of(event: Event) -> str | None:
    """Return the match that an event belongs to, if any."""
    if event.kind == "match":
        return event.game_id
    return str(note_of(event)["match"]) if event.kind == "rerate" else None


def is_carried_over(event: Event) -> bool:
    """Return whether an event of a match is a copy, from another account of its player."""
    return isinstance(event.metadata, dict) and "decision" in event.metadata


def note_of(event: Event) -> dict[str, Any]:
    """Return what is recorded with an event of a match."""
    found: Any = event.metadata
    return dict(found["metadata"] if is_carried_over(event) else found)


def match_of_events(events: Sequence[Event]) -> Match:
    """Return a match that is recorded, from the changes of its players."""
    a, b = sorted(events, key=lambda event: event.n)
    return duel(a.game_id or "", a.player, b.player, note_of(a)["result"])


def rated(board: Board, match: Match, before: Mapping[str, Before]) -> list[RatedPlayer]:
    """Return what a match makes of its players' ratings. All changes of an Elo match add up to zero."""
    rating = board.rating
    assert rating is not None, "only boards with a rating take matches"
    (a,), (b,) = match.teams
    scale = 10**board.decimals
    own, other = before[a].ratings[0] / scale, before[b].ratings[0] / scale
    # One K for both, so that one gains what the other loses.
    k = (rating.k_for(own, before[a].games) + rating.k_for(other, before[b].games)) / 2
    result = match.result_of(0)
    gain = _within(board, round(elo.change(own, other, result, k) * scale), before[a].ratings, before[b].ratings)
    told = {"system": rating.system, "version": elo.VERSION, "k": k}
    return [
        RatedPlayer(a, 0, before[a].ratings[0], gain, _note(told, b, result, before[a])),
        RatedPlayer(b, 1, before[b].ratings[0], -gain, _note(told, a, 1.0 - result, before[b])),
    ]


def _note(told: Mapping[str, Any], opponent: str, result: float, before: Before) -> dict[str, Any]:
    return {**told, "against": [opponent], "result": result, "before": before.ratings[0]}


def _within(board: Board, gain: int, own: Sequence[int], other: Sequence[int]) -> int:
    """Return as much of a gain as leaves both players within the board's bounds, in all windows."""
    low, high = board.bounds
    if gain > 0:
        return max(0, min(gain, *(high - rating for rating in own), *(rating - low for rating in other)))
    return min(0, max(gain, *(low - rating for rating in own), *(rating - high for rating in other)))
