"""Rows that are removed from rankings in Redis, and what is known of them."""

from __future__ import annotations

from typing import Any

import msgspec

from keepscore.engines.base import Pruned
from keepscore.engines.layouts import RankingKeys
from keepscore.engines.redis_boards import KnownBoard
from keepscore.engines.redis_client import Call, RedisClient
from keepscore.ordering import Row

__all__ = ["pruned_from", "remove_rows"]

#: Rows that one script call removes: some milliseconds, in which Redis answers nobody else.
PRUNED_AT_ONCE = 1000
#: Seconds that a call may take.
PATIENCE = 60.0


async def remove_rows(client: RedisClient, known: KnownBoard, keys: RankingKeys, keep: int, mark: str) -> int | None:
    """Remove some of the rows behind the first `keep`; answer how many, or None where somebody has to be restated first."""
    desc = known.board.order == "desc"
    argument = msgspec.msgpack.encode([known.epoch, keys.form, keys.field, keys.name, desc, keep, PRUNED_AT_ONCE, mark])
    gone = int(await client.run(Call("prune", [known.marks, known.listed, known.late, *keys[:3]], argument), PATIENCE))
    return None if gone < 0 else gone


def pruned_from(found: Any) -> Pruned | None:
    """What the script `pruned` told."""
    if not found:
        return None
    hidden, removed, kept, mark, floor, marks, exact = found
    applied = {int(writer): int(n) for writer, _, n in (pair.partition(":") for pair in marks.split())}
    return Pruned(hidden, removed, kept, mark, Row(*floor), applied, exact)
