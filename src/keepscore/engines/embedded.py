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
from keepscore.engines.ladder import Ladder
from keepscore.ordering import KeyCodec, Place, Ranks, Row
from keepscore.scoring import State, fold_for

__all__ = ["EmbeddedEngine"]

#: Rows that are removed in one step.
PRUNED_AT_ONCE = 2000

#: The rank numbers in the order in which they are worked out.
_NUMBERS = Ranks._fields


class EmbeddedRanking:
    """One ranking: each player's key, and all keys in order."""

    __slots__ = ("codec", "descending", "expiry", "keys", "ladder", "pruned", "touched")

    def __init__(self, board: Board) -> None:
        self.codec = KeyCodec(board)
        self.descending = board.order == "desc"
        self.keys: dict[str, bytes] = {}
        self.ladder = Ladder((), self.codec.score)
        self.expiry = 0
        #: Players whose state changed since the last checkpoint, with their keys; None: the player was removed.
        self.touched: dict[str, bytes | None] = {}
        #: What is known of rows that were removed, if there are any; `exact` is not kept up to date.
        self.pruned: Pruned | None = None

    @property
    def total(self) -> int:
        """All players, those included who are not kept."""
        return self.ladder.size if self.pruned is None else self.ladder.size + self.pruned.hidden

    def state(self, player: str) -> State | None:
        """The state of a player."""
        key = self.keys.get(player)
        return None if key is None else self.codec.state(key)

    def replace(self, player: str, old: State | None, key: bytes | None, score: int) -> None:
        """Give a player another key, which has that score, or none, without a look at ranks. O(log N)."""
        if old is not None:
            self.ladder.remove(self.keys.pop(player), float(old.score), wanted=False)
        if key is not None:
            self.keys[player] = key
            self.ladder.add(key, float(score), wanted=False)
        self.touched[player] = key

    def ranks(self, key: bytes, score: int) -> tuple[int, int, int]:
        """All rank numbers of a key, which has that score. O(log N)."""
        ladder = self.ladder
        position, groups, after_equals, before_equals = ladder.rung(key, float(score))
        if self.descending:
            unique = ladder.size - position
            standard = ladder.size - ladder.upto(float(score)) + 1 if before_equals else unique
            return unique, standard, ladder.groups - groups + 1
        return position + 1, ladder.below(float(score)) + 1 if after_equals else position + 1, groups

    def stay(self, kind: RankKind, player: str, state: State) -> Change:
        """What an event did that changed nothing. O(log N)."""
        ranks = self.ranks(self.keys[player], state.score)
        rank = ranks[_NUMBERS.index(kind)]
        return Change(state.score, False, rank, rank, ranks[0], self.total)

    def change(self, kind: RankKind, player: str, old: State | None, score: int, key: bytes) -> Change:
        """Replace a player's key by one with that score; answer the rank before and after. O(log N)."""
        ladder, keys = self.ladder, self.keys
        previous = None
        if old is None:
            position = ladder.add(key, float(score))
        else:
            known = keys[player]
            if kind != "unique":
                previous = self.ranks(known, old[0])[_NUMBERS.index(kind)]
            before, position = ladder.move(known, float(old[0]), key, float(score))
            if kind == "unique":
                previous = ladder.size - before if self.descending else before + 1
        keys[player] = self.touched[player] = key
        rank = unique = ladder.size - position if self.descending else position + 1
        if kind != "unique":
            rank = self.ranks(key, score)[_NUMBERS.index(kind)]
        return Change(score, True, previous, rank, unique, self.total)

    def place(self, player: str) -> Place | None:
        """Where a player stands. O(log N)."""
        key = self.keys.get(player)
        if key is None:
            return None
        score, since = self.codec.state(key)
        return Place(score, since, *self.ranks(key, score), self.total)

    def page(self, offset: int, limit: int) -> Page:
        """The rows after the first `offset`. O(log N + limit)."""
        total = self.ladder.size
        if self.descending:
            keys = self.ladder.slice(total - offset - limit, total - offset)
            keys.reverse()
        else:
            keys = self.ladder.slice(offset, offset + limit)
        decode = self.codec.decode
        rows = [decode(key) for key in keys]
        first = Ranks(*self.ranks(keys[0], rows[0].score)) if keys else Ranks(total + 1, total + 1, self.ladder.groups + 1)
        return Page(rows, first, self.total)

    def offset_after(self, row: Row) -> int:
        """How many rows are not behind `row`."""
        first, after = self.codec.bounds(row)
        score = float(row.score)
        return self.ladder.size - self.ladder.position(first, score) if self.descending else self.ladder.position(after, score)

    def count(self, low: int | None, high: int | None) -> int:
        """How many players have a score from `low` to `high`. O(log N)."""
        below = 0 if low is None else self.ladder.below(float(low))
        upto = self.ladder.size if high is None else self.ladder.upto(float(high))
        return max(0, upto - below)

    def prune(self, keep: int, mark: str, applied: Mapping[int, int]) -> int:
        """Remove some of the rows behind the first `keep`; answer how many. O(log N) for each."""
        size, old = self.ladder.size, self.pruned
        gone = min(PRUNED_AT_ONCE, max(0, size - keep))
        left = size - gone
        if not left or (not gone and (old is None or old.mark)):
            return 0
        exact = left if old is None else self.offset_after(old.floor)
        for player, score, _ in self.page(left, gone).rows:
            # That they are gone is no change of the player's state.
            self.ladder.remove(self.keys.pop(player), float(score), wanted=False)
        hidden = gone + (0 if old is None else old.hidden)
        floor = self.page(left - 1, 1).rows[0] if old is None or left <= exact else old.floor
        done = left <= keep and left <= exact
        self.pruned = Pruned(hidden, hidden, left, mark if done else "", floor, dict(applied), 0)
        return gone

    def _check(self) -> None:
        """Verify every invariant. For tests."""
        self.ladder._check()
        assert sorted(self.keys.values()) == list(self.ladder)
        assert all(self.codec.decode(key).player == player for player, key in self.keys.items())


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

    def ladder(self, ranking: EmbeddedRanking) -> Ladder:
        """The order of a ranking that has all its keys. O(N log N)."""
        first = self._first
        # Rows may have come for a player more than once, and only the last of them count: what is compared is what they came to.
        if first is not None and first is not ranking and len(ranking.keys) == first.ladder.size and first.keys == ranking.keys:
            return first.ladder.copy()
        return Ladder(ranking.keys.values(), ranking.codec.score)


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
            ranking.ladder = loading.ladder(ranking)
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
