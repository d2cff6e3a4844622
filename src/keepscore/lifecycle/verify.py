"""Does every ranking show what the ledger says? A complete comparison, beside running writes."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from keepscore.domain.ordering import KeyCodec, Row
from keepscore.domain.results.standings import Difference, Discrepancy, Verification
from keepscore.domain.scoring import NO_TIME, State, same_state
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.own_events import Folded, FoldRequest
from keepscore.projection.replay import fold_ledger, restated
from keepscore.projection.rollups import positions_of
from keepscore.storage.engines.base import Page, Pruned, Ranking, RankingEngine
from keepscore.storage.ledgers.base import Ledger
from keepscore.writing.write_pause import WritePause

__all__ = ["MAX_DIFFERENCES", "Comparison", "verify_board"]

#: Differences that are listed; there may be more.
MAX_DIFFERENCES = 1000
#: Rows compared at a time.
CHUNK_ROWS = 1000
#: How often a look is taken while other processes write, and the seconds between two.
LOOK_TRIES, LOOK_RETRY_S = 30, 0.1


async def verify_board(ledger: Ledger, engine: RankingEngine, live: LiveBoard, now: int, write_pause: WritePause) -> Verification:
    """Compare all that the engine shows of a board with the fold of its events. O(events + states).

    Sums of levels, on boards with decay, are compared within the tolerance of the half-life, a millionth of the score: rounding makes
    them depend a little on the order of the events. Of a board with `keep_top`, players may be missing who are behind the row up to which
    all are kept; who is there must be right.

    While it runs, scores come in: whoever differs is looked at once more with the writer held (`write_pause`), one by one.
    RankingLost is raised where the engine has lost something: the board is to be rebuilt first, as for any other reader.
    """
    return await Comparison(ledger, engine, live, now, write_pause).verify()


class _Look(NamedTuple):
    """What one look through a ranking found: players to look at again, and what is wrong with the whole of it."""

    suspects: Iterable[str]
    flaws: list[str]


class Comparison:
    """One verification of one board."""

    def __init__(self, ledger: Ledger, engine: RankingEngine, live: LiveBoard, now: int, write_pause: WritePause) -> None:
        self.ledger = ledger
        self.engine = engine
        self.live = live
        self.now = now
        self.write_pause = write_pause
        self.differences: list[Difference] = []

    async def verify_player(self, ranking: Ranking, player: str) -> Difference | None:
        """Compare one player of a ranking with the fold of the player's events. O(those)."""
        found = await self.settled(ranking, player)
        return found[0] if found else None

    async def verify(self) -> Verification:
        """Compare everything."""
        applied = await self.engine.applied(self.live.id)
        upto = await positions_of(self.ledger, self.live) if applied is None else applied
        folded = await fold_ledger(self.ledger, self.live, FoldRequest(upto))
        shown = set(await self.engine.rankings(self.live.id))
        for ranking in sorted({*folded.states, *shown}):
            if self.live.is_retired(ranking) or (0 < folded.expiries.get(ranking, 0) <= self.now and ranking not in shown):
                continue
            await self._compare(ranking, folded, ranking in shown)
        self.differences += await self._watermarks()
        players = len(set().union(*folded.states.values()))
        return Verification(self.live.name, folded.events, len(folded.states), players, self.differences)

    async def _compare(self, ranking: Ranking, folded: Folded, shown: bool) -> None:
        expected = folded.states.get(ranking, {})
        whole: Discrepancy | None = "extra ranking" if ranking not in folded.states else None
        if not shown and expected:
            whole = "missing ranking" if ranking not in await self.engine.rankings(self.live.id) else None
        look = await self._look(ranking, expected)
        for suspect in look.suspects:
            if len(self.differences) >= MAX_DIFFERENCES:
                break
            self.differences += await self.settled(ranking, suspect, whole)
        if look.flaws and whole is None:
            # Scores that came in meanwhile look like that, too.
            flaws = await self._flaws_at_rest(ranking)
            self.differences += [self._difference(ranking, "", "index", None, flaw) for flaw in flaws]

    # -- one ranking ----------------------------------------------------------------------------------------------------

    async def _look(self, ranking: Ranking, states: dict[str, State]) -> _Look:
        """Look through a ranking: who is not shown as expected or not in place, and whether what lies beside it fits."""
        live, engine = self.live, self.engine
        expected = dict(states)
        timed = engine.keeps_since(live.board, ranking.window)
        found: dict[str, None] = {}
        flaws: list[str] = []
        seen: set[str] = set()
        scores: list[int] = []
        last: bytes | None = None
        nobody = 0
        page = await self._page(ranking, None)
        while page is not None and page.rows:
            kept = await engine.states(ranking, [row.player for row in page.rows])
            for row, state in zip(page.rows, kept, strict=True):
                key = self._key(row)
                misplaced = key is None or (last is not None and (key > last if live.board.order == "desc" else key < last))
                told = _told(expected.pop(row.player, None), timed)
                # Compared exactly first, which is quick and nearly always enough.
                differs = told != (row.score, row.since) and not same_state(live.board, told, State(row.score, row.since))
                if differs or misplaced or state != (row.score, row.since):
                    found[row.player] = None
                nobody += state is None
                if row.player in seen:
                    flaws.append(f"player {row.player!r} is in it twice")
                seen.add(row.player)
                if not scores or scores[-1] != row.score:
                    scores.append(row.score)
                last = key or last
            await asyncio.sleep(0)
            page = await self._page(ranking, page.rows[-1])
        if page is None:
            flaws.append("it holds rows that cannot be read")
        else:
            flaws += await engine.flaws(ranking, scores, len(seen))
        if nobody:
            flaws.append(f"it holds {nobody} rows under unknown names")
        if (pruned := await engine.pruning.pruned(ranking)) is not None:
            expected = {player: state for player, state in expected.items() if not self._is_hidden(pruned, Row(player, *state))}
        return _Look([*found, *expected], flaws)

    def _is_hidden(self, pruned: Pruned, row: Row) -> bool:
        """Return whether a row may be missing in a ranking from which some were removed."""
        key, floor = self._key(row), self._key(pruned.floor)
        return key is not None and floor is not None and (key < floor if self.live.board.order == "desc" else key > floor)

    async def _page(self, ranking: Ranking, after: Row | None) -> Page | None:
        """Return the next rows; None where they are not such as an engine writes."""
        try:
            page = await (self.engine.page(ranking, 0, CHUNK_ROWS) if after is None else self.engine.page_after(ranking, after, CHUNK_ROWS))
        except (msgspec.DecodeError, UnicodeError):
            return None
        # Behind a row that has no place in the order, nothing can be found.
        return page if not page.rows or self._key(page.rows[-1]) is not None else None

    def _key(self, row: Row) -> bytes | None:
        """Return the place of a row in the order; None for one that no event can have made."""
        try:
            return KeyCodec(self.live.board).encode(row.player, row.score, max(row.since, 0))
        except (struct.error, TypeError):
            return None

    async def _flaws_at_rest(self, ranking: Ranking) -> list[str]:
        """Return what is wrong with a ranking as a whole while nothing is on its way."""
        async with self.write_pause:
            for _ in range(LOOK_TRIES):
                before = await self.engine.applied(self.live.id)
                look = await self._look(ranking, {})
                if not look.flaws or before == await self.engine.applied(self.live.id):
                    return look.flaws
        # Others write all the time, and nothing can be said.
        return []

    async def settled(self, ranking: Ranking, player: str, whole: Discrepancy | None = None) -> list[Difference]:
        """Return the difference that one player makes while nothing is on its way, if there is one."""
        live, engine = self.live, self.engine
        async with self.write_pause:
            for _ in range(LOOK_TRIES):
                before = await engine.applied(live.id)
                upto = await positions_of(self.ledger, live) if before is None else before
                wanted = await restated(self.ledger, live, player, ranking, upto)
                wanted = _told(wanted, engine.keeps_since(live.board, ranking.window))
                (shown,) = await engine.states(ranking, [player])
                (place,) = await engine.places(ranking, [player])
                row = (await engine.page(ranking, place.unique - 1, 1)).rows if place else []
                placed = row == ([] if shown is None else [Row(player, *shown)])
                if same_state(live.board, wanted, shown) and placed:
                    return []
                pruned = await engine.pruning.pruned(ranking) if shown is None and wanted is not None else None
                if pruned is not None and wanted is not None and self._is_hidden(pruned, Row(player, *wanted)):
                    return []
                if before == await engine.applied(live.id):
                    break
        problem = whole if whole and (wanted is None or not place) else _problem(wanted, shown)
        return [self._difference(ranking, player, problem, wanted, shown)]

    def _difference(
        self, ranking: Ranking, player: str, problem: Discrepancy, ledger: State | None, engine: State | str | None
    ) -> Difference:
        window, window_id, segment = ranking[1:]
        shown = engine if isinstance(engine, str) else _text(self.live, engine, self.now)
        return Difference(window, window_id, segment or None, player, _text(self.live, ledger, self.now), shown, problem)

    # -- watermarks -----------------------------------------------------------------------------------------------------

    async def _watermarks(self) -> list[Difference]:
        """Find writers whose events are recorded and not applied, or applied and not recorded."""
        live = self.live
        async with self.write_pause:
            # In this order: what is applied was recorded before.
            first = await self.engine.applied(live.id) or {}
            recorded = await positions_of(self.ledger, live)
            applied = await self.engine.applied(live.id) or {}
        for _ in range(LOOK_TRIES if self.engine.is_shared else 0):
            if all(n <= applied.get(writer, 0) for writer, n in recorded.items()):
                break
            # Other processes may have something on its way; nobody waits for them meanwhile.
            await asyncio.sleep(LOOK_RETRY_S)
            applied = await self.engine.applied(live.id) or {}
        wrong = {writer for writer, n in first.items() if n > recorded.get(writer, 0)}
        wrong |= {writer for writer, n in recorded.items() if n > applied.get(writer, 0)}
        return [
            Difference(
                *("all", "", None, "", f"events up to {recorded.get(writer, 0)} of writer {writer}"),
                f"events up to {applied.get(writer, 0)}",
                "watermark",
            )
            for writer in sorted(wrong)
        ]


def _problem(wanted: State | None, shown: State | None) -> Discrepancy:
    if wanted is None:
        return "extra"
    if shown is None:
        return "missing"
    if wanted.score != shown.score:
        return "score"
    return "since" if wanted.since != shown.since else "order"


def _told(state: State | None, timed: bool) -> State | None:
    """Return a state as the engine tells it."""
    return state if state is None or timed else state._replace(since=NO_TIME)


def _text(live: LiveBoard, state: State | None, now: int) -> str | None:
    if state is None or live.aging is None:
        return state and f"{state.score} since {state.since}"
    return f"{live.aging.score(state.score, now)} (level {state.score}) since {state.since}"
