"""What a job of the keeper is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

from keepscore.applier import Applier
from keepscore.catalog import Catalog
from keepscore.engines.base import InProcessEngine, RankingEngine
from keepscore.ledgers.base import Ledger
from keepscore.spool import Spool
from keepscore.writer import Writer

__all__ = ["SECOND", "Job", "Parts"]

#: A second, in milliseconds.
SECOND = 1000


class Parts(NamedTuple):
    """The parts of the process that jobs work with."""

    catalog: Catalog
    ledger: Ledger
    engine: RankingEngine
    applier: Applier
    writer: Writer
    spool: Spool
    clock: Callable[[], int]
    #: Milliseconds for which idempotency keys are remembered.
    keep_keys: int = 7 * 86_400_000
    #: Milliseconds for which events are kept; None: for ever.
    keep_events: int | None = None

    @property
    def is_shared(self) -> bool:
        """Whether other processes may work on the same rankings."""
        return not isinstance(self.engine, InProcessEngine)


class Job(ABC):
    """Something that is done again and again. It may be cut short at any point, and done twice at once."""

    name: str
    #: Milliseconds between two runs.
    every: int = SECOND
    #: Whether one process of all does it.
    for_leader = True
    #: Whether it may take long, so that others do not wait for it.
    is_slow = True
    #: The longest pause after a failure, in milliseconds.
    patience: int = 60 * SECOND

    def __init__(self, parts: Parts) -> None:
        self.parts = parts

    @abstractmethod
    async def run(self, now: int) -> str:
        """Do all that is due at a moment; answer what was done, or nothing."""

    async def look(self, now: int) -> str:
        """The same as the keeper does it by itself, where less may do."""
        return await self.run(now)
