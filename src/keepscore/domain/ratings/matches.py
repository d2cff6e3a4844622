"""A match: who played, how it ended, and the changes that it becomes. Pure.

Changes are worked out once, when the match is accepted, and recorded: a replay adds them up, in any order, and needs no system. With
deviations, the note of an event has what the match changed of the player's strength (`strength`), which adds up the same way.

A match of a player who is not ranked yet counts in no ranking: its note has the windows in which it will. Once the player is ranked, the
changes of these matches are recorded as events of the kind `rerate` with `ranks`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec

from keepscore.domain.boards import Board
from keepscore.domain.ratings import elo, glicko2, open_skill
from keepscore.domain.ratings.definition import Rating
from keepscore.domain.ratings.strength import Idleness, Strength
from keepscore.domain.scoring import Event
from keepscore.errors import InvalidField, InvalidPlayer

__all__ = [
    "MATCH_KINDS",
    "MAX_PLACE",
    "MAX_PLAYERS",
    "Before",
    "Match",
    "RatedPlayer",
    "contest",
    "duel",
    "is_carried_over",
    "is_ranking",
    "match_of",
    "match_of_events",
    "note_of",
    "provisional_windows",
    "rated",
    "result_against",
    "strength_of",
]

#: The kinds of events that a match becomes: a player's change, and what the player starts from in windows where it is the first one.
MATCH_KINDS = ("match", "initial")
#: Players of one match.
MAX_PLAYERS = 64
#: The largest place.
MAX_PLACE = 1_000_000
#: The results of a duel, and the places of both players.
_PLACES = {1: (1, 2), 0.5: (1, 1), 0: (2, 1)}


class RatedPlayer(NamedTuple):
    """What a match made of one player's rating, as stored: the rating shown before it, and the change."""

    player: str
    team: int
    before: int
    change: int
    #: What is recorded with the player's event.
    note: dict[str, Any]
    #: What it changed of the strength, and the deviation afterwards, where there are deviations.
    strength: Strength | None = None
    deviation: float | None = None


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

    @property
    def is_duel(self) -> bool:
        """Whether one player played against another."""
        return [len(team) for team in self.teams] == [1, 1]

    def result_of(self, team: int) -> float:
        """Return how the match ended for a team: 1 is a win, 0.5 a draw, 0 a loss; against several teams, the mean."""
        return _mean([_result(self.places[team], place) for other, place in enumerate(self.places) if other != team])


class Before(NamedTuple):
    """A player's rating in each window of a match, as stored, the first one being what the match goes by; and how many games there were."""

    ratings: Sequence[int]
    games: int
    #: The strength in the first window, where there are deviations; None: the player starts.
    strength: Strength | None = None
    #: Whether the player is ranked in each of the windows.
    ranked: Sequence[bool] = ()


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


def contest(match_id: str, teams: Sequence[Sequence[str]], ranks: Sequence[int] | None) -> Match:
    """Return a match of teams, or raise the error that says what is wrong with it. Without `ranks`, teams are in the order of their places.

    >>> contest("m", [["ada", "bo"], ["cy"]], [2, 1]).places
    (2, 1)
    """
    if isinstance(teams, str) or len(teams) < 2 or not all(not isinstance(team, str) and len(team) for team in teams):
        raise InvalidField(f"teams = {str(teams)[:80]} cannot be used: give two teams or more, each with its players")
    found = Match(match_id, tuple(tuple(team) for team in teams), tuple(range(1, len(teams) + 1) if ranks is None else ranks))
    players = found.players
    if len(players) > MAX_PLAYERS:
        raise InvalidField(f"teams has {len(players)} players: a match has at most {MAX_PLAYERS}")
    twice = next((player for player in players if players.count(player) > 1), None)
    if twice is not None:
        raise InvalidPlayer(f"player {twice!r} is in teams twice: a match has different players")
    if len(found.places) != len(found.teams):
        raise InvalidField(f"ranks has {len(found.places)} entries, and teams {len(found.teams)}: give the place of each team")
    for place in found.places:
        if isinstance(place, bool) or not isinstance(place, int) or not 1 <= place <= MAX_PLACE:
            raise InvalidField(f"ranks: {str(place)[:40]} is no place: write 1 for the first, up to {MAX_PLACE}; equal places are a draw")
    return found


# -- what is recorded ---------------------------------------------------------------------------------------------------


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
    if found is None:
        return {}
    return dict(found.get("metadata") or {}) if is_carried_over(event) else dict(found)


def strength_of(event: Event) -> Strength | None:
    """Return what an event of a match changed of the player's strength, or what it has let the player start from."""
    found = note_of(event).get("strength")
    return None if found is None else Strength(*found)


def provisional_windows(event: Event) -> list[str] | None:
    """Return the windows in which an event counts once its player is ranked; None: it counts."""
    return note_of(event).get("provisional") if event.kind in (*MATCH_KINDS, "rerate") else None


def is_ranking(event: Event) -> bool:
    """Return whether an event brings the change of a match of before its player was ranked."""
    return event.kind == "rerate" and bool(note_of(event).get("ranks"))


def match_of_events(events: Sequence[Event]) -> Match:
    """Return a match that is recorded, from the changes of its players."""
    own = sorted(events, key=lambda event: event.n)
    note = note_of(own[0])
    if "teams" in note:
        return contest(own[0].game_id or "", note["teams"], note["places"])
    a, b = own
    return duel(a.game_id or "", a.player, b.player, note["result"])


def result_against(event: Event, opponent: str) -> float:
    """Return how a match ended for its player against one opponent: 1 is a win, 0.5 a draw, 0 a loss."""
    note = note_of(event)
    if "teams" not in note:
        return float(note["result"])
    places = {player: place for team, place in zip(note["teams"], note["places"], strict=True) for player in team}
    return _result(note["place"], places[opponent])


def _result(place: int, other: int) -> float:
    return 1.0 if place < other else 0.5 if place == other else 0.0


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)


# -- rating -------------------------------------------------------------------------------------------------------------


def rated(board: Board, match: Match, before: Mapping[str, Before], now: int) -> list[RatedPlayer]:
    """Return what a match that comes now makes of its players' ratings. All changes of an Elo match add up to zero."""
    rating = board.rating
    assert rating is not None, "only boards with a rating take matches"
    if board.idleness is not None:
        return _rated_by_strength(rating, board.idleness, match, before, now)
    (a,), (b,) = match.teams
    scale = 10**board.decimals
    own, other = before[a].ratings[0] / scale, before[b].ratings[0] / scale
    # One K for both, so that one gains what the other loses.
    k = (rating.k_for(own, before[a].games) + rating.k_for(other, before[b].games)) / 2
    gain = _within(board, round(elo.change(own, other, match.result_of(0), k) * scale), before[a].ratings, before[b].ratings)
    told = {"system": rating.system, "version": elo.VERSION, "k": k}
    return [
        RatedPlayer(a, 0, before[a].ratings[0], gain, _note(told, match, 0, a, before[a].ratings[0])),
        RatedPlayer(b, 1, before[b].ratings[0], -gain, _note(told, match, 1, b, before[b].ratings[0])),
    ]


def _rated_by_strength(rating: Rating, idle: Idleness, match: Match, before: Mapping[str, Before], now: int) -> list[RatedPlayer]:
    strengths = {player: before[player].strength or idle.start(now) for player in match.players}
    numbers = {player: idle.before_match(strength, now) for player, strength in strengths.items()}
    version, after = _after(rating, match, numbers)
    told = {"system": rating.system, "version": version, "parameters": rating.parameters}
    found = []
    for team, players in enumerate(match.teams):
        for player in players:
            old, new = strengths[player], idle.strength(after[player], now)
            shown = idle.score(before[player].ratings[0], now)
            note = _note(told, match, team, player, shown)
            note |= {"strength": list(new.minus(old)), "mean": round(after[player][0], 6), "deviation": round(after[player][1], 6)}
            change = idle.level_of(new) - idle.level_of(old)
            found.append(RatedPlayer(player, team, shown, change, note, new.minus(old), after[player][1]))
    return found


def _after(
    rating: Rating, match: Match, numbers: Mapping[str, tuple[float, float, float]]
) -> tuple[int | str, dict[str, tuple[float, float, float]]]:
    """Return the version of the system, and mean, deviation and volatility of each player afterwards."""
    if rating.system == "openskill":
        skills = [[open_skill.Skill(*numbers[player][:2]) for player in team] for team in match.teams]
        made = open_skill.rated(skills, match.places, open_skill.Skill(rating.start, float(rating.deviation or 0)))
        new = [skill for team in made for skill in team]
        return open_skill.model_version(), {player: (*skill, 0.0) for player, skill in zip(match.players, new, strict=True)}
    (a,), (b,) = match.teams
    own, other, tau = glicko2.Glicko(*numbers[a]), glicko2.Glicko(*numbers[b]), float(rating.tau or 0)
    return glicko2.VERSION, {
        a: glicko2.rated(own, [(other, match.result_of(0))], tau),
        b: glicko2.rated(other, [(own, match.result_of(1))], tau),
    }


def _note(told: Mapping[str, Any], match: Match, team: int, player: str, before: int) -> dict[str, Any]:
    against = [other for place, players in enumerate(match.teams) if place != team for other in players]
    note = {**told, "against": against, "result": match.result_of(team), "before": before}
    if not match.is_duel:
        note |= {"teams": [list(players) for players in match.teams], "places": list(match.places), "place": match.places[team]}
    return note


def _within(board: Board, gain: int, own: Sequence[int], other: Sequence[int]) -> int:
    """Return as much of a gain as leaves both players within the board's bounds, in all windows."""
    low, high = board.bounds
    if gain > 0:
        return max(0, min(gain, *(high - rating for rating in own), *(rating - low for rating in other)))
    return min(0, max(gain, *(low - rating for rating in own), *(rating - high for rating in other)))
