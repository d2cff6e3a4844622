"""The boards of one process, and where their events and rankings are."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from keepscore.projection.live_boards import Catalog
from keepscore.storage.engines.base import RankingEngine
from keepscore.storage.ledgers.base import Ledger

__all__ = ["Stores"]


class Stores(NamedTuple):
    """What nearly every part works on: boards, the ledger, the engine, and the one clock (milliseconds since 1970)."""

    catalog: Catalog
    ledger: Ledger
    engine: RankingEngine
    clock: Callable[[], int]
