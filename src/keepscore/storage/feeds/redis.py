"""The feed among processes that share a Redis: its publish and subscribe."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections import deque
from collections.abc import Sequence, Set
from typing import Any

import msgspec

from keepscore.storage.engines.base import Ranking
from keepscore.storage.engines.redis.url import RedisAddress, primary_client
from keepscore.storage.feeds.base import Feed, Listener

__all__ = ["RedisFeed"]

CHANNEL = "keepscore:feed"
#: Seconds between two tries to listen again.
LISTEN_RETRY_S = 1.0
#: Messages for programs outside that wait to be sent at most, the oldest of which are dropped, and that are sent at once.
MAX_UNSENT, SENT_AT_ONCE = 10_000, 500

log = logging.getLogger(__name__)


class RedisFeed(Feed):
    """Calls the listeners of this process at once, and those of the others through Redis."""

    def __init__(self, address: RedisAddress) -> None:
        addresses = [address]
        if address.scheme == "redis+cluster":
            # Any node of a Cluster passes messages on to all.
            addresses = [address._replace(scheme="redis", hosts=[host]) for host in address.hosts]
        #: The first is used, as long as it answers.
        self._clients = [primary_client(one, timeout_s=one.deadline) for one in addresses]
        # Messages reach all databases of a server, and those of others are about other rankings.
        self._channel = f"{CHANNEL}:{address.database}" if address.database else CHANNEL
        self._listeners: list[Listener] = []
        self._name = secrets.token_hex(4)
        self._closing = False
        self._task: asyncio.Task[None] | None = None
        #: What to tell the others next, and the task that does so.
        self._untold: set[Ranking] = set()
        self._telling: asyncio.Task[None] | None = None
        #: Messages for programs outside, and the task that sends them.
        self._unsent: deque[tuple[str, bytes]] = deque(maxlen=MAX_UNSENT)
        self._sending: asyncio.Task[None] | None = None

    async def open(self) -> None:
        self._task = asyncio.create_task(self._hear())

    async def close(self) -> None:
        self._closing = True
        tasks = [task for task in (self._task, self._telling, self._sending) if task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            # Not for ever: a client may take being cancelled for a lost connection.
            await asyncio.wait(tasks, timeout=LISTEN_RETRY_S)
        for client in self._clients:
            with contextlib.suppress(Exception):
                await client.aclose()

    def listen(self, listener: Listener) -> None:
        self._listeners.append(listener)

    async def publish(self, changed: Set[Ranking]) -> None:
        self._tell_listeners(changed)
        # Nobody waits for the others to know: what they keep is a second old at most.
        self._untold |= changed
        if self._telling is None or self._telling.done():
            self._telling = asyncio.create_task(self._tell_others())

    async def _tell_others(self) -> None:
        """Send what has changed; what changes while a notice is on its way goes with the next."""
        while self._untold:
            changed, self._untold = self._untold, set()
            try:
                await self._clients[0].publish(self._channel, msgspec.msgpack.encode([self._name, list(changed)]))
            except Exception as exc:
                # Whatever the driver raises: others look for themselves within a second.
                log.debug("a notice was not sent: %s", exc)

    def announce(self, messages: Sequence[tuple[str, bytes]]) -> None:
        self._unsent.extend(messages)
        if self._unsent and (self._sending is None or self._sending.done()):
            self._sending = asyncio.create_task(self._send())

    async def _send(self) -> None:
        """Send what programs outside hear of. Like everything on a channel, it may be lost."""
        while self._unsent:
            try:
                async with self._clients[0].pipeline(transaction=False) as pipeline:
                    for _ in range(min(len(self._unsent), SENT_AT_ONCE)):
                        pipeline.publish(*self._unsent.popleft())
                    await pipeline.execute()
            except Exception as exc:
                log.debug("messages for programs outside were not sent: %s", exc)

    def _tell_listeners(self, changed: Set[Ranking]) -> None:
        for listener in self._listeners:
            listener(changed)

    async def _hear(self) -> None:
        while not self._closing:
            try:
                async with self._clients[0].pubsub() as subscription:
                    await subscription.subscribe(self._channel)
                    while not self._closing:
                        message = await subscription.get_message(ignore_subscribe_messages=True, timeout=LISTEN_RETRY_S)
                        if message is not None:
                            self._heard(message)
            except Exception as exc:
                log.debug("notices cannot be received now: %s", exc)
                self._clients.append(self._clients.pop(0))
                await asyncio.sleep(LISTEN_RETRY_S)

    def _heard(self, message: dict[str, Any]) -> None:
        name, changed = msgspec.msgpack.decode(message["data"], type=tuple[str, list[Ranking]])
        if name != self._name:
            self._tell_listeners(set(changed))
