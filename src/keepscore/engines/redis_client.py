"""Calls to Redis: scripts, deadlines, a circuit breaker, and reads that share round trips."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple, cast

from hiredis import pack_command
from redis.asyncio import RedisCluster
from redis.exceptions import (
    AuthenticationError,
    NoPermissionError,
    NoScriptError,
    RedisClusterException,
    RedisError,
    ResponseError,
)

from keepscore.engines.redis_url import RedisAddress, clients
from keepscore.engines.settling import settle
from keepscore.errors import ConfigError, EngineUnavailable

__all__ = ["Call", "RedisClient"]

#: The oldest Redis whose commands suffice.
OLDEST = (6, 2)
#: Seconds for which calls fail at once after one has failed; they double up to the longest.
PAUSE, LONGEST_PAUSE = 0.1, 2.0
#: Round trips of reads that are under way at a time.
TRIPS = 2
#: Refusals of a server that will be over soon: it is a replica now, starts up, or waits for others.
PASSING = ("READONLY", "LOADING", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN")

log = logging.getLogger(__name__)


class Call(NamedTuple):
    """One script call: its name, its keys and its argument."""

    script: str
    keys: Sequence[str]
    argument: bytes


#: Calls whose answers are waited for.
Waiting = list[tuple[Call, "asyncio.Future[Any]"]]


class Script(NamedTuple):
    """A script and the name under which Redis knows it."""

    text: bytes
    sha: str


def _script(name: str) -> Script:
    folder = resources.files(__package__).joinpath("lua")
    own = folder.joinpath(f"{name}.lua").read_bytes()
    # Redis goes through all of a script with every call.
    shared = ("ranking.lua", *re.findall(r"^-- Needs +(\S+)$", own.decode(), re.MULTILINE))
    text = b"\n".join([*(folder.joinpath(part).read_bytes() for part in shared), own])
    return Script(text, hashlib.sha1(text, usedforsecurity=False).hexdigest())


SCRIPTS = {
    name: _script(name)
    for name in (
        "apply",
        "places",
        "states",
        "page",
        "restate",
        "settle",
        "load",
        "promote",
        "index",
        "count",
        "release",
        "prune",
        "pruned",
    )
}


class RedisClient:
    """One Redis, by itself, behind Sentinels or as a Cluster."""

    def __init__(self, address: RedisAddress) -> None:
        self.address = address
        self.is_cluster = address.scheme == "redis+cluster"
        #: Counts the servers that were found behind the address, one after the other.
        self.incarnation = 0
        self._server: tuple[bytes, ...] = ()
        self._primary, self._replicas = clients(address, self._connected, self._changed)
        self._turn = 0
        self._breakers = {False: Breaker(), True: Breaker()}
        #: Reads that wait for their turn, of the primary and of the replicas.
        self._lanes = {False: _Lane(self, replica=False), True: _Lane(self, replica=True)}

    async def open(self) -> None:
        """Connect, or raise ConfigError that says what is wrong."""
        try:
            async with asyncio.timeout(max(5.0, self.address.deadline)):
                if isinstance(self._primary, RedisCluster):
                    await self._primary.initialize()
                    info = await self._primary.info("server", target_nodes=RedisCluster.RANDOM)
                else:
                    info = await self._primary.info("server")
                    if info.get("redis_mode") == "standalone":
                        await self._primary.exists("keepscore")
        except Exception as exc:
            await self.close()
            raise _refusal(self.address, exc) from None
        found = str(info.get("redis_version", "0"))
        if tuple(int(part) for part in found.split(".")[:2]) < OLDEST:
            await self.close()
            raise ConfigError(f"the Redis at {self.address.shown} is version {found}: use {'.'.join(map(str, OLDEST))} or newer, or Valkey")
        if info.get("redis_mode") == "sentinel":
            await self.close()
            hosts = ",".join(f"{host}:{port}" for host, port in self.address.hosts)
            raise ConfigError(
                f"what answers at {self.address.shown} is a Sentinel: write the engine's url as redis+sentinel://{hosts}/service"
            )
        if info.get("redis_mode") == "cluster" and not self.is_cluster:
            await self.close()
            hosts = ",".join(f"{host}:{port}" for host, port in self.address.hosts)
            raise ConfigError(f"the Redis at {self.address.shown} is part of a Cluster: write the engine's url as redis+cluster://{hosts}")

    async def close(self) -> None:
        """Close all connections."""
        for lane in self._lanes.values():
            lane.stop()
        for client in (self._primary, *self._replicas):
            try:
                await client.aclose()
            except (RedisError, OSError) as exc:
                log.debug("closing a connection: %s", exc)

    def _changed(self) -> None:
        self.incarnation += 1

    async def _connected(self, connection: Any) -> None:
        """See whose a new connection is: a server has a name of its own from each start, and another one for each time as a primary."""
        await connection.on_connect()
        found = b""
        for section in ("server", "replication"):
            await connection.send_command("INFO", section)
            found += await connection.read_response(disable_decoding=True)
        server = tuple(re.findall(rb"^(?:run_id|master_replid):(\w+)", found, re.MULTILINE))
        if server != self._server:
            self._server = server
            self._changed()

    @property
    def has_replicas(self) -> bool:
        """Whether there are servers to read from beside the primary."""
        return bool(self._replicas)

    # -- calls ----------------------------------------------------------------------------------------------------------

    async def run(self, call: Call, seconds: float | None = None) -> Any:
        """Run one script on the primary."""
        (answer,) = await self.run_all([call], seconds)
        return answer

    async def command(self, *args: Any, seconds: float | None = None) -> Any:
        """Run one command on the primary."""
        return await self._guarded(lambda: self._primary.execute_command(*args), seconds, replica=False)

    async def transaction(self, commands: Sequence[tuple[Any, ...]], seconds: float | None = None) -> None:
        """Run commands on the primary, which is no Cluster, in one round trip and one step.

        For thousands of arguments, which redis-py would pack one by one in Python: three times as long as Redis takes for them.
        """
        packed = b"".join(map(pack_command, [("MULTI",), *commands, ("EXEC",)]))
        await self._guarded(lambda: self._send_packed(packed, len(commands) + 2), seconds, replica=False)

    async def _send_packed(self, packed: bytes, answers: int) -> None:
        pool = self._primary.connection_pool
        connection = await pool.get_connection()
        try:
            await connection.send_packed_command([packed])
            for _ in range(answers - 1):
                await connection.read_response()
            for answer in await connection.read_response():
                if isinstance(answer, Exception):
                    raise answer
        except BaseException:
            # There may be answers that nobody has read.
            await connection.disconnect(nowait=True)
            raise
        finally:
            await pool.release(connection)

    async def run_all(self, calls: Sequence[Call], seconds: float | None = None, replica: bool = False) -> list[Any]:
        """Run scripts in one round trip, on the primary or on a replica. An error of one is raised."""
        if replica:
            self._turn += 1
            client = self._replicas[self._turn % len(self._replicas)]
        else:
            client = self._primary
        answers: list[Any] = await self._guarded(lambda: self._send(client, calls), seconds, replica)
        return answers

    async def read(self, call: Call, replica: bool) -> Any:
        """Run one script that only reads, together with others that wait."""
        return await self._lanes[replica and self.has_replicas].read(call)

    async def _send(self, client: Any, calls: Sequence[Call]) -> list[Any]:
        commands = [("EVALSHA", SCRIPTS[call.script].sha, len(call.keys), *call.keys, call.argument) for call in calls]
        answers: list[Any]
        if len(calls) == 1:
            try:
                answers = [await client.execute_command(*commands[0])]
            except NoScriptError as exc:
                answers = [exc]
        elif self.is_cluster:
            answers = await asyncio.gather(*(client.execute_command(*command) for command in commands), return_exceptions=True)
        else:
            pipeline = client.pipeline(transaction=False)
            for command in commands:
                pipeline.execute_command(*command)
            answers = await pipeline.execute(raise_on_error=False)
        for i, answer in enumerate(answers):
            if isinstance(answer, NoScriptError):
                # A new server, or one whose scripts were flushed: it learns the script with this call.
                call = calls[i]
                answers[i] = await client.execute_command("EVAL", SCRIPTS[call.script].text, len(call.keys), *call.keys, call.argument)
            elif isinstance(answer, BaseException):
                raise answer
        return list(answers)

    async def _guarded(self, send: Callable[[], Awaitable[Any]], seconds: float | None, replica: bool) -> Any:
        """Await what `send` gives within the deadline, unless calls are failing anyhow."""
        breaker = self._breakers[replica]
        if breaker.is_open:
            raise EngineUnavailable(f"the Redis at {self.address.shown} did not answer a moment ago: try again in a second")
        try:
            async with asyncio.timeout(seconds or self.address.deadline):
                answer = await send()
        except (OSError, TimeoutError, RedisError) as exc:
            if isinstance(exc, ResponseError) and not str(exc).startswith(PASSING):
                raise EngineUnavailable(f"the Redis at {self.address.shown} refused a call: {exc}") from exc
            breaker.failed()
            reason = str(exc) or f"no answer within {seconds or self.address.deadline:g} s"
            raise EngineUnavailable(f"the Redis at {self.address.shown} cannot be used now: {reason}") from exc
        breaker.worked()
        return answer


class Breaker:
    """Open for a while after a call has failed, so that what cannot be answered costs nothing; longer with every failure."""

    def __init__(self) -> None:
        self._until = 0.0
        self._pause = PAUSE

    @property
    def is_open(self) -> bool:
        """Whether calls are not worth trying now."""
        return time.monotonic() < self._until

    def failed(self) -> None:
        """A call has failed."""
        self._until = time.monotonic() + self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE)

    def worked(self) -> None:
        """A call was answered."""
        self._pause = PAUSE


class _Lane:
    """Reads that share round trips: while some are under way, what comes in goes together next.

    Two round trips are under way at a time: Redis works on one while the answers of the other are read.
    """

    def __init__(self, client: RedisClient, replica: bool) -> None:
        self._client = client
        self._replica = replica
        self._waiting: Waiting = []
        self._trips: set[asyncio.Task[None]] = set()
        #: Whether a round trip is about to take what waits.
        self._gathers = False

    def read(self, call: Call) -> asyncio.Future[Any]:
        """The answer to a call, when it is there."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append((call, future))
        if not self._gathers:
            self._begin()
        return future

    def stop(self) -> None:
        """Give up what is under way."""
        for trip in self._trips:
            trip.cancel()

    def _begin(self) -> None:
        """Start a round trip, unless there are enough."""
        if len(self._trips) < TRIPS:
            self._gathers = True
            self._trips.add(asyncio.create_task(self._travel()))

    async def _travel(self) -> None:
        """Go again and again, while somebody waits."""
        try:
            # Whoever is about to ask comes along.
            await asyncio.sleep(0)
            self._gathers = False
            while self._waiting:
                calls, futures = zip(*self._taken(), strict=True)
                await settle(futures, self._tried(calls))
        finally:
            # Here, not in a callback: who asks in between would wait for a round trip that is over.
            self._trips.discard(cast("asyncio.Task[None]", asyncio.current_task()))

    def _taken(self) -> Waiting:
        """What goes next: all that waits or, if nothing else is under way, half of it. The next one takes the rest."""
        size = len(self._waiting) if len(self._trips) == TRIPS else (len(self._waiting) + 1) // 2
        taken, self._waiting = self._waiting[:size], self._waiting[size:]
        if self._waiting:
            self._begin()
        return taken

    async def _tried(self, calls: Sequence[Call]) -> list[Any]:
        if self._replica:
            try:
                return await self._client.run_all(calls, replica=True)
            except EngineUnavailable as exc:
                log.warning("a replica does not answer, and the primary is asked: %s", exc)
        return await self._client.run_all(calls)


def _refusal(address: RedisAddress, exc: Exception) -> ConfigError:
    """What to tell somebody whose Redis cannot be used from the start."""
    text = str(exc) or type(exc).__name__
    where = f"the Redis at {address.shown}"
    if isinstance(exc, AuthenticationError) or "NOAUTH" in text or "WRONGPASS" in text or "invalid username-password" in text:
        return ConfigError(f"{where} refuses the password: write the right one as {address.scheme}://:password@host ({text})")
    if isinstance(exc, NoPermissionError):
        return ConfigError(f"{where} does not allow this user what is needed: {text}. Give the user the rights to all keys and scripts")
    if "DB index" in text:
        return ConfigError(
            f"{where} has no database {address.database}: name another in the url, or raise 'databases' in its configuration"
        )
    if isinstance(exc, RedisClusterException) or "cluster support disabled" in text:
        return ConfigError(f"{where} is no Cluster, or none of its nodes answers: name its nodes, or write redis://host:port ({text})")
    if "No master found" in text:
        return ConfigError(f"the Sentinels at {address.shown} know no primary for {address.service!r}: check the service's name ({text})")
    if address.ca_file is not None and not Path(address.ca_file).is_file():
        return ConfigError(f"ssl_ca_certs = {address.ca_file!r} is not a file: name that of the authority that signed the certificate")
    if "SSL" in text or "certificate" in text:
        return ConfigError(f"{where} cannot be reached over TLS: {text}. Name its authority's file with ?ssl_ca_certs=FILE")
    tls = " Does it speak TLS?" if address.scheme == "rediss" else ""
    return ConfigError(f"{where} cannot be reached: {text}. Is it running, and is the address right?{tls}")
