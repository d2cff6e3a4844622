"""Addresses of Redis: one server, Sentinels, or a Cluster; and the clients for them.

    redis://[[user]:password@]host[:port][/database][?replicas=host:port,…]
    rediss://…                                        the same over TLS
    redis+sentinel://[[user]:password@]host[:port],…/service[/database][?replicas=true]
    redis+cluster://[[user]:password@]host[:port],…

Parameters: `replicas`, `deadline` (seconds that a call may take), `ssl_ca_certs` (a file), `ssl_check` (false: any certificate will do).
No client retries anything by itself: the watermark decides what is done again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from keepscore.errors import ConfigError
from keepscore.storage.deadlines import deadline_s

if TYPE_CHECKING:
    from redis.asyncio import Redis
    from redis.asyncio.sentinel import Sentinel

__all__ = [
    "EXAMPLES",
    "Connected",
    "RedisAddress",
    "node_client",
    "parse_redis_url",
    "primary_client",
    "replica_clients",
    "without_secrets",
]

#: What a client awaits with each new connection.
Connected = Callable[[Any], Awaitable[None]]

EXAMPLES = {
    "redis": "redis://127.0.0.1:6379/0",
    "rediss": "rediss://:password@host:6380/0",
    "redis+sentinel": "redis+sentinel://host1:26379,host2:26379/service",
    "redis+cluster": "redis+cluster://host1:6379,host2:6379",
}
PORTS = {"redis+sentinel": 26379}
PARAMETERS = ("replicas", "deadline", "ssl_ca_certs", "ssl_check")
#: Seconds that a call may take.
CALL_DEADLINE_S = 2.0


class RedisAddress(NamedTuple):
    """What a URL says."""

    scheme: str
    hosts: list[tuple[str, int]]
    user: str | None
    password: str | None
    service: str
    database: int
    #: Servers to read from, or all that the Sentinels know.
    replicas: list[tuple[str, int]] | bool
    deadline: float
    ca_file: str | None
    check_certificate: bool

    @property
    def shown(self) -> str:
        """The address without its secrets."""
        return f"{self.scheme}://{','.join(f'{host}:{port}' for host, port in self.hosts)}"


def parse_redis_url(url: str) -> RedisAddress:
    """Parse a URL, or raise the error that names the part that is wrong."""
    scheme = url.partition(":")[0]

    def wrong(problem: str) -> ConfigError:
        example = EXAMPLES.get(scheme, EXAMPLES["redis"])
        return ConfigError(f"engine url = {without_secrets(url)!r} cannot be used: {problem}. Write it as in {example!r}")

    if scheme not in EXAMPLES:
        raise wrong(f"{scheme!r} is not one of {', '.join(EXAMPLES)}")
    if "://" not in url:
        raise wrong("it names no host, which comes after ://")
    try:
        parts = urlsplit(url)
    except ValueError as exc:
        raise wrong(f"{exc}; write special characters of a password as in %2F") from None
    if parts.fragment or "@" in parts.path:
        raise wrong("write special characters of a password as in %2F")
    rest = parts.netloc.rpartition("@")[2]
    user, _, password = parts.netloc.rpartition("@")[0].partition(":")
    hosts = _hosts(rest, PORTS.get(parts.scheme, 6379))
    if not hosts:
        raise wrong("it names no host, or a port that is not a number from 1 to 65535")
    if len(hosts) > 1 and parts.scheme in ("redis", "rediss"):
        raise wrong("it names several hosts, which only redis+sentinel and redis+cluster have")
    path = [unquote(part) for part in parts.path.split("/")[1:] if part]
    service = path.pop(0) if parts.scheme == "redis+sentinel" and path else ""
    if parts.scheme == "redis+sentinel" and not service:
        raise wrong("it names no service, the name under which the Sentinels know the primary")
    if len(path) > 1 or (path and not path[0].isdecimal()):
        raise wrong(f"{'/'.join(path)!r} is not the number of a database")
    if path and parts.scheme == "redis+cluster" and path != ["0"]:
        raise wrong("a Cluster has no databases but 0")
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    for name in query:
        if name not in PARAMETERS:
            raise wrong(f"unknown parameter {name!r}; allowed: {', '.join(PARAMETERS)}")
    if query.get("ssl_check", "true") not in ("true", "false"):
        raise wrong(f"ssl_check = {query['ssl_check']!r} is not true or false")
    if parts.scheme != "rediss" and ("ssl_check" in query or "ssl_ca_certs" in query):
        raise wrong("ssl_check and ssl_ca_certs are for rediss://")
    try:
        deadline = deadline_s(query.get("deadline"), CALL_DEADLINE_S)
    except ValueError as exc:
        raise wrong(str(exc)) from None
    return RedisAddress(
        parts.scheme,
        hosts,
        unquote(user) or None,
        unquote(password) or None,
        service,
        int(path[0]) if path else 0,
        _replicas(parts.scheme, query.get("replicas", ""), wrong),
        deadline,
        query.get("ssl_ca_certs"),
        query.get("ssl_check", "true") != "false",
    )


def without_secrets(url: str) -> str:
    """Return a URL as a message may show it, whatever is wrong with it: nothing that stands before an @."""
    head, at, rest = url.rpartition("@")
    return f"{head.partition(':')[0]}://…@{rest}" if at else url


def _hosts(text: str, default: int) -> list[tuple[str, int]]:
    hosts = []
    for part in text.split(","):
        try:
            found = urlsplit(f"//{part}")
            host, port = found.hostname, found.port
        except ValueError:
            return []
        if not host or port == 0:
            return []
        hosts.append((host, port or default))
    return hosts


def _replicas(scheme: str, text: str, wrong: Any) -> list[tuple[str, int]] | bool:
    if scheme == "redis+cluster" and text:
        raise wrong("replicas of a Cluster are never read")
    if scheme == "redis+sentinel" or not text:
        if text not in ("", "true", "false"):
            raise wrong(f"replicas = {text!r} is not true or false; the Sentinels know which there are")
        return text == "true"
    hosts = _hosts(text, 6379)
    if not hosts:
        raise wrong(f"replicas = {text!r} is not a list of host:port")
    return hosts


def primary_client(address: RedisAddress, connected: Connected | None = None, timeout_s: float | None = None) -> Any:
    """Return a client for the primary at an address that is no Cluster's; `connected` is awaited with each new connection.

    Without a timeout, whoever calls has to have one.
    """
    if address.scheme == "redis+sentinel":
        return _sentinel(address).master_for(address.service, redis_connect_func=connected, socket_timeout=timeout_s)
    return node_client(address, *address.hosts[0], connected, timeout_s)


def replica_clients(address: RedisAddress) -> list[Any]:
    """Return clients for the replicas that are read from."""
    if address.scheme == "redis+sentinel":
        return [_sentinel(address).slave_for(address.service)] if address.replicas else []
    return [node_client(address, host, port) for host, port in address.replicas] if isinstance(address.replicas, list) else []


def _sentinel(address: RedisAddress) -> Sentinel:
    from redis.asyncio.sentinel import Sentinel

    options = _options(address)
    keys = {key: options[key] for key in ("socket_connect_timeout", "retry", "protocol")}
    return Sentinel(address.hosts, sentinel_kwargs={**keys, "socket_timeout": address.deadline}, **options)  # type: ignore[no-untyped-call]


def node_client(address: RedisAddress, host: str, port: int, connected: Connected | None = None, timeout_s: float | None = None) -> Redis:
    """Return a client for one server."""
    # Addresses are known without the package: it is an extra.
    from redis.asyncio import Redis

    return Redis(host=host, port=port, redis_connect_func=connected, socket_timeout=timeout_s, **_options(address))


def _options(address: RedisAddress) -> dict[str, Any]:
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff

    options: dict[str, Any] = {
        "username": address.user,
        "password": address.password,
        "socket_connect_timeout": address.deadline,
        "retry": Retry(NoBackoff(), 0),
        # The protocol that servers of every age speak, and as fast.
        "protocol": 2,
        "db": address.database,
    }
    if address.scheme == "rediss":
        options |= {"ssl": True, "ssl_ca_certs": address.ca_file, "ssl_cert_reqs": "required" if address.check_certificate else "none"}
        options["ssl_check_hostname"] = address.check_certificate
    return options
