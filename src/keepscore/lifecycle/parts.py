"""The parts of the process that the keeper's jobs work with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from keepscore.projection.checkpoint_bases import CheckpointBases
from keepscore.projection.live_boards import Catalog
from keepscore.projection.restate import Restater
from keepscore.storage.engines.base import RankingEngine
from keepscore.storage.ledgers.base import Ledger
from keepscore.writing.catching_up import CatchUp
from keepscore.writing.healing import Healing
from keepscore.writing.idempotency import Claims
from keepscore.writing.ledger_watch import LedgerWatch
from keepscore.writing.numbers import Numbers
from keepscore.writing.spool import Spool
from keepscore.writing.write_pause import WritePause
from keepscore.writing.writer import Writer

__all__ = ["JobParts"]


@dataclass(frozen=True, kw_only=True, slots=True)
class JobParts:
    """What jobs work with, and how long things are kept."""

    catalog: Catalog
    ledger: Ledger
    engine: RankingEngine
    clock: Callable[[], int]
    healing: Healing
    restater: Restater
    bases: CheckpointBases
    numbers: Numbers
    write_pause: WritePause
    writer: Writer
    catch_up: CatchUp
    spool: Spool
    watch: LedgerWatch
    claims: Claims
    #: Milliseconds for which idempotency keys are remembered.
    keep_keys_ms: int
    #: Milliseconds for which events are kept; None: for ever.
    keep_events_ms: int | None

    @property
    def is_shared(self) -> bool:
        """Whether other processes may work on the same rankings."""
        return self.engine.is_shared
