"""Some players among themselves, and everything that one screen shows of a player: each in one round trip to the engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from keepscore.domain.friends import MAX_FRIENDS
from keepscore.domain.ordering import FIRST, KeyCodec, Place, Row, number_rows, percentile
from keepscore.domain.results.friends import BoardView, FriendsBoard, FriendStanding, OwnStanding, WindowView
from keepscore.domain.values import check_player
from keepscore.errors import InvalidField
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.stores import Stores
from keepscore.projection.viewers import as_seen_by
from keepscore.reading.cohorts import is_cohort, roster_of, whole_view
from keepscore.reading.reader import MAX_AROUND, Reader
from keepscore.reading.tiers import RankedList, put_tiers
from keepscore.reading.view import MAX_LIMIT, View, check_estimated, check_within, since_of
from keepscore.storage.engines.base import Look, Rankings, Sight

__all__ = ["MAX_AMONG", "Among", "Circle", "ViewRequest"]

#: Standings of one answer: a player with all friends.
MAX_AMONG = MAX_FRIENDS + 1


class Circle(NamedTuple):
    """Players who are ranked among themselves: friends of a player, or members of a group."""

    #: The player who looks, if any.
    player: str | None
    #: The player's friends, or all members of the group.
    others: Sequence[str]
    group_id: str | None = None

    @property
    def everybody(self) -> list[str]:
        """All of them, each once."""
        own = [] if self.player is None or self.group_id is not None else [self.player]
        return list(dict.fromkeys([*own, *self.others]))


class ViewRequest(NamedTuple):
    """What one screen shows: how many of the first, around the player, and of the friends; in which windows (None: all)."""

    player: str | None = None
    top: int = 10
    around: int = 5
    friends: int = 10
    windows: Sequence[str] | None = None
    segment: str | None = None
    rank: str | None = None


class Among:
    """Ranks players among themselves."""

    def __init__(self, stores: Stores, reader: Reader) -> None:
        self._catalog = stores.catalog
        self._ledger = stores.ledger
        self._clock = stores.clock
        self._reader = reader

    async def ranking(self, view: View, circle: Circle, limit: int | None = None) -> FriendsBoard:
        """Return the first of some players in rank order, and those who are not ranked. O(log N) each."""
        _check_players(view)
        most = MAX_AMONG if limit is None else limit
        check_within("limit", most, 1, MAX_AMONG)
        everybody = circle.everybody

        async def read(source: Rankings) -> FriendsBoard:
            (sight,) = await source.see([Look(view.ranking, view.rank, among=everybody, limit=most)])
            standings = (await self._standings(source, view, sight, everybody, circle.player))[:most]
            missing = [player for player, place in zip(everybody, sight.among, strict=True) if place is None]
            missing = [player for player in missing if player != circle.player or circle.group_id is not None]
            answer = FriendsBoard(*view.labels, circle.player, len(circle.others), sight.total, standings, missing)
            if circle.group_id is not None:
                answer.group_id = circle.group_id
            return answer

        # One who is shadowed is among their friends for themselves.
        answer = await self._reader.read(view._replace(viewer=circle.player), read)
        answer.standings = await self._reader.labels.shown(answer.standings, circle.player)
        return answer

    async def _standings(
        self, source: Rankings, view: View, sight: Sight, players: Sequence[str], current: str | None
    ) -> list[FriendStanding]:
        """Return those whose ranks are known in rank order, numbered among themselves."""
        found = [(player, place) for player, place in zip(players, sight.among, strict=True) if place is not None and place.unique]
        rows = _ordered(view.live, found)
        shown = self._reader.shown(source, view.live)
        numbers = number_rows(view.rank, FIRST, [Row(player, place.score, place.since) for player, place in rows])
        standings = [
            FriendStanding(number, getattr(place, view.rank), player, None, shown(place.score), player == current)
            for number, (player, place) in zip(numbers, rows, strict=True)
        ]
        for standing, (_, place) in zip(standings, rows, strict=True):
            if place.error is not None:
                check_estimated(view.rank)
                standing.approximate, standing.error = True, place.error
        await self._put_tiers(source, view, standings, [place for _, place in rows])
        return standings

    async def _put_tiers(
        self, source: Rankings, view: View, standings: Sequence[FriendStanding | OwnStanding], places: Sequence[Place]
    ) -> None:
        """Label players with their tiers among all players. A read for each tier whose cut is a rank, all at once."""
        if view.live.board.tiers and places:
            unique, shown = [place.unique for place in places], self._reader.shown(source, view.live)
            await put_tiers(source, RankedList(view.live.board, view.ranking, standings, unique, places[0].total, shown))

    def _views(self, board: str, request: ViewRequest) -> list[View]:
        """Return the rankings that a request looks at, one for each window: those that it names, or all that are open."""
        names: Sequence[str | None] | None = request.windows
        if names is None:
            # A season may be over: then the first window says so.
            names = [whole.window for whole in self._catalog[board].position(self._clock()).wholes] or [None]
        elif not names:
            raise InvalidField("windows is empty: name one or more, such as daily,weekly, or leave it out for all")
        return [self._reader.view(board, name, None, request.segment, request.rank) for name in dict.fromkeys(names)]

    async def view(self, board: str, request: ViewRequest, friends: Sequence[str]) -> BoardView:
        """Return the first, the player, those around and the first friends in some windows, all of one moment.

        O(log N + rows) for each window, and O(log N) for each friend.
        """
        for what, value, most in (("top", request.top, MAX_LIMIT), ("around", request.around, MAX_AROUND)):
            check_within(what, value, 0, most)
        check_within("friends", request.friends, 0, MAX_AMONG)
        player = request.player
        if player is not None:
            check_player(player)
        views = self._views(board, request)
        if player is not None:
            _check_players(views[0])
        among = Circle(player, friends).everybody if player is not None and request.friends else []

        async def read(source: Rankings) -> BoardView:
            looks = [
                Look(view.ranking, view.rank, request.top, player, request.around, among, min(request.friends, len(among)))
                for view in views
            ]
            sources = [await self._source(source, view, player) for view in views]
            if all(own is source for own in sources):
                sights = await source.see(looks)
            else:
                # Each with the own row of a player who is shadowed.
                sights = [(await own.see([look]))[0] for own, look in zip(sources, looks, strict=True)]
            seen = zip(views, sights, strict=True)
            windows = {view.ranking.window: await self._window(source, view, sight, request, among) for view, sight in seen}
            return BoardView(board, views[0].ranking.segment or None, player, windows)

        answer = await self._reader.read_present(views[0], read)
        labels = self._reader.labels_of(views[0])
        for window in answer.windows.values():
            window.top, window.around = await labels.shown(window.top, player), await labels.shown(window.around, player)
            window.friends = await labels.shown(window.friends, player)
            if window.me is not None:
                await labels.put_on(window.me, player)
        return answer

    async def _source(self, source: Rankings, view: View, player: str | None) -> Rankings:
        """Return what a ranking is read from, as the player sees it."""
        seen = whole_view(view) if is_cohort(view) else view
        found = await as_seen_by(source, self._ledger, view.live, seen.ranking, player)
        return await (await roster_of(self._ledger, view)).rows(view.live.board, found, seen.ranking) if is_cohort(view) else found

    async def _window(self, source: Rankings, view: View, sight: Sight, request: ViewRequest, among: Sequence[str]) -> WindowView:
        friends = (await self._standings(source, view, sight, among, request.player))[: request.friends]
        return WindowView(
            view.ranking.window_id,
            sight.total,
            await self._reader.standings(source, view, sight.top),
            None if request.player is None or sight.place is None else await self._own(source, view, request.player, sight.place),
            await self._reader.standings(source, view, sight.near),
            friends,
        )

    async def _own(self, source: Rankings, view: View, player: str, place: Place) -> OwnStanding:
        standing = OwnStanding(
            getattr(place, view.rank),
            player,
            None,
            self._reader.shown(source, view.live)(place.score),
            since_of(place.since),
            percentile(place.unique, place.total),
        )
        if place.error is not None:
            check_estimated(view.rank)
            standing.approximate, standing.error = True, place.error
        await self._put_tiers(source, view, [standing], [place])
        return standing


def _check_players(view: View) -> None:
    """Refuse to look for players among teams."""
    if view.live.board.teams_of is not None:
        raise InvalidField(f"board {view.labels[0]!r} ranks teams, and no player is among them: leave the player out")


def _ordered(live: LiveBoard, found: list[tuple[str, Place]]) -> list[tuple[str, Place]]:
    """Return places in the order of their ranks; of estimates, in that of their scores and times."""
    if all(place.error is None for _, place in found):
        return sorted(found, key=lambda one: one[1].unique)
    codec = KeyCodec(live.board)
    return sorted(found, key=lambda one: codec.encode(one[0], one[1].score, max(one[1].since, 0)), reverse=live.board.order == "desc")
