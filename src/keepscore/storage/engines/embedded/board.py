"""One board in the memory of the process: its rankings, and how far each writer's events are in them."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from keepscore.domain.boards import Board, RankKind
from keepscore.domain.positions import Position, epoch_of
from keepscore.domain.scoring import Kind, Seen, State, cut, fold_for, next_fold, place
from keepscore.storage.engines.base import Batch, Change, Outcome, Ranking, Update
from keepscore.storage.engines.embedded.ranking import EmbeddedRanking

__all__ = ["EmbeddedBoard"]


class EmbeddedBoard:
    """The rankings of one board, and how far each writer's events are in them."""

    def __init__(self, board: Board, applied: Mapping[int, int]) -> None:
        self.board = board
        self.fold = fold_for(board)
        self._folded_next = next_fold(board)
        self.is_ordered = board.is_ordered
        self.applied = dict(applied)
        #: What has come so far, where the order matters.
        self.seen = Seen()
        self.rankings: dict[Ranking, EmbeddedRanking] = {}
        self.dropped: list[Ranking] = []
        #: Stands for this load of the board: nothing that it counts goes on from another one.
        self._life = secrets.token_hex(4)
        self._epochs: dict[Ranking, str] = {}
        #: Where rankings begin to count: behind all that were dropped.
        self._first_seq = 0
        #: Who has to be restated, and where.
        self.needs_restate: set[tuple[Ranking, str]] = set()

    def ranking(self, name: Ranking) -> EmbeddedRanking:
        """Return a ranking, made if it is not there yet."""
        found = self.rankings.get(name)
        if found is None:
            found = self.rankings[name] = EmbeddedRanking(self.board, self._first_seq)
        return found

    def drop(self, name: Ranking) -> None:
        """Drop a ranking. One that comes in its place counts on from there."""
        self._first_seq = max(self._first_seq, self.rankings.pop(name).seq + 1)
        self._epochs.pop(name, None)
        self.dropped.append(name)

    def position(self, name: Ranking) -> Position:
        """Return where a ranking is."""
        ranking = self.rankings.get(name)
        if ranking is None:
            return Position(epoch_of(self._life, *name[1:]), self._first_seq)
        epoch = self._epochs.get(name)
        if epoch is None:
            epoch = self._epochs[name] = epoch_of(self._life, *name[1:])
        return Position(epoch, ranking.seq)

    def apply(self, batch: Batch, first: int, end: int) -> list[Outcome]:
        """Fold the updates from `first` up to `end` of a batch, and move the watermark. O(log N) for each event and ranking."""
        updates = batch.updates[first:end]
        is_whole = end >= len(batch.updates)
        if self.is_ordered:
            told = max((update.at for update in updates if update.at != update.received and update.kind != "restate"), default=0)
            self.seen = self.seen._replace(told=max(told, self.seen.told))
        seq = None if batch.seqs is None else batch.seqs[0]
        outcomes = [self._update(update, batch.rank, seq) for update in updates]
        self.applied[batch.writer] = batch.upto if is_whole else batch.after + end
        if is_whole and self.is_ordered and batch.seqs is not None:
            self.seen = self.seen._replace(seq=max(batch.seqs[1], self.seen.seq))
        return outcomes

    def _folded(self, old: State | None, kind: Kind, amount: int, at: int, received: int, seq: int | None) -> State | None:
        """Fold one more event into a state, where the order matters; None: the player has to be restated."""
        if old is None:
            return self.fold(None, kind, amount, cut(self.board, at))
        where = place(old.since, self.board.resolution_ms, at, received, self.seen, seq)
        return self._folded_next(old, where, kind, amount, at)

    def _update(self, update: Update, rank: RankKind, seq: int | None) -> Outcome:
        """Fold one event into all of its rankings. O(log N) for each."""
        player, kind, amount, at, received, rankings, wholes, expiries, ranked = update
        if kind == "restate":
            self.needs_restate |= {(name, player) for name in rankings}
            return Outcome([], list(rankings))
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
                self.drop(name)
                ranking = None
            if ranking is None:
                ranking = self.ranking(name)
            if expiries[i] > ranking.expiry:
                ranking.expiry = expiries[i]
            known = ranking.keys.get(player)
            if known is None and ranking.pruned is not None:
                # What the player had before may be in the ledger only.
                restate.append(name)
                self.needs_restate.add((name, player))
                if ranked and i < wholes:
                    last = ranking.ladder.size + 1
                    changes.append(Change(amount, True, None, last, last, ranking.total))
                continue
            if known is not seen:
                seen = known
                old = None if known is None else ranking.codec.state(known)
                folded = self._folded(old, kind, amount, at, received, seq) if self.is_ordered else self.fold(old, kind, amount, at)
            new = folded
            if new is None:
                restate.append(name)
                self.needs_restate.add((name, player))
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
