"""The engine in the process: a dict and two ladders for each ranking, filled from the ledger at start.

Nothing here awaits but between two parts of a large batch, so that whatever else one call does is one step for everybody else in the
process.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence, Set

from keepscore.domain.boards import Board, RankKind
from keepscore.domain.ordering import KeyCodec, Place, Ranks, Row
from keepscore.domain.positions import Position
from keepscore.domain.scoring import Seen, State
from keepscore.storage.engines.base import (
    Batch,
    CheckpointSupport,
    Dirty,
    Gap,
    InstantSupport,
    Loaded,
    Outcome,
    Page,
    PositionSupport,
    Pruned,
    PruneSupport,
    Ranking,
    RankingEngine,
)
from keepscore.storage.engines.embedded.board import EmbeddedBoard
from keepscore.storage.engines.embedded.loading import EmbeddedLoading
from keepscore.storage.engines.embedded.ranking import EmbeddedRanking
from keepscore.storage.engines.looks import NO_ROWS, Look, Sight

__all__ = ["EmbeddedEngine"]

#: Updates that are applied in one turn.
TURN_UPDATES = 100


class EmbeddedEngine(RankingEngine, CheckpointSupport, InstantSupport, PositionSupport, PruneSupport):
    """Rankings in the memory of this process."""

    def __init__(self) -> None:
        self.checkpoints = self.instant = self.positions = self.pruning = self
        self._boards: dict[int, EmbeddedBoard] = {}
        self._shadows: dict[int, EmbeddedBoard] = {}

    async def open(self, ledger: str) -> None:
        """Do nothing: there is nothing to connect to."""

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""

    async def adopt(self, board_id: int, board: Board) -> bool:
        return board_id in self._boards

    async def load(self, board_id: int, board: Board, states: AsyncIterator[Loaded], applied: Mapping[int, int], seq: int = 0) -> None:
        loaded = EmbeddedBoard(board, applied)
        loading = EmbeddedLoading(board)
        told = 0
        async for name, expiry, rows, fresh, _ in states:
            ranking = loaded.rankings.get(name)
            if ranking is None:
                ranking = loaded.rankings[name] = EmbeddedRanking(board)
            ranking.expiry = max(ranking.expiry, expiry)
            if loaded.is_ordered:
                rows = list(rows)
                # Who gave the time of a state that is loaded, a client or the service, is not known.
                told = max(told, max((since for _, _, since in rows), default=0))
            keys = loading.keys(ranking, rows)
            ranking.keys.update(keys)
            if fresh:
                ranking.touched.update(keys)
            await asyncio.sleep(0)
        for ranking in loaded.rankings.values():
            # At a start, nobody reads yet.
            await loading.order(ranking, in_turns=board_id in self._boards)
            await asyncio.sleep(0)
        loaded.seen = Seen(seq, told)
        self._shadows[board_id] = loaded

    async def promote(self, board_id: int, was_here: bool = False) -> None:
        self._boards[board_id] = self._shadows.pop(board_id)

    async def redefine(self, board_id: int, board: Board, expiries: Mapping[Ranking, int]) -> None:
        self._boards[board_id].board = board
        for ranking, expiry in expiries.items():
            self._boards[board_id].rankings[ranking].expiry = expiry

    async def forget(self, board_id: int) -> None:
        self._boards.pop(board_id, None)

    async def applied(self, board_id: int, shadow: bool = False) -> dict[int, int] | None:
        board = self._side(shadow).get(board_id)
        return None if board is None else dict(board.applied)

    async def apply(self, batches: Sequence[Batch]) -> list[list[Outcome]]:
        todo = []
        for batch in batches:
            board = self._side(batch.shadow).get(batch.board)
            if board is None:
                raise Gap(batch.board, None)
            applied = board.applied.get(batch.writer, 0)
            if applied != batch.after and applied < batch.upto:
                raise Gap(batch.board, applied)
            todo.append((board, batch, applied >= batch.upto))
        return [[] if done else await self._apply(board, batch) for board, batch, done in todo]

    async def _apply(self, board: EmbeddedBoard, batch: Batch) -> list[Outcome]:
        """Apply a batch: a large one in parts, each with its watermark, between which others get their turn."""
        if len(batch.updates) != batch.upto - batch.after:
            return board.apply(batch, 0, len(batch.updates))
        outcomes: list[Outcome] = []
        while True:
            outcomes += board.apply(batch, len(outcomes), len(outcomes) + TURN_UPDATES)
            position = batch.after + len(outcomes)
            if position >= batch.upto:
                return outcomes
            await asyncio.sleep(0)
            found = self._side(batch.shadow).get(batch.board)
            if found is not board or board.applied[batch.writer] != position:
                # It was reloaded in the meantime, or somebody has closed the gap.
                raise Gap(batch.board, None if found is None else found.applied.get(batch.writer, 0))

    async def needs_restate(self, board_id: int) -> list[tuple[Ranking, str]]:
        board = self._boards.get(board_id)
        return [] if board is None else list(board.needs_restate)

    async def restate_all(
        self,
        board_id: int,
        states: Mapping[Ranking, Mapping[str, State | None]],
        shadow: bool = False,
        upto: Mapping[int, int] | None = None,
        returned: Set[tuple[Ranking, str]] = frozenset(),
    ) -> bool:
        board = self._side(shadow)[board_id]
        if upto is not None and board.applied != upto:
            return False
        for name, players in states.items():
            ranking = board.ranking(name)
            for player, state in players.items():
                key = None if state is None else ranking.codec.encode(player, *state)
                if (name, player) in returned and key is not None and ranking.pruned is not None and player not in ranking.keys:
                    ranking.pruned = ranking.pruned._replace(hidden=ranking.pruned.hidden - 1)
                ranking.replace(player, ranking.state(player), key, 0 if state is None else state.score)
                board.needs_restate.discard((name, player))
        return True

    async def settle(
        self,
        board_id: int,
        states: Mapping[Ranking, Mapping[str, State | None]],
        upto: Mapping[int, int],
        advanced: Mapping[int, int],
        shadow: bool = False,
    ) -> bool:
        board = self._side(shadow).get(board_id)
        if board is None or board.applied != upto:
            return False
        for name, players in states.items():
            ranking = board.ranking(name)
            for player, state in players.items():
                key = None if state is None else ranking.codec.encode(player, *state)
                ranking.replace(player, ranking.state(player), key, 0 if state is None else state.score)
        board.applied |= advanced
        return True

    async def prune(self, ranking: Ranking, keep: int, mark: str) -> int | None:
        board = self._boards.get(ranking.board)
        found = None if board is None else board.rankings.get(ranking)
        if board is None or found is None:
            return 0
        return None if board.needs_restate else found.prune(keep, mark, board.applied)

    async def pruned(self, ranking: Ranking) -> Pruned | None:
        found = self._ranking(ranking)
        if found is None or found.pruned is None:
            return None
        return found.pruned._replace(exact=found.offset_after(found.pruned.floor))

    def _side(self, shadow: bool) -> dict[int, EmbeddedBoard]:
        return self._shadows if shadow else self._boards

    def _ranking(self, ranking: Ranking) -> EmbeddedRanking | None:
        board = self._boards.get(ranking[0])
        return None if board is None else board.rankings.get(ranking)

    def latest(self, ranking: Ranking) -> Position | None:
        board = self._boards.get(ranking[0])
        return None if board is None else board.position(ranking)

    async def read(self, rankings: Sequence[Ranking]) -> list[Position | None]:
        return [self.latest(ranking) for ranking in rankings]

    async def states(self, ranking: Ranking, players: Sequence[str]) -> list[State | None]:
        found = self._ranking(ranking)
        return [None] * len(players) if found is None else [found.state(player) for player in players]

    async def states_in(self, wanted: Mapping[Ranking, Collection[str]]) -> dict[Ranking, dict[str, State | None]]:
        found = {}
        for name, players in wanted.items():
            ranking = self._ranking(name)
            found[name] = {player: None if ranking is None else ranking.state(player) for player in players}
        return found

    async def peaks(self, rankings: Sequence[Ranking]) -> list[int]:
        return [0 if ranking is None else ranking.peak for ranking in map(self._ranking, rankings)]

    async def place(self, ranking: Ranking, player: str, wanted: RankKind | None = None) -> Place | None:
        return self.place_now(ranking, player)

    def place_now(self, ranking: Ranking, player: str) -> Place | None:
        board = self._boards.get(ranking[0])
        found = None if board is None else board.rankings.get(ranking)
        return None if found is None else found.place(player)

    async def places(self, ranking: Ranking, players: Sequence[str], wanted: RankKind | None = None) -> list[Place | None]:
        found = self._ranking(ranking)
        return [None] * len(players) if found is None else [found.place(player) for player in players]

    async def page(self, ranking: Ranking, offset: int, limit: int, wanted: RankKind | None = None) -> Page:
        found, position = self._ranking(ranking), self.latest(ranking)
        return Page([], Ranks(1, 1, 1), 0, position) if found is None else found.page(offset, limit)._replace(position=position)

    async def page_after(self, ranking: Ranking, row: Row, limit: int, wanted: RankKind | None = None) -> Page:
        found = self._ranking(ranking)
        return await self.page(ranking, 0 if found is None else found.offset_after(row), limit)

    async def count(self, ranking: Ranking, low: int | None, high: int | None) -> int:
        found = self._ranking(ranking)
        return 0 if found is None else found.count(low, high)

    async def see(self, looks: Sequence[Look]) -> list[Sight]:
        rankings = [self._ranking(look.ranking) for look in looks]
        return [
            Sight(0, NO_ROWS, None, NO_ROWS, [None] * len(look.among)) if ranking is None else ranking.see(look)
            for look, ranking in zip(looks, rankings, strict=True)
        ]

    async def rankings(self, board_id: int) -> list[Ranking]:
        board = self._boards.get(board_id)
        return [] if board is None else [name for name, ranking in board.rankings.items() if ranking.keys]

    async def expire(self, now: int) -> None:
        for board in self._boards.values():
            gone = [name for name, ranking in board.rankings.items() if 0 < ranking.expiry <= now]
            for name in gone:
                board.drop(name)

    async def dirty(self, board_id: int) -> Dirty:
        board = self._boards[board_id]
        states: dict[Ranking, Iterable[tuple[str, State | None]]] = {}
        for name, ranking in board.rankings.items():
            if ranking.touched:
                states[name] = _decoded(ranking.codec, ranking.touched)
                ranking.touched = {}
        dropped, board.dropped = board.dropped, []
        expiries = {name: board.rankings[name].expiry for name in states}
        return Dirty(states, expiries, dropped, dict(board.applied))

    async def touch(self, board_id: int) -> None:
        for ranking in self._boards[board_id].rankings.values():
            ranking.touched.update(ranking.keys)

    def check_invariants(self) -> None:
        """Verify every invariant. For tests."""
        for board in self._boards.values():
            for ranking in board.rankings.values():
                ranking.check_invariants()


def _decoded(codec: KeyCodec, touched: dict[str, bytes | None]) -> Iterator[tuple[str, State | None]]:
    for player, key in touched.items():
        yield player, None if key is None else codec.state(key)
