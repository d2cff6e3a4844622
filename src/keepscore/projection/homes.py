"""Which engine holds a board's rankings: the ledger notes it.

Where an engine has lost what it kept beside its rankings, that tells what is left of a board from what somebody else has put there; and
an engine that is away from one that was never there.
"""

from __future__ import annotations

import logging

from keepscore.errors import ConfigError, EngineUnavailable
from keepscore.projection.live_boards import LiveBoard
from keepscore.storage.engines.base import RankingEngine
from keepscore.storage.ledgers.base import Ledger
from keepscore.storage.ledgers.marks import ENGINE_HOME, board_home

__all__ = ["has_had", "note_board", "note_engine", "open_engine", "promote"]

log = logging.getLogger(__name__)


async def open_engine(ledger: Ledger, engine: RankingEngine, identity: str) -> None:
    """Connect to an engine for a ledger of that identity.

    The engine that the ledger was used with last may be away; any other is a mistake in the configuration.
    """
    try:
        await engine.open(identity)
    except EngineUnavailable as exc:
        if await ledger.marks.get(ENGINE_HOME) != engine.home:
            raise ConfigError(str(exc)) from None
        log.error("%s", exc)


async def note_engine(ledger: Ledger, engine: RankingEngine) -> None:
    """Note that an engine is used."""
    if await ledger.marks.get(ENGINE_HOME) != engine.home:
        await ledger.marks.put(ENGINE_HOME, engine.home)


async def has_had(ledger: Ledger, engine: RankingEngine, live: LiveBoard) -> bool:
    """Return whether an engine that outlives processes is known to have had a board."""
    return bool(engine.home) and await ledger.marks.get(board_home(live.id)) == engine.home


async def note_board(ledger: Ledger, engine: RankingEngine, live: LiveBoard) -> None:
    """Note that an engine has a board."""
    if engine.home and not await has_had(ledger, engine, live):
        await ledger.marks.put(board_home(live.id), engine.home)


async def promote(ledger: Ledger, engine: RankingEngine, live: LiveBoard) -> None:
    """Put a board's shadow into its place, and note that the engine has the board."""
    await engine.promote(live.id, await has_had(ledger, engine, live))
    await note_board(ledger, engine, live)
