"""Order, ties and the numbering of ranks. Pure.

The order of a ranking is total: score, then the board's `ties` rule, then the bytes of the player id. As in Redis, a `desc`
board is read from the top of the same ascending order from which an `asc` board is read from the bottom, so among players that
are equal in everything else, ids come in descending order on a `desc` board and in ascending order on an `asc` board.

An `OrderKey` is that order as bytes: two keys compare as the two standings do, and a key holds all there is to know of one,

    ties first, last:  score (8 bytes, offset) · time (8 bytes, reversed where the earlier is larger) · player id
    ties player:       score (8 bytes, offset) · player id · 0x00 · time (8 bytes)

which makes comparing two players one `memcmp`. (No player id holds a 0x00, so that the time never decides.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from struct import Struct
from typing import NamedTuple

import msgspec

from keepscore.domain.boards import Board, RankKind
from keepscore.domain.positions import Position
from keepscore.domain.scoring import State

__all__ = ["FIRST", "KeyCodec", "Numbering", "Place", "Ranks", "Row", "directions", "number_rows", "percentile", "reverses_time"]

_OFFSET = 1 << 63
_TIME_MAX = (1 << 63) - 1
_PAIR = Struct(">QQ")
_ONE = Struct(">Q")


class Row(NamedTuple):
    """One player of a ranking, with the state."""

    player: str
    score: int
    since: int


class Ranks(NamedTuple):
    """The three rank numbers of one player."""

    unique: int
    standard: int
    dense: int


#: The ranks of the first row of a ranking.
FIRST = Ranks(1, 1, 1)


class Place(msgspec.Struct, gc=False):
    """Where a player stands: the state, the three rank numbers and the number of players.

    `error` says by how much the unique and the standard rank may be wrong; None: they are exact. The dense one is 0 where it is not known.
    """

    score: int
    since: int
    unique: int
    standard: int
    dense: int
    total: int
    error: int | None = None
    #: Where the ranking was when it was read, if the source tells with the answer.
    position: Position | None = None


def directions(board: Board) -> tuple[bool, int]:
    """Return whether high scores come first, and which time comes first among equal scores: 1 the earlier, -1 the later, 0 neither.

    >>> directions(Board("laps", order="asc", ties="last"))
    (False, -1)
    """
    return board.order == "desc", {"first": 1, "last": -1, "player": 0}[board.ties]


def reverses_time(board: Board) -> bool:
    """Return whether, of two equal scores, the earlier one is the larger in the ascending order that every index keeps."""
    descending, earlier = directions(board)
    return (earlier > 0) == descending


class KeyCodec:
    """Encodes and decodes the order keys of one board."""

    __slots__ = ("by_player", "reversed_time")

    def __init__(self, board: Board) -> None:
        self.by_player = board.ties == "player"
        self.reversed_time = reverses_time(board)

    def encode(self, player: str, score: int, since: int) -> bytes:
        """Return the key of one standing."""
        if self.by_player:
            return _ONE.pack(score + _OFFSET) + player.encode() + b"\0" + _ONE.pack(since)
        return _PAIR.pack(score + _OFFSET, _TIME_MAX - since if self.reversed_time else since) + player.encode()

    def encode_all(self, rows: Iterable[tuple[str, int, int]]) -> list[tuple[str, bytes]]:
        """Return player and key of many standings, given as (player, score, since): twice as fast as one by one."""
        one, pair = _ONE.pack, _PAIR.pack
        if self.by_player:
            return [(player, one(score + _OFFSET) + player.encode() + b"\0" + one(since)) for player, score, since in rows]
        if self.reversed_time:
            return [(player, pair(score + _OFFSET, _TIME_MAX - since) + player.encode()) for player, score, since in rows]
        return [(player, pair(score + _OFFSET, since) + player.encode()) for player, score, since in rows]

    def state(self, key: bytes) -> State:
        """Return the state in a key."""
        if self.by_player:
            return State(_ONE.unpack_from(key)[0] - _OFFSET, _ONE.unpack_from(key, len(key) - 8)[0])
        score, time = _PAIR.unpack_from(key)
        return State(score - _OFFSET, _TIME_MAX - time if self.reversed_time else time)

    def decode(self, key: bytes) -> Row:
        """Return the standing of one key."""
        player = key[8:-9] if self.by_player else key[16:]
        return Row(player.decode(), *self.state(key))

    def bounds(self, row: Row) -> tuple[bytes, bytes]:
        """Return the smallest key that has the place of a standing, and a key behind all that have.

        Where the player id decides, the time has no part in the place.
        """
        if self.by_player:
            place = _ONE.pack(row.score + _OFFSET) + row.player.encode()
            return place + b"\0", place + b"\1"
        key = self.encode(*row)
        return key, key + b"\0"

    @staticmethod
    def score(key: bytes) -> float:
        """Return the score in a key: a double holds every score exactly."""
        number: int = _ONE.unpack_from(key)[0]
        return float(number - _OFFSET)


def percentile(unique_rank: int, total: int) -> float:
    """Return which part of the players, in percent, is not ahead.

    >>> percentile(1, 200), percentile(200, 200)
    (100.0, 0.5)
    """
    return (total - (unique_rank - 1)) / total * 100


class Numbering:
    """Numbers consecutive rows in all three ways: the one place that does.

    >>> numbering = Numbering()
    >>> [tuple(numbering.next(score)) for score in (9, 9, 7)]
    [(1, 1, 1), (2, 1, 1), (3, 3, 2)]
    """

    __slots__ = ("_dense", "_score", "_standard", "_unique")

    def __init__(self, first: Ranks = FIRST) -> None:
        self._unique, self._standard, self._dense = first.unique - 1, first.standard, first.dense
        self._score: int | None = None

    def next(self, score: int) -> Ranks:
        """Return the ranks of the next row, which has that score."""
        self._unique += 1
        if self._score is not None and score != self._score:
            self._standard = self._unique
            self._dense += 1
        self._score = score
        return Ranks(self._unique, self._standard, self._dense)


def number_rows(kind: RankKind, first: Ranks, rows: Sequence[Row]) -> list[int]:
    """Return the ranks of consecutive rows; `first` has those of the first one. O(rows).

    >>> rows = [Row("a", 9, 0), Row("b", 9, 1), Row("c", 7, 2)]
    >>> [number_rows(kind, Ranks(1, 1, 1), rows) for kind in ("unique", "standard", "dense")]
    [[1, 2, 3], [1, 1, 3], [1, 1, 2]]
    """
    if kind == "unique":
        return list(range(first.unique, first.unique + len(rows)))
    number, column = Numbering(first).next, Ranks._fields.index(kind)
    return [number(row.score)[column] for row in rows]
