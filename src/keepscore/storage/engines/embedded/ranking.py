"""One ranking in the memory of the process: a dict of keys by player, and all keys in order."""

from __future__ import annotations

from collections.abc import Mapping

from keepscore.domain.boards import Board, RankKind
from keepscore.domain.ordering import KeyCodec, Place, Ranks, Row
from keepscore.domain.scoring import State
from keepscore.storage.engines.base import Change, Page, Pruned
from keepscore.storage.engines.embedded.ladder import Ladder
from keepscore.storage.engines.looks import NO_ROWS, Look, Sight

__all__ = ["EmbeddedRanking"]

#: Rows that are removed in one step.
PRUNED_AT_ONCE = 2000

#: The rank numbers in the order in which they are worked out.
_NUMBERS = Ranks._fields


class EmbeddedRanking:
    """One ranking: each player's key, and all keys in order."""

    __slots__ = ("codec", "descending", "expiry", "keys", "ladder", "pruned", "seq", "touched")

    def __init__(self, board: Board, seq: int = 0) -> None:
        self.codec = KeyCodec(board)
        self.descending = board.order == "desc"
        self.keys: dict[str, bytes] = {}
        self.ladder = Ladder((), self.codec.score)
        self.expiry = 0
        #: How often it has changed.
        self.seq = seq
        #: Players whose state changed since the last checkpoint, with their keys; None: the player was removed.
        self.touched: dict[str, bytes | None] = {}
        #: What is known of rows that were removed, if there are any; `exact` is not kept up to date.
        self.pruned: Pruned | None = None

    @property
    def total(self) -> int:
        """All players, those included who are not kept."""
        return self.ladder.size if self.pruned is None else self.ladder.size + self.pruned.hidden

    @property
    def peak(self) -> int:
        """How far from zero the scores are at most. O(log N)."""
        ends = [*self.ladder.slice(0, 1), *self.ladder.slice(self.ladder.size - 1, self.ladder.size)]
        return max((abs(self.codec.state(key).score) for key in ends), default=0)

    def state(self, player: str) -> State | None:
        """Return the state of a player."""
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
        self.seq += 1

    def ranks(self, key: bytes, score: int) -> tuple[int, int, int]:
        """Return all rank numbers of a key, which has that score. O(log N)."""
        ladder = self.ladder
        position, groups, after_equals, before_equals = ladder.rung(key, float(score))
        if self.descending:
            unique = ladder.size - position
            standard = ladder.size - ladder.upto(float(score)) + 1 if before_equals else unique
            return unique, standard, ladder.groups - groups + 1
        return position + 1, ladder.below(float(score)) + 1 if after_equals else position + 1, groups

    def stay(self, kind: RankKind, player: str, state: State) -> Change:
        """Return what an event did that changed nothing. O(log N)."""
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
        self.seq += 1
        rank = unique = ladder.size - position if self.descending else position + 1
        if kind != "unique":
            rank = self.ranks(key, score)[_NUMBERS.index(kind)]
        return Change(score, True, previous, rank, unique, self.total)

    def place(self, player: str) -> Place | None:
        """Return where a player stands. O(log N)."""
        key = self.keys.get(player)
        if key is None:
            return None
        score, since = self.codec.state(key)
        unique, standard, dense = self.ranks(key, score)
        return Place(score, since, unique, standard, dense, self.ladder.size if self.pruned is None else self.total)

    def page(self, offset: int, limit: int) -> Page:
        """Return the rows after the first `offset`. O(log N + limit)."""
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

    def see(self, look: Look) -> Sight:
        """Return several things at once. O(log N + rows), and O(log N) for each of the first `limit` players among some."""
        place = None if look.player is None else self.place(look.player)
        near = NO_ROWS
        if place is not None and look.around:
            first = max(0, place.unique - 1 - look.around)
            near = self.page(first, place.unique + look.around - first)
        among: list[Place | None] = [None] * len(look.among)
        found = [(key, i) for i, key in enumerate(map(self.keys.get, look.among)) if key is not None]
        found.sort(reverse=self.descending)
        total, state = self.total, self.codec.state
        for number, (key, i) in enumerate(found):
            score, since = state(key)
            ranks = self.ranks(key, score) if number < look.limit else (0, 0, 0)
            among[i] = Place(score, since, *ranks, total)
        return Sight(total, self.page(0, look.top), place, near, among)

    def offset_after(self, row: Row) -> int:
        """Count the rows that are not behind `row`."""
        first, after = self.codec.bounds(row)
        score = float(row.score)
        return self.ladder.size - self.ladder.position(first, score) if self.descending else self.ladder.position(after, score)

    def count(self, low: int | None, high: int | None) -> int:
        """Count the players who have a score from `low` to `high`. O(log N)."""
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
        self.seq += 1
        for player, score, _ in self.page(left, gone).rows:
            # That they are gone is no change of the player's state.
            self.ladder.remove(self.keys.pop(player), float(score), wanted=False)
        hidden = gone + (0 if old is None else old.hidden)
        floor = self.page(left - 1, 1).rows[0] if old is None or left <= exact else old.floor
        done = left <= keep and left <= exact
        self.pruned = Pruned(hidden, hidden, left, mark if done else "", floor, dict(applied), 0)
        return gone

    def check_invariants(self) -> None:
        """Verify every invariant. For tests."""
        self.ladder.check_invariants()
        assert sorted(self.keys.values()) == list(self.ladder)
        assert all(self.codec.decode(key).player == player for player, key in self.keys.items())
