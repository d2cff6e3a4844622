"""Every engine and every ledger that the contract suites run over. A new one is a row here, and nothing else.

A row is a name and an async context manager; what it needs is imported, started and stopped inside it.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from keepscore.engines.base import RankingEngine
from keepscore.ledgers.base import Ledger


@asynccontextmanager
async def embedded_engine() -> AsyncIterator[RankingEngine]:
    from keepscore.engines.embedded import EmbeddedEngine

    yield EmbeddedEngine()


@asynccontextmanager
async def sqlite_ledger(folder: Path) -> AsyncIterator[Callable[[], Ledger]]:
    from keepscore.ledgers.sqlite import SqliteLedger

    yield lambda: SqliteLedger(str(folder / "ledger.db"))


#: Each gives an empty engine.
ENGINES: dict[str, Callable[[], AbstractAsyncContextManager[RankingEngine]]] = {"embedded": embedded_engine}

#: Each gives a function that makes a ledger, not open yet, at one place that is empty in the beginning.
LEDGERS: dict[str, Callable[[Path], AbstractAsyncContextManager[Callable[[], Ledger]]]] = {"sqlite": sqlite_ledger}
