"""How far players have moved: against a baseline, the same ranking some time ago or the window before it.

Baselines are archives of whole rankings, one for each quarter of the board's `movement`. A reader asks for those with the players
of one page, in one query; which baseline it is, is remembered for some seconds.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from heapq import merge
from itertools import islice
from typing import NamedTuple, Protocol

import msgspec

from keepscore.caches import ByteCache
from keepscore.domain.boards import RankKind
from keepscore.domain.ordering import KeyCodec, Numbering, Place
from keepscore.domain.results.standings import Standing
from keepscore.domain.windows import span_at, span_of
from keepscore.errors import EngineUnavailable, LedgerUnavailable
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.partial_rankings import count_players, rankings_of
from keepscore.reading.archive import Past, past_for
from keepscore.storage.engines.base import Ranking, RankingEngine
from keepscore.storage.ledgers.archives import Archive, Archived
from keepscore.storage.ledgers.base import Ledger
from keepscore.storage.ledgers.slots import Slot

__all__ = ["Movement", "take_baselines"]

#: How long the choice of a baseline is remembered (milliseconds).
REMEMBERED_MS = 5000
#: Choices that are remembered, in bytes; and about what each takes.
CHOICES_BYTES, CHOICE_BYTES = 8 << 20, 1500
#: Baselines within the time that a board looks back; the least time between two (milliseconds).
PARTS, MIN_CADENCE = 4, 60_000
#: Rows that are read and written at a time.
CHUNK_ROWS = 1000
#: How often a ranking that changes is read to find everybody in it.
SCANS = 3


class PlacesSource(Protocol):
    """Whatever says where players stood."""

    async def places(self, ranking: Ranking, players: Sequence[str], wanted: RankKind | None = None) -> list[Place | None]:
        """Return the places of some players."""


class Baseline(NamedTuple):
    """Where players stood."""

    source: PlacesSource
    ranking: Ranking
    #: Whether it has everybody: whoever is not in it is new.
    complete: bool


class _Nobody:
    """The ranking before one that a reset began: everybody is new."""

    async def places(self, ranking: Ranking, players: Sequence[str], wanted: RankKind | None = None) -> list[Place | None]:
        """Return that no player was there."""
        return [None] * len(players)


class Movement:
    """Tells readers how far players have moved."""

    def __init__(self, ledger: Ledger, engine: RankingEngine, clock: Callable[[], int]) -> None:
        self._ledger = ledger
        self._engine = engine
        self._clock = clock
        self._chosen: ByteCache[tuple[Ranking, str | None], tuple[int, Baseline | None]] = ByteCache(CHOICES_BYTES)

    async def tell(self, live: LiveBoard, ranking: Ranking, rank: RankKind, ended: bool, standings: Sequence[Standing]) -> None:
        """Complete the standings of a page. Where the baseline cannot be reached, nobody has moved."""
        try:
            baseline = await self._baseline(live, ranking, ended) if standings else None
            if baseline is None:
                return
            places = await baseline.source.places(baseline.ranking, [standing.player_id for standing in standings], rank)
        except (EngineUnavailable, LedgerUnavailable):
            return
        for standing, place in zip(standings, places, strict=True):
            if place is not None and place.error is None:
                standing.rank_change = getattr(place, rank) - standing.rank
            elif place is None and baseline.complete:
                standing.new = True

    async def _baseline(self, live: LiveBoard, ranking: Ranking, ended: bool) -> Baseline | None:
        now, key = self._clock(), (ranking, live.board.movement)
        known = self._chosen.get(key)
        if known is not None and known[0] <= now < known[0] + REMEMBERED_MS:
            return known[1]
        if live.board.movement_ms is None:
            baseline = await self._window_before(live, ranking)
        else:
            # A window that has ended does not move any more.
            baseline = None if ended else await self._earlier(live, ranking, now - live.board.movement_ms)
        self._chosen.put(key, (now, baseline), CHOICE_BYTES)
        return baseline

    async def _earlier(self, live: LiveBoard, ranking: Ranking, moment: int) -> Baseline | None:
        found = await self._ledger.archives.find(live.id, ranking.window, ranking.window_id, "baseline")
        taken = sorted((archive.taken, archive) for archive in found if archive.slot.segment == ranking.segment)
        if not taken:
            is_reset = span_of(live.board, ranking.window, ranking.window_id).start in live.board.cuts
            return Baseline(_Nobody(), ranking, complete=True) if is_reset else None
        _, archive = max((one for one in taken if one[0] <= moment), default=taken[-1])
        return Baseline(Past(self._ledger, live.board, archive), ranking, archive.kept == archive.players)

    async def _window_before(self, live: LiveBoard, ranking: Ranking) -> Baseline | None:
        start = span_of(live.board, ranking.window, ranking.window_id).start
        if start in live.board.cuts:
            return Baseline(_Nobody(), ranking, complete=True)
        span = span_at(live.board, ranking.window, start - 1)
        if span is None or span.id == ranking.window_id:
            return None
        before = ranking._replace(window_id=span.id)
        # The engine has everybody, while it has the ranking, but for those below keep_top.
        if (await self._engine.page(before, 0, 0)).total:
            return Baseline(rankings_of(self._engine, self._ledger, live), before, not live.board.is_partial)
        past = await past_for(self._ledger, live.board, before)
        return None if past is None else Baseline(past, before, past.archive.kept == past.archive.players)


async def take_baselines(ledger: Ledger, engine: RankingEngine, live: LiveBoard, now: int) -> None:
    """Take the baselines of a board that are due, and drop those that nobody needs any more. To be called every now and then.

    O(players) for each ranking of an open window, once in a quarter of `movement`; called again, it does nothing. One that was cut
    short is started over, or dropped.
    """
    taken: dict[Ranking, list[Archive]] = {}
    for archive in await ledger.archives.find(live.id, kind="baseline"):
        taken.setdefault(Ranking(live.id, *archive.slot), []).append(archive)
    duration = live.board.movement_ms
    due: list[Ranking] = []
    if duration is not None:
        now_open = {(whole.window, whole.window_id) for whole in live.position(now).wholes}
        due = [ranking for ranking in await engine.rankings(live.id) if (ranking.window, ranking.window_id) in now_open]
        for ranking in due:
            await _take(ledger, engine, live, ranking, taken.get(ranking, ()), now)
    for ranking, archives in taken.items():
        old = sorted((one for one in archives if duration is None or one.taken <= now - duration), key=lambda one: one.taken)
        # The last but one may be some reader's choice still.
        for archive in old[:-2] if ranking in due else archives:
            await ledger.archives.drop(archive.id)


async def _take(ledger: Ledger, engine: RankingEngine, live: LiveBoard, ranking: Ranking, taken: Iterable[Archive], now: int) -> None:
    duration = live.board.movement_ms
    assert duration is not None, "baselines are taken on boards with movement"
    cadence = max(duration // PARTS // 1000 * 1000, MIN_CADENCE)
    number, step = now // cadence * cadence // 1000, cadence // 1000
    newest = max((archive.number for archive in taken), default=number - 2 * PARTS * step)
    if newest >= number:
        return
    slot = Slot(*ranking[1:])
    # What was begun and never finished lies where baselines are missing.
    for missing in range(max(newest, number - 2 * PARTS * step) + step, number, step):
        await ledger.archives.drop(await ledger.archives.begin(live.id, slot, "baseline", missing, now))
    archive = await ledger.archives.begin(live.id, slot, "baseline", number, now)
    digest = hashlib.blake2b(digest_size=16)
    players = 0
    async for rows in _numbered(engine, live, ranking):
        await ledger.archives.write(archive, rows)
        digest.update(msgspec.json.encode(rows))
        players += len(rows)
    await ledger.archives.finish(archive, await count_players(engine, live, ranking, players), players, digest.hexdigest())


async def _numbered(engine: RankingEngine, live: LiveBoard, ranking: Ranking) -> AsyncIterator[list[Archived]]:
    """Yield all rows of a ranking with their ranks, in chunks. O(players) memory.

    It goes on while it is read. Who moves down past the reader is met again, and counts as met first; who moves up past the reader is
    found by reading once more. Each reading is in order by itself, so that they only have to be merged.
    """
    codec = KeyCodec(live.board)
    known: set[str] = set()
    readings: list[list[bytes]] = []
    for _ in range(SCANS):
        readings.append([])
        page = await engine.page(ranking, 0, CHUNK_ROWS)
        while page.rows:
            for player, key in codec.encode_all((player, score, max(since, 0)) for player, score, since in page.rows):
                if player not in known:
                    known.add(player)
                    readings[-1].append(key)
            await asyncio.sleep(0)
            page = await engine.page_after(ranking, page.rows[-1], CHUNK_ROWS)
        pruned = await engine.pruning.pruned(ranking)
        if len(known) >= page.total - (pruned.hidden if pruned else 0):
            break
    # Behind those who are all kept, ranks are not known exactly.
    ordered = islice(merge(*readings, reverse=live.board.order == "desc"), None if pruned is None else pruned.exact)
    numbering = Numbering()
    while keys := list(islice(ordered, CHUNK_ROWS)):
        rows = [codec.decode(key) for key in keys]
        yield [Archived(*numbering.next(row.score), *row) for row in rows]
