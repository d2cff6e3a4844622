"""From URLs to engines, ledgers and feeds: the only place that names concrete classes."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import unquote, urlsplit

from keepscore.engines.base import RankingEngine
from keepscore.engines.embedded import EmbeddedEngine
from keepscore.engines.redis import RedisEngine
from keepscore.engines.redis_url import EXAMPLES, without_secrets
from keepscore.errors import ConfigError
from keepscore.feeds.base import Feed
from keepscore.feeds.memory import MemoryFeed
from keepscore.feeds.redis import RedisFeed
from keepscore.ledgers.base import Ledger
from keepscore.ledgers.postgres import PostgresLedger
from keepscore.ledgers.postgres_url import EXAMPLE, SCHEMES, parse_postgres_url
from keepscore.ledgers.sqlite import SqliteLedger

__all__ = ["ENGINE_URLS", "LEDGER_URLS", "engine_from_url", "feed_for", "ledger_from_url"]

#: What an engine's URL may look like.
ENGINE_URLS = {"embedded": "embedded://", **EXAMPLES}
#: What a ledger's URL may look like.
LEDGER_URLS = {
    "sqlite": "sqlite:///keepscore.db (a relative path), sqlite:////var/lib/keepscore.db or sqlite:///:memory:",
    "postgresql": EXAMPLE,
}


def engine_from_url(url: str, clock: Callable[[], int]) -> RankingEngine:
    """The engine at a URL."""
    if url == "embedded://":
        return EmbeddedEngine()
    if url.partition(":")[0] in EXAMPLES:
        return RedisEngine(url, clock)
    raise ConfigError(f"engine url = {without_secrets(url)!r} cannot be used; allowed: {'; '.join(ENGINE_URLS.values())}")


def ledger_from_url(url: str, shared: bool = False) -> Ledger:
    """The ledger at a URL; `shared` where other processes may have it open, too."""
    scheme = url.partition(":")[0]
    if scheme in SCHEMES:
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


def feed_for(engine: RankingEngine) -> Feed:
    """The feed that reaches everybody who shares an engine: the engine in the process is shared by nobody else."""
    return RedisFeed(engine.address) if isinstance(engine, RedisEngine) else MemoryFeed()
