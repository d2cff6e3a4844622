"""All reads: which ranking is meant, what of it, and how its ranks are numbered."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Sequence
from contextlib import suppress
from decimal import Decimal
from math import inf
from typing import Any, TypeVar

from keepscore.caches import ByteCache, bytes_of
from keepscore.domain.boards import Score
from keepscore.domain.durations import time_of
from keepscore.domain.ordering import Place, number_rows, percentile
from keepscore.domain.profiles import NO_CARD
from keepscore.domain.results.friends import BoardView, FriendsBoard
from keepscore.domain.results.leagues import PlayerLeague
from keepscore.domain.results.standings import Around, Count, Lookup, PlayerPlace, RankNumbers, Standing, Top
from keepscore.domain.segments import shown_label
from keepscore.domain.values import check_player
from keepscore.domain.windows import span_of
from keepscore.errors import EngineUnavailable, InvalidField, InvalidPage, LedgerUnavailable, NotKept, UnknownPlayer
from keepscore.projection.behind import Behind
from keepscore.projection.changes import Changes
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.partial_rankings import HISTOGRAMS_BYTES, Histograms, KeptRankings, rankings_of
from keepscore.projection.stores import Stores
from keepscore.projection.viewers import seen_by
from keepscore.reading.archive import past_for
from keepscore.reading.cards import Cards
from keepscore.reading.cohorts import is_cohort, roster_of, whole_view
from keepscore.reading.cursors import Cursors
from keepscore.reading.movement import Movement
from keepscore.reading.positions import shown_position
from keepscore.reading.present import EngineCare, Present
from keepscore.reading.score_range import ALL_SCORES, ShownScores, WantedPage, range_of, range_page
from keepscore.reading.tiers import RankedList, put_tiers
from keepscore.reading.versions import Versions
from keepscore.reading.view import MAX_OFFSET, MAX_RANK, View, check_estimated, check_limit, check_within, not_ranked, rank_kind, since_of
from keepscore.reading.visibility import NO_LABELS, Labels, put_card
from keepscore.reading.waiting import W, at_least
from keepscore.storage.engines.base import Page, Ranking, Rankings
from keepscore.storage.feeds.base import Feed

__all__ = ["MAX_AROUND", "MAX_LOOKUP", "Reader"]

#: Players above and below, each.
MAX_AROUND = 500
#: Players of one lookup.
MAX_LOOKUP = 1000
#: Views that are remembered, in bytes; and about what each takes beside its names.
VIEWS_BYTES, VIEW_BYTES = 8 << 20, 800

#: Incarnations of an engine that a read sees before it gives up.
MAX_INCARNATIONS = 5

T = TypeVar("T")
A = TypeVar("A", Top, PlayerPlace, Around, Lookup, Count, FriendsBoard, PlayerLeague)
P = TypeVar("P", Top, PlayerPlace, Around, Lookup, Count, FriendsBoard, BoardView, PlayerLeague)


class Reader:
    """Reads rankings. Answers tell the position at which they were read, or one before it."""

    def __init__(self, stores: Stores, feed: Feed, secret: bytes, care: EngineCare, behind: Behind, changes: Changes) -> None:
        self._catalog, self._ledger, self._engine, self._clock = stores
        #: Sees that the engine has all of a board.
        self._care = care
        self.present = Present(stores.ledger, care, behind, changes)
        self.cursors = Cursors(secret)
        #: How answers are remembered, here and by clients.
        self.versions = Versions(stores.engine, feed, stores.clock)
        #: Views by their names, and the moments from and until which the names mean them.
        self._views: ByteCache[tuple[str | None, ...], tuple[int, int, View]] = ByteCache(VIEWS_BYTES)
        self._under_way: dict[Hashable, asyncio.Future[Any]] = {}
        self._histograms: Histograms = ByteCache(HISTOGRAMS_BYTES)
        self._movement = Movement(stores.ledger, stores.engine, stores.clock)
        #: What is shown of players beside their scores.
        self.cards = Cards(stores, changes)
        self.labels = Labels(self.cards, secret)
        changes.listen(self._forget)

    def _forget(self) -> None:
        """Make all that is remembered old."""
        self.versions.forget()
        self._views.clear()

    async def shared(self, key: Hashable, ranking: Ranking, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return what `make` gives, made once for all who ask for the same of a ranking's version at the same time."""
        name = key, self.versions.version(ranking)
        under_way: asyncio.Future[T] | None = self._under_way.get(name)
        if under_way is None:
            under_way = asyncio.ensure_future(make())
            self._under_way[name] = under_way
            under_way.add_done_callback(lambda _: self._under_way.pop(name))
        return await asyncio.shield(under_way)

    def view(
        self, board: str, window: str | None = None, window_id: str | None = None, segment: str | None = None, rank: str | None = None
    ) -> View:
        """Return the view that a reader names; what is not named is the board's default and the present."""
        now = self._clock()
        key = board, window, window_id, segment, rank
        known = self._views.get(key)
        if known is not None and known[0] <= now < known[1]:
            return known[2]
        view = self._view(self._catalog.shown(board), window, window_id, segment, rank)
        position = view.live.position(now)
        self._views.put(key, (position.start, position.end, view), VIEW_BYTES + bytes_of(view.ranking))
        return view

    def members(self, board: str, window: str | None = None, window_id: str | None = None, segment: str | None = None) -> View:
        """Return a view of players also where the board shows teams."""
        return self._view(self._catalog[board], window, window_id, segment, None)

    def _view(self, live: LiveBoard, window: str | None, window_id: str | None, segment: str | None, rank: str | None) -> View:
        now = self._clock()
        if live.aging is not None or live.board.movement is not None:
            self.versions.tick(live.id)
        numbering = rank_kind(live.board, rank)
        ranking = live.ranking(window, window_id, segment, now)
        labels = live.title, ranking.window, ranking.window_id, shown_label(ranking.segment) or None
        # It stays like that as long as the view is remembered: no window of the board ends within a calendar position.
        ended = window_id is not None and span_of(live.board, ranking.window, ranking.window_id).end <= now
        return View(live, ranking, numbering, labels, live.is_strong, ended)

    async def at_least(self, view: View, min_seq: str | None, read: Callable[[], Awaitable[W]]) -> W:
        """Return what a read gives that shows all up to a position; without one, what there is."""
        if is_cohort(view) and min_seq is not None:
            everybody = whole_view(view)
            await at_least(self._engine.positions, everybody, min_seq, lambda: self.count(everybody))
            return await read()
        return await at_least(self._engine.positions, view, min_seq, read)

    # -- reads ----------------------------------------------------------------------------------------------------------

    async def top(self, view: View, limit: int = 100, offset: int = 0, cursor: str | None = None, scores: ShownScores = ALL_SCORES) -> Top:
        """Return a page of the ranking, by offset or behind a cursor; of those with some scores only. O(log N + limit)."""
        check_limit(limit)
        check_within("offset", offset, 0, MAX_OFFSET)
        if cursor is not None and offset:
            raise InvalidPage("give offset or cursor, not both")
        # A bound that is no score is refused wherever the answer comes from.
        range_of(view.live, scores, None)
        wanted = WantedPage(limit, offset, None if cursor is None else self.cursors.opened(view.ranking, cursor), scores)
        read = self._top if scores == ALL_SCORES else self._top_within
        top = await self.read(view, lambda source: read(source, view, wanted))
        top.standings = await self.labels_of(view).shown(top.standings, view.viewer)
        return top

    async def _top(self, source: Rankings, view: View, wanted: WantedPage) -> Top:
        if wanted.after is None:
            page = await source.page(view.ranking, wanted.offset, wanted.limit, view.rank)
        else:
            page = await source.page_after(view.ranking, wanted.after, wanted.limit, view.rank)
        return await self._top_of(source, view, page, self._has_more(source, page))

    async def _top_within(self, source: Rankings, view: View, wanted: WantedPage) -> Top:
        """Return the same of players with some scores. Their ranks are those among all players."""
        scores = range_of(view.live, wanted.scores, None if source.is_final else self._clock())
        if wanted.after is None:
            page = await range_page(source, view, scores, wanted.offset, wanted.limit)
        else:
            page = await source.page_after(view.ranking, wanted.after, wanted.limit, view.rank)
        more = self._has_more(source, page) and scores.holds(page.rows[-1].score)
        if more:
            # The next row may be the first that lies outside.
            more = any(scores.holds(row.score) for row in (await source.page_after(view.ranking, page.rows[-1], 1)).rows)
        answer = await self._top_of(source, view, page, more)
        answer.standings = [one for one, row in zip(answer.standings, page.rows, strict=True) if scores.holds(row.score)]
        return answer

    @staticmethod
    def _has_more(source: Rankings, page: Page) -> bool:
        return bool(page.rows) and page.first.unique - 1 + len(page.rows) < min(page.total, source.last_rank)

    async def _top_of(self, source: Rankings, view: View, page: Page, more: bool) -> Top:
        return Top(
            *view.labels,
            page.total,
            time_of(self._clock()),
            await self.standings(source, view, page),
            self.cursors.sealed(view.ranking, page.rows[-1]) if more else None,
            position=shown_position(page.position),
        )

    def player_now(self, view: View, player: str) -> PlayerPlace | None:
        """Return where a player stands, if that can be told without waiting for anything: the hottest read. O(log N)."""
        instant = self._engine.instant
        if view.ended or not self.present.is_complete or instant is None or view.live.board.is_partial or view.live.board.tiers:
            return None
        if is_cohort(view):
            return None
        card = NO_CARD if view.live.board.teams_of is not None else self.cards.known(player)
        if card is None or (card.visibility != "public" and player != view.viewer):
            return None
        found = instant.place_now(view.ranking, player)
        if self._catalog.restrictions and (found is None or view.viewer is not None):
            return None
        place = self._placed(self._engine, view, player, found)
        put_card(place, card)
        return place

    async def player(self, view: View, player: str, around: int = 0) -> PlayerPlace:
        """Return where a player stands, with some above and below. O(log N + around)."""
        if around:
            check_within("around", around, 0, MAX_AROUND)
        # The own rank is shown as the player sees it, unless somebody else looks.
        seen = view if view.viewer is not None else view._replace(viewer=player)
        place = await self.read(seen, lambda source: self._player(source, view, player, around))
        place.around = await self.labels_of(view).shown(place.around, view.viewer)
        if not await self.labels_of(view).put_on(place, view.viewer):
            raise UnknownPlayer(not_ranked(view, player))
        return place

    async def _player(self, source: Rankings, view: View, player: str, around: int) -> PlayerPlace:
        place = await source.place(view.ranking, player, view.rank)
        near = await self._near(source, view, place.unique, around) if around and place is not None else []
        answer = self._placed(source, view, player, place)
        answer.around = near
        if view.live.board.tiers and place is not None:
            await self._put_tiers(source, view, [answer], [place.unique], place.total)
        return answer

    def _placed(self, source: Rankings, view: View, player: str, place: Place | None) -> PlayerPlace:
        """Return where a player stands. It is the hottest answer: written out, field by field."""
        board, window, window_id, segment = view.labels
        live, rank = view.live, view.rank
        if place is None:
            check_player(player)
            kept = f", where only the first {source.last_rank} players were archived" if source.last_rank < inf else ""
            raise UnknownPlayer(not_ranked(view, player) + kept)
        unique, standard, dense, total, since = place.unique, place.standard, place.dense, place.total, place.since
        answer = PlayerPlace(
            board,
            window,
            window_id,
            segment,
            player,
            None,
            unique if rank == "unique" else standard if rank == "standard" else dense,
            place.score if live.is_plain else self.shown(source, live)(place.score),
            since_of(since),
            percentile(unique, total),
            total,
            RankNumbers(unique, standard, dense or None),
            [],
            position=shown_position(place.position or (self._engine.positions.latest(view.ranking) if source is self._engine else None)),
        )
        if place.error is not None:
            check_estimated(rank)
            answer.approximate, answer.error = True, place.error
        return answer

    async def around(self, view: View, rank: int, around: int = 50) -> Around:
        """Return the players from `around` above a rank to `around` below it. O(log N + around)."""
        check_within("rank", rank, 1, MAX_RANK)
        check_within("around", around, 0, MAX_AROUND)
        found = await self.read(view, lambda source: self._around(source, view, rank, around))
        found.standings = await self.labels_of(view).shown(found.standings, view.viewer)
        return found

    async def _around(self, source: Rankings, view: View, rank: int, around: int) -> Around:
        page = await source.page(view.ranking, 0, 0)
        standings = await self._near(source, view, rank, around)
        return Around(*view.labels, rank, page.total, standings, position=shown_position(page.position))

    async def _near(self, source: Rankings, view: View, unique: int, around: int) -> list[Standing]:
        first = max(0, unique - 1 - around)
        page = await source.page(view.ranking, first, unique + around - first, view.rank)
        return await self.standings(source, view, page)

    async def lookup(self, view: View, players: Sequence[str], most: int = MAX_LOOKUP) -> Lookup:
        """Return some players, in the order of their ranks. O(log N) each."""
        if not 1 <= len(players) <= most:
            raise InvalidField(f"player_ids has {len(players)} entries: give 1 to {most}")
        wanted = list(dict.fromkeys(check_player(player) for player in players))
        found = await self.read(view, lambda source: self._lookup(source, view, wanted))
        return await self.labels_of(view).looked_up(found, view.viewer)

    async def _lookup(self, source: Rankings, view: View, wanted: Sequence[str]) -> Lookup:
        page = await source.page(view.ranking, 0, 0)
        places = await source.places(view.ranking, wanted, view.rank)
        found = [(place, player) for player, place in zip(wanted, places, strict=True) if place is not None]
        found.sort(key=lambda pair: pair[0].unique)
        shown = self.shown(source, view.live)
        standings = [Standing(getattr(p, view.rank), player, None, shown(p.score), since_of(p.since), 0) for p, player in found]
        for standing, (place, _) in zip(standings, found, strict=True):
            if place.error is not None:
                check_estimated(view.rank)
                standing.approximate, standing.error = True, place.error
        missing = [player for player, place in zip(wanted, places, strict=True) if place is None]
        if view.live.board.movement is not None:
            await self._movement.tell(view.live, view.ranking, view.rank, view.ended, standings)
        total = found[0][0].total if found else page.total
        if view.live.board.tiers:
            await self._put_tiers(source, view, standings, [place.unique for place, _ in found], total)
        return Lookup(*view.labels, total, standings, missing, position=shown_position(page.position))

    async def count(self, view: View, low: Decimal | int | None = None, high: Decimal | int | None = None) -> Count:
        """Count the players who are shown with a score from `low` to `high`. O(log N)."""
        shown = ShownScores(low, high)
        range_of(view.live, shown, None)
        return await self.read(view, lambda source: self._count(source, view, shown))

    async def _count(self, source: Rankings, view: View, shown: ShownScores) -> Count:
        lowest, highest = range_of(view.live, shown, None if source.is_final else self._clock())
        if not isinstance(source, KeptRankings):
            position = (await source.page(view.ranking, 0, 0)).position
            return Count(*view.labels, *shown, await source.count(view.ranking, lowest, highest), position=shown_position(position))
        count, error = await source.count_within(view.ranking, lowest, highest)
        answer = Count(*view.labels, *shown, count)
        if error:
            answer.approximate, answer.error = True, error
        return answer

    async def read(self, view: View, read: Callable[[Rankings], Awaitable[A]]) -> A:
        """Return an answer from where it is found: an archive, the engine, or the ledger's checkpoint; as the viewer sees it."""
        if is_cohort(view):
            roster = await roster_of(self._ledger, view)
            if roster.decided_at is not None:
                answer = await read(roster.final(view.live.board))
                answer.archived, answer.as_of = True, time_of(roster.decided_at)
                return answer
            view, read = whole_view(view), roster.reading(view, read)
        if view.viewer is not None and view.live.board.teams_of is None:
            read = seen_by(self._ledger, view.live, view.ranking, view.viewer, read)
        return await (self._past if view.ended else self.read_present)(view, read)

    async def read_present(self, view: View, read: Callable[[Rankings], Awaitable[P]]) -> P:
        """Return an answer about windows that have not ended: from the engine, or the ledger's checkpoint."""
        return await self.present.read(view.live, lambda: self._strongly(view, read) if view.strong else read(self._source(view)), read)

    async def _strongly(self, view: View, read: Callable[[Rankings], Awaitable[P]]) -> P:
        """Return an answer from an engine that has all that was acknowledged, though another server may have replaced the last."""
        for _ in range(MAX_INCARNATIONS):
            incarnation = await self._care.assured(view.live)
            try:
                answer = await read(self._source(view))
                if self._engine.incarnation == incarnation:
                    return answer
            except UnknownPlayer:
                if self._engine.incarnation == incarnation:
                    raise
        raise EngineUnavailable("the engine's server keeps being replaced: try again")

    async def _past(self, view: View, read: Callable[[Rankings], Awaitable[A]]) -> A:
        """Return an answer about a window that has ended: from the archive, which is final and says so; else from the engine.

        Of players who were not archived, because only the first were, the engine may still know.
        """
        try:
            past = await past_for(self._ledger, view.live.board, view.ranking)
        except LedgerUnavailable:
            if (await self._engine.page(view.ranking, 0, 0)).total:
                return await self.present.read(view.live, lambda: read(self._source(view)), read)
            raise LedgerUnavailable("the ledger, where closed windows are archived, does not answer: try again later") from None
        if past is None:
            return await self.present.read(view.live, lambda: read(self._source(view)), read)
        with suppress(NotKept):
            return past.labelled(await read(past.strict))
        with suppress(EngineUnavailable, NotKept, InvalidPage):
            if not view.live.is_retired(view.ranking) and (await self._engine.page(view.ranking, 0, 0)).total:
                return await read(self._source(view))
        return past.labelled(await read(past))

    def _source(self, view: View) -> Rankings:
        return rankings_of(self._engine, self._ledger, view.live, self._histograms)

    def labels_of(self, view: View) -> Labels:
        """Return what is shown of those who are ranked in a view: teams have no profiles."""
        return self.labels if view.live.board.teams_of is None else NO_LABELS

    # -- parts ----------------------------------------------------------------------------------------------------------

    async def standings(self, source: Rankings, view: View, page: Page) -> list[Standing]:
        ranks = number_rows(view.rank, page.first, page.rows)
        shown = self.shown(source, view.live)
        standings = [
            Standing(rank, player, None, shown(score), since_of(since), 0)
            for rank, (player, score, since) in zip(ranks, page.rows, strict=True)
        ]
        if view.live.board.movement is not None:
            await self._movement.tell(view.live, view.ranking, view.rank, view.ended, standings)
        if view.live.board.tiers:
            unique = range(page.first.unique, page.first.unique + len(standings))
            await self._put_tiers(source, view, standings, unique, page.total)
        return standings

    async def _put_tiers(
        self, source: Rankings, view: View, standings: Sequence[Standing | PlayerPlace], unique: Sequence[int], total: int
    ) -> None:
        shown = self.shown(source, view.live)
        await put_tiers(source, RankedList(view.live.board, view.ranking, standings, unique, total, shown))

    def shown(self, source: Rankings, live: LiveBoard) -> Callable[[int], Score]:
        return live.board.shown if source.is_final else live.shown_at(self._clock())
