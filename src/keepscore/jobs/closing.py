"""Closing: when a window's end and the grace have passed, its final standings are archived, once.

The whole of a window is archived after its segments, so that an archive of the whole says that the window is closed. How far each window
of a board is closed is kept in the ledger; a clock that is put back finds it, and nothing is closed a second time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from keepscore.archiving import NotExact, Series, Tail, archive_exactly, archive_folded, bring_together, folded_in
from keepscore.boards import Board
from keepscore.catalog import LiveBoard
from keepscore.engines.base import Ranking
from keepscore.errors import EngineUnavailable
from keepscore.jobs.base import SECOND, Job, Parts
from keepscore.ledgers.base import Slot
from keepscore.replay import positions_of
from keepscore.scoring import State
from keepscore.windows import FOREVER, Span, span_at, span_of

__all__ = ["Closing", "closes_at"]

#: Milliseconds that submissions may take on their way to the ledger through other processes, whose clocks may differ a little.
ON_THE_WAY = 10 * SECOND
#: A window that is found so late after its time may be filled with the past just now: it waits until no player is added for as long.
OVERDUE = 60 * SECOND
#: Milliseconds between two looks at windows that wait.
RECHECK = 65 * SECOND


def closes_at(board: Board, span: Span) -> int:
    """When a window takes no more scores."""
    return span.end + board.grace_ms


def ends_around(board: Board, window: str, moment: int) -> tuple[int, int]:
    """The end of the last of a board's windows of a name that has ended by a moment (0: none), and the next end after it."""
    if window == "all_time" or moment <= 0:
        return 0, FOREVER if window == "all_time" else 1
    if window == "season" and board.season is not None:
        end = round(board.season[1].timestamp() * 1000)
        return (end, FOREVER) if end <= moment else (0, end)
    span = span_at(board, window, moment)
    return (span.start, span.end) if span is not None else (0, FOREVER)


class Closing(Job):
    """Archives the final standings of windows that have ended."""

    name = "close"

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        #: Up to which end the windows of each board and name are closed.
        self._marks: dict[tuple[int, str], int] = {}
        #: The number of players in windows that wait, and since when there are as many.
        self._waiting: dict[tuple[int, str, str], tuple[int, int]] = {}
        self._looked: dict[int, int] = {}
        #: Until when there is nothing to do for a version of a board and a window of it.
        self._idle: dict[tuple[int, int, str], int] = {}

    async def look(self, now: int) -> str:
        return await self._close(now, patiently=True)

    async def run(self, now: int) -> str:
        """Close all windows whose time has passed at `now`. Those that take scores by the clock are never closed."""
        return await self._close(now, patiently=False)

    async def _close(self, now: int, patiently: bool) -> str:
        until = min(now, self.parts.clock() - (ON_THE_WAY if self.parts.is_shared else 0))
        closed = []
        for live in list(self.parts.catalog):
            closed += [f"{live.name} {span.id}" for span in await self._close_board(live, until, patiently)]
        return f"closed {len(closed)} windows: {', '.join(closed[:5])}{' …' if len(closed) > 5 else ''}" if closed else ""

    async def _close_board(self, live: LiveBoard, until: int, patiently: bool) -> list[Span]:
        board = live.board
        if patiently and abs(until - self._looked.get(live.id, -RECHECK)) < RECHECK:
            return []
        due: dict[str, tuple[int, int]] = {}
        for window in board.periods:
            if patiently and until < self._idle.get((live.id, live.version, window), 0):
                continue
            end, after = ends_around(board, window, until - board.grace_ms)
            mark = await self._mark(live, window) if end else None
            if mark is not None and (end > mark or not patiently):
                due[window] = mark, end
            else:
                # Where there is nothing yet, there may be something of the past at any time.
                self._idle[live.id, live.version, window] = after + board.grace_ms if mark is not None or not end else until + RECHECK
        if not due:
            return []
        found = _Found(self.parts, live, due, behind_mark=patiently)
        await found.look()
        closed, waiting = [], []
        for span in sorted(found.spans, key=lambda span: (span.end, span.window)):
            if patiently and await self._waits(live, span, found, until):
                waiting.append(span)
            elif await found.close(span):
                closed.append(span)
        if waiting:
            self._looked[live.id] = until
        for window, (mark, end) in due.items():
            if not any(span.window == window for span in waiting):
                await self._put_mark(live, window, max(mark, end))
        return closed

    async def _waits(self, live: LiveBoard, span: Span, found: _Found, until: int) -> bool:
        """Whether a window that should have been closed long ago may still be filled with the past."""
        if until - closes_at(live.board, span) < OVERDUE:
            return False
        name = (live.id, span.window, span.id)
        players = await found.players(span)
        known, since = self._waiting.get(name, (-1, until))
        if known != players or since > until:
            since = until
        self._waiting[name] = players, since
        if until - since < OVERDUE:
            return True
        del self._waiting[name]
        return False

    async def _mark(self, live: LiveBoard, window: str) -> int | None:
        """Up to which end windows are closed: in the beginning, the board's first event; None where there is none."""
        known = self._marks.get((live.id, window))
        if known is None:
            kept = await self.parts.ledger.value(f"closed:{live.id}:{window}")
            if kept is None:
                found = [await self.parts.ledger.first_event(board.id) for board in _recorded(live)]
                return min((first for first in found if first is not None), default=None)
            known = self._marks[live.id, window] = int(kept)
        return known

    async def _put_mark(self, live: LiveBoard, window: str, mark: int) -> None:
        if self._marks.get((live.id, window)) != mark:
            await self.parts.ledger.put_value(f"closed:{live.id}:{window}", str(mark).encode())
            self._marks[live.id, window] = mark


class _Found:
    """The windows of a board that have ended and hold players: in the engine, or in the fold where the engine has dropped them."""

    def __init__(self, parts: Parts, live: LiveBoard, due: Mapping[str, tuple[int, int]], behind_mark: bool) -> None:
        self._parts = parts
        self._live = live
        #: Whether windows before those that are closed do not matter. Such as were filled later are looked for on demand only.
        self._behind_mark = behind_mark
        #: For each window, up to where it is closed already, and the end of the last one that is due.
        self._due = due
        self.spans: dict[Span, list[Ranking]] = {}
        self._folded: dict[Ranking, dict[str, State]] = {}
        self._upto: Mapping[int, int] = {}
        self._tail: Tail | None = None

    async def look(self) -> None:
        """Bring the board up to date, and find the windows that are not closed yet."""
        catalog, ledger, engine, applier, writer, spool = self._parts[:6]
        live = self._live
        try:
            self._upto = await bring_together(ledger, engine, applier, writer, spool, live)
            rankings = await engine.rankings(live.id)
            lost = [span for window in self._due for span in self._dropped(window)]
            if live.board.keep_top is not None:
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
            events = [await ledger.has_events(board.id, gone.start, gone.end) for board in _recorded(live) if gone.start < gone.end]
            spans += self._within(gone) if any(events) else []
        if spans:
            self._folded = await folded_in(ledger, live, spans, self._upto)
        windows: dict[tuple[str, str], list[Ranking]] = {}
        for ranking in dict.fromkeys([*rankings, *self._folded]):
            windows.setdefault((ranking.window, ranking.window_id), []).append(ranking)
        for (window, window_id), inside in windows.items():
            if window in self._due:
                mark, end = self._due[window]
                span = span_of(live.board, window, window_id)
                if span.end <= end and (span.end > mark or not self._behind_mark):
                    self.spans[span] = inside

    def _dropped(self, window: str) -> list[Span]:
        """The time of the windows, behind those that are closed, which the engine may have dropped."""
        ttl = self._live.ttls.get(window)
        mark, end = self._due[window]
        now = self._parts.clock()
        while ttl is not None and end > mark:
            span = span_at(self._live.board, window, end - 1)
            if span is None:
                break
            if now >= max(closes_at(self._live.board, span), span.start + ttl):
                return [Span(window, "", mark, span.end)]
            end = span.start
        return []

    def _within(self, gone: Span) -> Sequence[Span]:
        """The windows of some time, each as a whole."""
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

    async def players(self, span: Span) -> int:
        """How many players a window has."""
        whole = Ranking(self._live.id, span.window, span.id, "")
        if whole in self._folded:
            return len(self._folded[whole])
        return await self._parts.engine.count(whole, None, None)

    async def close(self, span: Span) -> bool:
        """Archive the standings of a window, the whole last; answer whether that was left to do."""
        ledger, live = self._parts.ledger, self._live
        series = Series("closed", 1, closes_at(live.board, span), span.end)
        known = {archive.slot for archive in await ledger.archives(live.id, span.window, span.id, "closed")}
        if Slot(span.window, span.id, "") in known:
            return False
        for ranking in sorted(self.spans[span], key=lambda ranking: (not ranking.segment, ranking)):
            if Slot(*ranking[1:]) not in known:
                await self._archive(span, ranking, series)
        return True

    async def _archive(self, span: Span, ranking: Ranking, series: Series) -> None:
        ledger, live, tail = self._parts.ledger, self._live, self._tail
        assert tail is not None, "windows are looked for before they are closed"
        if ranking not in self._folded:
            try:
                await archive_exactly(ledger, self._parts.engine, live, ranking, series, self._upto, tail)
                return
            except (NotExact, EngineUnavailable):
                self._folded |= await folded_in(ledger, live, [span], self._upto)
        await archive_folded(ledger, live, ranking, series, self._folded.get(ranking, {}))


def _recorded(live: LiveBoard) -> list[LiveBoard]:
    """The boards whose events a board shows: its own or, of a roll-up, those that it is made from."""
    return [live] if live.board.rollup is None else live.parts
