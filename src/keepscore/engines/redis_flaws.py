"""What lies beside a ranking in Redis: does it fit?"""

from __future__ import annotations

from collections.abc import Sequence

from keepscore.engines.layouts import RankingKeys
from keepscore.engines.redis_client import RedisClient

__all__ = ["flaws"]

#: Scores that are compared at a time.
CHUNK = 5000


async def flaws(client: RedisClient, keys: RankingKeys, indexed: bool, scores: Sequence[int], players: int, desc: bool) -> list[str]:
    """What is wrong beside a ranking that has these distinct scores, in its order, and so many players."""
    found = []
    if indexed and not await _indexes(client, keys, scores, desc):
        found.append("its index of scores does not have the scores that there are")
    if keys.form[5] and (kept := await client.command("HLEN", keys.times)) != players:
        found.append(f"it has {players} players, and times of {kept}")
    return found


async def _indexes(client: RedisClient, keys: RankingKeys, scores: Sequence[int], desc: bool) -> bool:
    """Whether the index has these scores, and no others."""
    if await client.command("ZCARD", keys.dense) != len(scores):
        return False
    for start in range(0, len(scores), CHUNK):
        some = scores[start : start + CHUNK]
        names = await client.command("ZREVRANGE" if desc else "ZRANGE", keys.dense, start, start + len(some) - 1)
        if names != [b"%d" % score for score in some]:
            return False
    return True
