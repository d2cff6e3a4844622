"""Events as the engine keeps them for a ledger that is away."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from keepscore.domain.scoring import Event
from keepscore.storage.engines.base import RankingEngine

__all__ = ["CHUNK_ENTRIES", "events_in", "first_spooled", "packed"]

#: Entries of the spool that are read at a time.
CHUNK_ENTRIES = 100

_decoder = msgspec.json.Decoder(list[Event])


def packed(events: Iterable[Event]) -> str:
    """Return events as a spool keeps them."""
    return msgspec.json.encode(list(events)).decode()


def events_in(text: bytes) -> list[Event]:
    """Return the events of one entry of a spool."""
    return _decoder.decode(text)


async def first_spooled(engine: RankingEngine, board_id: int) -> dict[int, int]:
    """Return the number of the first event of each writer that a board keeps for the ledger. O(events that it keeps)."""
    first: dict[int, int] = {}
    last = ""
    while engine.spool is not None and (entries := await engine.spool.entries(board_id, CHUNK_ENTRIES, last)):
        for name, text in entries:
            last = name
            for event in events_in(text):
                first.setdefault(event.writer, event.n)
    return first
