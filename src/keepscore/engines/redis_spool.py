"""What a board keeps in Redis beside its rankings for the time being: events for a ledger that is away, and a lock."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence

import msgspec

from keepscore.engines.redis_client import Call, RedisClient
from keepscore.errors import EngineUnavailable

__all__ = ["drop_entries", "hold_lock", "read_entries", "release_lock"]

#: Milliseconds after which a lock is free whose holder is gone: longer than recording and applying a group may take.
LOCK_MS = 20_000
#: Seconds between two tries to get a lock, and for which it is tried.
PAUSE, PATIENCE = 0.002, 25.0


async def read_entries(client: RedisClient, key: str, limit: int) -> list[tuple[str, bytes]]:
    """The oldest entries of a spool: name and content of each. What somebody else has put there is passed over."""
    start = b"-"
    while found := await client.command("XRANGE", key, start, "+", "COUNT", limit):
        if entries := [(name.decode(), fields[b"events"]) for name, fields in found if b"events" in fields]:
            return entries
        start = b"(" + found[-1][0]
    return []


async def drop_entries(client: RedisClient, key: str, names: Sequence[str]) -> None:
    """Remove entries of a spool."""
    await client.command("XDEL", key, *names)


async def hold_lock(client: RedisClient, key: str) -> str:
    """Take a lock as soon as it is free; the answer is the token with which it is released. One call where nobody has it."""
    token = secrets.token_hex(8)
    deadline = asyncio.get_running_loop().time() + PATIENCE
    while not await client.command("SET", key, token, "NX", "PX", LOCK_MS):
        if asyncio.get_running_loop().time() > deadline:
            raise EngineUnavailable(f"the lock {key!r} was not free for {PATIENCE:g} s: try again")
        await asyncio.sleep(PAUSE)
    return token


async def release_lock(client: RedisClient, key: str, token: str) -> None:
    """Let go of a lock."""
    await client.run(Call("release", [key], msgspec.msgpack.encode(token)))
