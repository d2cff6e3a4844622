"""Keys for other services, beside the rankings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from keepscore.storage.engines.base import MirrorSupport
from keepscore.storage.engines.redis.client import RedisClient, ScriptCall

__all__ = ["RedisMirror"]


class RedisMirror(MirrorSupport):
    """Hashes and sorted sets under keys that the caller names."""

    def __init__(self, client: RedisClient) -> None:
        self._client = client

    async def put_hashes(self, hashes: Mapping[str, Mapping[str, str | None]]) -> None:
        commands: list[tuple[str, ...]] = []
        for key, fields in hashes.items():
            known = [text for name, value in fields.items() if value is not None for text in (name, value)]
            gone = [name for name, value in fields.items() if value is None]
            commands += [("HSET", key, *known)] if known else []
            commands += [("HDEL", key, *gone)] if gone else []
        for answer in await self._client.commands(commands):
            if isinstance(answer, Exception):
                raise answer

    async def put_ranking(self, key: str, rows: Sequence[tuple[str, str]], ttl_ms: int) -> None:
        await self._client.run(ScriptCall("mirror", [key], msgspec.msgpack.encode([ttl_ms, rows])))
