"""The engine in the process: a dict and two ladders for each ranking, filled from the ledger at start.

Nothing here awaits, so that whatever one call does is one step for everybody else in the process.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import cast

from keepscore.boards import Board, RankKind
from keepscore.engines.base import (
    Batch,
    Change,
    Dirty,
    Gap,
    InProcessEngine,
    Loaded,
    Outcome,
    Page,
    Pruned,
    Ranking,
    Update,
)
from keepscore.engines.embedded_ranking import EmbeddedRanking
from keepscore.engines.ladder import Ladder
from keepscore.ordering import KeyCodec, Place, Ranks, Row
from keepscore.pace import Pace, sorted_parts
from keepscore.scoring import State, fold_for

__all__ = ["EmbeddedEngine"]


class EmbeddedBoard:
    """The rankings of one board, and how far each writer's events are in them."""

    def __init__(self, board: Board, applied: Mapping[int, int]) -> None:
        self.board = board
        self.fold = fold_for(board)
        self.applied = dict(applied)
        self.rankings: dict[Ranking, EmbeddedRanking] = {}
        self.dropped: list[Ranking] = []
        #: Who has to be restated, and where.
        self.late: set[tuple[Ranking, str]] = set()

    def update(self, update: Update, rank: RankKind) -> Outcome:
        """Fold one event into all of its rankings. O(log N) for each."""
        player, kind, amount, at, received, rankings, wholes, expiries, ranked = update
        changes: list[Change] = []
        restate: list[Ranking] = []
        # Most windows have the same state and get the same state: it is folded once, and they share the key.
        seen: bytes | None = b""
        old: State | None = None
        folded: State | None = None
        state: State | None = None
        key = b""
        for i, name in enumerate(rankings):
            ranking = self.rankings.get(name)
            if ranking is not None and 0 < ranking.expiry <= received:
                self.dropped.append(name)
                ranking = None
            if ranking is None:
                ranking = self.rankings[name] = EmbeddedRanking(self.board)
            if expiries[i] > ranking.expiry:
                ranking.expiry = expiries[i]
            known = ranking.keys.get(player)
            if known is None and ranking.pruned is not None:
                # What the player had before may be in the ledger only.
                restate.append(name)
                self.late.add((name, player))
                if ranked and i < wholes:
                    last = ranking.ladder.size + 1
                    changes.append(Change(amount, True, None, last, last, ranking.total))
                continue
            if known is not seen:
                seen = known
                old = None if known is None else ranking.codec.state(known)
                folded = self.fold(old, kind, amount, at)
            new = folded
            if new is None:
                restate.append(name)
                self.late.add((name, player))
                new = old
                assert new is not None, "only a state can be newer than an event"
            if new == old:
                if ranked and i < wholes:
                    changes.append(ranking.stay(rank, player, new))
                continue
            if new != state:
                state, key = new, ranking.codec.encode(player, *new)
            if ranked and i < wholes:
                changes.append(ranking.change(rank, player, old, new[0], key))
            else:
                ranking.replace(player, old, key, new[0])
        return Outcome(changes, restate)


class Loading:
    """What the rankings of a board share while they are loaded: most players have the same state in most windows.

    Ids and keys are made once: a quarter of the memory for a board with four windows, and what is near in one is near in all.
    A ranking that holds just what the first one holds takes over its order, too.
    """

    def __init__(self, board: Board) -> None:
        self._sharing = len(board.periods) > 1
        self._first: EmbeddedRanking | None = None
        #: Player and key of every row of the first ranking.
        self._known: dict[tuple[str, int, int], tuple[str, bytes]] = {}

    def keys(self, ranking: EmbeddedRanking, rows: Iterable[tuple[str, int, int]]) -> list[tuple[str, bytes]]:
        """Players and keys of some rows of a ranking."""
        if not self._sharing:
            return ranking.codec.encode_all(rows)
        rows = list(rows)
        if self._first is None or self._first is ranking:
            self._first = ranking
            pairs = ranking.codec.encode_all(rows)
            self._known.update(zip(rows, pairs, strict=True))
            return pairs
        found = [self._known.get(row) for row in rows]
        if None not in found:
            return cast("list[tuple[str, bytes]]", found)
        made = ranking.codec.encode_all(rows)
        return [pair if known is None else known for pair, known in zip(made, found, strict=True)]

    async def order(self, ranking: EmbeddedRanking, in_turns: bool) -> None:
        """Put a ranking that has all its keys in order: in turns with others, or quicker. O(N log N)."""
        first = self._first
        # Rows may have come for a player more than once, and only the last of them count: what is compared is what they came to.
        if first is not None and first is not ranking and len(ranking.keys) == first.ladder.size and first.keys == ranking.keys:
            ranking.ladder = first.ladder.copy()
        elif not in_turns:
            ranking.ladder = Ladder(ranking.keys.values(), ranking.codec.score)
        else:
            ranking.ladder = Ladder((), ranking.codec.score)
            async for part in sorted_parts(ranking.keys.values(), Pace.without_pauses()):
                ranking.ladder.extend(part, ranking.codec.score)


class EmbeddedEngine(InProcessEngine):
    """Rankings in the memory of this process."""

    def __init__(self) -> None:
        self._boards: dict[int, EmbeddedBoard] = {}
        self._shadows: dict[int, EmbeddedBoard] = {}

    async def open(self, ledger: str) -> None:
        """There is nothing to connect to."""

    async def close(self) -> None:
        """There is nothing to let go of."""

    async def adopt(self, board_id: int, board: Board) -> bool:
        return board_id in self._boards

    async def load(self, board_id: int, board: Board, states: AsyncIterator[Loaded], applied: Mapping[int, int]) -> None:
        loaded = EmbeddedBoard(board, applied)
        loading = Loading(board)
        async for name, expiry, rows, fresh, _ in states:
            ranking = loaded.rankings.get(name)
            if ranking is None:
                ranking = loaded.rankings[name] = EmbeddedRanking(board)
            ranking.expiry = max(ranking.expiry, expiry)
            keys = loading.keys(ranking, rows)
            ranking.keys.update(keys)
            if fresh:
                ranking.touched.update(keys)
            await asyncio.sleep(0)
        for ranking in loaded.rankings.values():
            # At a start, nobody reads yet.
            await loading.order(ranking, in_turns=board_id in self._boards)
            await asyncio.sleep(0)
        self._shadows[board_id] = loaded

    async def promote(self, board_id: int) -> None:
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
        answers = []
        for board, batch, done in todo:
            answers.append([] if done else [board.update(update, batch.rank) for update in batch.updates])
            if not done:
                board.applied[batch.writer] = batch.upto
        return answers

    async def late(self, board_id: int) -> list[tuple[Ranking, str]]:
        board = self._boards.get(board_id)
        return [] if board is None else list(board.late)

    async def restate(
        self,
        ranking: Ranking,
        player: str,
        state: State | None,
        shadow: bool = False,
        upto: Mapping[int, int] | None = None,
        returned: bool = False,
    ) -> bool:
        board = self._side(shadow)[ranking.board]
        if upto is not None and board.applied != upto:
            return False
        found = board.rankings.get(ranking)
        if found is None:
            found = board.rankings[ranking] = EmbeddedRanking(board.board)
        key = None if state is None else found.codec.encode(player, *state)
        if returned and key is not None and found.pruned is not None and player not in found.keys:
            found.pruned = found.pruned._replace(hidden=found.pruned.hidden - 1)
        found.replace(player, found.state(player), key, 0 if state is None else state.score)
        board.late.discard((ranking, player))
        return True

    async def settle(
        self,
        board_id: int,
        states: Mapping[Ranking, Mapping[str, State]],
        upto: Mapping[int, int],
        advanced: Mapping[int, int],
        shadow: bool = False,
    ) -> bool:
        board = self._side(shadow).get(board_id)
        if board is None or board.applied != upto:
            return False
        for name, players in states.items():
            ranking = board.rankings.get(name)
            if ranking is None:
                ranking = board.rankings[name] = EmbeddedRanking(board.board)
            for player, state in players.items():
                ranking.replace(player, ranking.state(player), ranking.codec.encode(player, *state), state.score)
        board.applied |= advanced
        return True

    async def prune(self, ranking: Ranking, keep: int, mark: str) -> int | None:
        board = self._boards.get(ranking.board)
        found = None if board is None else board.rankings.get(ranking)
        if board is None or found is None:
            return 0
        return None if board.late else found.prune(keep, mark, board.applied)

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

    async def states(self, ranking: Ranking, players: Sequence[str]) -> list[State | None]:
        found = self._ranking(ranking)
        return [None] * len(players) if found is None else [found.state(player) for player in players]

    async def place(self, ranking: Ranking, player: str) -> Place | None:
        return self.place_now(ranking, player)

    def place_now(self, ranking: Ranking, player: str) -> Place | None:
        board = self._boards.get(ranking[0])
        found = None if board is None else board.rankings.get(ranking)
        return None if found is None else found.place(player)

    async def places(self, ranking: Ranking, players: Sequence[str], wanted: RankKind | None = None) -> list[Place | None]:
        found = self._ranking(ranking)
        return [None] * len(players) if found is None else [found.place(player) for player in players]

    async def page(self, ranking: Ranking, offset: int, limit: int) -> Page:
        found = self._ranking(ranking)
        return Page([], Ranks(1, 1, 1), 0) if found is None else found.page(offset, limit)

    async def page_after(self, ranking: Ranking, row: Row, limit: int) -> Page:
        found = self._ranking(ranking)
        return Page([], Ranks(1, 1, 1), 0) if found is None else found.page(found.offset_after(row), limit)

    async def count(self, ranking: Ranking, low: int | None, high: int | None) -> int:
        found = self._ranking(ranking)
        return 0 if found is None else found.count(low, high)

    async def rankings(self, board_id: int) -> list[Ranking]:
        board = self._boards.get(board_id)
        return [] if board is None else [name for name, ranking in board.rankings.items() if ranking.keys]

    async def expire(self, now: int) -> None:
        for board in self._boards.values():
            gone = [name for name, ranking in board.rankings.items() if 0 < ranking.expiry <= now]
            for name in gone:
                del board.rankings[name]
            board.dropped += gone

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

    def _check(self) -> None:
        """Verify every invariant. For tests."""
        for board in self._boards.values():
            for ranking in board.rankings.values():
                ranking._check()


def _decoded(codec: KeyCodec, touched: dict[str, bytes | None]) -> Iterator[tuple[str, State | None]]:
    for player, key in touched.items():
        yield player, None if key is None else codec.state(key)
