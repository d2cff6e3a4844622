"""The engine's ladder beside sortedcontainers: an update with the rank before and after, and all three rank numbers."""

from __future__ import annotations

import random
import struct
import time
from collections.abc import Callable

from sortedcontainers import SortedList

from keepscore.storage.engines.embedded.ladder import Ladder

PACK = struct.Struct(">QQ").pack


def compare(players: int, operations: int = 50_000) -> dict[str, tuple[float, float]]:
    """Measure the microseconds of (ladder, sortedcontainers) for each operation."""
    chance = random.Random(1)
    keys = [_key(chance, i) for i in range(players)]
    ladder, plain = Ladder(keys, _score), SortedList(keys)
    scores = SortedList({key[:8] for key in keys})
    mine, theirs = list(keys), list(keys)

    def update_ladder(i: int) -> None:
        ladder.remove(mine[i], _score(mine[i]))
        mine[i] = _key(chance, i)
        ladder.add(mine[i], _score(mine[i]))

    def update_plain(i: int) -> None:
        plain.bisect_left(theirs[i])
        plain.remove(theirs[i])
        theirs[i] = _key(chance, i)
        plain.add(theirs[i])
        plain.bisect_left(theirs[i])

    def ranks_plain(i: int) -> None:
        plain.bisect_left(keys[i])
        plain.bisect_left(keys[i][:8])
        scores.bisect_left(keys[i][:8])

    picked = [chance.randrange(players) for _ in range(operations)]
    ranks = _timed(lambda i: ladder.rung(keys[i], _score(keys[i])), picked), _timed(ranks_plain, picked)
    return {"three rank numbers": ranks, "update with both ranks": (_timed(update_ladder, picked), _timed(update_plain, picked))}


def _key(chance: random.Random, i: int) -> bytes:
    return PACK(chance.randrange(10**7), 1_700_000_000_000 + i) + b"p%d" % i


def _score(key: bytes) -> float:
    return float(int.from_bytes(key[:8]))


def _timed(operation: Callable[[int], object], picked: list[int]) -> float:
    begun = time.perf_counter()
    for i in picked:
        operation(i)
    return (time.perf_counter() - begun) / len(picked) * 1e6
