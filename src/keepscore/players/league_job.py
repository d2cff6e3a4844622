"""The keeper's part in leagues."""

from __future__ import annotations

from keepscore.domain.nouns import counted
from keepscore.lifecycle.jobs.base import SECOND_MS, Job
from keepscore.lifecycle.parts import JobParts
from keepscore.players.enrolment import Enrolment
from keepscore.players.seasons import Seasons
from keepscore.projection.live_boards import LiveBoard
from keepscore.storage.engines.settling import try_each

__all__ = ["DecideLeagues"]


class DecideLeagues(Job):
    """Merges small cohorts towards the end of a window, and moves players up and down when it is closed."""

    name = "decide leagues"
    every = 5 * SECOND_MS

    def __init__(self, parts: JobParts, enrolment: Enrolment) -> None:
        super().__init__(parts)
        self._enrolment = enrolment
        self._seasons = Seasons(parts, enrolment)

    def forget(self) -> None:
        self._enrolment.forget()

    async def run(self, now: int) -> str:
        decided: list[str] = []

        async def advance(live: LiveBoard) -> None:
            decided.extend(f"{live.name} {window_id}" for window_id in await self._seasons.advance(live, now))

        await try_each(advance(live) for live in list(self.parts.catalog) if live.board.league is not None)
        shown = f"{', '.join(decided[:5])}{' …' if len(decided) > 5 else ''}"
        return f"decided {counted(len(decided), 'season')}: {shown}" if decided else ""
