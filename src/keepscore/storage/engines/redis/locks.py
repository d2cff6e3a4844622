"""Boards that one process at a time holds, among all that share a Redis."""

from __future__ import annotations

import asyncio
import secrets

import msgspec

from keepscore.errors import EngineUnavailable
from keepscore.storage.engines.base import LockSupport
from keepscore.storage.engines.redis.boards import KnownBoards
from keepscore.storage.engines.redis.client import RedisClient, ScriptCall

__all__ = ["RedisLocks"]

#: Milliseconds after which a lock is free whose holder is gone: longer than recording and applying a group may take.
LOCK_MS = 20_000
#: Seconds between two tries to get a lock, and for which it is tried.
LOCK_RETRY_S, LOCK_WAIT_S = 0.002, 25.0


class RedisLocks(LockSupport):
    """A key beside each board's rankings, with the holder's token."""

    def __init__(self, client: RedisClient, boards: KnownBoards) -> None:
        self._client = client
        self._boards = boards

    async def hold(self, board_id: int) -> str:
        known = self._boards.get(board_id)
        if known is None:
            return ""
        token = secrets.token_hex(8)
        deadline = asyncio.get_running_loop().time() + LOCK_WAIT_S
        # One call where nobody has it.
        while not await self._client.command("SET", known.lock, token, "NX", "PX", LOCK_MS):
            if asyncio.get_running_loop().time() > deadline:
                raise EngineUnavailable(f"the lock {known.lock!r} was not free for {LOCK_WAIT_S:g} s: try again")
            await asyncio.sleep(LOCK_RETRY_S)
        return token

    async def release(self, board_id: int, token: str) -> None:
        known = self._boards.get(board_id)
        if known and token:
            await self._client.run(ScriptCall("release", [known.lock], msgspec.msgpack.encode(token)))
