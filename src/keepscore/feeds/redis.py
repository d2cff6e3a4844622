"""The feed among processes that share a Redis: its publish and subscribe."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections.abc import Set
from typing import Any

import msgspec
from redis.exceptions import RedisError

from keepscore.engines.base import Ranking
from keepscore.engines.redis_url import RedisAddress, clients
from keepscore.feeds.base import Feed, Listener

__all__ = ["RedisFeed"]

CHANNEL = "keepscore:feed"
#: Seconds between two tries to listen again.
PAUSE = 1.0

log = logging.getLogger(__name__)


class RedisFeed(Feed):
    """Calls the listeners of this process at once, and those of the others through Redis."""

    def __init__(self, address: RedisAddress) -> None:
        if address.scheme == "redis+cluster":
            # Any node of a Cluster passes messages on to all.
            address = address._replace(scheme="redis", hosts=address.hosts[:1])
        self._client, _ = clients(address)
        self._listeners: list[Listener] = []
        self._name = secrets.token_hex(4)
        self._closing = False
        self._task: asyncio.Task[None] | None = None
        self._telling: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        self._task = asyncio.create_task(self._hear())

    async def close(self) -> None:
        self._closing = True
        tasks = [task for task in (self._task, *self._telling) if task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            # Not for ever: a client may take being cancelled for a lost connection.
            await asyncio.wait(tasks, timeout=PAUSE)
        with contextlib.suppress(RedisError, OSError):
            await self._client.aclose()

    def listen(self, listener: Listener) -> None:
        self._listeners.append(listener)

    async def publish(self, changed: Set[Ranking]) -> None:
        self._tell_listeners(changed)
        # Nobody waits for the others to know: what they keep is a second old at most.
        task = asyncio.create_task(self._tell(msgspec.msgpack.encode([self._name, list(changed)])))
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def _tell(self, message: bytes) -> None:
        try:
            await self._client.publish(CHANNEL, message)
        except (RedisError, OSError) as exc:
            log.debug("a notice was not sent: %s", exc)

    def _tell_listeners(self, changed: Set[Ranking]) -> None:
        for listener in self._listeners:
            listener(changed)

    async def _hear(self) -> None:
        while not self._closing:
            try:
                async with self._client.pubsub() as subscription:
                    await subscription.subscribe(CHANNEL)
                    while not self._closing:
                        message = await subscription.get_message(ignore_subscribe_messages=True, timeout=PAUSE)
                        if message is not None:
                            self._heard(message)
            except (RedisError, OSError) as exc:
                log.debug("notices are not heard now: %s", exc)
                await asyncio.sleep(PAUSE)

    def _heard(self, message: dict[str, Any]) -> None:
        name, changed = msgspec.msgpack.decode(message["data"], type=tuple[str, list[Ranking]])
        if name != self._name:
            self._tell_listeners(set(changed))
