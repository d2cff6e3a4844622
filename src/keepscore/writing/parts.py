"""What the parts of the write path share."""

from __future__ import annotations

from dataclasses import dataclass

from keepscore.projection.behind import Behind
from keepscore.projection.restate import Restater
from keepscore.projection.stores import Stores
from keepscore.writing.announcing import Announcer
from keepscore.writing.healing import Healing
from keepscore.writing.idempotency import Retries
from keepscore.writing.identity import WriterIdentity
from keepscore.writing.ledger_watch import LedgerWatch
from keepscore.writing.protocols import Arrivals, Origins, SegmentSource, SubmissionRules
from keepscore.writing.spool import Spool
from keepscore.writing.write_pause import WritePause

__all__ = ["WriteParts"]


@dataclass(frozen=True, kw_only=True, slots=True)
class WriteParts:
    """The parts below the writer, one of each for a process."""

    stores: Stores
    identity: WriterIdentity
    watch: LedgerWatch
    behind: Behind
    restater: Restater
    healing: Healing
    spool: Spool
    write_pause: WritePause
    retries: Retries
    rules: SubmissionRules
    origins: Origins
    segments: SegmentSource
    announcer: Announcer
    arrivals: Arrivals
