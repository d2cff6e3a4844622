"""What a group needs of an engine that is elsewhere before it is recorded."""

from __future__ import annotations

import logging

from keepscore.engines.base import RankingEngine
from keepscore.errors import EngineUnavailable
from keepscore.tickets import Ticket

__all__ = ["Gate"]

log = logging.getLogger(__name__)


class Gate:
    """Looks at the engine for the groups of one writer."""

    def __init__(self, engine: RankingEngine) -> None:
        self._engine = engine

    async def refuse(self, tickets: list[Ticket]) -> list[Ticket]:
        """Answer those whose board takes nothing while the engine is away; give the others."""
        for live in dict.fromkeys(live for ticket in tickets for live in ticket.boards if live.is_strong):
            try:
                await self._engine.applied(live.id)
            except EngineUnavailable as exc:
                for ticket in tickets:
                    if live in ticket.boards:
                        ticket.settle(exc)
                tickets = [ticket for ticket in tickets if live not in ticket.boards]
        return tickets

    async def check(self, tickets: list[Ticket]) -> None:
        """Raise EngineUnavailable where the engine could keep nothing for these requests."""
        for live in dict.fromkeys(live for ticket in tickets for live in ticket.boards):
            if await self._engine.applied(live.id) is None:
                raise EngineUnavailable(f"the engine has lost board {live.name!r}, and the ledger is away: try again")

    async def hold(self, tickets: list[Ticket]) -> dict[int, str]:
        """Hold the boards on which scores are worked out from those that there are, so that no two processes do it at once.

        Without an engine none is held, and the planner asks the ledger.
        """
        corrected = {
            submission.live.id
            for ticket in tickets
            for _, submission in ticket.submissions
            # Who resets a board holds it, and the planner refuses these.
            if submission.kind == "score" and submission.live.board.operator == "sum" and not submission.live.is_resetting
        }
        held: dict[int, str] = {}
        try:
            for board in sorted(corrected):
                held[board] = await self._engine.hold(board)
        except EngineUnavailable as exc:
            log.debug("a board is not held: %s", exc)
        return held

    async def release(self, held: dict[int, str]) -> None:
        """Let go of boards."""
        try:
            for board, token in held.items():
                await self._engine.release(board, token)
        except EngineUnavailable as exc:
            log.debug("a lock is left to expire: %s", exc)
