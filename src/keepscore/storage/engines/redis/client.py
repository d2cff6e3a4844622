"""Calls to Redis: scripts, commands, and reads that share round trips."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from collections.abc import Sequence
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple, cast

from redis.exceptions import AuthenticationError, NoPermissionError, NoScriptError

from keepscore.errors import ConfigError, EngineUnavailable
from keepscore.storage.engines.base import Memory
from keepscore.storage.engines.redis.cluster import Cluster
from keepscore.storage.engines.redis.nodes import Command, Node
from keepscore.storage.engines.redis.url import Connected, RedisAddress, primary_client, replica_clients
from keepscore.storage.engines.settling import settle

__all__ = ["RedisClient", "ScriptCall"]

#: The oldest Redis whose commands suffice.
OLDEST_VERSION = (6, 2)
#: Round trips of reads that are under way at a time.
TRIPS = 2

log = logging.getLogger(__name__)


class ScriptCall(NamedTuple):
    """One script call: its name, its keys and its argument."""

    script: str
    keys: Sequence[str]
    argument: bytes


#: Calls whose answers are waited for.
WaitingCalls = list[tuple[ScriptCall, "asyncio.Future[Any]"]]


class Script(NamedTuple):
    """A script and the name under which Redis knows it."""

    text: bytes
    sha: str


def _script(name: str) -> Script:
    """Put a script together from the files that it needs, each after those that it needs itself: Redis goes through all with every call."""
    folder = resources.files(__package__).joinpath("lua")
    parts: dict[str, bytes] = {}

    def add(part: str) -> None:
        text = folder.joinpath(part).read_bytes()
        for needed in _named("Needs", text):
            if needed not in parts:
                add(needed)
        parts[part] = text
        for followed in _named("Before", text):
            add(followed)

    add("ranking.lua")
    add(f"{name}.lua")
    text = b"\n".join(parts.values())
    return Script(text, hashlib.sha1(text, usedforsecurity=False).hexdigest())


def _named(word: str, text: bytes) -> list[str]:
    """Return the files that a script's header names."""
    return [part for found in re.findall(rf"^-- {word} +(.+)$", text.decode(), re.MULTILINE) for part in found.split()]


SCRIPTS = {
    name: _script(name)
    for name in (
        "apply",
        "probe",
        "look",
        "places",
        "see",
        "states",
        "peaks",
        "page",
        "restate",
        "settle",
        "load",
        "promote",
        "position",
        "drop",
        "retime",
        "rotate",
        "index",
        "count",
        "release",
        "mirror",
        "unspool",
        "prune",
        "pruned",
        "lose",
        "sizes",
        "types",
    )
}


class RedisClient:
    """One Redis, by itself, behind Sentinels or as a Cluster."""

    def __init__(self, address: RedisAddress) -> None:
        self.address = address
        self.is_cluster = address.scheme == "redis+cluster"
        #: Counts the servers that were found behind the address, one after the other, and the changes of who owns what in a Cluster.
        self.incarnation = 0
        self._primary: Node | Cluster
        if self.is_cluster:
            self._primary = Cluster(address, self._changed)
        else:
            self._primary = Node(address.shown, address.deadline, lambda connected: primary_client(address, connected), self._changed)
        self._replicas = [Node(address.shown, address.deadline, partial(_given, client)) for client in replica_clients(address)]
        self._turn = 0
        #: Reads that wait for their turn at a node, or at the replicas (None).
        self._lanes: dict[Node | None, _Lane] = {}

    def _changed(self) -> None:
        self.incarnation += 1

    async def open(self) -> None:
        """Connect, or raise ConfigError that says what is wrong; EngineUnavailable where nobody answers now."""
        try:
            async with asyncio.timeout(max(5.0, self.address.deadline)):
                node = self._primary if isinstance(self._primary, Node) else await self._primary.open()
                info = await node.client.info("server")
                if info.get("redis_mode") == "standalone":
                    await node.client.exists("keepscore")
        except Exception as exc:
            refusal = _refusal(self.address, exc)
            if isinstance(refusal, ConfigError):
                await self.close()
            raise refusal from None
        found = str(info.get("redis_version", "0"))
        if tuple(int(part) for part in found.split(".")[:2]) < OLDEST_VERSION:
            await self.close()
            raise ConfigError(
                f"the Redis at {self.address.shown} is version {found}: use {'.'.join(map(str, OLDEST_VERSION))} or newer, or Valkey"
            )
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
        for server in (self._primary, *self._replicas):
            await server.close()

    @property
    def has_replicas(self) -> bool:
        """Whether there are servers to read from beside the primary."""
        return bool(self._replicas)

    # -- calls ----------------------------------------------------------------------------------------------------------

    async def run(self, call: ScriptCall, seconds: float | None = None) -> Any:
        """Run one script on the primary."""
        (answer,) = await self.run_all([call], seconds)
        return _told(answer)

    async def command(self, *args: Any, seconds: float | None = None) -> Any:
        """Run one command on the primary."""
        (answer,) = await self._primary.ask([args], seconds)
        return _told(answer)

    async def commands(self, commands: Sequence[Command]) -> list[Any]:
        """Run commands on the primary, in one round trip. What one was refused for is its answer."""
        return await self._primary.ask(list(commands))

    def server_of(self, key: str) -> str:
        """Return a name of the server that has a key: each start has another one, and each time as a primary. Empty: none was found yet."""
        return (self._primary if isinstance(self._primary, Node) else self._primary.owner(key)).server

    async def memory(self) -> Memory:
        """Return the memory of the primary that is fullest. One without a limit may use all that its machine has."""
        known: list[Memory] = []
        for node in [self._primary] if isinstance(self._primary, Node) else self._primary.owners():
            (answer,) = await node.ask([("INFO", "memory")])
            info = _told(answer)
            known.append(Memory(info["used_memory"], info.get("maxmemory") or info["total_system_memory"]))
        return max(known, key=lambda memory: memory.used / memory.limit)

    async def transaction(self, commands: Sequence[Command], seconds: float | None = None) -> None:
        """Run commands on the primary, which is no Cluster, in one round trip and one step."""
        assert isinstance(self._primary, Node)
        await self._primary.transaction(commands, seconds)

    async def run_all(self, calls: Sequence[ScriptCall], seconds: float | None = None, replica: bool = False) -> list[Any]:
        """Run scripts in one round trip, on the primary or on a replica. EngineUnavailable is the answer of one that failed."""
        server = self._next_replica() if replica else self._primary
        commands = [("EVALSHA", SCRIPTS[call.script].sha, len(call.keys), *call.keys, call.argument) for call in calls]
        answers = await server.ask(commands, seconds)
        for i, answer in enumerate(answers):
            if isinstance(answer, NoScriptError):
                # A new server, or one whose scripts were flushed: it learns the script with this call.
                call = calls[i]
                command = ("EVAL", SCRIPTS[call.script].text, len(call.keys), *call.keys, call.argument)
                (answers[i],) = await server.ask([command], seconds)
        return answers

    def _next_replica(self) -> Node:
        """Return the replica whose turn it is, of those that answer."""
        self._turn += 1
        replicas = [replica for replica in self._replicas if not replica.is_down] or self._replicas
        return replicas[self._turn % len(replicas)]

    async def read(self, call: ScriptCall, replica: bool) -> Any:
        """Run one script that only reads, together with others that wait for the same server."""
        replica = replica and self.has_replicas
        server = None if replica else self._primary if isinstance(self._primary, Node) else self._primary.owner(call.keys[0])
        lane = self._lanes.get(server)
        if lane is None:
            lane = self._lanes[server] = _Lane(self, replica)
        return await lane.read(call)


class _Lane:
    """Reads that share round trips: while some are under way, what comes in goes together next.

    Two round trips are under way at a time: Redis works on one while the answers of the other are read.
    """

    def __init__(self, client: RedisClient, replica: bool) -> None:
        self._client = client
        self._replica = replica
        self._waiting: WaitingCalls = []
        self._trips: set[asyncio.Task[None]] = set()
        #: Whether a round trip is about to take what waits.
        self._gathers = False

    def read(self, call: ScriptCall) -> asyncio.Future[Any]:
        """Queue a call; return its answer when it is there."""
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

    def _taken(self) -> WaitingCalls:
        """Take what goes next: all that waits or, if nothing else is under way, half of it. The next one takes the rest."""
        size = len(self._waiting) if len(self._trips) == TRIPS else (len(self._waiting) + 1) // 2
        taken, self._waiting = self._waiting[:size], self._waiting[size:]
        if self._waiting:
            self._begin()
        return taken

    async def _tried(self, calls: Sequence[ScriptCall]) -> list[Any]:
        if self._replica:
            try:
                return [_told(answer) for answer in await self._client.run_all(calls, replica=True)]
            except EngineUnavailable as exc:
                log.warning("a replica does not answer, and the primary is asked: %s", exc)
        return await self._client.run_all(calls)


def _told(answer: Any) -> Any:
    """Return an answer, or raise the error that it is."""
    if isinstance(answer, EngineUnavailable):
        raise answer
    return answer


def _given(client: Any, connected: Connected) -> Any:
    """Return a client that there is already: it does not matter which replica answers."""
    return client


def _refusal(address: RedisAddress, exc: Exception) -> ConfigError | EngineUnavailable:
    """Return the error for somebody whose Redis cannot be used from the start."""
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
    if "cluster support disabled" in text:
        return ConfigError(f"{where} is not a Cluster: name the nodes of one, or write redis://host:port ({text})")
    if "No master found" in text:
        return EngineUnavailable(
            f"the Sentinels at {address.shown} know no primary for {address.service!r}: check the service's name ({text})"
        )
    if address.ca_file is not None and not Path(address.ca_file).is_file():
        return ConfigError(f"ssl_ca_certs = {address.ca_file!r} is not a file: name the file of the authority that signed the certificate")
    if "SSL" in text or "certificate" in text:
        return ConfigError(f"{where} cannot be reached over TLS: {text}. Name its authority's file with ?ssl_ca_certs=FILE")
    tls = " Does it speak TLS?" if address.scheme == "rediss" else ""
    return EngineUnavailable(f"{where} cannot be reached: {text.rstrip('.')}. Is it running, and is the address right?{tls}")
