"""A board from the ledger alone: its keys in Redis may hold what has to be moved first."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from keepscore.config import Settings
from keepscore.connect import engine_from_url, feed_for, is_redis, ledger_from_url
from keepscore.domain.boards import Board
from keepscore.domain.inputs import Entry
from keepscore.domain.key_places import RankingPlace
from keepscore.domain.keys import check_keys
from keepscore.domain.results.standings import Lookup
from keepscore.leaderboards import now_ms
from keepscore.lifecycle.configured import in_effect, note_configured, noted_of
from keepscore.projection.behind import Behind
from keepscore.projection.changes import Changes
from keepscore.projection.live_boards import Catalog, check_links
from keepscore.projection.load import load_from_events
from keepscore.projection.stores import Stores
from keepscore.reading.present import NothingLost
from keepscore.reading.reader import Reader
from keepscore.storage.ledgers.base import Ledger
from keepscore.writing.dry_run import DryRunTerms, dry_run

__all__ = ["LedgerAlone", "define_alone", "defined", "ledger_alone"]


def defined(settings: Settings, board: str) -> Board | None:
    """Find a board's definition in the ledger and the configuration. The engine is not asked: it may hold what has to be moved first."""

    async def found() -> Board | None:
        ledger = ledger_from_url(settings.ledger, shared=is_redis(settings.engine))
        await ledger.open(now_ms())
        try:
            records = await in_effect(ledger, settings.boards, is_redis(settings.engine))
        finally:
            await ledger.close()
        return next((record.board for record in records if record.board.name == board), None)

    return asyncio.run(found())


def define_alone(settings: Settings, name: str) -> None:
    """Record a configured board, unless the ledger has it. The engine is not asked: sets that are still to be imported may lie there."""

    async def define() -> None:
        shared = is_redis(settings.engine)
        ledger = ledger_from_url(settings.ledger, shared=shared)
        await ledger.open(now_ms())
        try:
            if any(record.board.name == name for record in await ledger.boards.current()):
                return
            boards = {board.name: board for board in settings.boards}
            board = boards[name]
            check_keys(board, boards.values())
            check_links(board, boards)
            await ledger.boards.put(board, True, now_ms())
            await note_configured(ledger, board, await noted_of(ledger, board), shared, took_effect=True)
        finally:
            await ledger.close()

    asyncio.run(define())


@contextmanager
def ledger_alone(settings: Settings, board: str) -> Iterator[LedgerAlone]:
    """Open a board from the ledger alone, for a dry run. O(events)."""
    with asyncio.Runner() as runner:
        ledger = ledger_from_url(settings.ledger, shared=is_redis(settings.engine))
        runner.run(ledger.open(now_ms()))
        try:
            alone = LedgerAlone(ledger, board, runner)
            runner.run(alone.load(settings))
            yield alone
        finally:
            runner.run(ledger.close())


class LedgerAlone:
    """One board of a ledger, ranked in this process."""

    def __init__(self, ledger: Ledger, board: str, runner: asyncio.Runner) -> None:
        self._ledger = ledger
        self._board = board
        self._runner = runner
        self._catalog = Catalog()
        self._engine = engine_from_url("embedded://", now_ms)
        self._stores = Stores(self._catalog, ledger, self._engine, now_ms)

    async def load(self, settings: Settings) -> None:
        """Fold the events of the board, and of those to which its scores are sent on."""
        for record in await in_effect(self._ledger, settings.boards, is_redis(settings.engine)):
            self._catalog.put(record)
        self._catalog.accepts_from = await self._ledger.openings.accepts_from()
        live = self._catalog[self._board]
        for one in (live, *self._catalog.links(live)):
            await load_from_events(self._ledger, self._engine, one, now_ms())
            await self._engine.promote(one.id)
        changes = Changes()
        behind = Behind(self._catalog, changes)
        self._reader = Reader(self._stores, feed_for(self._engine), b"", NothingLost(), behind, changes)

    def check_opening(self, entries: list[Entry], into: RankingPlace) -> dict[int, str]:
        """Return why entries would be refused as opening balances of a ranking, by their place."""
        live = self._catalog[self._board]
        answer = self._runner.run(dry_run(self._stores, live, entries, DryRunTerms(into=into)))
        return {rejection.index: rejection.detail for rejection in answer.rejected}

    def scores(self, players: list[str], of: RankingPlace) -> dict[str, Any]:
        """Return the scores of those players who are in a ranking."""
        view = self._reader.view(self._board, of.window, of.window_id, of.segment or None)
        found: Lookup = self._runner.run(self._reader.lookup(view, players))
        return {standing.player_id: standing.score for standing in found.standings}
