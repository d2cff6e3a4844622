"""One server of Redis: its connections, its deadline, and whether it is down.

Whatever the driver raises becomes an error of ours here. What a server answers with an error is an answer, for the caller to read.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from hiredis import pack_command
from redis.exceptions import NoScriptError, RedisError, ResponseError

from keepscore.errors import EngineUnavailable
from keepscore.storage.engines.redis.url import Connected
from keepscore.telemetry.counters import ENGINE_ERRORS
from keepscore.telemetry.failures import log_once

__all__ = ["Command", "Node", "is_refusal"]

#: Seconds between two looks at a server that is down; they double up to the longest.
PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.1, 1.0
#: Refusals of a server that will be over soon: it is a replica now, starts up, or waits for others.
PASSING = ("READONLY", "LOADING", "MASTERDOWN", "TRYAGAIN", "CLUSTERDOWN")
#: What refusals say that are about the server or its user: no memory, disk, replicas or rights, or a script that hangs.
GENERAL = ("OOM ", "MISCONF ", "NOREPLICAS ", "NOPERM ", "BUSY ", "permissions", "The user executing the script")

#: A command and its arguments.
Command = tuple[Any, ...]
T = TypeVar("T")

log = logging.getLogger(__name__)


def is_refusal(answer: Any) -> bool:
    """Return whether an answer is an error of the server, and not that it does not know a script."""
    return isinstance(answer, ResponseError) and not isinstance(answer, NoScriptError)


class _NotSent(RedisError):
    """There was no connection on which a call could be sent."""


def _nothing() -> None:
    """Tell nobody."""


class Node:
    """One server, or the primary that Sentinels name.

    After a call has failed, the server is down until it answers a PING, which is sent in the background: calls fail at once meanwhile.
    `changed` is called when a new connection leads to another server than before, `looked` after each look at a server that is down.
    """

    def __init__(
        self,
        shown: str,
        deadline_seconds: float,
        client: Callable[[Connected], Any],
        changed: Callable[[], None] = _nothing,
        looked: Callable[[], None] = _nothing,
    ) -> None:
        self.shown = shown
        self.client = client(self._connected)
        self._deadline_seconds = deadline_seconds
        self._changed = changed
        self._looked = looked
        self._server: tuple[bytes, ...] = ()
        self._watch: asyncio.Task[None] | None = None

    @property
    def host(self) -> str:
        """The host by which it is reached."""
        return str(self.client.connection_pool.connection_kwargs["host"])

    @property
    def server(self) -> str:
        """A name of the server, as it was found last; empty: none was."""
        return hashlib.blake2b(b" ".join(self._server), digest_size=4).hexdigest() if self._server else ""

    @property
    def is_down(self) -> bool:
        """Whether it did not answer, and has not done so since."""
        return self._watch is not None

    async def ask(self, commands: Sequence[Command], seconds: float | None = None) -> list[Any]:
        """Run commands in one round trip and give their answers; EngineUnavailable or NoScriptError is the answer of one that failed."""
        answers = await self.send(commands, seconds)
        return [self.refusal(answer) if is_refusal(answer) else answer for answer in answers]

    async def send(self, commands: Sequence[Command], seconds: float | None = None) -> list[Any]:
        """Run commands in one round trip and give their answers, errors among them."""
        return await self._guarded(lambda: self._send(commands), seconds)

    async def _send(self, commands: Sequence[Command]) -> list[Any]:
        callbacks = self.client.response_callbacks
        answers = await self._send_packed(b"".join(map(pack_command, commands)), len(commands))
        for i, (name, *_) in enumerate(commands):
            if (parse := callbacks.get(name)) is not None and not isinstance(answers[i], ResponseError):
                answers[i] = parse(answers[i])
        return answers

    async def transaction(self, commands: Sequence[Command], seconds: float | None = None) -> None:
        """Run commands in one round trip and one step."""
        packed = b"".join(map(pack_command, [("MULTI",), *commands, ("EXEC",)]))
        *queued, done = await self._guarded(lambda: self._send_packed(packed, len(commands) + 2), seconds)
        for answer in (*queued, *(done if isinstance(done, list) else [done])):
            if is_refusal(answer):
                raise self.refusal(answer)

    async def _send_packed(self, packed: bytes, answers: int) -> list[Any]:
        """Send what is packed and read so many answers, errors among them.

        What the driver does beside that for every command takes longer than a small script does in Redis.
        """
        pool = self.client.connection_pool
        try:
            connection = await pool.get_connection()
        except (OSError, RedisError) as exc:
            raise _NotSent(str(exc)) from exc
        found: list[Any] = []
        try:
            await connection.send_packed_command([packed])
            while len(found) < answers:
                try:
                    found.append(await connection.read_response(disconnect_on_error=False))
                except ResponseError as exc:
                    found.append(exc)
            return found
        finally:
            if len(found) < answers:
                # There are answers that nobody has read.
                await connection.disconnect(nowait=True)
            await pool.release(connection)

    async def close(self) -> None:
        """Close all connections."""
        if self._watch is not None:
            self._watch.cancel()
        try:
            await self.client.aclose()
        except Exception as exc:
            log.debug("closing a connection: %s", exc)

    # -- errors ---------------------------------------------------------------------------------------------------------

    async def _guarded(self, call: Callable[[], Awaitable[T]], seconds: float | None) -> T:
        """Await a call within the deadline, unless the server is down."""
        if self._watch is not None:
            ENGINE_ERRORS.add("not_tried")
            raise EngineUnavailable(f"the Redis at {self.shown} did not answer a moment ago: try again in a second")
        try:
            async with asyncio.timeout(seconds or self._deadline_seconds):
                return await call()
        except Exception as exc:
            ENGINE_ERRORS.add("unreachable")
            self.failed()
            if not isinstance(exc, OSError | RedisError):
                # Nobody knows whether the server did what was asked of it: the watermark tells later.
                log_once(f"a call to the Redis at {self.shown} ended in an unexpected error", exc)
            is_late = isinstance(exc, TimeoutError) or not str(exc)
            reason = f"no answer within {seconds or self._deadline_seconds:g} s" if is_late else str(exc)
            error = EngineUnavailable(f"the Redis at {self.shown} cannot be used now: {reason}")
            error.nothing_kept = isinstance(exc, _NotSent)
            raise error from exc

    def refusal(self, answer: Exception) -> EngineUnavailable:
        """Return an error of the server as an error of ours."""
        is_passing = str(answer).startswith(PASSING)
        ENGINE_ERRORS.add("unreachable" if is_passing else "refused")
        if is_passing:
            if not str(answer).startswith("CLUSTERDOWN"):
                # That is about a slot, and the node may serve others.
                self.failed()
            error = EngineUnavailable(f"the Redis at {self.shown} cannot be used now: {answer}")
        else:
            error = EngineUnavailable(f"the Redis at {self.shown} refused a call: {answer}")
            error.is_refused = not any(words in str(answer) for words in GENERAL)
        error.__cause__ = answer
        return error

    # -- life -----------------------------------------------------------------------------------------------------------

    def failed(self) -> None:
        """Take the server for down until it answers."""
        if self._watch is None:
            self._watch = asyncio.create_task(self._watch_over())

    async def _watch_over(self) -> None:
        pause = PAUSE_SECONDS
        try:
            while True:
                await asyncio.sleep(pause)
                try:
                    async with asyncio.timeout(self._deadline_seconds):
                        await self.client.execute_command("PING")
                    return
                except Exception as exc:
                    log.debug("the Redis at %s is down: %s", self.shown, exc)
                self._looked()
                pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        finally:
            self._watch = None
            self._looked()

    async def _connected(self, connection: Any) -> None:
        """See whose a new connection is: a server has a name of its own from each start, and another one for each time as a primary."""
        await connection.on_connect()
        found = b""
        for section in ("server", "replication"):
            found += await _info(connection, section)
        server = tuple(re.findall(rb"^(?:run_id|master_replid):(\w+)", found, re.MULTILINE))
        if server != self._server:
            self._server = server
            self._changed()
            self._warn_of_evictions(await _info(connection, "memory"))

    def _warn_of_evictions(self, info: bytes) -> None:
        """Say so where a server may drop rankings when it is full."""
        policy = re.search(rb"^maxmemory_policy:(\S+)", info, re.MULTILINE)
        if policy is not None and policy[1] != b"noeviction":
            which = "rankings that expire, or are being made" if policy[1].startswith(b"volatile") else "rankings"
            log.warning(
                "the Redis at %s has maxmemory-policy %s: when it is full, it drops %s, which then have to be rebuilt. Set noeviction",
                *(self.shown, policy[1].decode(), which),
            )


async def _info(connection: Any, section: str) -> bytes:
    """Return a section of what a server says about itself."""
    await connection.send_command("INFO", section)
    found: bytes = await connection.read_response(disable_decoding=True)
    return found
