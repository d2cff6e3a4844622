"""Checks whether what lies beside a ranking in Redis fits it."""

from __future__ import annotations

from collections.abc import Sequence

from keepscore.storage.engines.redis.client import RedisClient
from keepscore.storage.engines.redis.layouts import RankingKeys

__all__ = ["flaws"]

#: Scores that are compared at a time.
CHUNK_SCORES = 5000


async def flaws(client: RedisClient, keys: RankingKeys, indexed: bool, scores: Sequence[int], players: int, desc: bool) -> list[str]:
    """Find what is wrong beside a ranking that has these distinct scores, in its order, and so many players."""
    found = []
    if indexed and not await _indexes(client, keys, scores, desc):
        found.append("its index of scores does not have the scores that there are")
    if keys.form[5] and (kept := await client.command("HLEN", keys.times)) != players:
        found.append(f"it has {players} players, and times of {kept}")
    return found


async def _indexes(client: RedisClient, keys: RankingKeys, scores: Sequence[int], desc: bool) -> bool:
    """Return whether the index has these scores, and no others. One that is gone is made again when somebody asks for dense ranks."""
    size = await client.command("ZCARD", keys.dense)
    if size != len(scores):
        return bool(size == 0)
    for start in range(0, len(scores), CHUNK_SCORES):
        some = scores[start : start + CHUNK_SCORES]
        names = await client.command("ZREVRANGE" if desc else "ZRANGE", keys.dense, start, start + len(some) - 1)
        if names != [b"%d" % score for score in some]:
            return False
    return True
