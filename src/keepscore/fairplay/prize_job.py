"""The keeper's job that takes windows with a prize from closed to final."""

from __future__ import annotations

from keepscore.domain.nouns import counted
from keepscore.domain.windows import span_of
from keepscore.errors import UnknownWindow
from keepscore.fairplay.prize_windows import PrizeWindows
from keepscore.lifecycle.jobs.base import SECOND_MS, Job
from keepscore.projection.live_boards import LiveBoard
from keepscore.storage.engines.settling import try_each
from keepscore.storage.ledgers.prizes import PrizePlace

__all__ = ["DecidePrizes"]


class DecidePrizes(Job):
    """Archives windows that were closed early, and decides the winners of those whose review is over. Whoever is hidden does not win."""

    name = "decide prizes"
    every = 2 * SECOND_MS

    def __init__(self, windows: PrizeWindows) -> None:
        super().__init__(windows.parts)
        self._windows = windows
        #: Windows that were closed early and are archived.
        self._archived: set[PrizePlace] = set()

    def forget(self) -> None:
        self._archived.clear()

    async def run(self, now: int) -> str:
        done: list[str] = []

        async def decide(live: LiveBoard) -> None:
            await self._archive(live)
            done.extend(await self._decide(live, now))

        await try_each(decide(live) for live in list(self.parts.catalog) if live.board.prize is not None)
        return (
            f"decided the winners of {counted(len(done), 'window')}: {', '.join(done[:5])}{' …' if len(done) > 5 else ''}" if done else ""
        )

    async def _archive(self, live: LiveBoard) -> None:
        for window, window_id in list(live.closed_early):
            place = PrizePlace(live.id, window, window_id)
            if place in self._archived:
                continue
            try:
                span = span_of(live.board, window, window_id)
            except (UnknownWindow, KeyError):
                # The board's calendar is another by now.
                continue
            if await self._windows.archive_closed(live, span):
                self._archived.add(place)

    async def _decide(self, live: LiveBoard, now: int) -> list[str]:
        assert live.board.prize is not None, "only those boards are asked for"
        since, review_ms = await self._windows.since(live) or 0, live.board.prize.review_ms
        decided = []
        for window, window_id, closed_at in await self.parts.ledger.prizes.undecided(live.id):
            is_due = now >= closed_at + review_ms
            if window in live.board.periods and closed_at >= since and (is_due or self.parts.catalog.restrictions):
                seen = await self._windows.see(live.name, window, window_id)
                if not is_due:
                    await self._windows.take_out_unranked(seen)
                elif seen.state == "provisional":
                    await self._windows.finalize(seen, None, lambda _: None)
                    decided.append(f"{live.name} {window_id}")
        return decided
