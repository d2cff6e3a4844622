"""Closing: when a window's end and the grace have passed, its final standings are archived, once.

The whole of a window is archived after its segments, so that an archive of the whole says that the window is closed. How far each window
of a board is closed is kept in the ledger; a clock that is put back finds it, and nothing is closed a second time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from keepscore.domain.boards import Board
from keepscore.domain.nouns import counted
from keepscore.domain.scoring import Event, State
from keepscore.domain.windows import FOREVER_MS, Span, span_at, span_of
from keepscore.errors import EngineUnavailable
from keepscore.lifecycle.archiving import ArchiveRequest, NotExact, Series, Tail, archive_exactly, archive_folded, bring_together, folded_in
from keepscore.lifecycle.jobs.base import SECOND_MS, Job
from keepscore.lifecycle.parts import JobParts
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.rollups import positions_of, recorded_boards
from keepscore.storage.engines.base import Ranking
from keepscore.storage.engines.settling import try_each
from keepscore.storage.ledgers.marks import closed_until
from keepscore.storage.ledgers.slots import Slot
from keepscore.storage.pace import Pace

__all__ = ["ON_THE_WAY_MS", "Closing", "closes_at", "ends_around"]

#: Up to where windows are closed already, and the end of the last one that is due.
ClosingRange = tuple[int, int]

#: Milliseconds that submissions may take on their way to the ledger through other processes, whose clocks may differ a little.
ON_THE_WAY_MS = 10 * SECOND_MS
#: A window that is found so late after its time may be filled with the past just now: it waits until no score of it comes for as long.
OVERDUE_MS = 60 * SECOND_MS


def closes_at(live: LiveBoard, span: Span) -> int:
    """Return when a window takes no more scores: at its end and the grace, or when somebody closed it."""
    return live.closed_early.get(span[:2], span.end + live.grace_ms)


def ends_around(board: Board, window: str, moment: int) -> tuple[int, int]:
    """Return the end of the last of a board's windows of a name that has ended by a moment (0: none), and the next end after it.

    Of `all_time`, versions end, with the resets.
    """
    if moment <= 0:
        return 0, 1
    if window == "season" and board.season is not None:
        end = round(board.season[1].timestamp() * 1000)
        return (end, FOREVER_MS) if end <= moment else (0, end)
    span = span_at(board, window, moment)
    return (span.start, span.end) if span is not None else (0, FOREVER_MS)


class Closing(Job):
    """Archives the final standings of windows that have ended."""

    name = "close"

    def __init__(self, parts: JobParts) -> None:
        super().__init__(parts)
        #: Up to which end the windows of each board and name are closed.
        self._marks: dict[tuple[int, str], int] = {}
        #: Since when no score has come of the windows of a board that wait, and how far its writers were.
        self._waiting: dict[int, tuple[int, dict[int, Mapping[int, int]]]] = {}
        #: The first events of boards that have no closed windows yet, and when they were looked for.
        self._firsts: dict[int, tuple[int, int | None]] = {}
        #: What was closed in time while others wait.
        self._timely: dict[int, dict[str, ClosingRange]] = {}
        #: Until when there is nothing to do for a version of a board and a window of it.
        self._idle: dict[tuple[int, int, str], int] = {}

    def forget(self) -> None:
        for known in (self._marks, self._waiting, self._firsts, self._timely, self._idle):
            known.clear()

    async def look(self, now: int) -> str:
        return await self._close(now, patiently=True)

    async def run(self, now: int) -> str:
        """Close all windows whose time has passed at `now`. Those that take scores by the clock are never closed."""
        return await self._close(now, patiently=False)

    async def _close(self, now: int, patiently: bool) -> str:
        until = min(now, self.parts.clock() - (ON_THE_WAY_MS if self.parts.is_shared else 0))
        closed: list[str] = []

        async def close(live: LiveBoard) -> None:
            closed.extend(f"{live.name} {span.id}" for span in await self._close_board(live, until, patiently))

        await try_each(close(live) for live in list(self.parts.catalog))
        return f"closed {counted(len(closed), 'window')}: {', '.join(closed[:5])}{' …' if len(closed) > 5 else ''}" if closed else ""

    async def _close_board(self, live: LiveBoard, until: int, patiently: bool) -> list[Span]:
        due = await self._due(live, until, patiently)
        if not patiently:
            closed = await self._close_all(live, due, None)
        else:
            timely, overdue = _split(live, due, until)
            closed = await self._close_timely(live, timely)
            if overdue and not await self._is_quiet(live, max(end for _, end in overdue.values()), until):
                return closed
            closed += await self._close_all(live, overdue, Pace())
        self._waiting.pop(live.id, None)
        for window, (mark, end) in due.items():
            await self._put_mark(live, window, max(mark, end))
        return closed

    async def _close_timely(self, live: LiveBoard, due: dict[str, ClosingRange]) -> list[Span]:
        """Close windows that have just ended, once, though they may come again as long as others wait."""
        if due == self._timely.get(live.id, {}):
            return []
        closed = await self._close_all(live, due, Pace())
        self._timely[live.id] = due
        return closed

    async def _due(self, live: LiveBoard, until: int, patiently: bool) -> dict[str, ClosingRange]:
        """Return, for each window of a board that has ended, up to where it is closed already, and the end of the last one that is due."""
        board = live.board
        due: dict[str, ClosingRange] = {}
        for window in board.periods:
            if patiently and until < self._idle.get((live.id, live.version, window), 0):
                continue
            end, after = ends_around(board, window, until - live.grace_ms)
            mark = await self._mark(live, window, until) if end else None
            if mark is not None and (end > mark or not patiently):
                due[window] = mark, end
            else:
                # Where there is nothing yet, there may be something of the past at any time.
                self._idle[live.id, live.version, window] = after + live.grace_ms if mark is not None or not end else until + OVERDUE_MS
        return due

    async def _close_all(self, live: LiveBoard, due: Mapping[str, ClosingRange], pace: Pace | None) -> list[Span]:
        """Close all windows within some bounds; on demand (no pace) those before the bounds as well, if they were filled later."""
        if not due:
            return []
        found = _Found(self.parts, live, due, pace)
        await found.look()
        closed = [span for span in sorted(found.spans, key=lambda span: (span.end, span.window)) if await found.close(span)]
        for span in closed:
            if span.end not in live.board.cuts:
                self.parts.writer.announcer.window_ended(live.board, span, "closed")
        return closed

    async def _is_quiet(self, live: LiveBoard, end: int, until: int) -> bool:
        """Return whether no score of before `end` has come for a while. O(scores since the last look)."""
        if live.id not in self._waiting:
            self._waiting[live.id] = (
                until,
                {board.id: await self.parts.ledger.events.positions(board.id) for board in recorded_boards(live)},
            )
        since, positions = self._waiting[live.id]
        if 0 <= until - since < OVERDUE_MS:
            return False
        is_quiet = True
        for board in recorded_boards(live):
            async for events in self.parts.ledger.events.read(board.id, positions.get(board.id, {})):
                is_quiet = is_quiet and not any(_counts_before(board, event, end) for event in events)
                positions[board.id] = {**positions.get(board.id, {}), **{event.writer: event.n for event in events}}
        self._waiting[live.id] = until, positions
        return is_quiet

    async def _mark(self, live: LiveBoard, window: str, until: int) -> int | None:
        """Up to which end windows are closed: in the beginning, the board's first event; None where there is none."""
        known = self._marks.get((live.id, window))
        if known is None:
            kept = await self.parts.ledger.marks.get(closed_until(live.id, window))
            if kept is None:
                return await self._first(live, until)
            known = self._marks[live.id, window] = kept
        return known

    async def _first(self, live: LiveBoard, until: int) -> int | None:
        """Return the time of a board's first event, which is looked for once in a while."""
        looked, first = self._firsts.get(live.id, (-OVERDUE_MS, None))
        if first is None or not 0 <= until - looked < OVERDUE_MS:
            found = [await self.parts.ledger.events.first_time(board.id) for board in recorded_boards(live)]
            first = min((moment for moment in found if moment is not None), default=None)
            self._firsts[live.id] = until, first
        return first

    async def _put_mark(self, live: LiveBoard, window: str, mark: int) -> None:
        if self._marks.get((live.id, window)) != mark:
            await self.parts.ledger.identity.look_confirmed()
            await self.parts.ledger.marks.put(closed_until(live.id, window), mark)
            self._marks[live.id, window] = mark
            self.parts.catalog.closed.setdefault(live.id, {})[window] = mark


class _Found:
    """The windows of a board that have ended and hold players: in the engine, or in the fold where the engine has dropped them."""

    def __init__(self, parts: JobParts, live: LiveBoard, due: Mapping[str, ClosingRange], pace: Pace | None) -> None:
        self._parts = parts
        self._live = live
        #: None where somebody waits, who wants to have the windows closed, too, that were filled behind what is closed already.
        self._pace = pace
        #: For each window, up to where it is closed already, and the end of the last one that is due.
        self._due = due
        self.spans: dict[Span, list[Ranking]] = {}
        self._folded: dict[Ranking, dict[str, State]] = {}
        self._upto: Mapping[int, int] = {}
        self._tail: Tail | None = None

    async def look(self) -> None:
        """Bring the board up to date, and find the windows that are not closed yet."""
        catalog, ledger, engine, spool = self._parts.catalog, self._parts.ledger, self._parts.engine, self._parts.spool
        live = self._live
        try:
            self._upto = await bring_together(self._parts, live)
            rankings = await engine.rankings(live.id)
            lost = [span for window in self._due for span in self._dropped(window)]
            if live.board.is_partial:
                # The engine does not have everybody.
                rankings, lost = [], [Span(window, "", *bounds) for window, bounds in self._due.items()]
        except EngineUnavailable:
            if not live.is_strong or any(live.name in other.board.also for other in catalog if not other.is_strong):
                # It may keep events for the ledger.
                raise
            self._upto, rankings = await positions_of(ledger, live), []
            lost = [Span(window, "", *bounds) for window, bounds in self._due.items()]
        self._tail = Tail(ledger, spool, live, self._upto)
        spans: list[Span] = []
        for gone in lost:
            events = [
                await ledger.events.any_between(board.id, gone.start, gone.end) for board in recorded_boards(live) if gone.start < gone.end
            ]
            spans += self._within(gone) if any(events) else []
        if spans:
            self._folded = await folded_in(ledger, live, spans, self._upto, self._pace)
        windows: dict[tuple[str, str], list[Ranking]] = {}
        for ranking in dict.fromkeys([*rankings, *self._folded]):
            windows.setdefault((ranking.window, ranking.window_id), []).append(ranking)
        for (window, window_id), inside in windows.items():
            if window in self._due:
                mark, end = self._due[window]
                span = span_of(live.board, window, window_id)
                if span.end <= end and (span.end > mark or self._pace is None):
                    self.spans[span] = inside

    def _dropped(self, window: str) -> list[Span]:
        """Return the time of the windows, behind those that are closed, which the engine may have dropped."""
        ttl = self._live.ttls.get(window)
        mark, end = self._due[window]
        now = self._parts.clock()
        while ttl is not None and end > mark:
            span = span_at(self._live.board, window, end - 1)
            if span is None:
                break
            if now >= max(closes_at(self._live, span), span.start + ttl):
                return [Span(window, "", mark, span.end)]
            end = span.start
        return []

    def _within(self, gone: Span) -> Sequence[Span]:
        """Return the windows of some time, each as a whole."""
        found = []
        moment = gone.start
        while moment < gone.end:
            span = span_at(self._live.board, gone.window, moment)
            if span is None:
                # Between seasons: there is one, and it is the one that ends there.
                moment = gone.end - 1 if moment < gone.end - 1 else gone.end
                continue
            found.append(span)
            moment = span.end
        return found

    async def close(self, span: Span) -> bool:
        """Archive the standings of a window, the whole last; answer whether that was left to do."""
        ledger, live = self._parts.ledger, self._live
        series = Series("closed", 1, closes_at(live, span), span.end)
        known = {archive.slot for archive in await ledger.archives.find(live.id, span.window, span.id, "closed")}
        if Slot(span.window, span.id, "") in known:
            return False
        for ranking in sorted(self.spans[span], key=lambda ranking: (not ranking.segment, ranking)):
            if Slot(*ranking[1:]) not in known:
                await self._archive(span, ranking, series)
        return True

    async def _archive(self, span: Span, ranking: Ranking, series: Series) -> None:
        ledger, live, tail = self._parts.ledger, self._live, self._tail
        assert tail is not None, "windows are looked for before they are closed"
        wanted = ArchiveRequest(live, ranking, series)
        if ranking not in self._folded:
            try:
                await archive_exactly(ledger, self._parts.engine, wanted, self._upto, tail)
                return
            except (NotExact, EngineUnavailable):
                self._folded |= await folded_in(ledger, live, [span], self._upto, self._pace)
        await archive_folded(ledger, wanted, self._folded.get(ranking, {}), self._pace)


def _counts_before(live: LiveBoard, event: Event, end: int) -> bool:
    """Return whether an event counts in a window that has ended by then: a late one may count in others alone."""
    return event.at < end and (event.scope is None or any(span.end <= end for span in live.route(event.at, None, event.scope).spans))


def _split(live: LiveBoard, due: Mapping[str, ClosingRange], until: int) -> tuple[dict[str, ClosingRange], dict[str, ClosingRange]]:
    """Return what is due, in two parts: the windows that have just ended, and those that ended long before."""
    timely, overdue = {}, {}
    for window, (mark, end) in due.items():
        last = span_at(live.board, window, end - 1)
        if last is not None and until - closes_at(live, last) < OVERDUE_MS:
            timely[window] = max(mark, last.start), end
            end = last.start
        if mark < end:
            overdue[window] = mark, end
    return timely, overdue
