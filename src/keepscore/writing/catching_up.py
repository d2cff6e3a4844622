"""Ledger and engine, brought together again after either was away."""

from __future__ import annotations

from keepscore.projection.live_boards import LiveBoard
from keepscore.storage.engines.settling import try_each
from keepscore.writing.numbers import Numbers
from keepscore.writing.parts import WriteParts

__all__ = ["CatchUp"]


class CatchUp:
    """Brings to the ledger what the engine kept for it, and to the engine what it could not take."""

    def __init__(self, parts: WriteParts, numbers: Numbers) -> None:
        self._catalog, self._ledger, self._engine, self._clock = parts.stores
        self._identity = parts.identity
        self._healing = parts.healing
        self._restater = parts.restater
        self._behind = parts.behind
        self._spool = parts.spool
        self._write_pause = parts.write_pause
        self._numbers = numbers

    async def meet_engine(self) -> None:
        """See that the engine has never seen the numbers of this process in use, if it could not be asked before."""
        if self._identity.is_unsure:
            async with self._write_pause:
                await self._numbers.meet_engine()

    async def run(self) -> None:
        """Bring ledger and engine together: what either has and the other lacks, if there is something."""
        await self.meet_engine()
        if self._spool.reason is not None:
            # Nobody waits for a ledger that is away.
            await self._ledger.probe(self._clock())
            if not self._ledger.identity.is_confirmed:
                async with self._write_pause:
                    await self._numbers.reconcile()
            if not await self._spool.end(self._write_pause):
                # What was kept under the present number comes first under it.
                self._numbers.spent = True
        await self._spool.drain()
        self._behind.forget_deleted()
        await try_each(self._catch_up_board(live) for live in list(self._catalog))

    async def _catch_up_board(self, live: LiveBoard) -> None:
        is_behind = live.id in self._behind.since
        if live.board.is_rollup and not is_behind:
            await self._healing.catch_up(live)
            return
        await self._healing.reclaim(live)
        await self._restater.restate_late(live)
        applied = await self._engine.applied(live.id)
        if is_behind or applied is None or applied.get(self._identity.number, 0) != self._numbers.counts.get(live.id, 0):
            async with self._write_pause:
                await self._healing.ensure(live, self._numbers.counts.get(live.id, 0))
                if is_behind:
                    # What waits may have been recorded under an earlier number.
                    await self._healing.catch_up(live)
                    self._behind.remove(live)
