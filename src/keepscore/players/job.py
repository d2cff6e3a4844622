"""The keeper's part in segments that follow the player."""

from __future__ import annotations

from keepscore.domain.nouns import counted
from keepscore.lifecycle.jobs.base import SECOND_MS, Job
from keepscore.lifecycle.parts import JobParts
from keepscore.players.following import Following

__all__ = ["FollowProfiles"]

#: Milliseconds after which a process that planned with a profile of before has recorded what it planned.
SETTLED_MS = 3 * SECOND_MS
#: Players who are looked at in one run.
MAX_PLAYERS = 5000


class FollowProfiles(Job):
    """Sees that players are in the slices that their profiles say, also where somebody was cut short, or did not know of a change yet."""

    name = "follow profiles"
    is_slow = False
    patience = SECOND_MS

    def __init__(self, parts: JobParts, following: Following) -> None:
        super().__init__(parts)
        self._following = following

    async def run(self, now: int) -> str:
        players = self.parts.ledger.players
        found = await players.unsettled(now - SETTLED_MS, MAX_PLAYERS)
        if not found:
            return ""
        # Where one process has the ledger for itself, what it planned before a change may be on its way yet.
        await self.parts.writer.flush()
        await self._following.move([player for player, _ in found], self.parts.writer, is_sure=False)
        await players.settle(found)
        return f"looked after {counted(len(found), 'changed profile')}"
