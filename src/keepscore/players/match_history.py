"""A player's matches, from the ledger: a page of them, those against one opponent, and the rating after each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from keepscore.domain.durations import time_of
from keepscore.domain.ratings.matches import is_ranking, match_of, note_of, provisional_windows, result_against
from keepscore.domain.results.matches import HeadToHead, PlayedMatch, PlayerMatches, PlayerRatings, RatingPoint
from keepscore.domain.scoring import Event
from keepscore.domain.values import check_player
from keepscore.domain.verdicts import event_id, that_count
from keepscore.errors import InvalidPage, InvalidPlayer, UnknownWindow
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.openings import PlayerPast, player_past
from keepscore.projection.rating_book import book_of, in_recorded_order, wholes_of
from keepscore.projection.stores import Stores
from keepscore.reading.visibility import Labels
from keepscore.storage.engines.base import Ranking

__all__ = ["MAX_MATCHES", "MatchHistory", "MatchesSeen"]

#: Matches of one page.
MAX_MATCHES = 1000
#: Matches that a head-to-head lists.
LAST_MATCHES = 10


class MatchesSeen(NamedTuple):
    """A player on a board, and who looks: None is everybody."""

    board: str
    player: str
    viewer: str | None


class MatchHistory:
    """Looks back at the matches of players."""

    def __init__(self, stores: Stores, labels: Labels) -> None:
        self._catalog, self._ledger, _, self._clock = stores
        self._labels = labels

    async def of_player(self, seen: MatchesSeen, opponent: str | None, limit: int, cursor: str | None) -> PlayerMatches:
        """Return a page of matches, the newest first."""
        _check_limit(limit)
        first = _place(cursor)
        live, found, (told, _) = await self._matches(seen, opponent)
        page = [_played(live, event, void) for event, void in found[first : first + limit]]
        more = str(first + limit) if first + limit < len(found) else None
        return PlayerMatches(live.name, told, len(found), await self._shown(page, seen.viewer), more)

    async def head_to_head(self, seen: MatchesSeen, opponent: str) -> HeadToHead:
        """Return how the matches of two players ended."""
        player = seen.player
        if player == opponent:
            raise InvalidPlayer(f"player {player!r} has no matches against themselves: name another player")
        live, found, told = await self._matches(seen, opponent)
        counting = [event for event, void in found if not void]
        results = [result_against(event, opponent) for event in counting]
        change = live.board.shown(sum(event.amount for event in counting))
        outcomes = results.count(1.0), results.count(0.5), results.count(0.0)
        last = [_played(live, event, False) for event in counting[:LAST_MATCHES]]
        return HeadToHead(live.name, *told, len(counting), *outcomes, change, await self._shown(last, seen.viewer))

    async def ratings(self, seen: MatchesSeen, limit: int) -> PlayerRatings:
        """Return the rating after each match that counts: in the board's first window, as it was at the time of the match."""
        _check_limit(limit)
        live = self._catalog[seen.board]
        past = await player_past(self._ledger, live, check_player(seen.player))
        (told,) = await self._labels.visible([seen.player], seen.viewer)
        if told is None:
            # Nobody knows of somebody who is hidden.
            return PlayerRatings(live.name, seen.player, 0, None, [])
        points = _points(live, past)
        peak = max(points, key=lambda point: point.rating, default=None)
        found = PlayerRatings(live.name, told, len(points), peak, points[::-1][:limit])
        self._add_present(found, live, past, seen.player)
        return found

    def _add_present(self, found: PlayerRatings, live: LiveBoard, past: PlayerPast, player: str) -> None:
        """Add the rating that a player has now, in the board's first window, ranked or not."""
        now, idle = self._clock(), live.board.idleness
        try:
            place = live.ranking(None, None, None, now), player
        except UnknownWindow:
            return
        book = book_of(live, {player: past})
        rating, strength = book.rating(place), book.strength(place)
        if rating is None:
            return
        found.rating, found.provisional = live.shown_at(now)(rating), not book.is_ranked(place)
        if strength is not None and idle is not None:
            mean, deviation, _ = idle.numbers(strength, now)
            found.mean, found.deviation = round(mean, 4), round(deviation, 4)

    async def _shown(self, matches: list[PlayedMatch], viewer: str | None) -> list[PlayedMatch]:
        """Return matches with those opponents whom a viewer may see, under the names that the viewer knows."""
        players = list({player: None for match in matches for player in (*match.against, *(match.allies or ()))})
        told = dict(zip(players, await self._labels.visible(players, viewer), strict=True))
        for match in matches:
            match.against = [name for player in match.against if (name := told[player]) is not None]
            if match.allies is not None:
                match.allies = [name for player in match.allies if (name := told[player]) is not None]
        return matches

    async def _matches(self, seen: MatchesSeen, opponent: str | None) -> tuple[LiveBoard, list[tuple[Event, bool]], tuple[str, str]]:
        """Return a player's matches, each with whether it is void, the newest first; and the names that a viewer knows of both."""
        live, player = self._catalog[seen.board], check_player(seen.player)
        if opponent is not None:
            check_player(opponent)
        past = await player_past(self._ledger, live, player)
        counting = {event_id(event) for event in that_count(past.events)}
        own = [event for event in past.events if event.kind == "match" and opponent in (None, *note_of(event)["against"])]
        named = [player] if opponent is None else [player, opponent]
        told = await self._labels.visible(named, seen.viewer)
        if None in told:
            # Nobody knows of somebody who is hidden.
            return live, [], (player, opponent or "")
        found = [(event, event_id(event) not in counting) for event in in_recorded_order(own)[::-1]]
        return live, found, (told[0] or "", told[-1] or "")


def _points(live: LiveBoard, past: PlayerPast) -> list[RatingPoint]:
    """Return the rating after each match that counts: in the board's first window, as it was at the time of the match."""
    rating = {ranking: state.score for ranking, state in past.states.items()}
    points: list[RatingPoint] = []
    counting = that_count(past.events)
    again = _rated_again(counting)
    started: set[Ranking] = set()
    for event in in_recorded_order(event for event in counting if event.kind != "rerate"):
        change, wholes = event.amount + again[match_of(event)], wholes_of(live, event)
        if event.kind == "initial":
            # Whoever is ranked after some matches starts from what there was before the first of them.
            wholes = [ranking for ranking in wholes if ranking not in started]
            if provisional_windows(event) is not None:
                started |= set(wholes)
        for ranking in wholes:
            rating[ranking] = rating.get(ranking, 0) + change
        if event.kind == "match" and wholes:
            shown = live.shown_at(event.received)
            points.append(RatingPoint(time_of(event.at), event.game_id or "", shown(rating[wholes[0]]), live.board.shown(change)))
    return points


def _rated_again(counting: Iterable[Event]) -> Counter[str | None]:
    """Return what was added to a player's changes, by match, when matches were rated again."""
    found: Counter[str | None] = Counter()
    for event in counting:
        if event.kind == "rerate" and not is_ranking(event):
            found[match_of(event)] += event.amount
    return found


def _played(live: LiveBoard, event: Event, void: bool) -> PlayedMatch:
    note, shown = note_of(event), live.board.shown
    told = (event.game_id or "", time_of(event.at), list(note["against"]), note["result"])
    played = PlayedMatch(*told, shown(note["before"] + event.amount), shown(event.amount), void)
    if "teams" in note:
        played.place = note["place"]
        played.allies = [player for team in note["teams"] if event.player in team for player in team if player != event.player]
    played.deviation = note.get("deviation")
    played.provisional = "provisional" in note
    return played


def _check_limit(limit: int) -> None:
    if not 1 <= limit <= MAX_MATCHES:
        raise InvalidPage(f"limit = {limit} cannot be used: give 1 to {MAX_MATCHES}")


def _place(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not cursor.isascii() or not cursor.isdecimal() or len(cursor) > 9:
        raise InvalidPage(f"cursor = {cursor[:40]!r} is not one that this service gave: take next_cursor as it is")
    return int(cursor)
