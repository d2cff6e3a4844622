"""Every engine and every ledger that the contract suites run over. A new one is a row here, and nothing else.

A row is a name and an async context manager; what it needs is imported, started and stopped inside it.
"""

import atexit
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from functools import cache, partial
from pathlib import Path

from keepscore.storage.engines.base import RankingEngine
from keepscore.storage.ledgers.base import Ledger
from tests.contract.driving import DAY, NOON


@asynccontextmanager
async def embedded_engine() -> AsyncIterator[RankingEngine]:
    from keepscore.storage.engines.embedded.engine import EmbeddedEngine

    yield EmbeddedEngine()


@cache
def redis_url() -> str:
    """One Redis for the whole run: it starts with the first test that needs it and ends with the process."""
    from tests.support.redis_servers import single

    started = ExitStack()
    atexit.register(started.close)
    return started.enter_context(single()).url


@cache
def cluster_url() -> str:
    """One Redis Cluster for the whole run."""
    from tests.support.redis_servers import cluster

    started = ExitStack()
    atexit.register(started.close)
    return started.enter_context(cluster()).url


@asynccontextmanager
async def redis_engine(url: Callable[[], str]) -> AsyncIterator[RankingEngine]:
    from keepscore.storage.engines.redis.engine import RedisEngine

    # A ledger of its own, so that what another test left is another's; the clock of the tests, so that nothing expires meanwhile.
    engine = RedisEngine(url(), clock=lambda: NOON - DAY)
    await engine.open(secrets.token_hex(4))
    try:
        yield engine
    finally:
        await engine.close()


@asynccontextmanager
async def sqlite_ledger(folder: Path) -> AsyncIterator[Callable[..., Ledger]]:
    from keepscore.storage.ledgers.sqlite.ledger import SqliteLedger

    yield lambda shared=False: SqliteLedger(str(folder / "ledger.db"), shared)


@asynccontextmanager
async def postgres_ledger(folder: Path) -> AsyncIterator[Callable[..., Ledger]]:
    from keepscore.storage.ledgers.postgres.ledger import PostgresLedger
    from keepscore.storage.ledgers.postgres.url import parse_postgres_url
    from tests.support.postgres_servers import shared_postgres

    address = parse_postgres_url(shared_postgres().new_database())
    yield lambda shared=False: PostgresLedger(address, shared)


#: Each gives an empty engine.
ENGINES: dict[str, Callable[[], AbstractAsyncContextManager[RankingEngine]]] = {
    "embedded": embedded_engine,
    "redis": partial(redis_engine, redis_url),
    "redis+cluster": partial(redis_engine, cluster_url),
}
#: Those whose rankings are gone with the process.
IN_PROCESS = ["embedded"]

#: Each gives a function that makes a ledger, not open yet, at one place that is empty in the beginning. It takes `shared`.
LEDGERS: dict[str, Callable[[Path], AbstractAsyncContextManager[Callable[..., Ledger]]]] = {
    "sqlite": sqlite_ledger,
    "postgres": postgres_ledger,
}
