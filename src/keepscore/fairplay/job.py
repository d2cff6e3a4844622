"""The keeper's jobs that finish decisions which were cut short, end those that are over, and note who sends scores from where."""

from __future__ import annotations

from keepscore.domain.nouns import counted
from keepscore.fairplay.addresses import Addresses
from keepscore.fairplay.anomalies import AnomalyWatch
from keepscore.fairplay.erasing import Erasing
from keepscore.fairplay.restricting import Restricting
from keepscore.fairplay.review import Review
from keepscore.fairplay.voids import Voids
from keepscore.lifecycle.jobs.base import SECOND_MS, Job
from keepscore.lifecycle.parts import JobParts

__all__ = ["FinishErasures", "FinishReviews", "FinishVoids", "NoteAddresses", "NoteScores", "RestorePlayers"]


class FinishVoids(Job):
    """Records the verdicts of voids whose process died, and takes back what it was undoing."""

    name = "finish voids"
    every = 10 * SECOND_MS

    def __init__(self, parts: JobParts, voids: Voids) -> None:
        super().__init__(parts)
        self._voids = voids

    async def run(self, now: int) -> str:
        finished = await self._voids.finish_all()
        return f"finished: {', '.join(finished)}" if finished else ""


class FinishReviews(Job):
    """Records the verdicts of scores that were approved or rejected by a process that died."""

    name = "finish reviews"
    every = 10 * SECOND_MS

    def __init__(self, parts: JobParts, review: Review) -> None:
        super().__init__(parts)
        self._review = review

    async def run(self, now: int) -> str:
        finished = await self._review.finish_all()
        return f"finished: {', '.join(finished)}" if finished else ""


class FinishErasures(Job):
    """Erases what is left of players where the process that did it died."""

    name = "finish erasures"
    every = 10 * SECOND_MS

    def __init__(self, parts: JobParts, erasing: Erasing) -> None:
        super().__init__(parts)
        self._erasing = erasing

    async def run(self, now: int) -> str:
        finished = await self._erasing.finish_all()
        return f"finished: {', '.join(finished)}" if finished else ""


class NoteAddresses(Job):
    """Notes who has sent scores from which address."""

    name = "note addresses"
    for_leader = is_slow = False

    def __init__(self, parts: JobParts, addresses: Addresses) -> None:
        super().__init__(parts)
        self._addresses = addresses

    async def run(self, now: int) -> str:
        noted = await self._addresses.flush()
        return f"noted {counted(noted, 'address', 'addresses')}" if noted else ""


class RestorePlayers(Job):
    """Lets players be ranked again whose time is over, finishes what was cut short, and unranks who was ranked by mistake."""

    name = "restore players"
    every = SECOND_MS
    is_slow = False

    def __init__(self, parts: JobParts, restricting: Restricting) -> None:
        super().__init__(parts)
        self._restricting = restricting

    async def run(self, now: int) -> str:
        finished = await self._restricting.finish_all()
        return f"finished: {', '.join(finished)}" if finished else ""


class NoteScores(Job):
    """Adds the scores that this process has got to the histograms in the ledger, on boards that look for anomalies."""

    name = "note scores"
    every = 10 * SECOND_MS
    for_leader = is_slow = False

    def __init__(self, parts: JobParts, watched: AnomalyWatch) -> None:
        super().__init__(parts)
        self._watched = watched

    async def run(self, now: int) -> str:
        boards = await self._watched.flush()
        return f"noted scores of {counted(boards, 'board')}" if boards else ""
