"""The port to a ranking engine: a fast index over the ledger, which can always be rebuilt from it.

What every engine does is in `roles.py`, what only some can do in `capabilities.py`, and what goes in and comes out in `values.py`. Who
needs one role only, such as a reader, takes that role.
"""

from __future__ import annotations

from keepscore.storage.engines.capabilities import (
    CheckpointSupport,
    Complete,
    InstantSupport,
    LockSupport,
    MirrorSupport,
    PositionSupport,
    PruneSupport,
    SpoolSupport,
    Unlocked,
    Unplaced,
)
from keepscore.storage.engines.looks import Look, Sight
from keepscore.storage.engines.roles import Applying, Bookkeeping, Loading, Rankings, Restating, States
from keepscore.storage.engines.values import Batch, Change, Dirty, Gap, Loaded, Memory, Outcome, Page, Pruned, Ranking, Update, made_update

__all__ = [
    "Batch",
    "Change",
    "CheckpointSupport",
    "Dirty",
    "Gap",
    "InstantSupport",
    "Loaded",
    "LockSupport",
    "Look",
    "Memory",
    "MirrorSupport",
    "Outcome",
    "Page",
    "PositionSupport",
    "PruneSupport",
    "Pruned",
    "Ranking",
    "RankingEngine",
    "Rankings",
    "Sight",
    "SpoolSupport",
    "Update",
    "made_update",
]


class RankingEngine(Rankings, States, Applying, Loading, Restating, Bookkeeping):
    """Rankings with their watermarks. Every method is safe to repeat."""

    #: Keeps events for a ledger that is away.
    spool: SpoolSupport | None = None
    #: Knows what changed since the last checkpoint. Whoever shares an engine makes checkpoints from the ledger.
    checkpoints: CheckpointSupport | None = None
    #: Writes keys that other services read.
    mirror: MirrorSupport | None = None
    #: Reads without waiting.
    instant: InstantSupport | None = None
    #: Keeps only the first rows of a ranking.
    pruning: PruneSupport = Complete()
    #: Counts the changes of each ranking.
    positions: PositionSupport = Unplaced()
    #: Lets one process at a time hold a board.
    locks: LockSupport = Unlocked()
