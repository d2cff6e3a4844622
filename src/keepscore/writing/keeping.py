"""Submissions that the engine keeps for a ledger that is away: all boards that one goes to take it, or none does.

"Send it again" promises that it was recorded nowhere.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from keepscore.errors import EngineUnavailable, KeepscoreError, KeyTaken, LedgerUnavailable, Unavailable, UnknownBoard
from keepscore.projection.live_boards import LiveBoard
from keepscore.storage.engines.base import Batch, Gap, Outcome, RankingEngine
from keepscore.writing.healing import Healing
from keepscore.writing.plan import Plan, linked_boards

__all__ = ["Keeping"]

#: How often one engine call is tried after healing.
MAX_TRIES = 6

log = logging.getLogger(__name__)


class Keeping:
    """Brings batches to an engine that keeps them."""

    def __init__(self, engine: RankingEngine, healing: Healing) -> None:
        self._engine = engine
        self._healing = healing

    async def keep(
        self, plans: Mapping[int, Plan], planned: Mapping[int, LiveBoard], batches: list[Batch], failed: dict[int, KeepscoreError]
    ) -> list[list[Outcome]]:
        """Return what the engine tells of each batch, nothing of those of boards that have `failed`.

        Those are kept nowhere, unless the answer to it was lost: then nobody knows.
        """
        answers: dict[int, list[Outcome]] = {}
        away: KeepscoreError | None = None
        for boards in linked_boards(plans.values()):
            error = away or await self._keep_together(planned, [batch for batch in batches if batch.board in boards], answers)
            if error is not None:
                failed |= dict.fromkeys(boards, error)
            if isinstance(error, EngineUnavailable) and not isinstance(error, KeyTaken):
                # Not sent, whatever has become of the one before.
                away = EngineUnavailable(str(error))
        return [answers.get(batch.board, []) for batch in batches]

    async def _keep_together(
        self, planned: Mapping[int, LiveBoard], batches: list[Batch], answers: dict[int, list[Outcome]]
    ) -> KeepscoreError | None:
        """Apply batches in one step, or tell what keeps the engine from it."""
        for _ in range(MAX_TRIES):
            for live in (planned[batch.board] for batch in batches):
                if self._healing.current(live) is not live:
                    return Unavailable(f"board {live.name!r} was redefined in the meantime: send it again")
            try:
                answers |= zip([batch.board for batch in batches], await self._engine.apply(batches), strict=True)
                return None
            except Gap as gap:
                log.warning("healing: %s", gap)
                try:
                    if not await self._healing.close_gap(gap):
                        return UnknownBoard("the board was deleted in the meantime")
                except (EngineUnavailable, LedgerUnavailable) as exc:
                    return exc
            except EngineUnavailable as exc:
                if isinstance(exc, KeyTaken):
                    log.error("%s", exc)
                return exc
        return EngineUnavailable("the engine repeatedly lost what it was given: try again")
