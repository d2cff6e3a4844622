"""The past of a board and of a player: windows, places in past windows, and recorded events."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from msgspec import UNSET, UnsetType

from keepscore.domain.boards import Score
from keepscore.domain.durations import time_of
from keepscore.domain.ordering import Place, percentile
from keepscore.domain.results.standings import (
    BestPlace,
    BoardEvent,
    BoardEvents,
    PastPlace,
    PlayerEvents,
    PlayerHistory,
    RecordedEvent,
    Snapshot,
    Snapshots,
    Top,
    WindowInfo,
    Windows,
    WindowState,
)
from keepscore.domain.scoring import Event, fold_all
from keepscore.domain.values import check_player
from keepscore.domain.windows import FOREVER_MS, Span, span_of
from keepscore.errors import InvalidPage, UnknownWindow
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.openings import PlayerPast, player_past
from keepscore.projection.partial_rankings import rankings_of
from keepscore.projection.stores import Stores
from keepscore.projection.viewers import as_seen_by
from keepscore.reading.archive import final_archives
from keepscore.reading.as_of import AsOf
from keepscore.reading.reader import Reader
from keepscore.reading.snapshots import SnapshotFilter, SnapshotPage, board_snapshots, snapshot_page
from keepscore.reading.stale import Standby
from keepscore.reading.visibility import NO_LABELS
from keepscore.storage.engines.base import Ranking, Rankings
from keepscore.storage.ledgers.archives import Archive
from keepscore.storage.ledgers.base import Ledger
from keepscore.storage.ledgers.openings import Opening

__all__ = ["MAX_BOARD_EVENTS", "MAX_EVENTS", "MAX_WINDOWS", "History"]

#: Events of one answer about a player, and about a board.
MAX_EVENTS, MAX_BOARD_EVENTS = 1000, 10_000
#: Windows of one answer.
MAX_WINDOWS = 1000
#: Behind the last event of any writer.
_END = 2**62

A = TypeVar("A", Windows, PlayerHistory)


class History:
    """Look back: windows, snapshots, players' histories, standings at past moments, events."""

    def __init__(self, stores: Stores, reader: Reader) -> None:
        self._catalog, self._ledger, self._engine, self._clock = stores
        self._reader = reader
        self._as_of = AsOf(stores.ledger, stores.clock, reader.labels)

    async def windows(self, board: str, *, window: str | None = None, limit: int = 100, offset: int = 0) -> Windows:
        """Return the windows of a board that have players, newest first."""
        live = self._catalog.shown(board)
        return await self._look(live, lambda sources: _board_windows(sources, live, window, limit, offset))

    async def snapshots(
        self,
        board: str,
        *,
        window: str | None = None,
        window_id: str | None = None,
        segment: str | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> Snapshots:
        """List the snapshots of a board, newest first; without a segment, those of everyone."""
        return await board_snapshots(self._ledger, self._catalog.shown(board), SnapshotFilter(window, window_id, segment, limit, offset))

    async def snapshot(
        self, board: str, snapshot_id: int, *, limit: int = 100, offset: int = 0, cursor: str | None = None, rank: str | None = None
    ) -> Snapshot:
        """Return a page of the standings of a snapshot: up to `limit` players, after `offset` or `cursor`."""
        wanted = SnapshotPage(limit, offset, cursor, rank)
        live = self._catalog.shown(board)
        labels = self._reader.labels if live.board.teams_of is None else NO_LABELS
        return await snapshot_page(self._ledger, live, snapshot_id, wanted, self._reader.cursors, labels)

    async def of(
        self, board: str, player_id: str, *, window: str | None = None, limit: int = 100, viewer: str | None = None
    ) -> PlayerHistory:
        """Return a player's place in each window, and the best one ever, as a `viewer` may see it."""
        live = self._catalog.shown(board)
        found = await self._look(live, lambda sources: _player_history(sources, live, player_id, window, limit, viewer or player_id))
        if live.board.teams_of is not None:
            return found
        (told,) = await self._reader.labels.visible([player_id], viewer)
        if told is None:
            # Nobody knows of somebody who is hidden.
            return PlayerHistory(live.name, player_id, found.window, [], None)
        found.player_id = told
        return found

    async def _look(self, live: LiveBoard, read: Callable[[_Sources], Awaitable[A]]) -> A:
        """Return an answer from archives and the engine or, while that is away, the ledger's checkpoint."""
        now = self._clock()

        async def read_stale(standby: Standby) -> A:
            return await read(_Sources(self._ledger, standby, await standby.rankings(), now))

        async def read_now() -> A:
            rankings = rankings_of(self._engine, self._ledger, live)
            return await read(_Sources(self._ledger, rankings, await self._engine.rankings(live.id), now))

        return await self._reader.present.read(live, read_now, read_stale)

    async def as_of(
        self,
        board: str,
        at: datetime | str,
        *,
        limit: int = 100,
        window: str | None = None,
        segment: str | None = None,
        rank: str | None = None,
    ) -> Top:
        """Return the top of a ranking at a past moment, from the events that had arrived by then. Reads all events of the board."""
        return await self._as_of.top(self._catalog[board], at, limit, window, segment, rank)

    async def events(self, board: str, player_id: str, limit: int = 100) -> PlayerEvents:
        """Return a player's recorded events on a board, newest first."""
        return await _player_events(self._ledger, self._catalog[board], player_id, limit)

    async def all_events(self, board: str, *, cursor: str | None = None, limit: int = 1000) -> BoardEvents:
        """Return the recorded events of a board, up to 10,000 at a time, after a `cursor`."""
        return await _board_events(self._ledger, self._catalog[board], cursor, limit)


class _Sources(NamedTuple):
    """Where the windows of a board are looked up at a moment: archives in the ledger, and the rankings that there are elsewhere."""

    ledger: Ledger
    rankings: Rankings
    names: Iterable[Ranking]
    now: int


class _Known(NamedTuple):
    """A known window: with a ranking, an archive, or both."""

    span: Span
    ranking: Ranking
    archive: Archive | None
    is_live: bool

    def state(self, now: int) -> WindowState:
        if self.archive is not None:
            return "closed"
        return "open" if now < self.span.end else "closing"


async def _known_windows(sources: _Sources, live: LiveBoard, window: str | None) -> list[_Known]:
    """Return the windows with players, the latest start first. O(rankings of the board)."""
    if window is not None and window not in live.board.periods:
        raise UnknownWindow(f"board {live.name!r} has no window {window!r}: it has {', '.join(live.board.periods)}")
    wholes = {ranking for ranking in sources.names if not ranking.segment and window in (None, ranking.window)}
    archives = {
        ranking: archive for ranking, archive in (await final_archives(sources.ledger, live.id, window)).items() if not ranking.segment
    }
    # Of windows that the definition had once, nobody knows any more when they began.
    spans = {ranking: span for ranking in {*wholes, *archives} if (span := _span(live, ranking)) is not None}
    found = [_Known(span, ranking, archives.get(ranking), ranking in wholes) for ranking, span in spans.items()]
    order = list(live.board.periods)
    return sorted(found, key=lambda one: (-one.span.start, order.index(one.span.window)))


def _span(live: LiveBoard, ranking: Ranking) -> Span | None:
    try:
        return span_of(live.board, ranking.window, ranking.window_id) if ranking.window in live.board.periods else None
    except UnknownWindow:
        return None


async def _board_windows(sources: _Sources, live: LiveBoard, window: str | None, limit: int, offset: int) -> Windows:
    """Return the windows of a board that have players. O(rankings of the board)."""
    _check_limit(limit, MAX_WINDOWS)
    if not 0 <= offset <= 10**15:
        raise InvalidPage(f"offset = {offset} is out of range: 0 to {10**15}")
    page = (await _known_windows(sources, live, window))[offset : offset + limit]

    async def info(known: _Known) -> WindowInfo:
        span, archive = known.span, known.archive
        players = (await sources.rankings.page(known.ranking, 0, 0)).total if archive is None else archive.players
        return WindowInfo(span.window, span.id, *_times(span), known.state(sources.now), players)

    return Windows(live.title, list(await asyncio.gather(*map(info, page))))


async def _player_history(sources: _Sources, live: LiveBoard, player: str, window: str | None, limit: int, viewer: str) -> PlayerHistory:
    """Return a player's places, window by window. O(windows), and O(events of the player) where some lie beyond the archived standings."""
    ledger, source, _, now = sources
    check_player(player)
    _check_limit(limit, MAX_WINDOWS)
    name = window or live.board.first_window
    known = await _known_windows(sources, live, name)
    rows = {archive.id: row for archive, row in await ledger.archives.of_player(live.id, player)} if known else {}
    wanted = [one.ranking for one in known if one.is_live and (one.archive is None or one.archive.id not in rows)]

    async def place_in(ranking: Ranking) -> Place | None:
        return await (await as_seen_by(source, ledger, live, ranking, viewer)).place(ranking, player, live.board.rank)

    live_places = dict(zip(wanted, await asyncio.gather(*map(place_in, wanted)), strict=True))
    past: PlayerPast | None = None
    history: list[PastPlace] = []
    best: tuple[tuple[int, Score, int], BestPlace] | None = None
    for one in known:
        archive, shown = one.archive, live.shown_at(now if one.archive is None else one.archive.taken)
        place: Place | None = None
        score: Score = 0
        if archive is not None and archive.id in rows:
            rank, standard, dense, _, stored, since = rows[archive.id]
            place, score = Place(stored, since, rank, standard, dense, archive.players), live.board.shown(stored)
        elif archive is None or archive.kept < archive.players:
            place = live_places.get(one.ranking)
            score = 0 if place is None else shown(place.score)
        if place is not None:
            # Of a player whom the engine does not keep, nobody knows the dense rank.
            rank = getattr(place, live.board.rank) or place.unique
            history.append(_past_place(one, now, rank, place, score))
            better = -score if live.board.order == "desc" else score
            merit = rank, better, -one.span.start
            if place.error is None and (best is None or merit < best[0]):
                best = merit, BestPlace(one.span.id, rank, score)
        elif archive is not None and archive.kept < archive.players:
            if past is None:
                past = await player_past(ledger, live, player)
            counted = [e for e in past.events if e.received <= archive.taken and one.ranking in live.rankings_of(e)]
            state = fold_all(live.board, counted, past.states.get(one.ranking))
            if state is not None:
                beyond = PastPlace(one.span.id, *_times(one.span), one.state(now), None, shown(state.score), archive.players, None)
                history.append(beyond)
    return PlayerHistory(live.title, player, name, history[:limit], None if best is None else best[1])


def _past_place(one: _Known, now: int, rank: int, place: Place, score: Score) -> PastPlace:
    share = percentile(place.unique, place.total)
    past = PastPlace(one.span.id, *_times(one.span), one.state(now), rank, score, place.total, share)
    if place.error is not None:
        past.approximate, past.error = True, place.error
    return past


def _times(span: Span) -> tuple[datetime | None, datetime | None]:
    if span.end == FOREVER_MS:
        return None, None
    # The first version of all_time has an end only.
    return None if span.window == "all_time" and not span.start else time_of(span.start), time_of(span.end)


async def _player_events(ledger: Ledger, live: LiveBoard, player: str, limit: int) -> PlayerEvents:
    """Return a player's events on a board as they came in, the newest first. O(all events of the player)."""
    check_player(player)
    _check_limit(limit, MAX_EVENTS)
    opening = await ledger.openings.current(live.id)
    found = [event for event in await ledger.events.of_player(live.id, player) if opening is None or not opening.covers(event)]
    found.sort(key=lambda event: (event.seq or 0, event.received, event.writer, event.n), reverse=True)
    return PlayerEvents(live.name, player, len(found), [_recorded(live, event) for event in found[:limit]], _complete_from(opening))


def _complete_from(opening: Opening | None) -> datetime | UnsetType:
    """Return since when all events that came are there, where earlier ones were dropped."""
    return UNSET if opening is None else time_of(opening.received)


async def _board_events(ledger: Ledger, live: LiveBoard, cursor: str | None, limit: int) -> BoardEvents:
    """Return the events of a board behind a cursor (`writer-n` of the last known one), in the order of writer and number. O(limit)."""
    _check_limit(limit, MAX_BOARD_EVENTS)
    if cursor is not None and not re.fullmatch(r"\d{1,18}-\d{1,18}", cursor, re.ASCII):
        raise InvalidPage(f"cursor = {cursor[:40]!r} was not returned by this service: pass next_cursor unchanged")
    writer, n = map(int, (cursor or "0-0").split("-"))
    positions = await ledger.events.positions(live.id)
    opening = await ledger.openings.current(live.id)
    found: list[Event] = []
    async for events in ledger.events.read(live.id, {other: _END if other < writer else n for other in positions if other <= writer}):
        found += [event for event in events if opening is None or not opening.covers(event)]
        # Where the last ones may have been dropped, positions do not tell whether there are more.
        if len(found) > limit or (len(found) == limit and opening is None):
            break
    page = found[:limit]
    last = (page[-1].writer, page[-1].n) if page else (writer, n)
    is_more = any(position > last for position in positions.items()) if opening is None else len(found) > limit
    more = f"{last[0]}-{last[1]}" if is_more else None
    total = sum(positions.values()) - (0 if opening is None else opening.events)
    told = [BoardEvent(event.player, *_fields(live, event)) for event in page]
    return BoardEvents(live.name, total, told, more, _complete_from(opening))


def _recorded(live: LiveBoard, event: Event) -> RecordedEvent:
    return RecordedEvent(*_fields(live, event))


def _fields(live: LiveBoard, event: Event) -> tuple[Any, ...]:
    _, writer, n, _, kind, amount, at, received, segments, game_id, metadata, _, scope, _, _ = event
    return kind, live.board.shown(amount), time_of(at), time_of(received), segments, game_id, metadata, writer, n, scope


def _check_limit(limit: int, most: int) -> None:
    if not 1 <= limit <= most:
        raise InvalidPage(f"limit = {limit} cannot be used: give 1 to {most}")
