"""The part of `Leaderboards` that looks after boards: resets, proof, repair, and the keeper."""

from __future__ import annotations

from datetime import datetime

from keepscore.answers import KeeperRun, KeeperStatus, Rebuild, Reset, Revision, Verification
from keepscore.care import Care
from keepscore.definitions import Definitions
from keepscore.keeper import Keeper
from keepscore.replay import Progress, no_progress
from keepscore.resets import Resets

__all__ = ["Upkeep"]


class Upkeep:
    """What is done to boards as wholes."""

    _care: Care
    _definitions: Definitions
    _keeper: Keeper
    _resets: Resets

    async def reset(self, board: str, *, idempotency_key: str | None = None) -> Reset:
        """End a board's rankings as a numbered version, which stays readable by its window ids, and begin new, empty ones."""
        await self._definitions.refresh()
        return await self._resets.reset(board, idempotency_key)

    async def undo_reset(self, board: str, *, idempotency_key: str | None = None) -> Reset:
        """Undo the last reset of a board, within its grace: what came before and after it is one ranking again."""
        await self._definitions.refresh()
        return await self._resets.undo(board, idempotency_key)

    async def verify(self, board: str, *, repair: bool = False) -> Verification:
        """Compare all that a board shows with the fold of its events; with `repair`, put right what differs, and compare again."""
        await self._definitions.refresh()
        return await self._care.verify(board, repair)

    async def rebuild(self, board: str, *, progress: Progress = no_progress) -> Rebuild:
        """Make the rankings of a board anew from all of its events. Readers see the old ones until the new ones are whole.

        `progress` is called now and then with what is being done, how much of it is done, and how much there is.
        """
        await self._definitions.refresh()
        return await self._care.rebuild(board, progress)

    async def revise(self, board: str, window: str, window_id: str, reason: str) -> Revision:
        """Correct the final standings of a closed window: they are archived anew, as the next revision, with a note in the audit."""
        await self._definitions.refresh()
        return await self._keeper.revise(board, window, window_id, reason)

    async def keeper_status(self) -> KeeperStatus:
        """The jobs of the keeper: when each ran and runs next, and what became of it."""
        return await self._keeper.status()

    async def run_keeper(self, now: datetime | str | None = None) -> KeeperRun:
        """Do at once what the keeper has to do by some past moment (default: now), and tell what that was."""
        return await self._keeper.run_once(now)
