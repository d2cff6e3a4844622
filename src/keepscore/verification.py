"""Does every ranking show what the ledger says? A complete comparison, beside running writes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from keepscore.answers import Difference, Verification
from keepscore.catalog import LiveBoard
from keepscore.engines.base import InProcessEngine, Ranking, RankingEngine
from keepscore.ledgers.base import Ledger
from keepscore.ordering import KeyCodec, Row
from keepscore.quiet import Quiet
from keepscore.replay import fold_ledger, positions_of, restated
from keepscore.scoring import NO_TIME, State, same_state

__all__ = ["verify_board"]

#: Differences that are listed; there may be more.
MAX_DIFFERENCES = 1000
#: Rows compared at a time.
CHUNK = 1000
#: How often a look is taken while other processes write, and the seconds between two.
TRIES, PAUSE = 30, 0.1


async def verify_board(ledger: Ledger, engine: RankingEngine, live: LiveBoard, now: int, quiet: Quiet) -> Verification:
    """Compare all that the engine shows of a board with the fold of its events. O(events + states).

    Sums of levels, on boards with decay, are compared within the tolerance of the half-life, a millionth of the score: rounding makes
    them depend a little on the order of the events.

    While it runs, scores come in: whoever differs is looked at once more with the writer held (`quiet`), one by one.
    """
    folded = await fold_ledger(ledger, live, await engine.applied(live.id) or {})
    shown = set(await engine.rankings(live.id))
    differences: list[Difference] = []
    for ranking in sorted({*folded.states, *shown}):
        if 0 < folded.expiries.get(ranking, 0) <= now and ranking not in shown:
            continue
        suspects = await _suspects(engine, live, ranking, dict(folded.states.get(ranking, {})))
        for suspect in suspects:
            if len(differences) < MAX_DIFFERENCES:
                differences += await _settled(ledger, engine, live, ranking, suspect, now, quiet)
    differences += await _unapplied(ledger, engine, live, quiet)
    players = len(set().union(*folded.states.values()))
    return Verification(live.name, folded.events, len(folded.states), players, differences)


async def _suspects(engine: RankingEngine, live: LiveBoard, ranking: Ranking, expected: dict[str, State]) -> Iterable[str]:
    """The players of a ranking who are not shown as expected, or not in their place."""
    codec = KeyCodec(live.board)
    timed = engine.keeps_since(live.board, ranking.window)
    found: list[str] = []
    last: bytes | None = None
    page = await engine.page(ranking, 0, CHUNK)
    while page.rows:
        for row in page.rows:
            key = codec.encode(row.player, row.score, max(row.since, 0))
            misplaced = last is not None and (key > last if live.board.order == "desc" else key < last)
            told = _told(expected.pop(row.player, None), timed)
            # Compared exactly first, which is quick and nearly always enough.
            differs = told != (row.score, row.since) and not same_state(live.board, told, State(row.score, row.since))
            if differs or misplaced:
                found.append(row.player)
            last = key
        await asyncio.sleep(0)
        page = await engine.page_after(ranking, page.rows[-1], CHUNK)
    return [*found, *expected]


async def _settled(
    ledger: Ledger, engine: RankingEngine, live: LiveBoard, ranking: Ranking, player: str, now: int, quiet: Quiet
) -> list[Difference]:
    """The difference that one player makes while nothing is on its way, if there is one."""
    async with quiet:
        for _ in range(TRIES):
            before = await engine.applied(live.id) or {}
            wanted = _told(await restated(ledger, live, player, ranking, before), engine.keeps_since(live.board, ranking.window))
            (shown,) = await engine.states(ranking, [player])
            (place,) = await engine.places(ranking, [player])
            row = (await engine.page(ranking, place.unique - 1, 1)).rows if place else []
            if same_state(live.board, wanted, shown) and row == ([] if shown is None else [Row(player, *shown)]):
                return []
            if before == (await engine.applied(live.id) or {}):
                break
    return [
        Difference(ranking.window, ranking.window_id, ranking.segment or None, player, _text(live, wanted, now), _text(live, shown, now))
    ]


async def _unapplied(ledger: Ledger, engine: RankingEngine, live: LiveBoard, quiet: Quiet) -> list[Difference]:
    for _ in range(TRIES):
        async with quiet:
            recorded, applied = await positions_of(ledger, live), await engine.applied(live.id) or {}
        if all(n == applied.get(writer, 0) for writer, n in recorded.items()):
            return []
        if isinstance(engine, InProcessEngine):
            break
        # Other processes may have something on its way; nobody waits for them meanwhile.
        await asyncio.sleep(PAUSE)
    return [
        Difference("all", "", None, "", f"events up to {n} of writer {writer}", f"events up to {applied.get(writer, 0)}")
        for writer, n in recorded.items()
        if n != applied.get(writer, 0)
    ]


def _told(state: State | None, timed: bool) -> State | None:
    """A state as the engine tells it."""
    return state if state is None or timed else state._replace(since=NO_TIME)


def _text(live: LiveBoard, state: State | None, now: int) -> str | None:
    if state is None or live.half_life is None:
        return state and f"{state.score} since {state.since}"
    return f"{live.half_life.score(state.score, now)} (level {state.score}) since {state.since}"
