"""Events that a board keeps in Redis for a ledger that is away."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from keepscore.storage.engines.base import Ranking, SpoolSupport
from keepscore.storage.engines.redis.boards import KnownBoards
from keepscore.storage.engines.redis.client import RedisClient, ScriptCall

__all__ = ["RedisSpool"]


class RedisSpool(SpoolSupport):
    """A stream beside each board's rankings."""

    def __init__(self, client: RedisClient, boards: KnownBoards) -> None:
        self._client = client
        self._boards = boards

    async def entries(self, board_id: int, limit: int, after: str = "") -> list[tuple[str, bytes]]:
        known = self._boards.get(board_id)
        start = b"(" + after.encode() if after else b"-"
        while known and (found := await self._client.command("XRANGE", known.spool, start, "+", "COUNT", limit)):
            # What somebody else has put there is passed over.
            if entries := [(name.decode(), fields[b"events"]) for name, fields in found if b"events" in fields]:
                return entries
            start = b"(" + found[-1][0]
        return []

    async def drop(self, board_id: int, names: Sequence[str], needs_restate: Iterable[tuple[Ranking, str]] = (), seq: int = 0) -> None:
        known = self._boards.get(board_id)
        if known is not None:
            late = ["\0".join((*ranking[1:], player)) for ranking, player in needs_restate]
            keys = [known.spool, known.watermarks, known.needs_restate]
            await self._client.run(ScriptCall("unspool", keys, msgspec.msgpack.encode([names, late, seq])))

    async def size(self, board_id: int) -> int:
        known = self._boards.get(board_id)
        return int(await self._client.command("XLEN", known.spool)) if known else 0
