"""Events, and states of a board that is loaded, that the engine refuses for good: they are left out, that is told, and the board goes on.

No such event is known: what the engine cannot take is refused before it is recorded. Should there be one all the same, it must not keep
all later ones from being ranked. It stays in the ledger, and `verify` tells what it would have changed. A rebuild tries it again.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from keepscore.domain.scoring import Event
from keepscore.errors import EngineUnavailable
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.stores import Stores
from keepscore.storage.engines.base import Batch, Outcome
from keepscore.telemetry.counters import ENGINE_ERRORS

__all__ = ["Quarantine"]

#: Events that are told by `reasons`; the others are counted.
MAX_TOLD = 5

log = logging.getLogger(__name__)


class Quarantine:
    """Applies what the engine lacks, and leaves out what it refuses though it takes others."""

    def __init__(self, stores: Stores) -> None:
        self._engine = stores.engine
        #: Events that were left out since their board was last loaded, and why: by board, then writer and number.
        self._left_out: dict[int, dict[tuple[int, int], str]] = {}

    async def apply(self, live: LiveBoard, batch: Batch, events: Sequence[Event]) -> list[Outcome]:
        """Apply a batch that is made of these events; return the outcomes, or nothing where a part of it was applied before."""
        try:
            (outcomes,) = await self._engine.apply([batch])
            return outcomes
        except EngineUnavailable as exc:
            if not exc.is_refused:
                raise
        # It may refuse everything. Else it is one of them, and is looked for.
        await self._engine.probe(live.id)
        if len(events) == 1:
            return await self._apply_last(live, batch, events[0])
        half = len(events) // 2
        middle = events[half - 1].n
        before = await self.apply(live, batch._replace(upto=middle, updates=batch.updates[:half]), events[:half])
        after = await self.apply(live, batch._replace(after=middle, updates=batch.updates[half:]), events[half:])
        return [*before, *after] if before and after else []

    async def _apply_last(self, live: LiveBoard, batch: Batch, event: Event) -> list[Outcome]:
        """Apply one event, or leave it out where it is refused once more."""
        try:
            (outcomes,) = await self._engine.apply([batch])
            return outcomes
        except EngineUnavailable as exc:
            if not exc.is_refused:
                raise
            error = exc
        # The watermark passes it.
        await self._engine.apply([batch._replace(updates=[])])
        ENGINE_ERRORS.add("quarantined")
        self._left_out.setdefault(live.id, {})[event.writer, event.n] = str(error)
        log.error(
            "board %r: the engine refuses event %d of writer %d (player %r), which is recorded, and left out of the rankings: %s",
            *(live.name, event.n, event.writer, event.player, error),
        )
        return [Outcome([], [])]

    def loaded(self, live: LiveBoard) -> None:
        """Note that a board was loaded from the ledger, with everything that the engine takes."""
        self._left_out.pop(live.id, None)
        for (ranking, player), why in self._engine.left_out(live.id).items():
            ENGINE_ERRORS.add("quarantined")
            log.error(
                "board %r: the engine refuses the state of player %r in %s %s, and is loaded without it: %s",
                *(live.name, player, ranking.window, ranking.window_id, why),
            )

    def reasons(self, live: LiveBoard) -> list[str]:
        """Return which events of a board are left out, and why."""
        found = [f"event {n} of writer {writer} is not ranked: {why}" for (writer, n), why in self._left_out.get(live.id, {}).items()]
        told = [f"board {live.name!r}: {one}" for one in found[:MAX_TOLD]]
        if len(found) > MAX_TOLD:
            told.append(f"board {live.name!r}: {len(found) - MAX_TOLD} more events are not ranked")
        players = [
            f"board {live.name!r}: player {player!r} is not ranked in {ranking.window} {ranking.window_id}: {why}"
            for (ranking, player), why in self._engine.left_out(live.id).items()
        ]
        more = [f"board {live.name!r}: {len(players) - MAX_TOLD} more states are not ranked"] if len(players) > MAX_TOLD else []
        return [*told, *players[:MAX_TOLD], *more]
