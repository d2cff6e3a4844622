"""Rankings into archives, in chunks between which submissions get their turn.

An exact archive is what the fold of the ledger up to some positions gives. It is copied from the engine, which has the ranking in order;
what is recorded meanwhile is looked at afterwards, and where it changed the ranking (or the engine has dropped it), the archive is made
again from the fold itself. A snapshot of a ranking that goes on is what pages read one after the other show.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import msgspec

from keepscore.domain.ordering import KeyCodec, Numbering, Ranks, Row
from keepscore.domain.scoring import NO_TIME, State
from keepscore.domain.windows import Span
from keepscore.errors import EngineUnavailable
from keepscore.lifecycle.parts import JobParts
from keepscore.projection.fold import Positions
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.openings import pasts_of
from keepscore.projection.own_events import FoldRequest
from keepscore.projection.player_states import state_in
from keepscore.projection.replay import fold_ledger
from keepscore.projection.rollups import positions_of
from keepscore.storage.engines.base import Page, Ranking, RankingEngine
from keepscore.storage.ledgers.archives import Archived
from keepscore.storage.ledgers.base import Ledger
from keepscore.storage.ledgers.claims import Effect
from keepscore.storage.ledgers.slots import Slot
from keepscore.storage.pace import Pace, in_order
from keepscore.writing.spool import Spool

__all__ = [
    "ArchiveRequest",
    "NotExact",
    "Series",
    "Tail",
    "archive_exactly",
    "archive_folded",
    "archive_snapshot",
    "bring_together",
    "folded_in",
]

#: Rows that are read and written at a time.
CHUNK_ROWS = 1000
#: Rows of an archive whose times are looked up player by player, where the engine does not have them.
MAX_LOOKUPS = 5000
#: How often a board is brought up to date before that is given up for now.
TRIES = 5
#: As many as there are.
ALL = 1 << 62

#: Makes of the number of players and the digest what has to be kept with an archive.
MakeEffect = Callable[[int, str], Effect | None]
_encode = msgspec.json.Encoder().encode


class NotExact(Exception):
    """A ranking changed, or was dropped, while it was copied."""


class Series(NamedTuple):
    """What an archive is: its kind and number, the moment that it is of, and the one at which scores that decay are shown."""

    kind: str
    number: int
    taken: int
    shown: int


class ArchiveRequest(NamedTuple):
    """Which ranking of a board is archived, and as what."""

    live: LiveBoard
    ranking: Ranking
    series: Series

    @property
    def keep(self) -> int:
        """How many of the first players are kept."""
        board = self.live.board
        archive = board.periods[self.ranking.window].archive
        if archive == "all":
            return ALL
        # All who win, at least.
        return max(archive, board.prize.winners) if board.prize is not None and not self.ranking.segment else archive


async def bring_together(parts: JobParts, live: LiveBoard) -> Positions:
    """See that ledger and engine have all that was submitted on a board up to now, and nothing else; return how far that is."""
    ledger, engine, healing = parts.ledger, parts.engine, parts.healing
    await parts.writer.flush()
    await parts.spool.drain_board(live)
    parts.watch.check(live)
    upto = await positions_of(ledger, live)
    for _ in range(TRIES):
        applied = await engine.applied(live.id)
        if applied is None:
            await parts.catch_up.run()
        elif any(applied.get(number, 0) < n for number, n in upto.items()):
            if not engine.is_shared:
                async with parts.write_pause:
                    await healing.catch_up(live)
            else:
                await healing.catch_up(live)
        elif await engine.needs_restate(live.id):
            await parts.restater.restate_late(live)
        else:
            return upto
    raise EngineUnavailable(f"board {live.name!r} could not be brought up to date: it will be retried")


class Tail:
    """Which rankings of a board are changed by what is recorded behind some positions."""

    def __init__(self, ledger: Ledger, spool: Spool, live: LiveBoard, upto: Positions) -> None:
        self._ledger = ledger
        self._spool = spool
        self._live = live
        self._positions = dict(upto)
        self._touched: set[Ranking] = set()

    async def leaves_alone(self, ranking: Ranking) -> bool:
        """Return whether a ranking is not changed by anything up to now. O(events since the last call)."""
        await self._spool.drain_board(self._live)
        async for events in self._ledger.events.read(self._live.id, self._positions):
            for event in events:
                self._touched.update(self._live.rankings_of(event))
            self._positions |= {event.writer: event.n for event in events}
        return ranking not in self._touched


async def folded_in(
    ledger: Ledger, live: LiveBoard, spans: Sequence[Span], upto: Positions, pace: Pace | None = None
) -> dict[Ranking, dict[str, State]]:
    """Return the rankings of some windows of a board, from its events up to some positions. O(events)."""
    start, end = min(span.start for span in spans), max(span.end for span in spans)
    folded = await fold_ledger(ledger, live, FoldRequest(upto, start, end, pace=pace))
    wanted = {(span.window, span.id) for span in spans}
    return {ranking: states for ranking, states in folded.states.items() if ranking[1:3] in wanted and states}


async def archive_exactly(ledger: Ledger, engine: RankingEngine, wanted: ArchiveRequest, upto: Positions, tail: Tail) -> None:
    """Archive a ranking of the engine as it is at some positions, or raise NotExact."""
    live, ranking, keep = wanted.live, wanted.ranking, wanted.keep
    timed = engine.keeps_since(live.board, ranking.window)
    if not timed and keep > MAX_LOOKUPS:
        raise NotExact

    async def confirm() -> None:
        if not await tail.leaves_alone(ranking):
            raise NotExact

    pages = _pages(engine, ranking, keep)
    await _copy(ledger, wanted, keep, pages if timed else _timed(ledger, live, ranking, pages, upto, exact=True), confirm)


async def archive_folded(
    ledger: Ledger,
    wanted: ArchiveRequest,
    states: Mapping[str, State],
    pace: Pace | None = None,
    effect: MakeEffect | None = None,
) -> None:
    """Archive a ranking whose states are known. O(N log N)."""
    pages = _sorted_pages(wanted.live, states, wanted.keep, pace or Pace.without_pauses())
    await _copy(ledger, wanted, wanted.keep, pages, None, effect)


async def _sorted_pages(live: LiveBoard, states: Mapping[str, State], keep: int, pace: Pace) -> AsyncIterator[Page]:
    """Yield the first rows of states in their order."""
    codec = KeyCodec(live.board)
    yield Page([], Ranks(1, 1, 1), len(states))
    keys = (codec.encode(player, *state) for player, state in states.items())
    first = await in_order(keys, pace, reverse=live.board.order == "desc", keep=keep)
    while rows := [codec.decode(key) for key in islice(first, CHUNK_ROWS)]:
        yield Page(rows, Ranks(0, 0, 0), len(states))
        await pace.rest()


async def archive_snapshot(ledger: Ledger, engine: RankingEngine, wanted: ArchiveRequest) -> None:
    """Archive a ranking that goes on as its pages show it, each player once."""
    live, ranking = wanted.live, wanted.ranking
    pages = _once(_pages(engine, ranking, wanted.keep))
    if not engine.keeps_since(live.board, ranking.window):
        pages = _timed(ledger, live, ranking, pages, await engine.applied(live.id) or {}, exact=False)
    await _copy(ledger, wanted, ALL, pages, None)


async def _pages(engine: RankingEngine, ranking: Ranking, keep: int) -> AsyncIterator[Page]:
    page = await engine.page(ranking, 0, max(1, min(CHUNK_ROWS, keep)))
    left = keep
    while True:
        yield page._replace(rows=page.rows[:left])
        left -= len(page.rows)
        if left <= 0 or not page.rows:
            return
        page = await engine.page_after(ranking, page.rows[-1], min(CHUNK_ROWS, left))


async def _once(pages: AsyncIterator[Page]) -> AsyncIterator[Page]:
    """Yield pages without those who were on an earlier one and have moved down since."""
    seen: set[str] = set()
    async for page in pages:
        yield page._replace(rows=[row for row in page.rows if row.player not in seen])
        seen.update(row.player for row in page.rows)


async def _timed(
    ledger: Ledger, live: LiveBoard, ranking: Ranking, pages: AsyncIterator[Page], upto: Positions, exact: bool
) -> AsyncIterator[Page]:
    """Yield pages with the times that the engine does not have, from the events of each player."""
    async for page in pages:
        rows = []
        pasts = await pasts_of(ledger, live, [row.player for row in page.rows])
        for row in page.rows:
            past = pasts[row.player]
            state = state_in(live, ranking, [e for e in past.events if e.n <= upto.get(e.writer, 0)], past.states)
            if exact and (state is None or state.score != row.score):
                # What was before the ranking was dropped and started over does not count, but the events do not tell.
                raise NotExact
            rows.append(row._replace(since=NO_TIME if state is None else state.since))
        yield page._replace(rows=rows)


async def _copy(
    ledger: Ledger,
    wanted: ArchiveRequest,
    keep: int,
    pages: AsyncIterator[Page],
    confirm: Callable[[], Awaitable[None]] | None,
    effect: MakeEffect | None = None,
) -> None:
    """Write pages into an archive, and declare it complete once all is confirmed."""
    live, ranking, series = wanted
    archive = await ledger.archives.begin(live.id, Slot(*ranking[1:]), series.kind, series.number, series.taken)
    total = kept = 0
    numbering = Numbering()
    digest = hashlib.sha256()
    async for page in pages:
        if confirm is not None and total and page.total != total:
            raise NotExact
        total = total or page.total
        rows = [_archived(live, series.shown, numbering.next(row.score), row) for row in page.rows]
        if rows:
            digest.update(_encode(rows))
            await ledger.archives.write(archive, rows)
        kept += len(rows)
    if confirm is not None:
        if not total or kept != min(keep, total):
            raise NotExact
        await confirm()
    players = max(total, kept)
    await ledger.archives.finish(archive, players, kept, digest.hexdigest(), effect and effect(players, digest.hexdigest()))


def _archived(live: LiveBoard, shown: int, ranks: Ranks, row: Row) -> Archived:
    """Return a row as it is archived: scores that decay are shown as they are at a moment."""
    score = row.score if live.aging is None else live.aging.score(row.score, shown)
    return Archived(*ranks, row.player, score, row.since)
