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

from collections.abc import Iterable
from struct import Struct
from typing import NamedTuple

import msgspec

from keepscore.boards import Board, RankKind
from keepscore.scoring import State

__all__ = ["KeyCodec", "Place", "Ranks", "Row", "number_rows", "percentile"]

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


class Place(msgspec.Struct, gc=False):
    """Where a player stands: the state, the three rank numbers and the number of players.

    `error` says by how much the unique and the standard rank may be wrong; None: they are exact. The dense one is 0 then: nobody knows.
    """

    score: int
    since: int
    unique: int
    standard: int
    dense: int
    total: int
    error: int | None = None


class KeyCodec:
    """Encodes and decodes the order keys of one board."""

    __slots__ = ("by_player", "reversed_time")

    def __init__(self, board: Board) -> None:
        self.by_player = board.ties == "player"
        # Ahead is the larger key on a desc board and the smaller on an asc board.
        self.reversed_time = (board.ties == "first") == (board.order == "desc")

    def encode(self, player: str, score: int, since: int) -> bytes:
        """The key of one standing."""
        if self.by_player:
            return _ONE.pack(score + _OFFSET) + player.encode() + b"\0" + _ONE.pack(since)
        return _PAIR.pack(score + _OFFSET, _TIME_MAX - since if self.reversed_time else since) + player.encode()

    def encode_all(self, rows: Iterable[tuple[str, int, int]]) -> list[tuple[str, bytes]]:
        """Player and key of many standings, given as (player, score, since): twice as fast as one by one."""
        one, pair = _ONE.pack, _PAIR.pack
        if self.by_player:
            return [(player, one(score + _OFFSET) + player.encode() + b"\0" + one(since)) for player, score, since in rows]
        if self.reversed_time:
            return [(player, pair(score + _OFFSET, _TIME_MAX - since) + player.encode()) for player, score, since in rows]
        return [(player, pair(score + _OFFSET, since) + player.encode()) for player, score, since in rows]

    def state(self, key: bytes) -> State:
        """The state in a key."""
        if self.by_player:
            return State(_ONE.unpack_from(key)[0] - _OFFSET, _ONE.unpack_from(key, len(key) - 8)[0])
        score, time = _PAIR.unpack_from(key)
        return State(score - _OFFSET, _TIME_MAX - time if self.reversed_time else time)

    def decode(self, key: bytes) -> Row:
        """The standing of one key."""
        player = key[8:-9] if self.by_player else key[16:]
        return Row(player.decode(), *self.state(key))

    def bounds(self, row: Row) -> tuple[bytes, bytes]:
        """The smallest key that has the place of a standing, and a key behind all that have.

        Where the player id decides, the time has no part in the place.
        """
        if self.by_player:
            place = _ONE.pack(row.score + _OFFSET) + row.player.encode()
            return place + b"\0", place + b"\1"
        key = self.encode(*row)
        return key, key + b"\0"

    @staticmethod
    def score(key: bytes) -> float:
        """The score in a key: a double holds every score exactly."""
        number: int = _ONE.unpack_from(key)[0]
        return float(number - _OFFSET)


def percentile(unique_rank: int, total: int) -> float:
    """Which part of the players, in percent, is not ahead.

    >>> percentile(1, 200), percentile(200, 200)
    (100.0, 0.5)
    """
    return (total - (unique_rank - 1)) / total * 100


def number_rows(kind: RankKind, first: Ranks, rows: Iterable[Row]) -> list[int]:
    """The ranks of consecutive rows, of which the first has the ranks `first`. O(rows).

    >>> rows = [Row("a", 9, 0), Row("b", 9, 1), Row("c", 7, 2)]
    >>> [number_rows(kind, Ranks(1, 1, 1), rows) for kind in ("unique", "standard", "dense")]
    [[1, 2, 3], [1, 1, 3], [1, 1, 2]]
    """
    ranks: list[int] = []
    unique, standard, dense = first
    previous: int | None = None
    for position, row in enumerate(rows, unique):
        if previous is not None and row.score != previous:
            standard, dense = position, dense + 1
        previous = row.score
        ranks.append(position if kind == "unique" else standard if kind == "standard" else dense)
    return ranks
