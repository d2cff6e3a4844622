"""From URLs to engines, ledgers and feeds: the only place that names concrete classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from keepscore.errors import ConfigError
from keepscore.storage.engines.base import RankingEngine
from keepscore.storage.engines.embedded.engine import EmbeddedEngine
from keepscore.storage.engines.redis.url import EXAMPLES, parse_redis_url, primary_client, without_secrets
from keepscore.storage.feeds.base import Feed
from keepscore.storage.feeds.memory import MemoryFeed
from keepscore.storage.ledgers.base import Ledger
from keepscore.storage.ledgers.postgres.url import EXAMPLE, SCHEMES, parse_postgres_url
from keepscore.storage.ledgers.sqlite.ledger import SqliteLedger

if TYPE_CHECKING:
    from keepscore.access.rate_limits import LimitCounts

__all__ = ["ENGINE_URLS", "LEDGER_URLS", "engine_from_url", "feed_for", "is_missing", "is_redis", "ledger_from_url", "limit_counts_for"]

#: What an engine's URL may look like.
ENGINE_URLS = {"embedded": "embedded://", **EXAMPLES}
#: What a ledger's URL may look like.
LEDGER_URLS = {
    "sqlite": "sqlite:///keepscore.db (a relative path), sqlite:////var/lib/keepscore.db or sqlite:///:memory:",
    "postgresql": EXAMPLE,
}


@contextmanager
def _needs(extra: str, what: str) -> Iterator[None]:
    """Say what to install where a package is missing."""
    try:
        yield
    except ModuleNotFoundError as exc:
        if exc.name is None or exc.name.startswith("keepscore"):
            raise
        package = exc.name.partition(".")[0]
        raise ConfigError(f"{what} needs the package {package}: install it with pip install 'keepscore[{extra}]'") from None


def engine_from_url(url: str, clock: Callable[[], int]) -> RankingEngine:
    """Return the engine at a URL."""
    if url == "embedded://":
        return EmbeddedEngine()
    if is_redis(url):
        with _needs("redis", f"engine url = {without_secrets(url)!r}"):
            from keepscore.storage.engines.redis.engine import RedisEngine
        return RedisEngine(url, clock)
    raise ConfigError(f"engine url = {without_secrets(url)!r} cannot be used; allowed: {'; '.join(ENGINE_URLS.values())}")


def is_redis(engine: str) -> bool:
    """Return whether an engine's URL is that of a Redis."""
    return engine.partition(":")[0] in EXAMPLES


def ledger_from_url(url: str, shared: bool = False) -> Ledger:
    """Return the ledger at a URL; `shared`: other processes may have it open, too."""
    scheme = url.partition(":")[0]
    if scheme in SCHEMES:
        with _needs("postgres", f"ledger url = {without_secrets(url).partition('?')[0]!r}"):
            from keepscore.storage.ledgers.postgres.ledger import PostgresLedger
        try:
            return PostgresLedger(parse_postgres_url(url), shared)
        except ValueError as exc:
            # Parameters may hold secrets, too.
            shown = without_secrets(url).partition("?")[0]
            raise ConfigError(f"ledger url = {shown!r} cannot be used: {exc}. Write it as in {EXAMPLE!r}") from None
    parts = urlsplit(url)
    path = unquote(parts.path)[1:]
    if scheme == "sqlite" and not parts.netloc and path:
        return SqliteLedger(path, shared)
    raise ConfigError(f"ledger url = {without_secrets(url)!r} cannot be used; allowed: {'; '.join(LEDGER_URLS.values())}")


def is_missing(url: str) -> bool:
    """Return whether the ledger at a URL is a file that does not exist yet: opening it would create it."""
    parts = urlsplit(url)
    path = unquote(parts.path)[1:]
    return parts.scheme == "sqlite" and path != ":memory:" and not Path(path).exists()


def feed_for(engine: RankingEngine) -> Feed:
    """Return the feed that reaches every process that shares an engine; the embedded engine is not shared."""
    if not engine.is_shared:
        return MemoryFeed()
    from keepscore.storage.engines.redis.engine import RedisEngine
    from keepscore.storage.feeds.redis import RedisFeed

    return RedisFeed(engine.address) if isinstance(engine, RedisEngine) else MemoryFeed()


def limit_counts_for(engine_url: str) -> LimitCounts | None:
    """Return where requests are counted for rate limits that all processes share: the Redis of the engine; None: in the process."""
    if engine_url == "embedded://":
        return None
    from limits.aio.storage import RedisClusterStorage, RedisStorage

    from keepscore.access.rate_limits import LimitCounts

    address, prefix = parse_redis_url(engine_url), "keepscore:limits"
    if address.scheme == "redis+cluster":
        hosts = ",".join(f"{host}:{port}" for host, port in address.hosts)
        options: dict[str, Any] = {"username": address.user, "password": address.password, "socket_timeout": address.deadline}
        cluster: Any = RedisClusterStorage(f"async+redis+cluster://{hosts}", implementation="redispy", key_prefix=prefix, **options)
        return LimitCounts(cluster, cluster.bridge.get_connection().aclose)
    client = primary_client(address)
    server = RedisStorage("async+redis://", implementation="redispy", key_prefix=prefix, connection_pool=client.connection_pool)
    return LimitCounts(server, client.aclose)
