"""All reads: which ranking is meant, what of it, and how its ranks are numbered."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Sequence, Set
from contextlib import suppress
from decimal import Decimal
from math import inf
from typing import Any, TypeVar

from keepscore.answers import Around, Count, Lookup, PlayerPlace, RankNumbers, Standing, Top
from keepscore.boards import Score
from keepscore.catalog import Catalog, LiveBoard
from keepscore.cursors import Cursors
from keepscore.durations import time_of
from keepscore.engines.base import InProcessEngine, Page, Ranking, RankingEngine, Rankings
from keepscore.errors import EngineUnavailable, InvalidField, InvalidPage, LedgerUnavailable, NotKept, UnknownPlayer
from keepscore.feeds.base import Feed
from keepscore.guard import check_player
from keepscore.histogram import Histogram
from keepscore.ledgers.base import Ledger
from keepscore.movement import Movement
from keepscore.ordering import Place, number_rows, percentile
from keepscore.past import Past, past_for
from keepscore.pruning import KeptRankings, rankings_of
from keepscore.standby import stale_answer
from keepscore.views import View, check_estimated, check_limit, check_within, rank_kind, since_of
from keepscore.windows import span_of

__all__ = ["Reader"]

#: Players above and below, each.
MAX_AROUND = 500
#: Players of one lookup.
MAX_LOOKUP = 1000
#: Views and tags that are remembered.
MAX_REMEMBERED = 10_000

#: Incarnations of an engine that a read sees before it gives up.
MAX_INCARNATIONS = 5

T = TypeVar("T")
A = TypeVar("A", Top, PlayerPlace, Around, Lookup, Count)


class Reader:
    """Reads rankings. Each change of a ranking counts in its version, by which answers can be remembered."""

    def __init__(
        self,
        catalog: Catalog,
        engine: RankingEngine,
        ledger: Ledger,
        feed: Feed,
        secret: bytes,
        clock: Callable[[], int],
        assured: Callable[[LiveBoard], Awaitable[int]],
    ) -> None:
        self._catalog = catalog
        self._engine = engine
        self._ledger = ledger
        #: Whether other processes change rankings, too.
        self._shared = not isinstance(engine, InProcessEngine)
        #: Sees that the engine has all of a board, and tells the incarnation in which it does.
        self._assured = assured
        self._cursors = Cursors(secret)
        self._clock = clock
        self._versions: dict[Ranking, int] = {}
        self._tags: dict[Ranking, bytes] = {}
        # Versions start anew with the process, so that its tags must not be those of another.
        self._instance = secrets.token_hex(4)
        self._epoch = 0
        #: Views by their names, and the moments from and until which the names mean them.
        self._views: dict[tuple[str | None, ...], tuple[int, int, View]] = {}
        #: Boards that are looked at whose scores decay or whose baselines change, by id.
        self._ticking: set[int] = set()
        self._under_way: dict[Hashable, asyncio.Future[Any]] = {}
        self._histograms: dict[Ranking, Histogram] = {}
        self._movement = Movement(ledger, engine, clock)
        #: Names of players, by id.
        self.names: dict[str, str] = {}
        feed.listen(self._changed)

    def _changed(self, rankings: Set[Ranking]) -> None:
        versions = self._versions
        for ranking in rankings:
            versions[ranking] = versions.get(ranking, 0) + 1
            self._tags.pop(ranking, None)

    def name(self, player: str, name: str | None) -> None:
        """A player has a name from now on, or none."""
        if self.names.get(player) != name:
            if name is None:
                del self.names[player]
            else:
                self.names[player] = name
            self.forget()

    def forget(self) -> None:
        """Make all that is remembered old: definitions or names have changed."""
        self._epoch += 1
        self._versions.clear()
        self._tags.clear()
        self._views.clear()
        self._ticking.clear()

    def version(self, ranking: Ranking) -> tuple[int, int, int]:
        """What changes whenever an answer from this ranking may.

        That is every second where scores decay, movement is told, or others may change it unheard.
        """
        ticking = self._shared or ranking.board in self._ticking
        return self._epoch, self._versions.get(ranking, 0), self._clock() // 1000 if ticking else 0

    def tag(self, ranking: Ranking) -> bytes:
        """The version as an HTTP entity tag, which no other process gives to anything else."""
        tag = self._tags.get(ranking)
        if tag is None or self._shared:
            if len(self._tags) >= MAX_REMEMBERED:
                self._tags.clear()
            version = "-".join(map(str, self.version(ranking)))
            tag = f'"{self._instance}-{version}-{ranking.window_id}"'.encode()
            if ranking.board not in self._ticking:
                self._tags[ranking] = tag
        return tag

    async def shared(self, key: Hashable, ranking: Ranking, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """What `make` gives, made once for all who ask for the same of a ranking's version at the same time."""
        name = key, self.version(ranking)
        under_way: asyncio.Future[T] | None = self._under_way.get(name)
        if under_way is None:
            under_way = asyncio.ensure_future(make())
            self._under_way[name] = under_way
            under_way.add_done_callback(lambda _: self._under_way.pop(name))
        return await asyncio.shield(under_way)

    def view(
        self,
        board: str,
        window: str | None = None,
        window_id: str | None = None,
        segment: str | None = None,
        rank: str | None = None,
    ) -> View:
        """The view that a reader names; what is not named is the board's default and the present."""
        now = self._clock()
        key = board, window, window_id, segment, rank
        known = self._views.get(key)
        if known is not None and known[0] <= now < known[1]:
            return known[2]
        live = self._catalog[board]
        if live.half_life is not None or live.board.movement is not None:
            self._ticking.add(live.id)
        numbering = rank_kind(live.board, rank)
        ranking = live.ranking(window, window_id, segment, now)
        labels = live.name, ranking.window, ranking.window_id, ranking.segment or None
        # It stays like that as long as the view is remembered: no window of the board ends within a calendar position.
        ended = window_id is not None and span_of(live.board, ranking.window, ranking.window_id).end <= now
        view = View(live, ranking, numbering, labels, live.is_strong, ended)
        if len(self._views) >= MAX_REMEMBERED:
            self._views.clear()
        position = live.position(now)
        self._views[key] = position.start, position.end, view
        return view

    # -- reads ----------------------------------------------------------------------------------------------------------

    async def top(self, view: View, limit: int = 100, offset: int = 0, cursor: str | None = None) -> Top:
        """A page of the ranking, by offset or behind a cursor. O(log N + limit)."""
        check_limit(limit)
        check_within("offset", offset, 0, 10**15)
        return await self._read(view, lambda source: self._top(source, view, limit, offset, cursor))

    async def _top(self, source: Rankings, view: View, limit: int, offset: int, cursor: str | None) -> Top:
        if cursor is None:
            page = await source.page(view.ranking, offset, limit)
        elif offset:
            raise InvalidPage("give offset or cursor, not both")
        else:
            page = await source.page_after(view.ranking, self._cursors.opened(view.ranking, cursor), limit)
        more = page.rows and page.first.unique - 1 + len(page.rows) < min(page.total, source.last_rank)
        return Top(
            *view.labels,
            page.total,
            time_of(self._clock()),
            await self._standings(source, view, page),
            self._cursors.sealed(view.ranking, page.rows[-1]) if more else None,
        )

    def player_now(self, view: View, player: str) -> PlayerPlace | None:
        """Where a player stands, if that can be told without waiting for anything: the hottest read. O(log N)."""
        engine = self._engine
        if view.ended or not isinstance(engine, InProcessEngine) or view.live.board.keep_top is not None:
            return None
        return self._placed(engine, view, player, engine.place_now(view.ranking, player), [])

    async def player(self, view: View, player: str, around: int = 0) -> PlayerPlace:
        """Where a player stands, with some above and below. O(log N + around)."""
        if around:
            check_within("around", around, 0, MAX_AROUND)
        return await self._read(view, lambda source: self._player(source, view, player, around))

    async def _player(self, source: Rankings, view: View, player: str, around: int) -> PlayerPlace:
        place = await source.place(view.ranking, player)
        near = await self._near(source, view, place.unique, around) if around and place is not None else []
        return self._placed(source, view, player, place, near)

    def _placed(self, source: Rankings, view: View, player: str, place: Place | None, near: list[Standing]) -> PlayerPlace:
        """The hottest answer: written out, field by field."""
        board, window, window_id, segment = view.labels
        live, rank = view.live, view.rank
        if place is None:
            check_player(player)
            where = (window if window == window_id else f"{window} {window_id}") + (f", {segment}" if segment else "")
            kept = f", of which only the first {source.last_rank} players were archived" if source.last_rank < inf else ""
            raise UnknownPlayer(f"player {player!r} is not ranked on board {live.name!r} ({where}){kept}")
        unique, standard, dense, total, since = place.unique, place.standard, place.dense, place.total, place.since
        answer = PlayerPlace(
            board,
            window,
            window_id,
            segment,
            player,
            self.names.get(player),
            unique if rank == "unique" else standard if rank == "standard" else dense,
            place.score if live.is_plain else self._shown(source, live)(place.score),
            since_of(since),
            percentile(unique, total),
            total,
            RankNumbers(unique, standard, dense),
            near,
        )
        if place.error is not None:
            check_estimated(rank)
            answer.approximate, answer.error, answer.ranks.dense = True, place.error, None
        return answer

    async def around(self, view: View, rank: int, around: int = 50) -> Around:
        """The players from `around` above a rank to `around` below it. O(log N + around)."""
        check_within("rank", rank, 1, 10**15)
        check_within("around", around, 0, MAX_AROUND)
        return await self._read(view, lambda source: self._around(source, view, rank, around))

    async def _around(self, source: Rankings, view: View, rank: int, around: int) -> Around:
        standings = await self._near(source, view, rank, around)
        total = (await source.page(view.ranking, 0, 0)).total
        return Around(*view.labels, rank, total, standings)

    async def _near(self, source: Rankings, view: View, unique: int, around: int) -> list[Standing]:
        first = max(0, unique - 1 - around)
        page = await source.page(view.ranking, first, unique + around - first)
        return await self._standings(source, view, page)

    async def lookup(self, view: View, players: Sequence[str]) -> Lookup:
        """Some players, in the order of their ranks. O(log N) each."""
        if not 1 <= len(players) <= MAX_LOOKUP:
            raise InvalidField(f"player_ids has {len(players)} entries: give 1 to {MAX_LOOKUP}")
        wanted = list(dict.fromkeys(check_player(player) for player in players))
        return await self._read(view, lambda source: self._lookup(source, view, wanted))

    async def _lookup(self, source: Rankings, view: View, wanted: Sequence[str]) -> Lookup:
        places = await source.places(view.ranking, wanted, view.rank)
        found = [(place, player) for player, place in zip(wanted, places, strict=True) if place is not None]
        found.sort(key=lambda pair: pair[0].unique)
        shown = self._shown(source, view.live)
        standings = [
            Standing(getattr(p, view.rank), player, self.names.get(player), shown(p.score), since_of(p.since), 0) for p, player in found
        ]
        for standing, (place, _) in zip(standings, found, strict=True):
            if place.error is not None:
                check_estimated(view.rank)
                standing.approximate, standing.error = True, place.error
        missing = [player for player, place in zip(wanted, places, strict=True) if place is None]
        if view.live.board.movement is not None:
            await self._movement.tell(view.live, view.ranking, view.rank, view.ended, standings)
        total = found[0][0].total if found else (await source.page(view.ranking, 0, 0)).total
        return Lookup(*view.labels, total, standings, missing)

    async def count(self, view: View, low: Decimal | int | None = None, high: Decimal | int | None = None) -> Count:
        """How many players are shown with a score from `low` to `high`. O(log N)."""
        stored = view.live.board.stored
        bounds = tuple(None if bound is None else stored(bound, name) for name, bound in (("min", low), ("max", high)))
        return await self._read(view, lambda source: self._count(source, view, (low, high), *bounds))

    async def _count(self, source: Rankings, view: View, shown: tuple[Any, Any], lowest: int | None, highest: int | None) -> Count:
        half_life = view.live.half_life
        if half_life is not None and not source.is_final:
            lowest, highest = half_life.levels(lowest, highest, self._clock())
        if not isinstance(source, KeptRankings):
            return Count(*view.labels, *shown, await source.count(view.ranking, lowest, highest))
        count, error = await source.count_within(view.ranking, lowest, highest)
        answer = Count(*view.labels, *shown, count)
        if error:
            answer.approximate, answer.error = True, error
        return answer

    async def _read(self, view: View, read: Callable[[Rankings], Awaitable[A]]) -> A:
        """An answer from where it is found: an archive, the engine, or the ledger's checkpoint."""
        if view.ended:
            return await self._past(view, read)
        try:
            return await (self._strongly(view, read) if view.strong and self._shared else read(self._source(view)))
        except EngineUnavailable as exc:
            return await stale_answer(self._ledger, view.live, exc, read)

    async def _strongly(self, view: View, read: Callable[[Rankings], Awaitable[A]]) -> A:
        """An answer from an engine that has all that was acknowledged, though another server may have taken the place of the last."""
        for _ in range(MAX_INCARNATIONS):
            incarnation = await self._assured(view.live)
            try:
                answer = await read(self._source(view))
                if self._engine.incarnation == incarnation:
                    return answer
            except UnknownPlayer:
                if self._engine.incarnation == incarnation:
                    raise
        raise EngineUnavailable("one server after the other takes the place of the engine's: try again")

    async def _past(self, view: View, read: Callable[[Rankings], Awaitable[A]]) -> A:
        """An answer about a window that has ended: from the archive, which is final and says so; else from the engine.

        Of players who were not archived, because only the first were, the engine may still know.
        """
        try:
            past = await past_for(self._ledger, view.live.board, view.ranking)
        except LedgerUnavailable:
            if (await self._engine.page(view.ranking, 0, 0)).total:
                return await read(self._source(view))
            raise LedgerUnavailable("the ledger, where closed windows are archived, does not answer: try again later") from None
        if past is None:
            try:
                return await read(self._source(view))
            except EngineUnavailable as exc:
                return await stale_answer(self._ledger, view.live, exc, read)
        with suppress(NotKept):
            return _archived(past, await read(past.strict))
        with suppress(EngineUnavailable, NotKept, InvalidPage):
            if (await self._engine.page(view.ranking, 0, 0)).total:
                return await read(self._source(view))
        return _archived(past, await read(past))

    def _source(self, view: View) -> Rankings:
        return rankings_of(self._engine, self._ledger, view.live, self._histograms)

    # -- parts ----------------------------------------------------------------------------------------------------------

    async def _standings(self, source: Rankings, view: View, page: Page) -> list[Standing]:
        ranks = number_rows(view.rank, page.first, page.rows)
        shown, name = self._shown(source, view.live), self.names.get
        standings = [
            Standing(rank, player, name(player), shown(score), since_of(since), 0)
            for rank, (player, score, since) in zip(ranks, page.rows, strict=True)
        ]
        if view.live.board.movement is not None:
            await self._movement.tell(view.live, view.ranking, view.rank, view.ended, standings)
        return standings

    def _shown(self, source: Rankings, live: LiveBoard) -> Callable[[int], Score]:
        return live.board.shown if source.is_final else live.shown_at(self._clock())


def _archived(past: Past, answer: A) -> A:
    answer.archived = True
    answer.as_of = time_of(past.archive.taken)
    return answer
