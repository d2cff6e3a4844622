"""The past of a board and of a player: its windows, places window by window, and the events that the ledger has recorded."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from msgspec import UNSET, UnsetType

from keepscore.answers import (
    BestPlace,
    BoardEvent,
    BoardEvents,
    PastPlace,
    PlayerEvents,
    PlayerHistory,
    RecordedEvent,
    WindowInfo,
    Windows,
    WindowState,
)
from keepscore.boards import Score
from keepscore.catalog import LiveBoard
from keepscore.durations import time_of
from keepscore.engines.base import Ranking, Rankings
from keepscore.errors import InvalidPage, UnknownWindow
from keepscore.guard import check_player
from keepscore.ledgers.base import Archive, Ledger
from keepscore.ledgers.openings import Opening
from keepscore.openings import PlayerPast, player_past
from keepscore.ordering import Place, percentile
from keepscore.past import final_archives
from keepscore.scoring import Event, fold_all
from keepscore.windows import FOREVER, Span, span_of

__all__ = ["MAX_BOARD_EVENTS", "MAX_EVENTS", "MAX_WINDOWS", "Sources", "board_events", "board_windows", "player_events", "player_history"]

#: Events of one answer about a player, and about a board.
MAX_EVENTS, MAX_BOARD_EVENTS = 1000, 10_000
#: Windows of one answer.
MAX_WINDOWS = 1000
#: Behind the last event of any writer.
_END = 2**62


class Sources(NamedTuple):
    """Where the windows of a board are looked up at a moment: archives in the ledger, and the rankings that there are elsewhere."""

    ledger: Ledger
    rankings: Rankings
    names: Iterable[Ranking]
    now: int


class _Known(NamedTuple):
    """A window of which something is known: there is its ranking, or an archive, or both."""

    span: Span
    ranking: Ranking
    archive: Archive | None
    is_live: bool

    def state(self, now: int) -> WindowState:
        if self.archive is not None:
            return "closed"
        return "open" if now < self.span.end else "closing"


async def _known_windows(sources: Sources, live: LiveBoard, window: str | None) -> list[_Known]:
    """The windows with players, the latest start first. O(rankings of the board)."""
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


async def board_windows(sources: Sources, live: LiveBoard, window: str | None, limit: int, offset: int) -> Windows:
    """The windows of a board that have players. O(rankings of the board)."""
    _check_limit(limit, MAX_WINDOWS)
    if not 0 <= offset <= 10**15:
        raise InvalidPage(f"offset = {offset} is out of range: 0 to {10**15}")
    page = (await _known_windows(sources, live, window))[offset : offset + limit]

    async def info(known: _Known) -> WindowInfo:
        span, archive = known.span, known.archive
        players = (await sources.rankings.page(known.ranking, 0, 0)).total if archive is None else archive.players
        return WindowInfo(span.window, span.id, *_times(span), known.state(sources.now), players)

    return Windows(live.name, list(await asyncio.gather(*map(info, page))))


async def player_history(sources: Sources, live: LiveBoard, player: str, window: str | None, limit: int) -> PlayerHistory:
    """A player's places, window by window. O(windows), and O(events of the player) where some lie beyond the archived standings."""
    ledger, source, _, now = sources
    check_player(player)
    _check_limit(limit, MAX_WINDOWS)
    name = window or live.board.first_window
    known = await _known_windows(sources, live, name)
    rows = {archive.id: row for archive, row in await ledger.player_archives(live.id, player)} if known else {}
    wanted = [one.ranking for one in known if one.is_live and (one.archive is None or one.archive.id not in rows)]
    live_places = dict(zip(wanted, await asyncio.gather(*(source.place(ranking, player) for ranking in wanted)), strict=True))
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
            counted = [e for e in past.events if e.received <= archive.taken and one.span.start <= e.at < one.span.end]
            state = fold_all(live.board, counted, past.states.get(one.ranking))
            if state is not None:
                beyond = PastPlace(one.span.id, *_times(one.span), one.state(now), None, shown(state.score), archive.players, None)
                history.append(beyond)
    return PlayerHistory(live.name, player, name, history[:limit], None if best is None else best[1])


def _past_place(one: _Known, now: int, rank: int, place: Place, score: Score) -> PastPlace:
    share = percentile(place.unique, place.total)
    past = PastPlace(one.span.id, *_times(one.span), one.state(now), rank, score, place.total, share)
    if place.error is not None:
        past.approximate, past.error = True, place.error
    return past


def _times(span: Span) -> tuple[datetime | None, datetime | None]:
    if span.end == FOREVER:
        return None, None
    # The first version of all_time has an end only.
    return None if span.window == "all_time" and not span.start else time_of(span.start), time_of(span.end)


async def player_events(ledger: Ledger, live: LiveBoard, player: str, limit: int) -> PlayerEvents:
    """A player's events on a board as they came in, the newest first. O(all events of the player)."""
    check_player(player)
    _check_limit(limit, MAX_EVENTS)
    opening = await ledger.opening(live.id)
    found = [event for event in await ledger.player_events(live.id, player) if opening is None or not opening.covers(event)]
    found.sort(key=lambda event: (event.received, event.writer, event.n), reverse=True)
    return PlayerEvents(live.name, player, len(found), [_recorded(live, event) for event in found[:limit]], _complete_from(opening))


def _complete_from(opening: Opening | None) -> datetime | UnsetType:
    """Since when all events that came are there, where earlier ones were dropped."""
    return UNSET if opening is None else time_of(opening.received)


async def board_events(ledger: Ledger, live: LiveBoard, cursor: str | None, limit: int) -> BoardEvents:
    """The events of a board behind a cursor (`writer-n` of the last one that is known), in the order of writer and number. O(limit)."""
    _check_limit(limit, MAX_BOARD_EVENTS)
    if cursor is not None and not re.fullmatch(r"\d{1,18}-\d{1,18}", cursor, re.ASCII):
        raise InvalidPage(f"cursor = {cursor[:40]!r} is not one that this service gave: take next_cursor as it is")
    writer, n = map(int, (cursor or "0-0").split("-"))
    positions = await ledger.positions(live.id)
    opening = await ledger.opening(live.id)
    found: list[Event] = []
    async for events in ledger.events(live.id, {other: _END if other < writer else n for other in positions if other <= writer}):
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
    _, writer, n, _, kind, amount, at, received, segments, game_id, metadata = event
    return kind, live.board.shown(amount), time_of(at), time_of(received), segments, game_id, metadata, writer, n


def _check_limit(limit: int, most: int) -> None:
    if not 1 <= limit <= most:
        raise InvalidPage(f"limit = {limit} cannot be used: give 1 to {most}")
