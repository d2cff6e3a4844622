"""Positions: how far a ranking is, as `epoch:seq`. Pure.

`seq` counts the changes of one ranking. The epoch stands for the ranking and for one life of it: it changes whenever what was shown may
be taken back, by a rebuild, or as the engine has lost something. So of two positions with the same epoch, the one with the higher seq is
the newer one; those of different epochs cannot be compared.
"""

from __future__ import annotations

import hashlib
import re
from typing import NamedTuple

from keepscore.errors import InvalidPosition

__all__ = ["LAST_SEQ", "POSITION_PATTERN", "Position", "epoch_of", "parse_position"]

#: The highest seq that a position can name.
LAST_SEQ = (1 << 53) - 1
#: Bytes of an epoch that stand for the ranking.
NAME_BYTES = 4

#: What a position looks like.
POSITION_PATTERN = "(?:([0-9a-f]{4,64}):)?([0-9]{1,16})"
_POSITION = re.compile(POSITION_PATTERN)


class Position(NamedTuple):
    """How far a ranking is. Without an epoch: in whichever there is."""

    epoch: str
    seq: int

    def __str__(self) -> str:
        return f"{self.epoch}:{self.seq}"

    def is_within(self, other: Position) -> bool:
        """Return whether whoever has seen `other` has seen all of this, too.

        >>> [Position("ab", 7).is_within(other) for other in (Position("ab", 8), Position("ab", 6), Position("cd", 8))]
        [True, False, False]
        >>> Position("", 7).is_within(Position("cd", 8))
        True
        """
        return self.epoch in ("", other.epoch) and self.seq <= other.seq


def epoch_of(life: str, window: str, window_id: str, segment: str) -> str:
    """Return the epoch of one ranking in a life of its board.

    >>> epoch_of("5f0c", "daily", "2026-11-15", "") != epoch_of("5f0c", "daily", "2026-11-16", "")
    True
    """
    name = hashlib.blake2b("\0".join((window, window_id, segment)).encode(), digest_size=NAME_BYTES).hexdigest()
    return life + name


def parse_position(text: str, name: str = "position") -> Position:
    """Read a position, or a seq alone.

    >>> parse_position("5f0c77a1:42"), parse_position("42")
    (Position(epoch='5f0c77a1', seq=42), Position(epoch='', seq=42))
    """
    found = _POSITION.fullmatch(text)
    if found is None or int(found[2]) > LAST_SEQ:
        raise InvalidPosition(
            f"{name} = {text[:60]!r} is not a position: pass one as an answer or a message gave it, such as '5f0c77a1:42'"
        )
    return Position(found[1] or "", int(found[2]))
