"""What a group needs of an engine that is elsewhere before it is recorded."""

from __future__ import annotations

import logging
from collections.abc import Collection

from keepscore.domain.results.standings import Rejection
from keepscore.errors import EngineUnavailable, KeyTaken
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.stores import Stores
from keepscore.storage.engines.base import Ranking
from keepscore.writing.groups import PendingRequest
from keepscore.writing.healing import Healing
from keepscore.writing.ledger_watch import LedgerWatch

__all__ = ["EngineChecks"]

#: How often a board whose matches wait is tried to be held.
RATED_TRIES = 3

log = logging.getLogger(__name__)


class EngineChecks:
    """Looks at the engine for the groups of one writer."""

    def __init__(self, stores: Stores, watch: LedgerWatch, healing: Healing) -> None:
        self._engine = stores.engine
        self._catalog = stores.catalog
        self._watch = watch
        self._healing = healing

    async def refuse(self, requests: list[PendingRequest]) -> list[PendingRequest]:
        """Answer those whose board takes nothing without the engine, and those whose ranking has no place in it; give the others."""
        for live in dict.fromkeys(live for request in requests for live in request.boards if live.is_strong):
            try:
                await self._healing.prepare(live, _rankings(requests, live))
            except EngineUnavailable as exc:
                for request in requests:
                    if live in request.boards:
                        request.settle(exc)
                requests = [request for request in requests if live not in request.boards]
        if self._engine.taken():
            requests = [request for request in requests if self._has_place(request)]
        return requests

    def refuse_doubtful(self, requests: list[PendingRequest]) -> list[PendingRequest]:
        """Answer those whose boards may have events that the ledger has lost, where that matters; give the others."""
        left = []
        for request in requests:
            try:
                for live in request.boards:
                    for board in (live, *self._catalog.links(live)):
                        if board.is_strong:
                            self._watch.check(board)
                for live in self._worked_out([request]):
                    if self._watch.is_misleading(live):
                        self._watch.check(live)
            except EngineUnavailable as exc:
                request.settle(exc)
            else:
                left.append(request)
        return left

    def _has_place(self, request: PendingRequest) -> bool:
        """Return whether something of a request can be ranked. What cannot be is rejected."""
        taken = self._engine.taken()
        for index, submission in list(request.submissions):
            why = next((taken[ranking] for ranking in submission.update.rankings if ranking in taken), None)
            if why is not None and request.batch:
                request.rejected.append(Rejection(index, KeyTaken.type, why))
                request.submissions.remove((index, submission))
            elif why is not None:
                request.settle(KeyTaken(why))
                return False
        return True

    async def check(self, requests: list[PendingRequest]) -> None:
        """Raise EngineUnavailable where the engine could keep nothing for these requests."""
        for live in dict.fromkeys(live for request in requests for live in request.boards):
            if await self._engine.applied(live.id) is None:
                raise EngineUnavailable(f"the engine has lost board {live.name!r}, and the ledger is down: try again")

    def needed(self, requests: list[PendingRequest]) -> set[int]:
        """Return the numbers of the boards that have to be held."""
        # Who resets a board holds it, and the planner refuses absolute scores meanwhile.
        return {live.id for live in self._worked_out(requests) if not live.is_resetting}

    def _worked_out(self, requests: list[PendingRequest]) -> set[LiveBoard]:
        """Return the boards on which scores are worked out from those that there are, or have to keep bounds together with them."""
        given = {(submission.live, submission.kind) for request in requests for _, submission in request.submissions}
        found = {live for live, kind in given if live.is_bounded or live.board.needs_current_score(kind)}
        for live, kind in given:
            for linked in self._catalog.links(live) if live.board.also else ():
                # A score is none of its own there.
                if linked.is_bounded or (kind == "increment" and linked.board.needs_current_score(kind)):
                    found.add(linked)
        return found

    async def hold(self, requests: list[PendingRequest]) -> dict[int, str]:
        """Hold the boards on which scores depend on those that there are, so that no two processes read and change them at once.

        One whose engine does not answer is not held, and the ledger is asked for its scores.
        """
        held: dict[int, str] = {}
        rated = {one.live.id for request in requests for _, one in request.submissions if one.match is not None}
        for board in sorted(self.needed(requests)):
            # A match is refused where its board is not held: a server that is only slow gets another chance.
            for _ in range(RATED_TRIES if board in rated else 1):
                try:
                    held[board] = await self._engine.locks.hold(board)
                    break
                except EngineUnavailable as exc:
                    log.debug("a board is not held: %s", exc)
        return held

    def refuse_unheld(self, requests: list[PendingRequest], held: Collection[int]) -> list[PendingRequest]:
        """Answer matches on boards that are not held: another process may rate the same players. Give the others."""
        left = []
        for request in requests:
            matches = {one.live.id: one.live for _, one in request.submissions if one.match is not None and not one.live.is_resetting}
            free = [live for board, live in matches.items() if board not in held]
            if free:
                request.settle(EngineUnavailable(f"the engine is down, and board {free[0].name!r} rates no match without it: try again"))
            else:
                left.append(request)
        return left

    async def release(self, held: dict[int, str]) -> None:
        """Let go of boards."""
        for board, token in held.items():
            try:
                await self._engine.locks.release(board, token)
            except EngineUnavailable as exc:
                log.debug("a lock is left to expire: %s", exc)


def _rankings(requests: list[PendingRequest], live: LiveBoard) -> set[Ranking]:
    """Return the rankings of a board that requests name."""
    submissions = [submission for request in requests for _, submission in request.submissions]
    return {ranking for one in submissions if one.live is live for ranking in one.update.rankings}
