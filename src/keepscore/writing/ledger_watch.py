"""A ledger that came back older than the engine: found, told, and the boards that are wrong by it.

Every event is in the ledger before the engine applies it, or is kept for the ledger beside the rankings. So an engine that is ahead of
the ledger, and keeps nothing of what lies between, has events that the ledger has lost: its rankings are rebuilt.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from keepscore.domain.durations import time_of
from keepscore.errors import EngineUnavailable
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.rollups import parts_of, positions_of
from keepscore.projection.stores import Stores
from keepscore.telemetry.counters import HEALS
from keepscore.writing.spooled import first_spooled

__all__ = ["LedgerWatch", "lost_events"]

log = logging.getLogger(__name__)


def lost_events(watermarks: Mapping[int, int], kept: Mapping[int, int], positions: Mapping[int, int]) -> dict[int, int]:
    """Count each writer's events that the engine has applied (`watermarks`) and the ledger (`positions`) has not and will not get.

    `kept` is the first event of each writer that is kept for the ledger; those that follow are kept with it.

    >>> lost_events({1: 9, 2: 9, 3: 9, 4: 9}, {2: 1, 3: 8}, {1: 5, 3: 5, 4: 12})
    {1: 4, 3: 2}
    """
    found = {writer: min(mark, kept.get(writer, mark + 1) - 1) - positions.get(writer, 0) for writer, mark in watermarks.items()}
    return {writer: lost for writer, lost in found.items() if lost > 0}


class LedgerWatch:
    """Compares the engine with the ledger for one process."""

    def __init__(self, stores: Stores) -> None:
        self._catalog, self._ledger, self._engine, _ = stores
        #: Boards that were found ahead of the ledger since this process started, and the events that the ledger had lost of them.
        self.boards_found = 0
        self.events_lost = 0
        #: Boards that are yet to be compared with the ledger that is there now, and those that are being rebuilt.
        self._uncompared: set[int] = set()
        self._wrong: set[int] = set()

    # -- what may be trusted --------------------------------------------------------------------------------------------

    @property
    def has_doubts(self) -> bool:
        """Whether some board may be wrong."""
        return bool(self._uncompared or self._wrong)

    def check(self, live: LiveBoard) -> None:
        """Raise EngineUnavailable where a board may have events that the ledger has lost."""
        if not self._ledger.identity.is_confirmed or live.id in self._uncompared or live.id in self._wrong:
            raise EngineUnavailable(f"board {live.name!r} is being compared with a ledger that came back, or rebuilt from it: try again")

    def is_misleading(self, live: LiveBoard) -> bool:
        """Return whether the scores that a board has may not be the ledger's, and are not put right on the way."""
        return live.id in self._uncompared or (live.id in self._wrong and not self._engine.is_shared)

    # -- comparing ------------------------------------------------------------------------------------------------------

    def doubt_all(self) -> None:
        """Have all boards compared: another ledger may have taken the place of the last."""
        self._uncompared |= {live.id for live in self._catalog}

    def distrust(self, live: LiveBoard) -> None:
        """Have a board rebuilt."""
        self._wrong.add(live.id)

    def trust(self, live: LiveBoard) -> None:
        """Note that a board was rebuilt."""
        self._wrong.discard(live.id)

    async def compare_doubted(self) -> None:
        """Compare the boards that are yet to be compared."""
        known = {live.id: live for live in self._catalog}
        self._wrong &= known.keys()
        for board in list(self._uncompared):
            if board in known:
                await self.compare(known[board])
            else:
                self._uncompared.discard(board)

    async def compare_if_doubted(self, live: LiveBoard) -> None:
        """Compare one board, if it is yet to be compared."""
        if live.id in self._uncompared:
            await self.compare(live)

    async def compare(self, live: LiveBoard) -> bool:
        """Return whether the engine has events of a board that the ledger has lost; then it is logged, and nobody trusts the rankings."""
        incarnation = self._ledger.identity.incarnation
        lost = await self._lost(live)
        if lost:
            self._wrong.add(live.id)
            await self._engine.disown(live.id)
            # What is made from them may have been ahead as well.
            self._uncompared |= {target.id for target in self._catalog.rollups(live)} - self._wrong
            await self._tell(live, lost)
        if incarnation == self._ledger.identity.incarnation:
            self._uncompared.discard(live.id)
        return bool(lost)

    async def _lost(self, live: LiveBoard) -> dict[int, int]:
        watermarks = await self._engine.applied(live.id) or {}
        if not lost_events(watermarks, {}, await positions_of(self._ledger, live)):
            return {}
        # In this order: what is no longer kept was recorded before.
        watermarks = await self._engine.applied(live.id) or {}
        kept = await first_spooled(self._engine, live.id)
        return lost_events(watermarks, kept, await positions_of(self._ledger, live))

    async def _tell(self, live: LiveBoard, lost: Mapping[int, int]) -> None:
        HEALS.add("older_ledger")
        self.boards_found += 1
        self.events_lost += sum(lost.values())
        last = await self._last_received(live)
        since = "has no events of it" if last is None else f"has its last event from {time_of(last).isoformat()}"
        log.error(
            "the ledger came back older: %d events of board %r that were counted are lost (of writers %s). The ledger %s; the rankings are "
            "rebuilt from it",
            *(sum(lost.values()), live.name, ", ".join(map(str, sorted({mark & 0xFFFFFFFF for mark in lost}))), since),
        )

    async def _last_received(self, live: LiveBoard) -> int | None:
        """Return when the last event of a board came that the ledger has. O(writers)."""
        last = 0
        for part in parts_of(live) or [live]:
            positions = await self._ledger.events.positions(part.id)
            async for events in self._ledger.events.read(part.id, {writer: n - 1 for writer, n in positions.items()}):
                last = max(last, *(event.received for event in events))
        return last or None

    def wrong(self) -> list[LiveBoard]:
        """Return the boards that are to be rebuilt."""
        return [live for live in self._catalog if live.id in self._wrong]
