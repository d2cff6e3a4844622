"""Rankings whose first players only are kept by the engine (`keep_top`): how the others are removed, and what is known about them.

Who is removed stays in the ledger. An event of such a player brings the player back into the engine, restated from the ledger, until
rows are removed the next time; so those who are not there have not changed since, and are all behind one row, the floor. Whoever is not
behind it is ranked exactly. The rank of anybody else is the number of kept rows ahead, which is exact, and the number of hidden ones
ahead, which a histogram tells within bounds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import msgspec

from keepscore.caches import ByteCache
from keepscore.domain.boards import MAX_SCORE, RankKind
from keepscore.domain.ordering import Place, Row, directions
from keepscore.domain.scoring import State
from keepscore.errors import InvalidPage, RankingLost
from keepscore.projection.histogram import Bounds, Histogram, Sampled
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.replay import restated, restated_all
from keepscore.storage.engines.base import Page, Pruned, Ranking, RankingEngine, Rankings
from keepscore.storage.ledgers.base import Ledger
from keepscore.storage.ledgers.checkpoints import Checkpoint, Order
from keepscore.storage.ledgers.marks import histogram
from keepscore.storage.ledgers.slots import Slot

__all__ = [
    "HISTOGRAMS_BYTES",
    "BringUpToDate",
    "Histograms",
    "KeptRankings",
    "count_players",
    "is_estimated",
    "not_kept",
    "prune_board",
    "rankings_of",
    "were_there",
]

#: Rows of a histogram.
SAMPLES = 1000
#: How often a removal waits for players to be restated, and the seconds between two tries.
RESTATE_TRIES, RESTATE_RETRY_S = 50, 0.02
#: Histograms that are remembered, in bytes; and what each of their rows takes.
HISTOGRAMS_BYTES, HISTOGRAM_ROW_BYTES = 16 << 20, 200

#: Histograms by their rankings.
Histograms = ByteCache[Ranking, Histogram]

#: Writes a board's checkpoint.
BringUpToDate = Callable[[LiveBoard], Awaitable[None]]


def rankings_of(engine: RankingEngine, ledger: Ledger, live: LiveBoard, known: Histograms | None = None) -> Rankings:
    """Return the rankings of a board as they are to be read; `known` remembers histograms."""
    return KeptRankings(engine, ledger, live, ByteCache(HISTOGRAMS_BYTES) if known is None else known) if live.board.is_partial else engine


def is_estimated(live: LiveBoard, rank: int | None) -> bool:
    """Return whether a rank that the engine tells is behind those that are exact."""
    keep = live.board.keep_top
    return keep is not None and rank is not None and rank > keep


def not_kept(
    live: LiveBoard, wanted: Mapping[Ranking, Collection[str]], states: Mapping[Ranking, Mapping[str, State | None]]
) -> dict[Ranking, list[str]]:
    """Return the players whose states the engine does not know though they may have some: the ledger does."""
    found = {ranking: players for ranking, players in wanted.items() if live.board.is_partial or live.is_retired(ranking)}
    return {ranking: [player for player in players if states[ranking][player] is None] for ranking, players in found.items()}


async def were_there(
    engine: RankingEngine, ledger: Ledger, live: LiveBoard, wanted: Mapping[Ranking, Collection[str]]
) -> set[tuple[Ranking, str]]:
    """Return who was in a ranking when rows were removed from it the last time: those who are not kept are hidden since."""
    found: set[tuple[Ranking, str]] = set()
    for ranking, players in wanted.items() if live.board.is_partial else ():
        pruned = await engine.pruning.pruned(ranking)
        if pruned is not None:
            states = (await restated_all(ledger, live, {ranking: players}, pruned.applied))[ranking]
            found |= {(ranking, player) for player, state in states.items() if state is not None}
    return found


async def count_players(engine: RankingEngine, live: LiveBoard, ranking: Ranking, read: int) -> int:
    """Return how many players a ranking has after everything that the engine keeps of it was read."""
    return max(read, (await engine.page(ranking, 0, 0)).total) if live.board.is_partial else read


class KeptRankings(Rankings):
    """The rankings of a board with `keep_top`, for one read."""

    def __init__(self, engine: RankingEngine, ledger: Ledger, live: LiveBoard, known: Histograms) -> None:
        self._engine = engine
        self._ledger = ledger
        self._live = live
        self._known = known

    async def place(self, ranking: Ranking, player: str, wanted: RankKind | None = None) -> Place | None:
        pruned = await self._engine.pruning.pruned(ranking)
        place = await self._engine.place(ranking, player, wanted)
        return place if pruned is None else await self._checked(pruned, ranking, player, place)

    async def places(self, ranking: Ranking, players: Sequence[str], wanted: RankKind | None = None) -> list[Place | None]:
        """Return the same as an engine does, but in O(events of the player) for each who is not kept."""
        pruned = await self._engine.pruning.pruned(ranking)
        places = await self._engine.places(ranking, players, wanted)
        if pruned is None:
            return places
        return [await self._checked(pruned, ranking, player, place) for player, place in zip(players, places, strict=True)]

    async def _checked(self, pruned: Pruned, ranking: Ranking, player: str, place: Place | None) -> Place | None:
        """Return a place as readers get it: the engine's where it is exact, or an estimate; None for a player who has no score."""
        if place is not None and place.unique <= pruned.exact:
            return place
        if place is not None:
            row, ahead, total, others = Row(player, place.score, place.since), place.unique - 1, place.total, pruned.hidden
        else:
            upto = await self._engine.applied(ranking.board) or {}
            state = await restated(self._ledger, self._live, player, ranking, upto)
            if state is None:
                return None
            row = Row(player, *state)
            page = await self._engine.page_after(ranking, row, 1)
            ahead, total, others = page.first.unique - 1, page.total, pruned.hidden - 1
        histogram = await self._histogram(pruned, ranking)
        better = await self._engine.count(ranking, *self._better(row.score))
        unique, error = _middle(histogram.ahead_of(pruned, row), others)
        standard, other_error = _middle(histogram.better_than(pruned, row.score), others)
        return Place(row.score, row.since, ahead + 1 + unique, better + 1 + standard, 0, total, max(error, other_error))

    def _better(self, score: int) -> tuple[int | None, int | None]:
        return (score + 1, None) if self._live.board.order == "desc" else (None, score - 1)

    async def page(self, ranking: Ranking, offset: int, limit: int, wanted: RankKind | None = None) -> Page:
        pruned = await self._engine.pruning.pruned(ranking)
        if pruned is None:
            return await self._engine.page(ranking, offset, limit, wanted)
        self.last_rank = pruned.exact
        page = await self._engine.page(ranking, offset, max(0, min(limit, pruned.exact - offset)), wanted)
        self._check_whole(ranking, pruned, offset + limit if limit and offset < page.total else 0, page.total)
        if limit and not page.rows and offset < page.total:
            raise self._beyond(page.total)
        return page

    async def page_after(self, ranking: Ranking, row: Row, limit: int, wanted: RankKind | None = None) -> Page:
        pruned = await self._engine.pruning.pruned(ranking)
        page = await self._engine.page_after(ranking, row, limit, wanted)
        if pruned is None:
            return page
        self.last_rank = pruned.exact
        rows = page.rows[: max(0, pruned.exact - page.first.unique + 1)]
        self._check_whole(ranking, pruned, page.first.unique - 1 + limit if page.first.unique <= page.total else 0, page.total)
        if not rows and page.first.unique <= page.total:
            raise self._beyond(page.total)
        return page._replace(rows=rows)

    def _check_whole(self, ranking: Ranking, pruned: Pruned, upto: int, total: int) -> None:
        """Raise RankingLost where rows up to a rank are wanted of which some are not exact, though `keep_top` promises them.

        Many of the first have fallen behind those who were removed, and these are to come back, before a page is told that lacks them.
        """
        promised = min(self._live.board.keep_top or 0, total)
        if pruned.exact < min(upto, promised):
            raise RankingLost(
                f"the first {promised} players of board {self._live.name!r} ({ranking.window_id} {ranking.segment}) are not all kept: "
                f"the engine has {pruned.exact} of them, as others have fallen back",
                ranking,
                is_short=True,
            )

    def _beyond(self, total: int) -> InvalidPage:
        return InvalidPage(
            f"only the first {self._live.board.keep_top} of {total} players are ranked exactly on board {self._live.name!r} (keep_top): "
            "ask for these, or for single players"
        )

    async def count(self, ranking: Ranking, low: int | None, high: int | None) -> int:
        return (await self.count_within(ranking, low, high))[0]

    async def count_within(self, ranking: Ranking, low: int | None, high: int | None) -> tuple[int, int]:
        """Count the players who have a score from `low` to `high`, and by how much that may be wrong."""
        pruned = await self._engine.pruning.pruned(ranking)
        kept = await self._engine.count(ranking, low, high)
        if pruned is None or (low is not None and high is not None and low > high):
            return kept, 0
        histogram = await self._histogram(pruned, ranking)
        best, worst = (high, low) if self._live.board.order == "desc" else (low, high)
        better = (0, 0) if best is None else histogram.better_than(pruned, best)
        reached = (pruned.hidden,) * 2 if worst is None else histogram.better_than(pruned, worst, or_equal=True)
        middle, error = _middle((max(0, reached[0] - better[1]), max(0, reached[1] - better[0])), pruned.hidden)
        return kept + middle, error

    async def _histogram(self, pruned: Pruned, ranking: Ranking) -> Histogram:
        known = self._known.get(ranking)
        if known is None or known.mark != pruned.mark:
            text = await self._ledger.marks.get(histogram(ranking.board, Slot(*ranking[1:])))
            sampled = Sampled("", {}, 0, []) if text is None else msgspec.msgpack.decode(text, type=Sampled)
            known = Histogram(self._live.board, sampled)
            self._known.put(ranking, known, HISTOGRAM_ROW_BYTES * (1 + len(sampled.rows)))
        return known


def _middle(bounds: Bounds, most: int) -> tuple[int, int]:
    """Return the number in the middle of bounds, and how far from it they are."""
    low, high = min(bounds[0], most), min(bounds[1], most)
    middle = (low + high) // 2
    return middle, high - middle


async def prune_board(ledger: Ledger, engine: RankingEngine, live: LiveBoard, now: int, checkpoint: BringUpToDate) -> bool:
    """Remove the players behind the first `keep_top` where there are a tenth more, after a checkpoint. One process does it at a time.

    A twentieth more stays, for players who fall behind. Where so many have fallen that the first `keep_top` are not all there, nothing is
    removed, and the answer is False: the rankings have to be filled from the ledger first. What was cut short is gone on with.
    O(players) in the ledger and O(log N) for each row that is removed, and nothing where nobody is.
    """
    keep = live.board.keep_top
    if keep is None:
        return True
    crowded = []
    for ranking in await engine.rankings(live.id):
        pruned = await engine.pruning.pruned(ranking)
        if pruned is not None and pruned.hidden and pruned.exact < keep:
            return False
        kept = await engine.count(ranking, None, None)
        if kept > keep + max(2, keep // 10) or (pruned is not None and not pruned.mark):
            crowded.append(ranking)
    point = await _up_to_date(ledger, engine, live, checkpoint) if crowded else None
    if point is not None:
        for ranking in crowded:
            await _prune(ledger, engine, live, ranking, _Cut(keep + max(1, keep // 20), point, now))
    return True


async def _up_to_date(ledger: Ledger, engine: RankingEngine, live: LiveBoard, checkpoint: BringUpToDate) -> Checkpoint | None:
    """Bring a board's checkpoint up to what the engine has, as far as the ledger has it: nobody is removed who is in no sample."""
    applied = await engine.applied(live.id) or {}
    last: Checkpoint | None = None
    while True:
        await checkpoint(live)
        points = await ledger.checkpoints.latest(live.id)
        # Beside one that was cut short, nobody can say what the rows in the ledger include.
        if len(points) != 1 or points[0].semantics_version != live.semantics_version:
            return None
        # One after the other, as each takes up so many events at most.
        if points[0] == last or all(points[0].positions.get(writer, 0) >= n for writer, n in applied.items()):
            return points[0]
        last = points[0]


class _Cut(NamedTuple):
    """How many rows a removal leaves, and the checkpoint and the moment that it is made from."""

    keep: int
    point: Checkpoint
    now: int


async def _prune(ledger: Ledger, engine: RankingEngine, live: LiveBoard, ranking: Ranking, cut: _Cut) -> None:
    slot = Slot(*ranking[1:])
    order = Order(*directions(live.board))
    total = await ledger.checkpoints.count(live.id, slot, -MAX_SCORE, MAX_SCORE)
    rows = await ledger.checkpoints.sample(live.id, slot, order, max(1, total // SAMPLES))
    sampled = Sampled(f"{cut.point.number}:{cut.now}", cut.point.positions, total, rows)
    await ledger.identity.look_confirmed()
    await ledger.marks.put(histogram(live.id, slot), msgspec.msgpack.encode(sampled))
    tries = 0
    while tries < RESTATE_TRIES:
        gone = await engine.pruning.prune(ranking, cut.keep, sampled.mark)
        if gone == 0:
            return
        tries = tries + 1 if gone is None else 0
        await asyncio.sleep(RESTATE_RETRY_S if gone is None else 0)
