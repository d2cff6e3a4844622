"""Rows that are removed from rankings in Redis, and what is known of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from keepscore.domain.ordering import Row
from keepscore.storage.engines.base import Pruned, PruneSupport, Ranking
from keepscore.storage.engines.redis.boards import KnownBoards
from keepscore.storage.engines.redis.client import RedisClient, ScriptCall
from keepscore.storage.engines.redis.layouts import LONG_CALL_S
from keepscore.storage.engines.redis.rotation import Rotation

if TYPE_CHECKING:
    from keepscore.storage.engines.redis.reads import RedisReads

__all__ = ["RedisPruning"]

#: Rows that one script call removes: some milliseconds, in which Redis answers nobody else.
PRUNED_AT_ONCE = 1000


class RedisPruning(PruneSupport):
    """Removes the last rows of rankings."""

    def __init__(self, client: RedisClient, boards: KnownBoards, reads: RedisReads, rotation: Rotation) -> None:
        self._client = client
        self._rotation = rotation
        self._boards = boards
        self._reads = reads

    async def prune(self, ranking: Ranking, keep: int, mark: str) -> int | None:
        known = self._boards.get(ranking.board)
        if known is None:
            return 0
        at = self._boards.at(known, ranking)
        desc, place = known.board.order == "desc", self._reads.positions.place(known)
        argument = msgspec.msgpack.encode([known.epoch, at.form, at.field, at.name, desc, keep, PRUNED_AT_ONCE, mark, place])
        keys = [known.watermarks, known.listed, known.needs_restate, known.positions, *at[:3]]
        gone = int(await self._client.run(ScriptCall("prune", keys, argument), LONG_CALL_S))
        if gone == 0 and await self._rotation.is_moved(ranking.board, known.epoch):
            return await self.prune(ranking, keep, mark)
        return None if gone < 0 else gone

    async def pruned(self, ranking: Ranking) -> Pruned | None:
        return _pruned_from(await self._reads.read("pruned", ranking))


def _pruned_from(found: Any) -> Pruned | None:
    """Read the answer of the script `pruned`."""
    if not found:
        return None
    hidden, removed, kept, mark, floor, watermarks, exact = found
    applied = {int(writer): int(n) for writer, _, n in (pair.partition(":") for pair in watermarks.split())}
    return Pruned(hidden, removed, kept, mark, Row(*floor), applied, exact)
